//! `docs/security.md` says which Lua this is, and which test reaches each limit. It must be true.

use std::fs;
use std::path::{Path, PathBuf};

/// Tests have longer names than functions and types in the page.
const SHORTEST_TEST: usize = 20;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page() -> String {
    fs::read_to_string(crates().join("../docs/security.md")).unwrap()
}

/// A developer who raises the version must read the changes of Lua. The digest in
/// `build/sources.rs` fails the build, and this test holds the page against the version.
#[test]
fn the_page_and_the_manifest_name_the_reviewed_sources() {
    let version = skein_lua::SOURCES;
    let manifest = fs::read_to_string(crates().join("skein-lua/Cargo.toml")).unwrap();
    assert!(manifest.contains(&format!("lua-src = \"={version}\"")), "{version}");
    assert!(page().contains(&format!("`lua-src` {version}.")), "{version}");
}

fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// Each test that the tables of the page name exists.
#[test]
fn the_page_names_tests_that_exist() {
    let (page, mut all) = (page(), String::new());
    sources(&crates(), &mut all);
    let is_test = |word: &&str| {
        let is_name = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        word.len() >= SHORTEST_TEST && is_name && word.contains('_')
    };
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let named: Vec<&str> = rows.flat_map(|row| row.split('`')).filter(is_test).collect();
    assert!(named.len() > 30, "{named:?}");
    for name in named {
        assert!(all.contains(&format!("fn {name}(")), "docs/security.md names the test {name}");
    }
}
