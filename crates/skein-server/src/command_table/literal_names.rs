//! A test: no code asks for a command by its name.
//!
//! Incident: one fact about a command stood in up to 18 lists of names, and two of them
//! contradicted each other twice. Fix: facts are in the rows, and code asks these. This test reads
//! the sources, so that no list grows again.
//!
//! 1. Nothing compares the name of a command.
//! 2. Outside `commands/`, no text is the name of a command, in lower case. In `commands/`,
//!    handlers may name themselves in errors, and subcommands have names of commands.
//!
//! The rules hold outside of `table.rs` and of tests. Texts that mean something else are in
//! [`OTHER_MEANINGS`], and the names of keyspace events are in `key_events/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::find;

/// Comparisons of a command's name.
const COMPARISONS: [&str; 6] = [
    "command.name ==",
    "command.name !=",
    "match command.name",
    "matches!(command.name",
    "(&command.name)",
    "command.name.starts_with",
];

/// Files or folders, and the words there that are no commands.
const OTHER_MEANINGS: &[(&str, &[&str])] = &[
    ("acl/categories.rs", &["pubsub", "set"]),
    ("acl/log.rs", &["auth", "command", "multi"]),
    ("acl/user.rs", &["reset"]),
    ("command_table/flags.rs", &["asking", "pubsub", "readonly"]),
    ("command_table/group.rs", &["cluster", "pubsub", "set"]),
    ("command_table/notation.rs", &["time"]),
    ("config", &["config", "memory", "replicaof", "save", "slaveof", "swapdb"]),
    ("report/info.rs", &["cluster", "memory", "role"]),
    (
        "notice/key_events",
        &[
            "del", "expire", "lpop", "lpush", "persist", "pfadd", "restore", "rpop", "rpush", "sadd", "set",
            "srem", "xtrim", "zadd", "zpopmax", "zpopmin",
        ],
    ),
    ("observe/latency_events.rs", &["command"]),
    ("report/metrics", &["command", "memory"]),
    ("worker/loading/mod.rs", &["client"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the lines of code before the tests of a file, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    lines
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(at, line)| (at + 1, line))
}

/// Returns the texts between quotes in a line. REQUIRES: no text has a quote in it.
fn texts(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// Returns the entry of a word in a file that means something else there.
fn other_meaning(file: &str, word: &str) -> Option<(&'static str, &'static str)> {
    let is_in =
        |place: &str| file.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let (place, words) = OTHER_MEANINGS.iter().find(|(place, _)| is_in(place))?;
    words.iter().find(|known| **known == word).map(|known| (*place, *known))
}

/// Returns the words in a line that are names of commands, in lower case.
fn names_in(line: &str) -> impl Iterator<Item = &str> {
    texts(line).filter(|word| word.to_ascii_lowercase() == **word && find(word.as_bytes()).is_some())
}

#[test]
fn no_code_asks_for_a_command_by_its_name() {
    const TESTS: [&str; 4] = ["tests.rs", "checks.rs", "literal_names.rs", "round_trip.rs"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut wrong, mut used) = (Vec::new(), Vec::new(), BTreeSet::new());
    sources(&root, &mut files);
    for file in files {
        let name =
            file.strip_prefix(&root).expect("below the root").to_str().expect("UTF-8").replace('\\', "/");
        if name.ends_with("table.rs") || TESTS.iter().any(|test| name.ends_with(test)) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source");
        for (number, line) in code(&text) {
            if COMPARISONS.iter().any(|comparison| line.contains(comparison)) {
                wrong.push(format!("{name}:{number} compares the name of a command: {}", line.trim()));
            }
            for word in names_in(line).filter(|_| !name.starts_with("commands/")) {
                match other_meaning(&name, word) {
                    Some(entry) => {
                        used.insert(entry);
                    }
                    None => {
                        wrong.push(format!("{name}:{number} names the command {word:?}: {}", line.trim()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "ask a property of the row (`command_table`):\n{}", wrong.join("\n"));
    let listed = OTHER_MEANINGS.iter().flat_map(|(place, words)| words.iter().map(|word| (*place, *word)));
    let unused: Vec<_> = listed.filter(|entry| !used.contains(entry)).collect();
    assert!(unused.is_empty(), "these words are not there any more: {unused:?}");
}

#[test]
fn texts_and_code_are_told_apart() {
    let source = "//! \"get\"\nlet a = \"get\"; // b\n#[cfg(test)]\nlet b = \"set\";";
    let found: Vec<_> =
        code(source).flat_map(|(number, line)| texts(line).map(move |text| (number, text))).collect();
    assert_eq!(found, [(2, "get")]);
}
