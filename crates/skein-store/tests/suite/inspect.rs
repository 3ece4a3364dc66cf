//! Opening and inspection find and name damage, and inspection changes nothing.

use std::path::Path;

use crate::common::{files, open, options};
use skein_log::storage::OsStorage;
use skein_store::{Durability, Error, RowWriter as _, Store, inspect};

/// Returns a folder with a checkpoint of 1,000 rows and 1,002 records after it.
fn a_store() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    // One session, so that no log is covered completely by the checkpoint: such a log is no longer
    // read.
    let mut session = store.session();
    for round in 0..2u8 {
        for i in 0..500u32 {
            session.write(|w| w.put(&i.to_be_bytes(), &[round; 50])).unwrap().0.unwrap();
            session
                .write(|w| w.put_columns(&(500 + i).to_be_bytes(), &[(b"a", &[round; 50])]))
                .unwrap()
                .0
                .unwrap();
        }
        if round == 0 {
            store.checkpoint().unwrap();
        }
    }
    drop(session);
    store.put(b"k", b"v").unwrap();
    store.remove(b"k").unwrap();
    folder
}

#[test]
fn inspection_counts_and_changes_nothing() {
    let folder = a_store();
    let before = files(folder.path());
    let found = inspect(folder.path(), &OsStorage).unwrap();
    assert!(found.damage.is_empty(), "{:?}", found.damage);
    assert_eq!(found.checkpoints.len(), 1);
    assert_eq!((found.checkpoints[0].rows, found.log_records), (1000, 1002));
    assert!(found.checkpoints[0].end_epoch.is_some());
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_folder_without_a_store_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = inspect(folder.path(), &OsStorage).unwrap_err();
    assert!(error.to_string().contains("no identity"), "{error}");
    assert!(inspect(folder.path().join("absent"), &OsStorage).is_err());
}

/// A byte changed anywhere in a checkpoint, the identity or the durable part of a log is reported
/// with its file, and never rewritten.
#[test]
fn damage_is_found_and_named() {
    let folder = a_store();
    for path in files(folder.path()).into_keys() {
        // Before opening finds a damaged part, it removes segments that the checkpoint covers, and
        // records this.
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // The last bytes of a log may be a torn tail, which is not damage; the reserved bytes after
        // it are not read.
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let end = if name.starts_with("log-") { used / 2 } else { used };
        // Segments that the checkpoint covers are no longer read; those of the second round are.
        let needed = bytes.windows(50).any(|window| window == [1; 50]);
        if end < 5 || (name.starts_with("log-") && !needed) {
            continue;
        }
        for at in [0, end / 2, end - 1] {
            let mut bad = bytes.clone();
            bad[at] ^= 0x55;
            std::fs::write(&path, &bad).unwrap();
            let error = Store::open(folder.path(), options(Durability::Buffered))
                .expect_err(&format!("{name}, byte {at} of {used}"));
            match &error {
                Error::Damaged { path: named, .. } | Error::UnknownFormat { path: named, .. } => {
                    assert_eq!(named, &path, "byte {at}: {error}");
                }
                other => panic!("{name}, byte {at}: {other}"),
            }
            assert!(std::fs::read(&path).unwrap() == bad, "{name} was rewritten");
            match inspect(folder.path(), &OsStorage) {
                Ok(found) => assert!(!found.damage.is_empty(), "{name}, byte {at}"),
                Err(error) => {
                    assert!(matches!(error, Error::Damaged { .. } | Error::UnknownFormat { .. }));
                }
            }
            std::fs::write(&path, &bytes).unwrap();
        }
    }
    assert_eq!(open(folder.path(), Durability::Buffered).len(), 1000);
}

#[test]
fn a_missing_part_is_damage() {
    let folder = a_store();
    let part = files(folder.path()).into_keys().find(|path| path.ends_with("part-0000")).unwrap();
    std::fs::remove_file(&part).unwrap();
    let error = Store::open(folder.path(), options(Durability::Buffered)).unwrap_err();
    assert!(matches!(&error, Error::Damaged { path, .. } if path == &part), "{error}");
}

/// Appends a whole record with its checksum to the log of a closed store, as a program with a bug
/// would.
fn append(folder: &Path, payload: &[u8]) {
    let mut options = skein_log::LogOptions::new(vec![folder.join("log")]);
    options.logs = 1;
    let (log, _) = skein_log::Log::open(std::sync::Arc::new(OsStorage), options, None).unwrap();
    let operation = log.enter(0).unwrap();
    operation.append(operation.epoch(), |out| out.extend_from_slice(payload));
    drop(operation);
    log.close().unwrap();
}

/// Incident: a change of columns without its base was reported as the data folder at byte 0. Other
/// records that cannot be applied were reported as the last one of their batch. Consequence: the
/// place could not be examined. Fix: the record is searched for, and reported with file and offset.
#[test]
fn a_record_that_cannot_be_applied_is_named_by_file_and_offset() {
    let merge = |key: &[u8], version: u64| {
        let mut payload = vec![4, key.len() as u8, 0];
        payload.extend_from_slice(&version.to_le_bytes());
        payload.extend_from_slice(key);
        payload.extend_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, b'a', b'1']);
        payload
    };
    // Without a row, with an older row, and for a value.
    for (key, version, words) in
        [(&b"absent"[..], 5, "neither"), (b"k", 9, "neither"), (b"k", 2, "where there are none")]
    {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), Durability::Buffered);
        store.put(b"k", b"a value").unwrap();
        drop(store);
        let payload = merge(key, version);
        append(folder.path(), &payload);
        // Other records after it, in the same batch.
        let mut other = vec![1, 1, 0];
        other.extend_from_slice(&1u64.to_le_bytes());
        other.extend_from_slice(b"zvalue");
        append(folder.path(), &other);
        let error = Store::open(folder.path(), options(Durability::Buffered)).unwrap_err();
        let Error::Damaged { path, offset, what } = &error else { panic!("{error}") };
        assert!(what.contains(words), "{error}");
        let bytes = std::fs::read(path).unwrap();
        // The head of a record has 16 bytes.
        assert!(bytes[*offset as usize + 16..].starts_with(&payload), "{error}");
    }
}
