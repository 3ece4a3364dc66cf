//! The protocol of snapshots under `loom`: the flag of live snapshots, the moment, pending rows and
//! their moments, with the real gate and a key that is one word.
//!
//! `RUSTFLAGS="--cfg skein_loom" cargo test -p skein-store --lib --release models`

use loom::sync::Mutex;
use loom::thread;
use skein_log::EpochGate;

use super::*;

/// A key: the word is its row in the index, 0 for an absent key.
struct ModelKey {
    latch: Mutex<()>,
    word: AtomicU64,
    /// The shard, and the word of each kept row. The rows themselves are left out.
    shard: Mutex<(KeptShard, Vec<(Arc<KeptRow>, u64)>)>,
}

struct SnapshotModel {
    gate: EpochGate,
    newest: AtomicU64,
    keys: [ModelKey; 2],
}

const NAME: &[u8] = b"key";

impl ModelKey {
    fn new() -> Self {
        Self { latch: Mutex::new(()), word: AtomicU64::new(0), shard: Mutex::new(Default::default()) }
    }

    /// As `KeptRows::keep`.
    fn keep(&self, newest: u64, seen: u64) -> Option<PendingRow> {
        let mut locked = self.shard.lock().unwrap();
        let (shard, words) = &mut *locked;
        let since = shard.needs(NAME, newest)?;
        let kept = Arc::new(KeptRow { key: NAME.into(), row: None, since, until: AtomicU64::new(PENDING) });
        shard.rows.entry(kept.key.clone()).or_default().push(kept.clone());
        words.push((kept.clone(), seen));
        Some(PendingRow { kept, snapshot: newest })
    }

    /// Reads the key at the moment of a snapshot, as `Snapshot::get_with` does.
    fn at(&self, snapshot: u64) -> u64 {
        // Acquire: pairs with the Release of the writers, as in an index.
        let present = self.word.load(Ordering::Acquire);
        let locked = self.shard.lock().unwrap();
        let (shard, words) = &*locked;
        let kept = shard.rows.get(NAME).and_then(|rows| rows.seen_at(snapshot));
        let word = |kept: &Arc<KeptRow>| words.iter().find(|(other, _)| Arc::ptr_eq(other, kept)).unwrap().1;
        kept.map_or(present, word)
    }
}

impl SnapshotModel {
    fn new() -> Arc<Self> {
        let keys = [ModelKey::new(), ModelKey::new()];
        Arc::new(Self { gate: EpochGate::new(1, 1), newest: AtomicU64::new(0), keys })
    }

    /// As one entry of a `Writer` with several puts.
    fn put(&self, keys: &[usize], word: u64) {
        let entered = self.gate.enter(0);
        let keeps = self.newest.load(Ordering::Relaxed) != 0;
        for key in keys.iter().map(|key| &self.keys[*key]) {
            if keeps {
                while !self.try_put(key, word) {}
            } else {
                let _latch = key.latch.lock().unwrap();
                key.word.store(word, Ordering::Release);
            }
        }
        self.gate.leave(0, entered);
    }

    /// As one turn of `RowKeeper::compute`.
    fn try_put(&self, key: &ModelKey, word: u64) -> bool {
        let moment = self.gate.moment();
        let seen = key.word.load(Ordering::Acquire);
        let kept = key.keep(self.newest.load(Ordering::Relaxed), seen);
        let latch = key.latch.lock().unwrap();
        let is_same = || key.word.load(Ordering::Relaxed) == seen;
        let holds = self.gate.moment() == moment && (kept.is_none() || is_same());
        if holds {
            if let Some(kept) = &kept {
                kept.verified(moment);
            }
            key.word.store(word, Ordering::Release);
        }
        drop(latch);
        if let Some(kept) = kept.filter(|_| !holds) {
            key.shard.lock().unwrap().0.remove(&kept.kept);
        }
        holds
    }

