//! Snapshots of a store show one moment with whole batches while writers run, and so do checkpoints
//! that are written from them.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::common::{LEVELS, StopWritersOnDrop, copy, each_index, indexes, over};
use skein_store::{
    Batch, Durability, IndexKind, KeyEntry, RowRef, RowWriter as _, ScanDirection, Snapshot, Store,
};

/// Several threads may use and pass on one snapshot.
const fn is_for_threads<T: Send + Sync>() {}
const _: () = is_for_threads::<Snapshot>();

fn all(snapshot: &Snapshot) -> Vec<KeyEntry> {
    snapshot.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX).unwrap()
}

/// Writes of all kinds from within a scan: the scan of a snapshot shows none of them, a plain scan
/// does.
#[test]
fn writes_ahead_of_a_scan_are_not_in_a_snapshot() {
    each_index(|folder, index| {
        for direction in [ScanDirection::Forward, ScanDirection::Backward] {
            for of_snapshot in [true, false] {
                let path = folder.join(format!("{direction:?} {of_snapshot}"));
                let store = Store::open(path, over(index, Durability::Buffered)).unwrap();
                check_writes_ahead(&store, direction, of_snapshot);
            }
        }
    });
}

fn check_writes_ahead(store: &Store, direction: ScanDirection, of_snapshot: bool) {
    let wide = vec![7; 3000];
    for key in (b'b'..=b'y').step_by(2) {
        store.put(&[key], b"before").unwrap();
        store.put_columns(&[key, key], &[(b"c", b"before"), (b"w", &wide)]).unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    let then = all(&snapshot);
    let mut seen = Vec::new();
    let mut write_once = Some(|| {
        for key in b'a'..=b'z' {
            store.put(&[key], b"after").unwrap();
            store.put_columns(&[key, key], &[(b"c", b"after")]).unwrap();
            if key % 3 == 0 {
                store.remove(&[key]).unwrap();
                store.remove_columns(&[key, key], &[b"c", b"w"]).unwrap();
            }
        }
    });
    let mut see = |key: &[u8], row: RowRef<'_>| {
        let held = row.value().or_else(|| row.column(b"c")).map(<[u8]>::to_vec);
        seen.push((key.to_vec(), row.version(), held));
        if let Some(write) = write_once.take() {
            write();
        }
        ControlFlow::Continue(())
    };
    if of_snapshot {
        snapshot.scan((Unbounded, Unbounded), direction, &mut see).unwrap();
    } else {
        // Twice, because the first scan may have read a leaf ahead of the writes.
        store.session().scan((Unbounded, Unbounded), direction, &mut see);
        store.session().scan((Unbounded, Unbounded), direction, &mut see);
    }
    let mut expected: Vec<_> = then
        .iter()
        .map(|entry| {
            let column = entry.columns.iter().find(|(name, _)| name == b"c").map(|(_, held)| held.clone());
            (entry.key.clone(), entry.version, entry.value.clone().or(column))
        })
        .collect();
    if direction == ScanDirection::Backward {
        expected.reverse();
    }
    assert_eq!(seen == expected, of_snapshot, "{direction:?}");
    assert_eq!(all(&snapshot), then, "it stays as it was");
    let entry = |key: &[u8]| snapshot.get_entry(key).unwrap();
    assert_eq!(entry(b"b").unwrap().value.as_deref(), Some(&b"before"[..]));
    assert!(entry(b"a").is_none() && entry(b"f").is_some());
    let bounds = (Included(&b"b"[..]), Excluded(&b"d"[..]));
    let some = snapshot.range(bounds, ScanDirection::Backward, 1).unwrap();
    assert!(some.len() == 1 && some[0].key == b"bb");
}

/// Keys of a batch, far apart among fillers.
const BATCHED: [&[u8]; 4] = [b"00000", b"01250", b"02500", b"04"];
/// Counters that one thread increments one after the other, from the last to the first.
const TURNS: [&[u8]; 3] = [b"01100", b"02200", b"03300"];
const FILLERS: u64 = 4000;

fn fill(store: &Store) {
    for key in 0..FILLERS {
        store.put(format!("{key:05}f").as_bytes(), b"").unwrap();
    }
}

/// Writes all keys of the batch, with one value or by removing them, until `stop`.
fn write_batches(store: &Store, stop: &AtomicBool) {
    let mut session = store.session();
    for round in 0_u64.. {
        let mut batch = Batch::new();
        for key in BATCHED {
            if round % 4 == 3 {
                batch.remove(key)
            } else {
                batch.put(key, round.to_be_bytes())
            };
        }
        session.apply(&batch).unwrap();
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Increments the counters until `stop`; each increment is a separate write.
fn take_turns(store: &Store, stop: &AtomicBool) {
    let mut session = store.session();
    while !stop.load(Ordering::Relaxed) {
        for key in TURNS.iter().rev() {
            session.write(|writer| writer.increment(key, 1)).unwrap().0.unwrap();
        }
    }
}

/// Runs `watch` while batches and counters are written.
fn under_load(store: &Store, watch: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| write_batches(store, &stop));
        scope.spawn(|| take_turns(store, &stop));
        let _stops = StopWritersOnDrop(&stop);
        watch();
    });
}

