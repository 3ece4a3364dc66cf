//! Many lookups at once: what all keys of a group need next is asked for before the first of them goes on.
//!
//! ```text
//!   hints of all ─► buckets where each lookup begins ─► leaves and their records ─► values
//! ```

use arrayvec::ArrayVec;

use super::CuckooTrie;
use super::prefixes::{Prefixes, Start};
use crate::record::Record;
use crate::slot::Slot;

/// Lookups in a group.
const GROUP: usize = 32;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// Looks up all keys; `found` gets each one's position and its value's word.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            if self.table.depths.start().is_none() {
                for key in keys {
                    self.table.hints.ask(key);
                }
            }
            let starts: ArrayVec<Option<Start>, GROUP> =
                keys.iter().map(|key| self.start(&mut Prefixes::of(&self.table, key))).collect();
            let guesses: ArrayVec<Option<Record>, GROUP> =
                keys.iter().zip(starts).map(|(key, start)| self.guess_and_ask(key, start?)).collect();
            for (place, (key, guess)) in keys.iter().zip(guesses).enumerate() {
                found(group * GROUP + place, self.word_of(key, guess));
            }
        }
    }

    /// Guesses the record of a key, and asks for it.
    #[inline(always)]
    fn guess_and_ask(&self, key: &[u8], start: Start) -> Option<Record> {
        let mut prefixes = Prefixes::of(&self.table, key);
        prefixes.resume(start);
        let guess = self.guess_record(start, &mut prefixes)?;
        Record::prefetch(guess.word());
        Some(guess)
    }
}
