//! Lookups: one search, without a lock and without a store.

use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::entry::Kind;
use super::search::Prefixes;
use crate::index::MAX_KEY_LEN;
use crate::record::Record;
use crate::slot::Slot;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// The word of `key`'s value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        if key.len() > MAX_KEY_LEN {
            return None;
        }
        let record = self.record_along(&mut Prefixes::of(&self.table, key))?;
        record.is_of(key).then(|| record.value())
    }

    /// The record of the leaf that a key leads to, which may be another key's.
    #[inline(always)]
    pub(super) fn record_along(&self, prefixes: &mut Prefixes<'_, '_, V>) -> Option<Record> {
        loop {
            if let Ok(stop) = self.descend(prefixes, |_| ()) {
                let entry = stop.at.node.entry;
                // SAFETY: a leaf, read under the caller's guard.
                return if entry.kind() == Kind::Leaf { unsafe { entry.record() } } else { None };
            }
            Backoff::new().wait();
            prefixes.start_over();
        }
    }
}
