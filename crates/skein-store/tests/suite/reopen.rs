//! The contents of a store after it was closed, dropped, or copied while open.

use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;

use crate::common::{LEVELS, copy, index, open, options};
use proptest::prelude::*;
use skein_store::{Batch, Durability, Error, RowWriter as _, ScanDirection, Store, StoreOptions};

#[test]
fn a_clean_close_and_a_drop_lose_nothing_at_any_level() {
    for level in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), level);
        store.put(b"closed", b"1").unwrap();
        store.close().unwrap();
        drop(store);
        let store = open(folder.path(), level);
        store.put(b"dropped", b"2").unwrap();
        drop(store);
        let store = open(folder.path(), level);
        assert_eq!(store.len(), 2, "{level:?}");
        assert_eq!(store.recovery().keys, 2);
    }
}

#[test]
fn levels_may_change_from_run_to_run() {
    let folder = tempfile::tempdir().unwrap();
    for run in 0..12u8 {
        let store = open(folder.path(), LEVELS[usize::from(run) * 5 % 3]);
        assert_eq!(store.len(), usize::from(run));
        for earlier in 0..run {
            assert_eq!(store.get(&[earlier]).unwrap(), Some(vec![run - 1; 3]));
        }
        for key in 0..=run {
            assert_eq!(store.put(&[key], &[run; 3]).unwrap(), u64::from(run - key) + 1);
        }
        if run % 4 == 3 {
            store.checkpoint().unwrap();
        }
    }
}

#[test]
fn versions_rise_across_removal_restart_and_checkpoint() {
    for level in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let mut last = 0;
        for round in 0..6 {
            let store = open(folder.path(), level);
            let version = store.put(b"k", b"v").unwrap();
            assert!(version > last, "{level:?}, round {round}: {version} after {last}");
            store.put(b"k", b"w").unwrap();
            last = version + 2;
            assert!(store.remove(b"k").unwrap());
            if round % 2 == 0 {
                store.checkpoint().unwrap();
            }
            store.close().unwrap();
        }
    }
}

/// The folder as a kill leaves it at `sync`: a copy that is taken while the store is open.
#[test]
fn an_acknowledged_write_is_there_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let killed = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store"), Durability::Sync);
    for i in 0..50u8 {
        store.put(&[i], &[i]).unwrap();
    }
    store.remove(&[7]).unwrap();
    let mut batch = Batch::new();
    batch.put("x", "1").put_columns("y", &[(b"a", b"2")]);
    store.apply(&batch).unwrap();
    copy(&folder.path().join("store"), killed.path());
    let after = open(killed.path(), Durability::Sync);
    assert_eq!(
        after.range((Unbounded, Unbounded), ScanDirection::Forward, 1000),
        store.range((Unbounded, Unbounded), ScanDirection::Forward, 1000)
    );
    assert_eq!(after.len(), 51);
}

#[test]
fn flush_makes_buffered_writes_durable() {
    let folder = tempfile::tempdir().unwrap();
    let killed = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store"), Durability::Buffered);
    store.put(b"a", b"1").unwrap();
    store.flush().unwrap();
    copy(&folder.path().join("store"), killed.path());
    assert_eq!(open(killed.path(), Durability::Buffered).get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
}

/// For large rows only changes are logged. They are replayed in any order from several logs, and on
/// top of a checkpoint.
#[test]
fn changes_to_large_rows_are_replayed() {
    for checkpoint_after in [None, Some(0), Some(150), Some(299)] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), Durability::Buffered);
        let mut sessions = [store.session(), store.session()];
        let mut model = BTreeMap::new();
        for i in 0..300u32 {
            let name = format!("column {:03}", i * 7 % 200).into_bytes();
            let value = vec![i as u8; 100];
            let remove = i % 5 == 4 && model.contains_key(&name);
            let write = sessions[i as usize % 2].write(|w| {
                if remove {
                    w.remove_columns(b"row", &[&name]).map(|_| ())
                } else {
                    w.put_columns(b"row", &[(&name, &value)]).map(|_| ())
                }
            });
            write.unwrap().0.unwrap();
            if remove {
                model.remove(&name)
            } else {
                model.insert(name, value)
            };
            if checkpoint_after == Some(i) {
                store.checkpoint().unwrap();
            }
        }
        drop(sessions);
        drop(store);
        let store = open(folder.path(), Durability::Buffered);
        let entry = store.get_entry(b"row").unwrap();
        assert_eq!(entry.columns, model.into_iter().collect::<Vec<_>>());
        assert_eq!(entry.version, 300);
    }
}

