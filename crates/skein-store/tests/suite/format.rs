//! A kept data folder stays readable, and other versions are rejected and left unchanged.
//!
//! The folder `tests/data/format` was written by [`write_all`], with
//! `SKEIN_WRITE_FORMAT=DIR cargo test -p skein-store --test suite format`. Until the first release,
//! a change of the format gets the next version, and the folder is written again. `docs/format.md`
//! has the rules from then on.

use std::ops::Bound::Unbounded;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::common::{copy, files, open, options, skipped};
use skein_log::storage::OsStorage;
use skein_store::{
    Batch, ChunkElements, CollectionKind, CollectionReads as _, Durability, Error, KeyEntry, ListEnd,
    RowWriter as _, ScanDirection, Session, Store, inspect,
};

/// Times of expiry are this, in the year 5138, plus a number, in milliseconds.
const FAR: u64 = 99_999_999_999_000;

/// Writes a store with every kind of row and record: some in a checkpoint, some in two logs after
/// it, and some in both with a change.
fn write_all(folder: &Path) {
    let store = open(folder, Durability::Sync);
    let mut sessions = [store.session(), store.session()];
    sessions[1].spread_columns(true);
    for (n, part) in ["checkpoint", "log"].into_iter().enumerate() {
        for (i, session) in sessions.iter_mut().enumerate() {
            write_values(session, i, part);
        }
        let [first, second] = &mut sessions;
        write_expiring(second, n as u32, part);
        write_sets(first, part);
        write_lists(second, part);
        write_streams(first, part);
        first.pack_members(true);
        write_packed(first, part);
        first.pack_members(false);
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

/// Writes values and columns, and removes some.
fn write_values(session: &mut Session, i: usize, part: &str) {
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

/// Writes times of expiry, sorted sets and spread columns. REQUIRES: the session spreads columns.
fn write_expiring(session: &mut Session, n: u32, part: &str) {
    let of_part = |name: &str| format!("{name} of the {part}").into_bytes();
    let written = session.write(|w| {
        for set in [&b"set"[..], &of_part("set")] {
            w.change_set::<_, Error>(set, true, |set| {
                set.put(part.as_bytes(), f64::from(n) - 0.5)?;
                set.put(b"", f64::from(n))?;
                set.put(b"gone", 1.0)?;
                set.remove(b"gone")
            })?;
        }
        for n in 0..70_u64 {
            w.put_columns(&of_part("hash"), &[(&n.to_be_bytes(), part.as_bytes())])?;
        }
        w.put_columns(&of_part("hash"), &[(b"gone", b"1")])?;
        w.remove_columns(&of_part("hash"), &[b"gone"])?;
        w.put_columns(b"hash of the checkpoint", &[(part.as_bytes(), b"yes")])?;
        w.put_until(&of_part("value"), part.as_bytes(), FAR + u64::from(n))?;
        w.put_columns(&of_part("timed"), &[(b"a", b"1")])?;
        for key in ["set of the", "timed of the", "hash of the"] {
            w.expire(format!("{key} {part}").as_bytes(), Some(FAR + u64::from(n)))?;
        }
        // Large enough for blocks: in the log the time has its own record.
        w.put_columns(b"large", &[(b"a", &[1; 1000]), (b"b", &[2; 1000]), (part.as_bytes(), b"1")])?;
        w.expire(b"large", Some(FAR + u64::from(n)))?;
        w.expire(&of_part("value"), None)
    });
    written.unwrap().0.unwrap();
}

fn write_sets(session: &mut Session, part: &str) {
    let of_part = format!("plain set of the {part}").into_bytes();
    let written = session.write(|w| {
        for set in [&b"plain set"[..], &of_part] {
            w.change_set_of::<_, Error>(CollectionKind::Set, set, true, |set| {
                set.add(part.as_bytes())?;
                set.add(b"")?;
                set.add(b"gone")?;
                set.remove(b"gone")
            })?;
        }
        w.expire(&of_part, Some(FAR))
    });
    written.unwrap().0.unwrap();
}

fn write_lists(session: &mut Session, part: &str) {
    let of_part = format!("list of the {part}").into_bytes();
    let written = session.write(|w| {
        for list in [&b"list"[..], &of_part] {
            w.change_list::<_, Error>(list, true, |list| {
                list.push(ListEnd::Back, [part.as_bytes(), b"", b"gone"].into_iter())?;
                list.push(ListEnd::Front, std::iter::once(&b"first"[..]))?;
                list.insert(1, b"between")?;
                list.pop(ListEnd::Back, 1, |_| {})
            })?;
        }
        w.expire(&of_part, Some(FAR))
    });
    written.unwrap().0.unwrap();
}

/// Writes small collections, which are in the row of their key.
fn write_packed(session: &mut Session, part: &str) {
    let of_part = |name: &str| format!("small {name} of the {part}").into_bytes();
    let written = session.write(|w| {
        for set in [b"small set".to_vec(), of_part("set")] {
            w.change_set_of::<_, Error>(CollectionKind::Set, &set, true, |set| {
                set.add(part.as_bytes()).and_then(|_| set.add(b"").map(drop))
            })?;
        }
        for set in [b"small sorted set".to_vec(), of_part("sorted set")] {
            w.change_set::<_, Error>(&set, true, |set| {
                set.put(part.as_bytes(), 0.5)?;
                set.put(b"whole", 70_000.0)?;
                set.put(b"less", -3.0).map(drop)
            })?;
        }
        for list in [b"small list".to_vec(), of_part("list")] {
            w.change_list::<_, Error>(&list, true, |list| {
                list.push(ListEnd::Front, [part.as_bytes(), b""].into_iter())
            })?;
        }
        w.expire(&of_part("list"), Some(FAR))
    });
    written.unwrap().0.unwrap();
}

/// Writes streams. Their members are records of the data model.
fn write_streams(session: &mut Session, part: &str) {
    let of_part = format!("stream of the {part}").into_bytes();
    let written = session.write(|w| {
        for stream in [&b"stream"[..], &of_part] {
            w.change_members_of::<_, Error>(CollectionKind::Stream, stream, true, |members| {
                members.put_value(&[0, 1], part.as_bytes())?;
                members.put_value(&[0, 2], b"gone")?;
                members.put_value(&[1], b"")?;
                members.remove_value(&[0, 2])
            })?;
        }
        w.expire(&of_part, Some(FAR))
    });
    written.unwrap().0.unwrap();
}

/// The entry of a key, and the members in order if it has ranks.
type FormatEntry = (KeyEntry, Vec<(Vec<u8>, u64)>);

fn entries(store: &Store) -> Vec<FormatEntry> {
    let members = |entry: &KeyEntry| {
        store.session().get_with(&entry.key, |row| {
            let mut found = Vec::new();
            let of_kind = |kind| row.and_then(|row| row.set_of(kind));
            if let Some(set) = CollectionKind::ALL.into_iter().find_map(of_kind) {
                set.read().walk(0, ScanDirection::Forward, |score, member| {
                    found.push((member.to_vec(), score.to_bits()));
                    ControlFlow::Continue(())
                });
                let values = &mut |_: &[u8], value: &[u8]| {
                    found.push((value.to_vec(), 0));
                    ControlFlow::Continue(())
                };
                set.read().members().walk_names(None, values).unwrap();
            }
            // A later program may cut a list into other chunks.
            if let Some(list) = of_kind(CollectionKind::List) {
                found.clear();
                let elements = &mut |name: &[u8], value: &[u8]| {
                    found.extend(ChunkElements::of(name, value).map(|element| (element.to_vec(), 0)));
                    ControlFlow::Continue(())
                };
                list.read().members().walk_names(None, elements).unwrap();
            }
            found
        })
    };
    let entries = store.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX);
    entries.into_iter().map(|entry| (entry.clone(), members(&entry))).collect()
}

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format")
}

/// The kept folder has the result of the same writes today, including versions, and it accepts new
/// writes.
#[test]
fn the_kept_folder_is_read() {
    if skipped("the kept folder has longer keys") {
        return;
    }
    if let Some(folder) = std::env::var_os("SKEIN_WRITE_FORMAT") {
        return write_all(folder.as_ref());
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(), folder.path());
    let found = inspect(folder.path(), &OsStorage).unwrap();
    assert!(found.damage.is_empty(), "{:?}", found.damage);
    let store = open(folder.path(), Durability::Sync);
    assert_eq!(store.recovery().checkpoint_rows, CHECKPOINT_ROWS);
    assert_eq!(store.recovery().log_records, found.log_records);
    let now = tempfile::tempdir().unwrap();
    write_all(now.path());
    let expected = entries(&open(now.path(), Durability::Sync));
    assert_eq!(entries(&store), expected);
    store.put(b"more", b"1").unwrap();
    store.checkpoint().unwrap();
    drop(store);
    assert_eq!(open(folder.path(), Durability::Sync).len(), expected.len() + 1);
}

/// The rows in the checkpoint of the kept folder.
const CHECKPOINT_ROWS: u64 = 109;
/// The version of `identity`.
const IDENTITY: u32 = 10;

/// Returns the version of a kind of file, as in `docs/format.md`.
fn version_of(path: &Path) -> u32 {
    if path.ends_with("identity") { IDENTITY } else { 1 }
}

/// Changes the version of a file, and the checksum if that covers the version.
fn set_version(bytes: &mut [u8], version: u32, path: &Path) {
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    let name = path.file_name().unwrap().to_string_lossy();
    let covered = match name.split('-').next() {
        Some("part") => 40,
        Some("log") => 60,
        _ => return,
    };
    let checksum = crc32c::crc32c(&bytes[..covered]);
    bytes[covered..covered + 4].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn other_versions_are_refused_and_not_touched() {
    if skipped("the kept folder has longer keys") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(), folder.path());
    let mut kinds = 0;
    for (path, bytes) in files(folder.path()).into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let known = version_of(&path);
        assert_eq!(bytes[8..12], known.to_le_bytes(), "{path:?}");
        kinds += 1;
        for other in [0, known - 1, known + 1, u32::MAX] {
            let mut foreign = bytes.clone();
            set_version(&mut foreign, other, &path);
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
            // A part is read after the logs were checked; the file of the other version stays in
            // any case.
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
