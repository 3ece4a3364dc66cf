//! Pending changes: records with only a change (of columns or of the time of expiry) that were
//! replayed before their base.
//!
//! A change of version v can be applied when its key has version v - 1, its base. If the change is
//! replayed earlier, it waits here, and the thread that puts version v - 1 applies it.
//!
//! The two threads must not miss each other. The thread with the change adds it, then looks up the
//! key again. The thread with the row puts it, then looks for pending changes. Both have a `SeqCst`
//! fence between the write and the read, so at least one of them sees the other's write.

use std::collections::{BTreeMap, HashMap};

use skein_sync::atomic::{AtomicUsize, Ordering, fence};
use skein_sync::mutex::{Mutex, lock};

/// Changes by key and version.
type DeltasByKey = HashMap<Vec<u8>, BTreeMap<u64, Vec<u8>>>;

/// The changes that wait for their base.
#[derive(Default)]
pub(super) struct PendingDeltas {
    waiting: Mutex<DeltasByKey>,
    keys: AtomicUsize,
}

impl PendingDeltas {
    /// Adds a change. Afterwards the caller must look up the key again.
    pub(super) fn add(&self, key: &[u8], version: u64, change: Vec<u8>) {
        let mut waiting = lock(&self.waiting);
        waiting.entry(key.to_vec()).or_default().insert(version, change);
        self.keys.store(waiting.len(), Ordering::Relaxed);
        drop(waiting);
        // SeqCst: pairs with the fence in `take`.
        fence(Ordering::SeqCst);
    }

    /// Takes the change that is based on `version` of `key`, if there is one, and drops older ones.
    pub(super) fn take(&self, key: &[u8], version: u64) -> Option<Vec<u8>> {
        // SeqCst: pairs with the fence in `add`; the row was put before this.
        fence(Ordering::SeqCst);
        if self.keys.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut waiting = lock(&self.waiting);
        let changes = waiting.get_mut(key)?;
        let mut next = changes.split_off(&(version + 1));
        let taken = next.remove(&(version + 1));
        if next.is_empty() {
            waiting.remove(key);
        } else {
            *changes = next;
        }
        self.keys.store(waiting.len(), Ordering::Relaxed);
        taken
    }

    /// Takes the key and the greatest version of all changes that still wait.
    pub(super) fn drain(&self) -> Vec<(Vec<u8>, u64)> {
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        waiting
            .into_iter()
            .filter_map(|(key, changes)| changes.last_key_value().map(|(version, _)| (key, *version)))
            .collect()
    }
}

/// `RUSTFLAGS="--cfg skein_loom" cargo test -p skein-store --lib --release models`
#[cfg(all(test, skein_loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Of the thread with the row and the thread with the merge, at least one sees the other, and
    /// never both apply the merge.
    #[test]
    fn a_merge_and_its_base_do_not_miss_each_other() {
        loom::model(|| {
            // The version of a key in the index: written with Release, read with Acquire.
            let shared = Arc::new((PendingDeltas::default(), AtomicUsize::new(0)));
            let base = shared.clone();
            let base = thread::spawn(move || {
                base.1.store(1, Ordering::Release);
                base.0.take(b"k", 1).is_some()
            });
            shared.0.add(b"k", 2, Vec::new());
            let seen = shared.1.load(Ordering::Acquire) == 1;
            assert!(base.join().unwrap() || seen, "the merge is left waiting");
        });
    }
}
