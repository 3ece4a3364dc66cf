//! Checkpoints of several parts: written and loaded by several threads, with writers running, and
//! with a damaged or missing part. A part has at least 10,000 rows, so these stores are larger than
//! those of the other tests.

use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{StoreTestRng, index, options};
use skein_log::storage::OsStorage;
use skein_store::{
    CloseCheckpoint, Durability, Error, RowWriter as _, ScanDirection, Store, StoreOptions, inspect,
};
use std::time::Duration;

const ROWS: u32 = 60_000;

fn open(path: &Path, threads: usize) -> Result<Store, Error> {
    let options = StoreOptions {
        checkpoint_threads: threads,
        recovery_threads: threads,
        segment_bytes: 4 << 20,
        ..options(Durability::Buffered)
    };
    Store::open(path, options)
}

/// Returns keys of several lengths, in no order. Some share a prefix, as long as the index allows.
fn key(i: u32) -> Vec<u8> {
    let mixed = i.wrapping_mul(0x9e37_79b1).to_be_bytes();
    if i.is_multiple_of(5) {
        let prefix = b"a prefix that many keys share/";
        [&prefix[..prefix.len().min(index().key_bytes_max() - mixed.len())], &mixed[..]].concat()
    } else {
        mixed.to_vec()
    }
}

fn fill(store: &Store) {
    let mut session = store.session();
    for chunk in (0..ROWS).collect::<Vec<_>>().chunks(1000) {
        let write = session.write(|w| {
            for i in chunk {
                if i.is_multiple_of(7) {
                    w.put_columns(&key(*i), &[(b"n", &i.to_be_bytes()), (b"x", b"")])?;
                } else {
                    w.put(&key(*i), &i.to_be_bytes())?;
                }
            }
            Ok::<_, Error>(())
        });
        write.unwrap().0.unwrap();
    }
}

/// All keys with versions and contents.
type RowsByKey = BTreeMap<Vec<u8>, (u64, Vec<u8>)>;

fn state(store: &Store) -> RowsByKey {
    let mut state = RowsByKey::new();
    store.session().scan((Unbounded, Unbounded), ScanDirection::Forward, |key, row| {
        let columns = row.columns().flat_map(|(name, value)| [name, value].concat());
        let contents = row.value().map_or_else(|| columns.collect(), <[u8]>::to_vec);
        assert!(state.insert(key.to_vec(), (row.version(), contents)).is_none(), "{key:?} is shown twice");
        std::ops::ControlFlow::Continue(())
    });
    state
}

/// Returns the part files of the only checkpoint, in order.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let found = inspect(folder, &OsStorage).unwrap();
    assert_eq!(found.checkpoints.len(), 1);
    let entries = std::fs::read_dir(&found.checkpoints[0].folder).unwrap().map(|entry| entry.unwrap().path());
    let mut parts: Vec<PathBuf> =
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("part-")).collect();
    parts.sort();
    parts
}

#[test]
fn parts_are_written_and_loaded_by_any_number_of_threads() {
    let mut counts = Vec::new();
    for writing in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), writing).unwrap();
        fill(&store);
        let report = store.checkpoint().unwrap();
        assert_eq!(report.rows, u64::from(ROWS));
        let expected = state(&store);
        drop(store);
        counts.push(parts(folder.path()).len());
        for loading in [1, 2, 5] {
            let store = open(folder.path(), loading).unwrap();
            assert_eq!(store.recovery().checkpoint_rows, u64::from(ROWS));
            assert!(state(&store) == expected, "written by {writing}, loaded by {loading} threads");
        }
    }
    assert!(counts.iter().all(|count| *count >= 4), "so few parts test nothing: {counts:?}");
}

