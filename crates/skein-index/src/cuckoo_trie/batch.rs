//! Many lookups at once: the buckets of all keys of a group are asked for, then each search goes down, then the records are compared.

use arrayvec::ArrayVec;

use super::CuckooTrie;
use super::search::Prefixes;
use crate::index::MAX_KEY_LEN;
use crate::record::Record;
use crate::slot::Slot;

/// Lookups in a group.
const GROUP: usize = 16;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// Looks up all keys; `found` gets each one's position and its value's word.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let mut asks: ArrayVec<Prefixes<'_, '_, V>, GROUP> = ArrayVec::new();
            for key in keys {
                // A key over the limit is not there, whatever is found for its beginning.
                let mut prefixes = Prefixes::of(&self.table, &key[..key.len().min(MAX_KEY_LEN)]);
                prefixes.ask_from(0);
                asks.push(prefixes);
            }
            let mut records: ArrayVec<Option<Record>, GROUP> = ArrayVec::new();
            for prefixes in &mut asks {
                let record = self.record_along(prefixes);
                if let Some(record) = record {
                    Record::prefetch(record.word());
                }
                records.push(record);
            }
            for (place, (key, record)) in keys.iter().zip(records).enumerate() {
                let word = record.filter(|record| record.is_of(key)).map(Record::value);
                found(group * GROUP + place, word);
            }
        }
    }
}
