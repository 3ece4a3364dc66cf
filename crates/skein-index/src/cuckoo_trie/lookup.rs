//! Lookups: a way that is a guess, and mostly right; if it comes to nothing, a search. Without a lock and without a store.

use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::entry::CuckooNodeKind;
use super::prefixes::KeyPrefixes;
use super::search::SearchEnd;
use crate::index::MAX_KEY_LEN;
use crate::record::KeyRecord;
use crate::slot::Slot;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// The word of `key`'s value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        let size = self.table.places();
        let guess = self.lookup_path(key, size).and_then(|way| self.follow_path(way, size));
        self.word_of(key, guess)
    }

    /// The word of a key's value, which is in this record or has to be looked for from the root.
    #[inline(always)]
    pub(super) fn word_of(&self, key: &[u8], guess: Option<KeyRecord>) -> Option<u64> {
        match guess {
            Some(record) if record.is_of(key) => Some(record.value()),
            _ if key.len() > MAX_KEY_LEN => None,
            _ => self.lookup_from_root(key),
        }
    }

    #[inline(never)]
    fn lookup_from_root(&self, key: &[u8]) -> Option<u64> {
        let mut prefixes = KeyPrefixes::of(&self.table, key);
        loop {
            if let Ok(stop) = self.descend(&mut prefixes, |_| ()) {
                return record_at(&stop).filter(|record| record.is_of(key)).map(KeyRecord::value);
            }
            Backoff::new().wait();
            prefixes.start_over();
        }
    }
}

/// The record of the leaf that a search came to; the caller holds the guard that it was made under.
#[inline(always)]
fn record_at(stop: &SearchEnd) -> Option<KeyRecord> {
    let entry = stop.at.node.entry;
    // SAFETY: a leaf, read under the caller's guard.
    if entry.kind() == CuckooNodeKind::Leaf { unsafe { entry.record() } } else { None }
}
