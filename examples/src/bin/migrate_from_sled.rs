//! Copies a sled database into a SkeinDB folder, with all its trees.
//!
//! Keys and values of sled are bytes in the order of bytes, so they stay as they are. A tree becomes
//! the keyspace of its name, and sled's default tree the default keyspace. Merge operators and the
//! counter of `generate_id` are code and state of sled: an application uses `merge` and `increment`.
//!
//! `cargo run --bin migrate_from_sled -- FOLDER NEW-FOLDER`

use std::path::Path;

use skeindb::{Db, Keyspace};
use skeindb_examples::{AnyError, Row, check_empty, copy_rows};

/// The name that sled gives to its default tree.
const DEFAULT_TREE: &[u8] = b"__sled__default";

fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [old, new] = &arguments[..] else { return Err("usage: migrate_from_sled FOLDER NEW-FOLDER".into()) };
    // sled would create it.
    if !Path::new(old).exists() {
        return Err(format!("there is no folder {old}").into());
    }
    let db = Db::open(new)?;
    for (tree, rows) in migrate(&sled::open(old)?, &db)? {
        println!("{tree}: {rows} rows");
    }
    // Everything is on disk then.
    Ok(db.close()?)
}

/// Copies all trees, to which nobody else may write meanwhile. Returns their names and numbers of
/// rows.
fn migrate(source: &sled::Db, db: &Db) -> Result<Vec<(String, u64)>, AnyError> {
    check_empty(db)?;
    let mut report = Vec::new();
    for name in source.tree_names() {
        let tree = source.open_tree(&name)?;
        let rows = copy_rows(&keyspace_for(db, &name)?, || Ok::<_, sled::Error>(rows(&tree)))?;
        report.push((String::from_utf8_lossy(&name).into_owned(), rows));
    }
    Ok(report)
}

fn keyspace_for(db: &Db, tree: &[u8]) -> Result<Keyspace, AnyError> {
    if tree == DEFAULT_TREE {
        return Ok(db.default_keyspace());
    }
    let name = std::str::from_utf8(tree)
        .map_err(|_| format!("the name of the tree \"{}\" is no text: choose a name", tree.escape_ascii()))?;
    Ok(db.keyspace(name)?)
}

fn rows(tree: &sled::Tree) -> impl Iterator<Item = sled::Result<Row>> {
    tree.iter().map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_trees_are_copied_and_equal() {
        let folder = tempfile::tempdir().unwrap();
        let source = sled::open(folder.path().join("sled")).unwrap();
        let [birds, numbers, empty] =
            ["birds", "numbers", "empty"].map(|name| source.open_tree(name).unwrap());
        birds.insert(b"\0\xff", &b"\xff\0"[..]).unwrap();
        birds.insert(b"", &b"the empty key"[..]).unwrap();
        for number in 0..3_000_u32 {
            numbers.insert(number.to_be_bytes(), number.to_string().as_bytes()).unwrap();
        }
        source.insert("goose:grey", "Anser anser").unwrap();

        let path = folder.path().join("skein");
        let db = Db::open(&path).unwrap();
        let mut report = migrate(&source, &db).unwrap();
        report.sort();
        let counts = [("__sled__default", 1), ("birds", 2), ("empty", 0), ("numbers", 3_000)];
        assert_eq!(report, counts.map(|(name, rows)| (name.to_owned(), rows)));
        db.close().unwrap();

        let db = Db::open(&path).unwrap();
        assert_eq!(db.default_keyspace().get("goose:grey").unwrap().as_deref(), Some(&b"Anser anser"[..]));
        for tree in [birds, numbers, empty] {
            let name = String::from_utf8(tree.name().to_vec()).unwrap();
            let keyspace = db.existing_keyspace(&name).unwrap().expect("every tree has a keyspace");
            let copies: Vec<Row> = keyspace.iter().collect::<Result<_, _>>().unwrap();
            assert_eq!(copies, rows(&tree).collect::<Result<Vec<_>, _>>().unwrap(), "{name}");
        }
    }

    #[test]
    fn a_name_that_is_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let source = sled::open(folder.path()).unwrap();
        source.open_tree(b"\xff").unwrap();
        let error = migrate(&source, &Db::in_memory().unwrap()).unwrap_err().to_string();
        assert!(error.contains("\\xff"), "{error}");
    }

    #[test]
    fn a_database_with_keyspaces_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let source = sled::open(folder.path()).unwrap();
        let db = Db::in_memory().unwrap();
        db.keyspace("birds").unwrap();
        assert!(migrate(&source, &db).unwrap_err().to_string().contains("new folder"));
    }
}
