//! Many lookups at once: the buckets of all keys are asked for before the first is looked at.

use super::MlpIndex;
use super::key::Key;
use super::search::Names;
use crate::slot::Slot;
use arrayvec::ArrayVec;

/// Keys whose buckets are in flight together.
const GROUP: usize = 32;

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// The words of the values of many keys.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        self.lookup_many_by(keys, |key| Key::of(key), found);
    }

    /// The same for keys of any type, which `key_of` makes into keys of the index, or says that they cannot be in it.
    #[inline]
    pub(super) fn lookup_many_by<K>(
        &self,
        keys: &[K],
        key_of: impl Fn(&K) -> Option<Key>,
        mut found: impl FnMut(usize, Option<u64>),
    ) {
        for (group, start) in keys.chunks(GROUP).zip((0..).step_by(GROUP)) {
            let levels = self.levels();
            let size = self.table.size();
            let asked: ArrayVec<Option<(Key, Names)>, GROUP> =
                group.iter().map(|key| key_of(key).map(|key| (key, self.ask(key, levels, size)))).collect();
            for (asked, index) in asked.iter().zip(start..) {
                let answer = asked.as_ref().and_then(|(key, names)| {
                    self.answer(*key, levels, names).unwrap_or_else(|_| self.lookup_again(*key))
                });
                found(index, answer);
            }
        }
    }
}
