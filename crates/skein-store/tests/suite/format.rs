//! Data folders of earlier versions stay readable, and unknown versions are rejected and left
//! unchanged. The folders are kept in `tests/data`: `format` has `identity` version 2, `format-3`
//! to `format-7` have versions 3 to 7; all other files have version 1.
//!
//! The folders were written by [`write`], from the second on also by [`write_kinds`], the third
//! also by [`write_sets`], and so on, with
//! `SKEIN_WRITE_FORMAT=DIR cargo test -p skein-store --test suite format`. If a format gets a new
//! version, write another folder and keep these.

use std::ops::Bound::Unbounded;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::common::{copy, files, open, options, skipped};
use skein_log::storage::OsStorage;
use skein_store::{
    Batch, ChunkElements, CollectionKind, Durability, Error, KeyEntry, ListEnd, RowWriter as _,
    ScanDirection, Store, inspect,
};

/// Writes a store with every kind of row and record: some in a checkpoint, some in two logs after
/// it.
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

/// Times of expiry are this, in the year 5138, plus a number, in milliseconds.
const FAR: u64 = 99_999_999_999_000;

/// Writes the kinds that were added later: times of expiry, sorted sets and spread columns. Each is
/// in the checkpoint, in the logs, and in both with a change.
fn write_kinds(folder: &Path) {
    let store = open(folder, Durability::Sync);
    let mut session = store.session();
    session.spread_columns(true);
    for (n, part) in [(0_u32, "checkpoint"), (1, "log")] {
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
        if part == "checkpoint" {
            store.checkpoint().unwrap();
        }
    }
    drop(session);
    store.close().unwrap();
}

/// Writes the kind that was added after those: sets.
fn write_sets(folder: &Path) {
    let store = open(folder, Durability::Sync);
    let mut session = store.session();
    for part in ["checkpoint", "log"] {
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
        if part == "checkpoint" {
            store.checkpoint().unwrap();
        }
    }
    drop(session);
    store.close().unwrap();
}

/// Writes the kind that was added after those: lists.
fn write_lists(folder: &Path) {
    let store = open(folder, Durability::Sync);
    let mut session = store.session();
    for part in ["checkpoint", "log"] {
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
        if part == "checkpoint" {
            store.checkpoint().unwrap();
        }
    }
    drop(session);
    store.close().unwrap();
}

/// Writes the kind that was added after those: streams, whose members are records of the data
/// model.
fn write_streams(folder: &Path) {
    let store = open(folder, Durability::Sync);
    let mut session = store.session();
    for part in ["checkpoint", "log"] {
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
        if part == "checkpoint" {
            store.checkpoint().unwrap();
        }
    }
    drop(session);
    store.close().unwrap();
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
                set.read().values_after(None, |_, value| {
                    found.push((value.to_vec(), 0));
                    ControlFlow::Continue(())
                });
            }
            // Earlier versions have other members for the same elements.
            if let Some(list) = of_kind(CollectionKind::List) {
                found.clear();
                list.read().values_after(None, |name, value| {
                    found.extend(ChunkElements::of(name, value).map(|element| (element.to_vec(), 0)));
                    ControlFlow::Continue(())
                });
            }
            found
        })
    };
    let entries = store.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX);
    entries.into_iter().map(|entry| (entry.clone(), members(&entry))).collect()
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Opens a copy of a kept folder. It must have the result of the same writes today, including
/// versions, and it must accept new writes.
fn check_kept(name: &str, checkpoint_rows: u64, writes: &[fn(&Path)]) {
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(name), folder.path());
    let found = inspect(folder.path(), &OsStorage).unwrap();
    assert!(found.damage.is_empty(), "{:?}", found.damage);
    let store = open(folder.path(), Durability::Sync);
    assert_eq!(store.recovery().checkpoint_rows, checkpoint_rows);
    assert_eq!(store.recovery().log_records, found.log_records);
    let now = tempfile::tempdir().unwrap();
    for write in writes {
        write(now.path());
    }
    let expected = entries(&open(now.path(), Durability::Sync));
    assert_eq!(entries(&store), expected);
    store.put(b"more", b"1").unwrap();
    store.checkpoint().unwrap();
    drop(store);
    assert_eq!(open(folder.path(), Durability::Sync).len(), expected.len() + 1);
    let identity = std::fs::read(folder.path().join("identity")).unwrap();
    assert_eq!(identity[8..12], IDENTITY.to_le_bytes(), "older programs must not open it");
}

#[test]
fn folders_of_earlier_versions_are_read() {
    if skipped("the kept folders have longer keys") {
        return;
    }
    if let Some(folder) = std::env::var_os("SKEIN_WRITE_FORMAT") {
        write(folder.as_ref());
        write_kinds(folder.as_ref());
        write_sets(folder.as_ref());
        write_lists(folder.as_ref());
        write_streams(folder.as_ref());
    }
    check_kept("format", 6, &[write]);
    check_kept("format-3", 90, &[write, write_kinds]);
    check_kept("format-4", 174, &[write, write_kinds, write_sets]);
    check_kept("format-5", 188, &[write, write_kinds, write_sets, write_lists]);
    check_kept("format-6", 203, &[write, write_kinds, write_sets, write_lists, write_streams]);
    check_kept("format-7", 190, &[write, write_kinds, write_sets, write_lists, write_streams]);
}

/// A list of an earlier version has one element in each member. The first write packs it.
#[test]
fn lists_of_earlier_versions_are_packed_by_the_first_write() {
    if skipped("the kept folders have longer keys") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&kept("format-6"), folder.path());
    for added in [&b"more"[..], b"yet more"] {
        let store = open(folder.path(), Durability::Sync);
        let mut session = store.session();
        let (written, _) = session
            .write(|w| {
                w.change_list::<_, Error>(b"list", true, |list| {
                    list.push(ListEnd::Back, std::iter::once(added))?;
                    (0..list.len()?).map(|at| Ok(list.get(at)?.unwrap_or(b"lost").to_vec())).collect()
                })
            })
            .unwrap();
        let elements: Vec<Vec<u8>> = written.unwrap().unwrap();
        let found = elements.iter().map(|element| element.escape_ascii().to_string());
        let found = found.collect::<Vec<_>>().join(",");
        let expected = "first,between,first,between,checkpoint,,log,,more";
        assert!(found.starts_with(expected), "{found}");
        assert!(found.ends_with(&added.escape_ascii().to_string()), "{found}");
        drop(session);
        store.close().unwrap();
    }
}

/// The version of `identity` that is written.
const IDENTITY: u32 = 7;

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
    if skipped("the kept folders have longer keys") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&kept("format-7"), folder.path());
    let mut kinds = 0;
    for (path, bytes) in files(folder.path()).into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let known = version_of(&path);
        assert_eq!(bytes[8..12], known.to_le_bytes(), "{path:?}");
        kinds += 1;
        let oldest = if known == IDENTITY { 2 } else { known };
        for other in [oldest - 1, known + 1, u32::MAX] {
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
