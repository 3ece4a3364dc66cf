//! Snapshots of a store show one moment with whole batches while writers run, and so do checkpoints
//! that are written from them.
//!
//! All tests run over the index with snapshots, whichever index other tests use.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{LEVELS, copy, options, skip_list};
use skein_store::{
    Batch, Durability, IndexKind, KeyEntry, RowRef, RowWriter as _, ScanDirection, Snapshot, Store,
    StoreOptions,
};

fn open(path: &Path, durability: Durability) -> Store {
    Store::open(path, skip_list(durability)).unwrap()
}

/// Several threads may use and pass on one snapshot.
const fn is_for_threads<T: Send + Sync>() {}
const _: () = is_for_threads::<Snapshot>();

fn all(snapshot: &Snapshot) -> Vec<KeyEntry> {
    snapshot.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX)
}

/// Writes of all kinds from within a scan: the scan of a snapshot shows none of them, a plain scan
/// does.
#[test]
fn writes_ahead_of_a_scan_are_not_in_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    for direction in [ScanDirection::Forward, ScanDirection::Backward] {
        for of_snapshot in [true, false] {
            let store =
                open(&folder.path().join(format!("{direction:?} {of_snapshot}")), Durability::Buffered);
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
                snapshot.scan((Unbounded, Unbounded), direction, &mut see);
            } else {
                store.session().scan((Unbounded, Unbounded), direction, &mut see);
            }
            let mut expected: Vec<_> = then
                .iter()
                .map(|entry| {
                    let column =
                        entry.columns.iter().find(|(name, _)| name == b"c").map(|(_, held)| held.clone());
                    (entry.key.clone(), entry.version, entry.value.clone().or(column))
                })
                .collect();
            if direction == ScanDirection::Backward {
                expected.reverse();
            }
            assert_eq!(seen == expected, of_snapshot, "{direction:?}");
            assert_eq!(all(&snapshot), then, "it stays as it was");
            assert_eq!(snapshot.get_entry(b"b").unwrap().value.as_deref(), Some(&b"before"[..]));
            assert!(snapshot.get_entry(b"a").is_none() && snapshot.get_entry(b"f").is_some());
            let some = snapshot.range((Included(&b"b"[..]), Excluded(&b"d"[..])), ScanDirection::Backward, 1);
            assert!(some.len() == 1 && some[0].key == b"bb");
        }
    }
}

/// Keys of a batch, far apart among fillers.
const BATCHED: [&[u8]; 4] = [b"00000", b"01250", b"02500", b"04"];
/// Counters that one thread increments one after the other, from the last to the first.
const TURNS: [&[u8]; 3] = [b"01100", b"02200", b"03300"];
const FILLERS: u64 = 4000;

fn fill(store: &Store) {
    for key in 0..FILLERS {
        store.put(format!("{key:05} filler").as_bytes(), b"").unwrap();
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

/// Tells the writers to stop when dropped, also after a failed assertion.
struct StopWritersOnDrop<'a>(&'a AtomicBool);

impl Drop for StopWritersOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
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
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    fill(&store);
    let range = (Unbounded, Unbounded);
    let mut torn_scans = 0;
    under_load(&store, || {
        let began = Instant::now();
        for round in 0.. {
            // On a busy machine many plain scans may end before any thread writes.
            if round >= 400 && (torn_scans > 0 || began.elapsed() > Duration::from_mins(1)) {
                break;
            }
            let direction = if round % 2 == 0 { ScanDirection::Forward } else { ScanDirection::Backward };
            let snapshot = store.snapshot().unwrap();
            let seen = snapshot.range(range, direction, usize::MAX);
            assert_eq!(torn(&seen), None, "round {round}");
            assert_eq!(snapshot.range(range, direction, usize::MAX), seen, "the same again");
            torn_scans += usize::from(torn(&store.range(range, direction, usize::MAX)).is_some());
        }
    });
    assert!(torn_scans > 0, "plain scans were as good: the writers did not write meanwhile");
}

/// A checkpoint under load is one moment: without a log, a kill leaves whole batches. With a log it
/// is the same, whatever was written after the checkpoint.
#[test]
fn a_checkpoint_under_load_is_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    for durability in LEVELS {
        let path = folder.path().join(format!("{durability:?}"));
        let store = open(&path, durability);
        fill(&store);
        under_load(&store, || {
            for round in 0..8 {
                assert!(store.checkpoint().unwrap().rows >= FILLERS);
                let copied = folder.path().join(format!("{durability:?} {round}"));
                copy(&path, &copied);
                let after = open(&copied, durability);
                assert!(after.recovery().checkpoint_rows >= FILLERS);
                let entries = after.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX);
                assert_eq!(torn(&entries), None, "{durability:?}, round {round}");
            }
        });
        assert_eq!((store.stats().snapshots, store.stats().checkpoints), (0, 8));
        // A clean close and another index lose nothing.
        let entries = || store.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX);
        let expected = entries();
        store.close().unwrap();
        let reopened =
            Store::open(&path, StoreOptions { index: IndexKind::Masstree, ..options(durability) }).unwrap();
        assert!(reopened.range((Unbounded, Unbounded), ScanDirection::Forward, usize::MAX) == expected);
    }
}
