//! A crate that has no unsafe code says so, and the compiler holds it to that.

use crate::SourceTree;
use crate::module::{code, words};
use crate::source_tree::crate_of_source;

/// Crates that cannot forbid it: the macros of `pyo3` write unsafe code into the crate.
const MADE_BY_MACROS: &[&str] = &["skeindb-python"];

/// Returns the crates without unsafe code that do not forbid it in their root.
pub fn crates_that_do_not_forbid_it(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    for name in tree.crates() {
        let sources = || tree.files().filter(|(path, _)| crate_of_source(path) == Some(name));
        let is_root = |path: &str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
        let forbids = |text: &str| code(text).any(|line| line.contains("forbid(unsafe_code)"));
        if MADE_BY_MACROS.contains(&name) || sources().any(|(_, text)| has_unsafe_code(text)) {
            continue;
        }
        let roots = sources().filter(|(path, text)| is_root(path) && !forbids(text));
        found.extend(roots.map(|(path, _)| {
            format!("{path}: the crate has no unsafe code, so add `#![forbid(unsafe_code)]`")
        }));
    }
    found
}

/// Whether `unsafe` is a word of the code. The attributes that speak of it hold the longer word
/// `unsafe_code`.
fn has_unsafe_code(text: &str) -> bool {
    code(text).flat_map(words).any(|word| word == "unsafe")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_unsafe_code_must_forbid_it() {
        let tree = SourceTree::of(&[
            ("crates/forbids/src/lib.rs", "#![forbid(unsafe_code)]\n// unsafe { }\n"),
            ("crates/forgets/src/lib.rs", "fn a() {}\n"),
            ("crates/forgets/src/main.rs", "#![forbid(unsafe_code)]\n"),
            ("crates/uses/src/lib.rs", "mod a;\n"),
            ("crates/uses/src/a.rs", "unsafe fn a() {}\n"),
        ]);
        let found = crates_that_do_not_forbid_it(&tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/forgets/src/lib.rs"), "{}", found[0]);
    }
}
