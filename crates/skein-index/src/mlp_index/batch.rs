//! Many lookups at once: what they need of memory is asked for before the first is looked at.
//!
//! ```text
//!   all keys    ask for the primary buckets of the levels that matter
//!   all keys    the deepest node there ─► an answer, for most                   or the level that comes next, whose buckets are asked for
//!   the others  that node ─► an answer, or the next level ...
//! ```
//!
//! A lookup by itself asks for both buckets of each name, so as to wait once. Here waits are shared, and how many lines there are is what counts: most
//! nodes are in their primary bucket, and most of the others are never asked for.

use arrayvec::ArrayVec;

use super::MlpIndex;
use super::key::ShortKey;
use super::levels::deepest_first;
use super::name::{LEVEL_MIN, MlpBucketPair};
use super::search::{NodeAnswer, PrefetchedLevels, says};
use super::variant::{WITHOUT_PREFETCH, has};
use crate::slot::Slot;

/// Keys whose buckets are in flight together.
const GROUP: usize = 32;

/// A lookup under way.
#[derive(Debug)]
struct PendingLookup {
    key: ShortKey,
    /// Its place in the batch.
    index: usize,
    /// The level and the buckets of the node that comes next.
    level: u32,
    pair: MlpBucketPair,
}

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// The words of the values of many keys.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        self.lookup_many_by(keys, |key| ShortKey::of(key), found);
    }

    /// The same for keys of any type, which `key_of` makes into keys of the index, or says that they cannot be in it.
    #[inline]
    pub(super) fn lookup_many_by<K>(
        &self,
        keys: &[K],
        key_of: impl Fn(&K) -> Option<ShortKey>,
        mut found: impl FnMut(usize, Option<u64>),
    ) {
        for (group, start) in keys.chunks(GROUP).zip((0..).step_by(GROUP)) {
            let mut asked = ArrayVec::<(ShortKey, usize, PrefetchedLevels), GROUP>::new();
            for (key, index) in group.iter().zip(start..) {
                match key_of(key) {
                    Some(key) => asked.push((key, index, self.ask_first(key))),
                    None => found(index, None),
                }
            }
            let mut pending = ArrayVec::<PendingLookup, GROUP>::new();
            for (key, index, asked) in &asked {
                match self.first_says(*key, asked) {
                    NodeAnswer::Value(value) => found(*index, Some(value)),
                    NodeAnswer::Absent => found(*index, None),
                    NodeAnswer::Deeper(level) => pending.push(self.ask_next(*key, *index, level)),
                }
            }
            while !pending.is_empty() {
                pending.retain(|lookup| match self.go_on(lookup) {
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

    /// Asks for the primary buckets of a key's names of the levels that matter.
    #[inline(always)]
    fn ask_first(&self, key: ShortKey) -> PrefetchedLevels {
        let size = self.table.size();
        let mut asked = PrefetchedLevels::new();
        for level in deepest_first(self.batch_levels()) {
            let pair = self.table.pair(key, level, size);
            if !has(V, WITHOUT_PREFETCH) {
                self.table.prefetch_bucket(pair.primary);
            }
            asked.push((level, pair));
        }
        asked
    }

    /// What the deepest node says that is in its primary bucket; without one, the way begins at the top.
    #[inline(always)]
    fn first_says(&self, key: ShortKey, asked: &PrefetchedLevels) -> NodeAnswer {
        let said = asked.iter().find_map(|&(level, pair)| {
            self.table.find_first(key, level, pair, |view| says(key, level, |word| view.word(word)))
        });
        said.unwrap_or(NodeAnswer::Deeper(LEVEL_MIN))
    }

    /// A lookup that goes on at a level, whose buckets are asked for.
    #[inline(always)]
    fn ask_next(&self, key: ShortKey, index: usize, level: u32) -> PendingLookup {
        let pair = self.table.pair(key, level, self.table.size());
        if !has(V, WITHOUT_PREFETCH) {
            self.table.prefetch(pair);
        }
        PendingLookup { key, index, level, pair }
    }

    /// What the node that comes next says, or how to go on; if it is not there, what a lookup by itself finds.
    #[inline(always)]
    fn go_on(&self, lookup: &PendingLookup) -> Result<Option<u64>, PendingLookup> {
        let PendingLookup { key, index, level, pair } = *lookup;
        match self.ask_node(key, level, pair) {
            Some(NodeAnswer::Value(value)) => Ok(Some(value)),
            Some(NodeAnswer::Absent) => Ok(None),
            Some(NodeAnswer::Deeper(level)) => Err(self.ask_next(key, index, level)),
            None => Ok(self.lookup_again(key)),
        }
    }
}
