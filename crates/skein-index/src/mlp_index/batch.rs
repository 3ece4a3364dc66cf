//! Batches of lookups: the lines of all keys are prefetched before the first one is read.
//!
//! ```text
//!   all keys         prefetch the primary buckets of the levels that matter
//!   all keys         the deepest node there ─► an answer, for most keys;
//!                    else the next level, whose buckets are prefetched
//!   remaining keys   that node ─► an answer, or the next level ...
//! ```
//!
//! A single lookup prefetches both buckets of each name, in order to wait once. In a batch the
//! waits overlap, so the number of lines is the cost. Most nodes are in their primary bucket, and
//! most of the others are never requested.

use arrayvec::ArrayVec;

use super::MlpIndexVariant;
use super::key::ShortKey;
use super::levels::deepest_first;
use super::name::{LEVEL_MIN, MlpBucketPair};
use super::search::{NodeAnswer, PrefetchedLevels, answer_of};
use super::variant::MlpSettings;
use crate::slot::Slot;

/// The number of keys whose buckets are in flight together.
const GROUP: usize = 32;

#[derive(Debug)]
struct PendingLookup {
    key: ShortKey,
    index: usize,
    /// The level and the buckets of the next node.
    level: u32,
    pair: MlpBucketPair,
}

impl<S: Slot, V: MlpSettings> MlpIndexVariant<S, V> {
    /// Looks up all keys. Calls `found` with the position of each key and the word of its value.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        self.lookup_many_by(keys, |key| ShortKey::of(key), found);
    }

    /// Does the same for keys of any type. `key_of` converts them, and returns `None` for keys that
    /// cannot be in the index.
    #[inline]
    pub(super) fn lookup_many_by<K>(
        &self,
        keys: &[K],
        key_of: impl Fn(&K) -> Option<ShortKey>,
        mut found: impl FnMut(usize, Option<u64>),
    ) {
        for (group, start) in keys.chunks(GROUP).zip((0..).step_by(GROUP)) {
            let mut prefetched = ArrayVec::<(ShortKey, usize, PrefetchedLevels), GROUP>::new();
            for (key, index) in group.iter().zip(start..) {
                match key_of(key) {
                    Some(key) => prefetched.push((key, index, self.prefetch_primary(key))),
                    None => found(index, None),
                }
            }
            let mut pending = ArrayVec::<PendingLookup, GROUP>::new();
            for (key, index, prefetched) in &prefetched {
                match self.first_answer(*key, prefetched) {
                    NodeAnswer::Value(value) => found(*index, Some(value)),
                    NodeAnswer::Absent => found(*index, None),
                    NodeAnswer::Deeper(level) => pending.push(self.continue_at(*key, *index, level)),
                }
            }
            while !pending.is_empty() {
                pending.retain(|lookup| match self.advance(lookup) {
                    Ok(answer) => {
                        found(lookup.index, answer);
                        false
                    }
                    Err(further) => {
                        *lookup = further;
                        true
                    }
                });
            }
        }
    }

    /// Prefetches the primary buckets of a key's names at the levels that matter.
    #[inline(always)]
    fn prefetch_primary(&self, key: ShortKey) -> PrefetchedLevels {
        let size = self.engine.table.size();
        let mut prefetched = PrefetchedLevels::new();
        for level in deepest_first(self.batch_levels()) {
            let pair = self.engine.table.pair(key, level, size);
            if V::PREFETCH {
                self.engine.table.prefetch_bucket(pair.primary);
            }
            prefetched.push((level, pair));
        }
        prefetched
    }

    /// Returns the answer of the deepest node that is in its primary bucket. Without such a node,
    /// the search begins at the top.
    #[inline(always)]
    fn first_answer(&self, key: ShortKey, prefetched: &PrefetchedLevels) -> NodeAnswer {
        let answer = prefetched.iter().find_map(|&(level, pair)| {
            self.engine
                .table
                .find_first(key, level, pair, |view| answer_of(key, level, |word| view.word(word)))
        });
        answer.unwrap_or(NodeAnswer::Deeper(LEVEL_MIN))
    }

    /// Returns a lookup that continues at a level, and prefetches the buckets.
    #[inline(always)]
    fn continue_at(&self, key: ShortKey, index: usize, level: u32) -> PendingLookup {
        let pair = self.engine.table.pair(key, level, self.engine.table.size());
        if V::PREFETCH {
            self.engine.table.prefetch(pair);
        }
        PendingLookup { key, index, level, pair }
    }

    /// Returns the answer of the next node, or the continued lookup. If the node is not found, the
    /// key is looked up alone.
    #[inline(always)]
    fn advance(&self, lookup: &PendingLookup) -> Result<Option<u64>, PendingLookup> {
        let PendingLookup { key, index, level, pair } = *lookup;
        match self.node_answer(key, level, pair) {
            Some(NodeAnswer::Value(value)) => Ok(Some(value)),
            Some(NodeAnswer::Absent) => Ok(None),
            Some(NodeAnswer::Deeper(level)) => Err(self.continue_at(key, index, level)),
            None => Ok(self.lookup_again(key)),
        }
    }
}
