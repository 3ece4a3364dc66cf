//! Lookups: one search, without a lock and without a store.

use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::entry::Kind;
use super::hints::Hint;
use super::search::{Prefixes, Start, Stop};
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
        let mut prefixes = Prefixes::of(&self.table, key);
        let start = self.start(&mut prefixes);
        let guess = start.and_then(|start| self.guess_record(start, &mut prefixes));
        self.word_of(key, guess)
    }

    /// Where a lookup had best begin, if not at the root. The buckets that it looks at first are asked for.
    #[inline(always)]
    pub(super) fn start(&self, prefixes: &mut Prefixes<'_, '_, V>) -> Option<Start> {
        match self.table.depths.start() {
            Some(depth) => (depth < prefixes.count()).then(|| prefixes.skip_to(depth)),
            None => self.start_by_hints(prefixes),
        }
    }

    #[inline(never)]
    fn start_by_hints(&self, prefixes: &mut Prefixes<'_, '_, V>) -> Option<Start> {
        let hint = self.table.hints.deepest(prefixes.key(), prefixes.count())?;
        Some(prefixes.start_at(hint.hash, hint.depth))
    }

    /// The record of the leaf that a key leads to from where its lookup begins. If it is not the key's, the key may still be there.
    #[inline(always)]
    pub(super) fn guess_record(&self, start: Start, prefixes: &mut Prefixes<'_, '_, V>) -> Option<Record> {
        let stop = self.descend_from(self.guess(start)?, prefixes, |_| ()).ok()?;
        record_at(&stop)
    }

    /// The word of a key's value, which is in this record or has to be looked for from the root.
    #[inline(always)]
    pub(super) fn word_of(&self, key: &[u8], guess: Option<Record>) -> Option<u64> {
        match guess {
            Some(record) if record.is_of(key) => Some(record.value()),
            _ => self.lookup_from_root(key),
        }
    }

    #[inline(never)]
    fn lookup_from_root(&self, key: &[u8]) -> Option<u64> {
        let mut prefixes = Prefixes::of(&self.table, key);
        loop {
            if let Ok(stop) = self.descend(&mut prefixes, |_| ()) {
                return record_at(&stop).filter(|record| record.is_of(key)).map(Record::value);
            }
            Backoff::new().wait();
            prefixes.start_over();
        }
    }

    /// Takes note of the nodes on a key's way.
    #[cold]
    #[inline(never)]
    pub(super) fn learn(&self, key: &[u8]) {
        let hints = &self.table.hints;
        if hints.is_empty() {
            self.table.want_hints();
        }
        if hints.is_empty() {
            return;
        }
        let mut notes = hints.notes(key);
        // What is not found is not noted.
        let _ = self.descend(&mut Prefixes::of(&self.table, key), |named| {
            notes.note(Hint { hash: named.hash, depth: named.depth });
        });
    }
}

/// The record of the leaf that a search came to; the caller holds the guard that it was made under.
#[inline(always)]
fn record_at(stop: &Stop) -> Option<Record> {
    let entry = stop.at.node.entry;
    // SAFETY: a leaf, read under the caller's guard.
    if entry.kind() == Kind::Leaf { unsafe { entry.record() } } else { None }
}
