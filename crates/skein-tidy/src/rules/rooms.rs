//! Arrows between the rooms of a crate point down: a file uses only rooms that its crate's head lists
//! below its own.
//!
//! The head has a table with the column `room`, in the order from top to bottom:
//!
//! ```text
//!   | room | what it has |
//!   | --- | --- |
//!   | `worker` | the event loop |
//!   | `commands` | the handlers |
//! ```
//!
//! Tests may use any room.

use std::collections::BTreeSet;

use crate::SourceTree;
use crate::module::{code, head, words};

/// Arrows that point up for a reason: the lower room, the higher one, and the reason.
const UP: &[(&str, &str, &str)] = &[
    ("config", "commands", "the row of an option names the functions that change it"),
    ("command_table", "commands", "the row of a command names its handler"),
    ("command_table", "clients", "the row of a command tells which waiting clients it wakes"),
    ("command_table", "notice", "the row of a command names its event"),
    ("command_table", "observe", "the row of a command names the arguments that no log may show"),
    ("report", "commands", "INFO shows values as CONFIG GET does"),
    ("shared", "config", "the shared state has the live values of the options"),
    ("notice", "shared", "messages go to the mailbox of a worker"),
    ("clients", "shared", "the eviction of clients asks for their memory"),
    ("clients", "notice", "a client has subscriptions"),
];

/// Returns the files with an arrow that points up, and the reasons for such arrows that no file
/// needs.
pub fn upward_arrows(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    let mut needed = BTreeSet::new();
    for (root, text) in tree.files().filter(|(path, _)| path.ends_with("/src/lib.rs")) {
        let rooms = rooms_of(text);
        let folder = root.trim_end_matches("lib.rs");
        let tests = test_modules(tree, folder);
        let sources = tree.files().filter(|(path, _)| path.starts_with(folder) && !rooms.is_empty());
        for (path, text) in sources.filter(|(path, _)| !is_test(path, &tests)) {
            let room = path[folder.len()..].split(['/', '.']).next().unwrap_or_default();
            let Some(own) = rooms.iter().position(|name| *name == room) else { continue };
            for above in used_rooms(text).filter(|used| rooms[..own].iter().any(|room| room == used)) {
                match UP.iter().find(|(from, to, _)| (*from, *to) == (room, above)) {
                    Some(reason) => _ = needed.insert(reason),
                    None => {
                        found.push(format!("{path}: `{room}` uses `{above}`, which the head lists above it"));
                    }
                }
            }
        }
    }
    let unneeded = UP.iter().filter(|reason| !needed.contains(reason));
    found.extend(unneeded.map(|(from, to, _)| {
        format!("crates/skein-tidy/src/rules/rooms.rs: no file of `{from}` uses `{to}`, so remove the reason")
    }));
    found
}

/// Returns the rooms in the table of a head, from top to bottom.
fn rooms_of(text: &str) -> Vec<String> {
    let head = head(text);
    let rows = head.lines().skip_while(|line| !line.starts_with("| room |")).skip(2);
    let names = rows.map_while(|line| line.strip_prefix("| ")?.split(" |").next().map(str::to_owned));
    names.map(|name| name.trim_matches(['[', ']', '`']).to_owned()).collect()
}

/// Returns the rooms that a file uses, with repetitions.
fn used_rooms(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code(text).flat_map(|line| line.split("crate::").skip(1)).filter_map(|path| words(path).next())
}

/// Returns the paths of modules that are compiled for tests only, without their endings.
fn test_modules(tree: &SourceTree, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.starts_with(folder)) {
        let below = path.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/lib");
        let declared = text.split("#[cfg(test)]\nmod ").skip(1).filter_map(|rest| rest.split_once(';'));
        found.extend(
            declared.filter(|(name, _)| words(name).eq([*name])).map(|(name, _)| format!("{below}/{name}")),
        );
    }
    found
}

fn is_test(path: &str, tests: &[String]) -> bool {
    tests.iter().any(|test| {
        path.strip_prefix(test.as_str()).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "//! | room | what it has |\n//! | --- | --- |\n//! | `high` | a |\n//! | [`low`] | b |\n";

    #[test]
    fn only_arrows_up_are_violations() {
        let tree = SourceTree::of(&[
            ("crates/a/src/lib.rs", HEAD),
            ("crates/a/src/high/mod.rs", "use crate::low::B;\n"),
            (
                "crates/a/src/low.rs",
                "#[cfg(test)]\nmod checks;\nfn b() { crate::high::a() }\n// crate::high\n",
            ),
            ("crates/a/src/low/checks.rs", "use crate::high::A;\n"),
            ("crates/a/src/low/c.rs", "#[cfg(test)]\nmod tests {\nuse crate::high::A;\n}\n"),
        ]);
        let found = upward_arrows(&tree);
        let arrows: Vec<&String> = found.iter().filter(|text| text.starts_with("crates/a/")).collect();
        assert_eq!(arrows, ["crates/a/src/low.rs: `low` uses `high`, which the head lists above it"]);
        assert_eq!(found.len(), 1 + UP.len(), "reasons that no file needs");
    }
}