    /// As `StoreSnapshots::take`.
    fn take(&self) -> u64 {
        self.newest.store(self.gate.moment(), Ordering::Relaxed);
        self.gate.wait_until_left();
        self.gate.close_moment()
    }
}

fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    // As for the gate: without a bound, waiting closers make the space of orders infinite.
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

/// A snapshot that shows a write shows all writes before it, and stays as it is.
#[test]
fn a_snapshot_is_one_moment() {
    model(3, || {
        let store = SnapshotModel::new();
        let writer = {
            let store = store.clone();
            thread::spawn(move || {
                store.put(&[0], 1);
                store.put(&[1], 1);
            })
        };
        let snapshot = store.take();
        let (second, first) = (store.keys[1].at(snapshot), store.keys[0].at(snapshot));
        assert!(first >= second, "the second write without the first");
        assert_eq!((first, second), (store.keys[0].at(snapshot), store.keys[1].at(snapshot)));
        writer.join().unwrap();
        assert_eq!((first, second), (store.keys[0].at(snapshot), store.keys[1].at(snapshot)));
    });
}

/// Two writers of one key: a snapshot shows the same row all the time.
#[test]
fn two_writers_of_a_key_keep_one_row() {
    model(3, || {
        let store = SnapshotModel::new();
        let writer = {
            let store = store.clone();
            thread::spawn(move || store.put(&[0], 1))
        };
        let snapshot = store.take();
        let seen = store.keys[0].at(snapshot);
        store.put(&[0], 2);
        assert_eq!(store.keys[0].at(snapshot), seen);
        writer.join().unwrap();
        assert_eq!(store.keys[0].at(snapshot), seen);
    });
}

/// Two writers meet at a key while a snapshot is taken. It shows no later write of one of them
/// without the earlier one. This needs the wait for writers that keep nothing, and the verification
/// under the latch.
#[test]
fn a_write_in_a_later_moment_hides_no_earlier_one() {
    model(2, || {
        let store = SnapshotModel::new();
        let write = |keys: &'static [usize], word| {
            let store = store.clone();
            thread::spawn(move || store.put(keys, word))
        };
        let (both, one) = (write(&[0, 1], 1), write(&[0], 2));
        let snapshot = store.take();
        let (second, first) = (store.keys[1].at(snapshot), store.keys[0].at(snapshot));
        assert!(second == 0 || first != 0, "the second write without the first");
        both.join().unwrap();
        one.join().unwrap();
        assert_eq!((first, second), (store.keys[0].at(snapshot), store.keys[1].at(snapshot)));
    });
}

/// A writer keeps a row for the newest snapshot while this one ends: no note stays behind, and the
/// bit of the empty shard is clear.
#[test]
fn the_end_of_a_snapshot_finds_every_note() {
    const SNAPSHOT: u64 = 5;
    model(3, || {
        let occupied = Arc::new(OccupiedShards::default());
        let (newest, notes) = (Arc::new(AtomicU64::new(SNAPSHOT)), Arc::new(Mutex::new(0)));
        // As `KeptRows::keep`.
        let keep = || {
            let (occupied, newest, notes) = (occupied.clone(), newest.clone(), notes.clone());
            thread::spawn(move || {
                let mut held = notes.lock().unwrap();
                occupied.set(0);
                if newest.load(Ordering::Relaxed) == SNAPSHOT {
                    *held += 1;
                } else if *held == 0 {
                    occupied.clear(0);
                }
            })
        };
        let writers = [keep(), keep()];
        // As `LiveSnapshots::end` and `KeptRows::give_back`.
        newest.store(0, Ordering::Relaxed);
        for shard in occupied.of_ended() {
            let mut held = notes.lock().unwrap();
            *held = 0;
            occupied.clear(shard);
        }
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(*notes.lock().unwrap(), 0, "a note of an ended snapshot");
        assert!(!occupied.has(0));
    });
}
