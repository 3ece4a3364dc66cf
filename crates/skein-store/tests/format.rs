//! What is on disk stays readable: a data folder that a program of format `identity` 2, all else 1, wrote, and kept in
//! `tests/data/format`; and what is of another version is refused, older or newer, and not touched.
//!
//! The folder was written by [`write`], run once by `SKEIN_WRITE_FORMAT=DIR cargo test -p skein-store --test format`. When
//! a format gets a new version, write another folder and keep this one.

mod common;

use std::ops::Bound::Unbounded;
use std::path::Path;

use common::{copy, files, open, options};
use skein_log::storage::OsStorage;
use skein_store::{Batch, Direction, Durability, Entry, Error, RowWriter as _, Store, inspect};

/// A store with every kind of row and of record: some in a checkpoint, some in two logs after it.
fn write(folder: &Path) {
    let store = open(folder, Durability::Sync);
    let mut sessions = [store.session(), store.session()];
    for part in ["checkpoint", "log"] {
        for (i, session) in sessions.iter_mut().enumerate() {
            let key = |name: &str| format!("{name} {i}").into_bytes();
            let written = session.write(|w| {
                w.put(&key(&format!("value in the {part}")), part.as_bytes())?;
                w.put_columns(&key("columns"), &[(part.as_bytes(), b"yes"), (b"", b"the empty name")])?;
                // Large enough for blocks: in the log it is a merge.
                for n in 0..if part == "log" { 3 } else { 40 } {
                    w.put_columns(&key("large"), &[(format!("{n:02}").as_bytes(), &[n; 60])])?;
                }
                w.remove_columns(&key("large"), &[b"07"])?;
                w.put(&key("gone"), part.as_bytes())?;
                w.remove(&key("gone"))
            });
            written.unwrap().0.unwrap();
        }
        if part == "checkpoint" {
            store.checkpoint().unwrap();
        }
    }
    let mut batch = Batch::new();
    batch.put([0, 255, 0], [1, 0, 2]).put("", "the empty key").remove("value in the log 1");
    store.apply(&batch).unwrap();
    drop(sessions);
    store.close().unwrap();
}

fn entries(store: &Store) -> Vec<Entry> {
    store.range((Unbounded, Unbounded), Direction::Forward, usize::MAX)
}

#[test]
fn a_folder_of_this_format_is_read_as_it_was_written() {
    if let Some(folder) = std::env::var_os("SKEIN_WRITE_FORMAT") {
        write(folder.as_ref());
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format");
    let folder = tempfile::tempdir().unwrap();
    copy(&kept, folder.path());
    let found = inspect(folder.path(), &OsStorage).unwrap();
    assert!(found.damage.is_empty(), "{:?}", found.damage);
    let store = open(folder.path(), Durability::Sync);
    assert_eq!(store.recovery().checkpoint_rows, 6);
    assert_eq!(store.recovery().log_records, found.log_records);
    // What the same writes leave today, versions included.
    let now = tempfile::tempdir().unwrap();
    write(now.path());
    let expected = entries(&open(now.path(), Durability::Sync));
    assert_eq!(expected.len(), 9);
    assert_eq!(entries(&store), expected);
    // It goes on from there.
    store.put(b"more", b"1").unwrap();
    store.checkpoint().unwrap();
    drop(store);
    assert_eq!(open(folder.path(), Durability::Sync).len(), 10);
}

/// The version of a kind of file, as `docs/format.md` has it.
fn version_of(path: &Path) -> u32 {
    if path.ends_with("identity") { 2 } else { 1 }
}

#[test]
fn other_versions_are_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format"), folder.path());
    let mut kinds = 0;
    for (path, bytes) in files(folder.path()).into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let known = version_of(&path);
        assert_eq!(bytes[8..12], known.to_le_bytes(), "{path:?}");
        kinds += 1;
        for other in [known - 1, known + 1, u32::MAX] {
            let mut foreign = bytes.clone();
            foreign[8..12].copy_from_slice(&other.to_le_bytes());
            std::fs::write(&path, &foreign).unwrap();
            let before = files(folder.path());
            let error = Store::open(folder.path(), options(Durability::Buffered)).unwrap_err();
            let Error::UnknownFormat { path: named, found, known: at_most } = &error else {
                panic!("{path:?}: {error}")
            };
            assert_eq!((named, *found, *at_most), (&path, other, known));
            let said = match inspect(folder.path(), &OsStorage) {
                Ok(found) => found.damage[0].to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(said, error.to_string());
            // A part is read after the logs were looked through; what is of the other version stays in any case.
            let after = files(folder.path());
            assert_eq!(after[&path], foreign);
            assert!(
                path.to_string_lossy().contains("part-") || after == before,
                "{path:?}: something was changed"
            );
        }
        std::fs::write(&path, &bytes).unwrap();
    }
    assert!(kinds >= 6, "an identity, a manifest, a part, a roster, two segments; {kinds} files");
    open(folder.path(), Durability::Buffered);
}
