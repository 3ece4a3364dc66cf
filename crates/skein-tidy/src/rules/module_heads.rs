//! A module's head is the map of its folder: it names every module below it, and nothing that does
//! not exist.

use std::collections::HashSet;
use std::path::Path;

use crate::SourceTree;
use crate::module::{children, code, head, map, words};
use crate::source_tree::crate_of_source;

/// Names in heads that stand for something outside of the sources: functions of the system, of C
/// and of Lua, instructions, and files and crates of other projects.
const FOREIGN: &[&str] = &[
    "fdatasync",
    "intset.c",
    "keylen",
    "listpack.c",
    "longjmp",
    "lrand48",
    "no_run",
    "plotters",
    "poloto",
    "prefetcht0",
    "rdb.c",
    "t_stream.c",
    "xpcall",
    "ziplist.c",
    "zipmap.c",
];

/// Returns the modules that the head of the module above them does not name.
pub fn missing_children(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources(tree) {
        let map = map(text);
        let named: HashSet<&str> = words(&map).collect();
        let missing: Vec<&str> = children(text).into_iter().filter(|child| !named.contains(child)).collect();
        if !missing.is_empty() {
            found.push(format!("{path}: its head does not name {}: say what is in them", missing.join(", ")));
        }
    }
    found
}

/// Returns the names between backticks in heads that look like a module, a function or a file and
/// exist nowhere.
pub fn unknown_names(tree: &SourceTree) -> Vec<String> {
    let identifiers: HashSet<&str> = tree.files().flat_map(|(_, text)| code(text)).flat_map(words).collect();
    let exists = |name: &str| {
        FOREIGN.contains(&name)
            || if is_file(name) {
                let end = format!("/{name}");
                tree.files().any(|(path, _)| path.ends_with(&end) || path == name)
            } else {
                words(name).all(|word| identifiers.contains(word))
            }
    };
    let mut found = Vec::new();
    for (path, text) in sources(tree) {
        let head = head(text);
        let quoted = head.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let unknown = quoted.filter(|name| is_name(name) && !exists(name));
        found.extend(unknown.map(|name| format!("{path}: its head names `{name}`, which does not exist")));
    }
    found
}

fn sources(tree: &SourceTree) -> impl Iterator<Item = (&str, &str)> {
    tree.files().filter(|(path, _)| crate_of_source(path).is_some())
}

fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "rs")
}

/// Whether a quoted text is the name of a module, a function (`name`, `path::name`) or a file, and
/// not a command, a number in hexadecimal or other text.
fn is_name(quoted: &str) -> bool {
    let is_word = |word: &str| {
        word.len() > 2
            && word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    match quoted.strip_suffix(".rs").or(quoted.strip_suffix(".c")) {
        Some(file) => file.split('/').all(|part| is_word(part) || part.len() <= 2),
        None => quoted.split("::").all(is_word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_must_name_every_module_below_it() {
        let tree = SourceTree::of(&[
            ("crates/a/src/lib.rs", "//! `one` does this.\nmod one;\npub mod two;\n"),
            ("crates/a/src/two.rs", "//! Nothing below.\n"),
            ("crates/a/tests/all/main.rs", "mod not_a_source;\n"),
        ]);
        let found = missing_children(&tree);
        assert_eq!(found, ["crates/a/src/lib.rs: its head does not name two: say what is in them"]);
    }

    #[test]
    fn a_head_must_not_name_what_does_not_exist() {
        let text = "//! `gone` and `gone.rs`, but `one`, `one.rs`, `b::one`, `longjmp`, `GET k` and `f0`.\n\
                    fn one() {}\nmod b {}\n";
        let tree = SourceTree::of(&[("crates/a/src/one.rs", text)]);
        let found = unknown_names(&tree);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`gone`") && found[1].contains("`gone.rs`"), "{found:?}");
    }
}