#[test]
fn a_checkpoint_lets_segments_and_older_checkpoints_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let count = |start: &str| {
        std::fs::read_dir(folder.path())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(start))
            .count()
    };
    for round in 0..3 {
        let mut session = store.session();
        for i in 0..3000u32 {
            session.write(|w| w.put(&i.to_be_bytes(), &[round; 100])).unwrap().0.unwrap();
            if i % 300 == 299 {
                store.flush().unwrap();
            }
        }
        assert!(store.stats().log_segments > 3);
        let report = store.checkpoint().unwrap();
        assert_eq!(report.rows, 3000);
        assert!(report.segments_removed > 3, "{report:?}");
        assert_eq!(count("checkpoint-"), 1);
    }
    drop(store);
    let store = open(folder.path(), Durability::Buffered);
    assert_eq!((store.len(), store.recovery().checkpoint_rows), (3000, 3000));
    assert_eq!(store.get(&0u32.to_be_bytes()).unwrap(), Some(vec![2; 100]));
}

#[test]
fn checkpoints_start_by_log_size_and_by_time() {
    for by_size in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(Durability::Buffered);
        if by_size {
            options.checkpoint_log_bytes = Some(10_000);
        } else {
            options.checkpoint_interval = Some(std::time::Duration::from_millis(10));
        }
        let store = Store::open(folder.path(), options).unwrap();
        store.put(b"k", &vec![0; 20_000]).unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while store.stats().checkpoints == 0 && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(store.stats().checkpoints > 0);
        assert!(store.checkpoint_in_background() || store.stats().checkpoint_running);
    }
}

/// Incident: SAVE right after BGSAVE was answered while the checkpoint of BGSAVE was still to be
/// written, or had just begun. Consequence: a following BGREWRITEAOF was rejected as if one were in
/// progress, and two checkpoints were written instead of one. Fix: the next checkpoint satisfies
/// the request.
#[test]
fn a_checkpoint_replaces_a_requested_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    for number in 0..50_u8 {
        store.put(b"k", &[number]).unwrap();
        assert!(store.checkpoint_in_background(), "{number}");
        store.checkpoint().unwrap();
    }
}

/// Incident: a store with 7.8 MB of log was started with a limit of 1 MB, and no checkpoint was
/// written; `skein stats` showed 0 bytes. Consequence: a store that is restarted often replays an
/// ever longer log. Fix: the size includes the replayed bytes.
#[test]
fn the_logs_of_earlier_runs_count_towards_a_checkpoint_by_size() {
    let folder = tempfile::tempdir().unwrap();
    let mut written = 0;
    for run in 0..3u8 {
        let store = open(folder.path(), Durability::Buffered);
        let recovered = store.stats().log_bytes;
        assert_eq!(recovered, written, "run {run}");
        assert_eq!(recovered, store.recovery().log_bytes);
        store.put(&[run], &vec![0; 20_000]).unwrap();
        store.flush().unwrap();
        written = store.stats().log_bytes;
        assert!(written > recovered + 20_000 && written < recovered + 21_000, "{written} after {recovered}");
    }
    // Nothing is written in this run.
    let limited = StoreOptions { checkpoint_log_bytes: Some(50_000), ..options(Durability::Buffered) };
    let store = Store::open(folder.path(), limited).unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while store.stats().checkpoints == 0 && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!((store.stats().checkpoints, store.stats().log_bytes), (1, 0));
    drop(store);
    // Bytes that the checkpoint covers do not count again, though their segments may still exist.
    assert_eq!(open(folder.path(), Durability::Buffered).stats().log_bytes, 0);
}

#[test]
fn a_disk_engine_folder_is_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.skein"), b"pages").unwrap();
    std::fs::write(folder.path().join("lock"), b"").unwrap();
    let error = Store::open(folder.path(), StoreOptions::default()).unwrap_err();
    assert!(matches!(error, Error::OtherEngine { .. }), "{error}");
    assert!(error.to_string().contains("of the disk engine (it has a file `data.skein`)"), "{error}");
    assert!(!skein_store::is_data_folder(folder.path()));
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["data.skein", "lock"]);
}

