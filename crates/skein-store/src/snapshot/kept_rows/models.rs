//! The protocol of snapshots under `loom`: the registry of live snapshots, kept rows and their
//! notes, with the real gate. Only the index is a stand-in: a key is one word under a latch.
//!
//! `RUSTFLAGS="--cfg skein_loom" cargo test -p skein-store --lib --release models`

use loom::sync::Mutex as ModelMutex;
use loom::thread;
use skein_log::EpochGate;

use super::super::live::MomentGate;
use super::*;

impl MomentGate for EpochGate {
    fn moment(&self) -> u64 {
        EpochGate::moment(self)
    }

    fn wait_for_operations(&self) {
        self.wait_until_left();
    }

    fn close_moment(&self) -> u64 {
        EpochGate::close_moment(self)
    }
}

/// A key of the index: the word is its row, 0 for an absent key.
struct ModelKey {
    latch: ModelMutex<()>,
    word: AtomicU64,
}

struct SnapshotModel {
    gate: EpochGate,
    live: LiveSnapshots,
    kept: KeptRows,
    keys: [ModelKey; 2],
    /// The word of each kept row, which has no row here. Locked for one step, so the model need not
    /// know.
    words: std::sync::Mutex<Vec<(Arc<KeptRow>, u64)>>,
}

/// The names of the keys, which share a shard or not.
const NAMES: [&[u8]; 2] = [b"a", b"b"];

impl SnapshotModel {
    fn new() -> Arc<Self> {
        let key = || ModelKey { latch: ModelMutex::new(()), word: AtomicU64::new(0) };
        Arc::new(Self {
            gate: EpochGate::new(1, 1),
            live: LiveSnapshots::default(),
            kept: KeptRows::new(),
            keys: [key(), key()],
            words: std::sync::Mutex::default(),
        })
    }

    /// Sets keys as one entry of a `Writer` does.
    fn put(&self, keys: &[usize], word: u64) {
        let entered = self.gate.enter(0);
        let keeps = self.live.newest() != 0;
        for &key in keys {
            if keeps {
                while !self.try_put(key, word) {}
            } else {
                let _latch = self.keys[key].latch.lock().unwrap();
                self.keys[key].word.store(word, Ordering::Release);
            }
        }
        self.gate.leave(0, entered);
    }

    /// Changes a key as `snapshot::compute_at` does in one turn of its loop.
    fn try_put(&self, key: usize, word: u64) -> bool {
        let (name, key) = (NAMES[key], &self.keys[key]);
        let read = || Some(key.word.load(Ordering::Acquire));
        let attempt = KeepAttempt::begin(&self.kept, (&self.live, &self.gate), name, read, |_| None);
        if let (Some(pending), Some(seen)) = (&attempt.pending, attempt.seen) {
            self.words.lock().unwrap().push((pending.kept.clone(), seen));
        }
        let latch = key.latch.lock().unwrap();
        let holds = attempt.verify(&self.gate, |seen| seen == Some(key.word.load(Ordering::Relaxed)));
        if holds {
            key.word.store(word, Ordering::Release);
        }
        drop(latch);
        attempt.finish(holds);
        holds
    }

    fn take(&self) -> u64 {
        self.live.take(&self.gate, false, usize::MAX).expect("no limit").0
    }

    /// Reads a key at the moment of a snapshot, as `Snapshot::get_with` does.
    fn at(&self, key: usize, snapshot: u64) -> u64 {
        // Acquire: pairs with the Release of the writers, as in an index.
        let present = self.keys[key].word.load(Ordering::Acquire);
        let Some(kept) = self.kept.at(NAMES[key], snapshot) else { return present };
        let words = self.words.lock().unwrap();
        words.iter().find(|(other, _)| Arc::ptr_eq(other, &kept)).expect("its word").1
    }

    /// Ends a snapshot and frees its rows.
    fn end(&self, snapshot: u64) {
        self.live.end(snapshot);
        self.kept.give_back(&self.live, snapshot, usize::MAX);
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
        let (second, first) = (store.at(1, snapshot), store.at(0, snapshot));
        assert!(first >= second, "the second write without the first");
        assert_eq!((first, second), (store.at(0, snapshot), store.at(1, snapshot)));
        writer.join().unwrap();
        assert_eq!((first, second), (store.at(0, snapshot), store.at(1, snapshot)));
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
        let seen = store.at(0, snapshot);
        store.put(&[0], 2);
        assert_eq!(store.at(0, snapshot), seen);
        writer.join().unwrap();
        assert_eq!(store.at(0, snapshot), seen);
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
        let (second, first) = (store.at(1, snapshot), store.at(0, snapshot));
        assert!(second == 0 || first != 0, "the second write without the first");
        both.join().unwrap();
        one.join().unwrap();
        assert_eq!((first, second), (store.at(0, snapshot), store.at(1, snapshot)));
    });
}

/// Two writers keep a row for the newest snapshot while this one ends: no row and no note stays
/// behind, and the bit of the empty shard is clear.
#[test]
fn the_end_of_a_snapshot_finds_every_note() {
    model(3, || {
        let store = SnapshotModel::new();
        let snapshot = store.take();
        let writers = [1, 2].map(|word| {
            let store = store.clone();
            thread::spawn(move || store.put(&[0], word))
        });
        store.end(snapshot);
        for writer in writers {
            writer.join().unwrap();
        }
        assert!(!store.kept.has_notes(snapshot), "a note of an ended snapshot");
        assert_eq!((store.kept.bytes(), store.kept.outside()), (0, 0));
        assert!(!store.kept.occupied.has(KeptRows::shard_of(NAMES[0])));
    });
}