/// Rows are inserted, changed and removed in all ranges while the parts are written. The log since
/// then completes the checkpoint.
#[test]
fn writers_run_while_parts_are_written() {
    for threads in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), threads).unwrap();
        fill(&store);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..2u32 {
                let (mut session, stop) = (store.session(), &stop);
                scope.spawn(move || {
                    let mut random = StoreTestRng(u64::from(writer) + 99);
                    while !stop.load(Ordering::Relaxed) {
                        let write = session.write(|w| {
                            for _ in 0..50 {
                                // Also beyond the existing keys, so that rows are inserted. Each
                                // writer has its own keys.
                                let i = random.below(u64::from(ROWS) * 3 / 4) as u32 * 2 + writer;
                                match random.below(4) {
                                    0 => drop(w.remove(&key(i))?),
                                    _ => drop(w.put(&key(i), &random.next().to_be_bytes())?),
                                }
                            }
                            Ok::<_, Error>(())
                        });
                        write.unwrap().0.unwrap();
                    }
                });
            }
            for _ in 0..3 {
                store.checkpoint().unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        let expected = state(&store);
        drop(store);
        assert!(parts(folder.path()).len() >= 4);
        for loading in [1, 4] {
            let store = open(folder.path(), loading).unwrap();
            assert!(store.recovery().log_records > 0, "nothing was written meanwhile");
            assert!(state(&store) == expected, "written by {threads}, loaded by {loading} threads");
        }
    }
}

#[test]
fn a_damaged_or_missing_part_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), 2).unwrap();
    fill(&store);
    store.checkpoint().unwrap();
    drop(store);
    let parts = parts(folder.path());
    let refused = |part: &Path, threads: usize| {
        let error = open(folder.path(), threads).unwrap_err();
        let Error::Damaged { path, offset, .. } = &error else { panic!("{threads} threads: {error}") };
        assert_eq!(path, part, "{threads} threads");
        let found = inspect(folder.path(), &OsStorage).unwrap().damage;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), error.to_string());
        *offset
    };
    for part in &parts[1..] {
        let bytes = std::fs::read(part).unwrap();
        for threads in [1, 4] {
            let at = bytes.len() * 2 / 3;
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            std::fs::write(part, &bad).unwrap();
            assert!(refused(part, threads) <= at as u64);
            std::fs::write(part, &bytes[..at]).unwrap();
            refused(part, threads);
            std::fs::remove_file(part).unwrap();
            refused(part, threads);
            // Replaces the part by the rows of another range.
            std::fs::copy(&parts[0], part).unwrap();
            refused(part, threads);
            std::fs::write(part, &bytes).unwrap();
        }
    }
    assert_eq!(open(folder.path(), 4).unwrap().len(), ROWS as usize);
}

/// Incident: after a clean stop, two million log records were replayed for a third as many keys.
/// Fix: closing writes a checkpoint if the logs are long.
#[test]
fn closing_writes_a_checkpoint_if_there_is_much_to_replay() {
    let within = Duration::from_secs(60 * 60);
    let once = |close_checkpoint: Option<CloseCheckpoint>, time: Duration| {
        let folder = tempfile::tempdir().unwrap();
        let options = || StoreOptions { close_checkpoint, ..options(Durability::Buffered) };
        let store = Store::open(folder.path(), options()).unwrap();
        for turn in 0..3_u8 {
            for key in 0..2_000_u32 {
                store.put(&key.to_be_bytes(), &[turn; 20]).unwrap();
            }
        }
        let report = store.close_within(time).unwrap();
        drop(store);
        let unfinished = std::fs::read_dir(folder.path()).unwrap().filter(|entry| {
            let path = entry.as_ref().unwrap().path();
            path.is_dir() && !path.ends_with("log") && !path.join("manifest").exists()
        });
        assert_eq!(unfinished.count(), 0);
        let store = Store::open(folder.path(), options()).unwrap();
        assert_eq!(store.len(), 2_000);
        assert_eq!(store.get(&7_u32.to_be_bytes()).unwrap().as_deref(), Some(&[2; 20][..]));
        (report.checkpoint.map(|written| written.rows), store.recovery().log_records)
    };
    let much = |log_bytes| Some(CloseCheckpoint { log_bytes, within });
    assert_eq!(once(much(100_000), Duration::MAX), (Some(2_000), 0));
    assert_eq!(once(much(10_000_000), Duration::MAX), (None, 6_000), "not that much");
    assert_eq!(once(None, Duration::MAX), (None, 6_000));
    assert_eq!(once(much(100_000), Duration::ZERO), (None, 6_000), "no time for it");
    let no_time = Some(CloseCheckpoint { log_bytes: 0, within: Duration::ZERO });
    assert_eq!(once(no_time, Duration::MAX), (None, 6_000));
}