/// Returns the reason why `entries` are not one moment of the writes of `under_load`.
fn torn(entries: &[KeyEntry]) -> Option<String> {
    let held: BTreeMap<&[u8], &[u8]> =
        entries.iter().filter_map(|entry| Some((&entry.key[..], entry.value.as_deref()?))).collect();
    let batched = BATCHED.map(|key| held.get(key));
    let turns = TURNS
        .map(|key| held.get(key).map_or(0_u64, |count| std::str::from_utf8(count).unwrap().parse().unwrap()));
    let whole = batched.iter().all(|value| *value == batched[0]);
    let in_turn = turns.is_sorted() && turns[2] - turns[0] <= 1;
    (!whole || !in_turn).then(|| format!("batch {batched:?}, turns {turns:?}"))
}

#[test]
fn a_snapshot_is_one_moment_with_batches_whole() {
    let torn_scans = AtomicUsize::new(0);
    each_index(|folder, index| {
        let store = Store::open(folder, over(index, Durability::Buffered)).unwrap();
        fill(&store);
        under_load(&store, || {
            for round in 0..100 {
                let direction = if round % 2 == 0 { ScanDirection::Forward } else { ScanDirection::Backward };
                check_moment(&store, direction, &format!("{index}, round {round}"));
                let seen = store.range((Unbounded, Unbounded), direction, usize::MAX);
                torn_scans.fetch_add(usize::from(torn(&seen).is_some()), Ordering::Relaxed);
            }
        });
        assert_eq!(store.stats().snapshot_bytes, 0);
    });
    // Over a single index all scans may be lucky.
    let torn = torn_scans.into_inner() > 0 || indexes().len() == 1;
    assert!(torn, "plain scans were as good: no writes were made meanwhile");
}

/// Incident, found by reading: a snapshot looked for others, which ended before it was registered.
/// Consequence: it did not wait for writers that had begun meanwhile and kept nothing. Fix: the
/// registry says whether it is the only one. The window is so short that this test has never met
/// it.
#[test]
fn a_snapshot_that_begins_when_another_one_ends_is_one_moment() {
    const ROUNDS: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), over(crate::common::index(), Durability::Buffered)).unwrap();
    let read = || {
        for round in 0..ROUNDS {
            let snapshot = store.snapshot().unwrap();
            let singles = BATCHED.iter().chain(&TURNS).filter_map(|key| snapshot.get_entry(key).unwrap());
            assert_eq!(torn(&singles.collect::<Vec<_>>()), None, "round {round}");
        }
    };
    under_load(&store, || {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(read);
            }
        });
    });
}

/// Takes a snapshot and checks that it is one moment, whichever way it is read.
fn check_moment(store: &Store, direction: ScanDirection, told: &str) {
    let snapshot = store.snapshot().unwrap();
    let range = || snapshot.range((Unbounded, Unbounded), direction, usize::MAX).unwrap();
    let seen = range();
    assert_eq!(torn(&seen), None, "{told}");
    let keys = BATCHED.iter().chain(&TURNS);
    let singles: Vec<KeyEntry> = keys.filter_map(|key| snapshot.get_entry(key).unwrap()).collect();
    assert_eq!(torn(&singles), None, "{told}");
    assert_eq!(range(), seen, "the same again");
}

/// Incident: without a log, a checkpoint that ran beside writes held each key as it was at some
/// time of the checkpoint. Consequence: a kill left halves of batches. Fix: such a checkpoint is of
/// one moment, over every index.
#[test]
fn a_checkpoint_under_load_is_one_moment() {
    each_index(|folder, index| check_checkpoints(folder, index, Durability::None));
    let folder = tempfile::tempdir().unwrap();
    for durability in LEVELS {
        // With a log it is the same, whatever was written after the checkpoint.
        check_checkpoints(folder.path(), IndexKind::default(), durability);
    }
}

fn check_checkpoints(folder: &Path, index: IndexKind, durability: Durability) {
    let path = folder.join(format!("{durability:?}"));
    let store = Store::open(&path, over(index, durability)).unwrap();
    fill(&store);
    let range = (Unbounded, Unbounded);
    under_load(&store, || {
        for round in 0..4 {
            assert!(store.checkpoint().unwrap().rows >= FILLERS);
            let copied = folder.join(format!("{durability:?} {round}"));
            copy(&path, &copied);
            let after = Store::open(&copied, over(index, durability)).unwrap();
            assert!(after.recovery().checkpoint_rows >= FILLERS);
            let entries = after.range(range, ScanDirection::Forward, usize::MAX);
            assert_eq!(torn(&entries), None, "{index} {durability:?}, round {round}");
        }
    });
    let stats = store.stats();
    assert_eq!((stats.snapshots, stats.checkpoints, stats.snapshot_bytes), (0, 4, 0));
    // A clean close and another index lose nothing.
    let expected = store.range(range, ScanDirection::Forward, usize::MAX);
    store.close().unwrap();
    let reopened = Store::open(&path, over(IndexKind::Wormhole, durability)).unwrap();
    assert!(reopened.range(range, ScanDirection::Forward, usize::MAX) == expected);
}
