//! Lookups: one search, without a lock and without a store.

use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::entry::Kind;
use crate::index::MAX_KEY_LEN;
use crate::slot::Slot;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// The word of `key`'s value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        if key.len() > MAX_KEY_LEN {
            return None;
        }
        loop {
            if let Ok(stop) = self.stop(key) {
                let entry = stop.at.node.entry;
                if entry.kind() != Kind::Leaf {
                    return None;
                }
                // SAFETY: a leaf, read under the caller's guard.
                let record = unsafe { entry.record() }?;
                return record.is_of(key).then(|| record.value());
            }
            Backoff::new().wait();
        }
    }
}