#[test]
fn a_file_in_the_place_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"mine").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = Store::open(&path, options(Durability::Buffered)).unwrap_err();
        assert!(matches!(error, Error::NotAFolder { .. }), "{error}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}

/// A step of the property test.
#[derive(Debug, Clone)]
enum ReopenStep {
    Put(u8, u16),
    PutColumns(u8, u8, u16),
    RemoveColumn(u8, u8),
    Remove(u8),
    RemoveRange(u8, u8),
    Apply(Vec<(u8, Option<u16>)>),
    Checkpoint,
    Reopen(u8),
}

fn step() -> impl Strategy<Value = ReopenStep> {
    let key = || any::<u8>().prop_map(|key| key % 40);
    prop_oneof![
        8 => (key(), any::<u16>()).prop_map(|(key, value)| ReopenStep::Put(key, value)),
        8 => (key(), any::<u8>(), any::<u16>()).prop_map(|(key, column, value)| ReopenStep::PutColumns(key, column % 20, value)),
        3 => (key(), any::<u8>()).prop_map(|(key, column)| ReopenStep::RemoveColumn(key, column % 20)),
        4 => key().prop_map(ReopenStep::Remove),
        1 => (key(), key()).prop_map(|(from, to)| ReopenStep::RemoveRange(from, to)),
        2 => prop::collection::vec((key(), any::<Option<u16>>()), 0..10).prop_map(ReopenStep::Apply),
        1 => Just(ReopenStep::Checkpoint),
        1 => (0u8..3).prop_map(ReopenStep::Reopen),
    ]
}

/// The contents of a key in the model: a value or columns.
type KeyContents = (Option<Vec<u8>>, BTreeMap<Vec<u8>, Vec<u8>>);

/// Returns a key: some share a prefix, as long as the index allows, and some are short.
fn key_of(key: u8) -> Vec<u8> {
    let prefix = 30.min(index().key_bytes_max() - 1);
    if key.is_multiple_of(2) { vec![key] } else { [&[20; 30][..prefix], &[key]].concat() }
}

/// Returns a value: mostly short, and some long enough for a row with blocks.
fn value_of(value: u16) -> Vec<u8> {
    vec![value as u8; if value.is_multiple_of(4) { 400 } else { usize::from(value % 9) }]
}

fn run(store: &Store, model: &mut BTreeMap<Vec<u8>, KeyContents>, step: &ReopenStep) {
    match step {
        ReopenStep::Put(key, value) => {
            store.put(&key_of(*key), &value_of(*value)).unwrap();
            model.insert(key_of(*key), (Some(value_of(*value)), BTreeMap::new()));
        }
        ReopenStep::PutColumns(key, column, value) => {
            let put = store.put_columns(&key_of(*key), &[(&[*column], &value_of(*value))]);
            let entry = model.entry(key_of(*key)).or_default();
            match put {
                Ok(_) => drop(entry.1.insert(vec![*column], value_of(*value))),
                Err(error) => assert!(matches!(error, Error::WrongKind { .. }) && entry.0.is_some()),
            }
        }
        ReopenStep::RemoveColumn(key, column) => {
            let removed = store.remove_columns(&key_of(*key), &[&[*column]]);
            let Some(entry) = model.get_mut(&key_of(*key)) else { return assert_eq!(removed.unwrap(), 0) };
            match removed {
                Ok(count) => assert_eq!(count, usize::from(entry.1.remove(&vec![*column]).is_some())),
                Err(error) => assert!(matches!(error, Error::WrongKind { .. }) && entry.0.is_some()),
            }
            if entry.0.is_none() && entry.1.is_empty() {
                model.remove(&key_of(*key));
            }
        }
        ReopenStep::Remove(key) => {
            assert_eq!(store.remove(&key_of(*key)).unwrap(), model.remove(&key_of(*key)).is_some());
        }
        ReopenStep::RemoveRange(from, to) => {
            let (from, to) = (key_of(*from), key_of(*to));
            let before = model.len();
            model.retain(|key, _| !(&from <= key && key < &to));
            let range = (std::ops::Bound::Included(&from[..]), std::ops::Bound::Excluded(&to[..]));
            assert_eq!(store.remove_range(range).unwrap(), before - model.len());
        }
        ReopenStep::Apply(writes) => {
            let mut batch = Batch::new();
            for (key, value) in writes {
                if let Some(value) = value {
                    batch.put(key_of(*key), value_of(*value));
                    model.insert(key_of(*key), (Some(value_of(*value)), BTreeMap::new()));
                } else {
                    batch.remove(key_of(*key));
                    model.remove(&key_of(*key));
                }
            }
            store.apply(&batch).unwrap();
        }
        ReopenStep::Checkpoint => drop(store.checkpoint().unwrap()),
        ReopenStep::Reopen(_) => unreachable!("the caller reopens"),
    }
}

fn check(store: &Store, model: &BTreeMap<Vec<u8>, KeyContents>) {
    let entries = store.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX);
    assert_eq!(entries.len(), model.len());
    for (entry, (key, (value, columns))) in entries.iter().zip(model) {
        assert_eq!((&entry.key, &entry.value), (key, value));
        assert!(entry.columns.iter().map(|(name, value)| (name, value)).eq(columns));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Random writes, checkpoints and reopenings at changing levels have the result of a map, and
    /// the versions of a key only rise.
    #[test]
    fn a_reopened_store_matches_a_map(steps in prop::collection::vec(step(), 1..200)) {
        let folder = tempfile::tempdir().unwrap();
        let mut model = BTreeMap::new();
        let mut versions: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        // `Sync` waits for the disk at every step; the other tests cover it.
        let level = |n: u8| if n == 0 { Durability::None } else { Durability::Buffered };
        let mut store = open(folder.path(), level(1));
        for step in &steps {
            if let ReopenStep::Reopen(n) = step {
                drop(store);
                store = open(folder.path(), level(*n));
                check(&store, &model);
            } else {
                run(&store, &mut model, step);
            }
            for entry in store.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX) {
                let last = versions.entry(entry.key).or_insert(0);
                prop_assert!(entry.version >= *last);
                *last = entry.version;
            }
        }
        check(&store, &model);
    }
}
