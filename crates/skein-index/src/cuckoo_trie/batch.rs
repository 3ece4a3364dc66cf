//! Batches of lookups: each lookup takes one step, then the next lookup does. While one waits for
//! memory, the others proceed.
//!
//! ```text
//!   step        prefetches                              needs
//!   hints       the lines of the key's hints            the key
//!   begin       the two buckets of the first node       the hints, or the common start depth
//!   node        the buckets of the next node,           the buckets
//!               or a record
//!   value       the target of the value                 the record
//! ```
//!
//! A lookup repeats the node step until it reaches a leaf, and then leaves the rotation. Its result
//! is verified as in a single lookup (`lookup.rs`). If the result proves nothing, the lookup
//! searches from the root, alone.

use arrayvec::ArrayVec;

use super::CuckooTrieVariant;
use super::hints::HintSums;
use super::lookup::{LookupPath, LookupStep};
use super::table::LinearHashSize;
use super::variant::CuckooSettings;
use crate::record::KeyRecord;
use crate::slot::Slot;

const GROUP: usize = 32;

/// Unfinished lookups, with their positions in the group.
type LookupPaths<'k> = ArrayVec<(usize, LookupPath<'k>), GROUP>;

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    /// Looks up all keys. Calls `found` with the position of each key and the word of its value.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let size = self.engine.table.places();
            let paths = match self.engine.table.depths.start() {
                Some(depth) => self.paths_from_depth(depth, keys, size),
                None => self.paths_from_hints(keys, size),
            };
            let words = self.words_of(keys, &self.follow_all(paths, size));
            for (place, word) in words.into_iter().enumerate() {
                found(group * GROUP + place, word);
            }
        }
    }

    #[inline(always)]
    fn paths_from_depth<'k>(&self, depth: u32, keys: &[&'k [u8]], size: LinearHashSize) -> LookupPaths<'k> {
        with_positions(keys.iter().map(|key| LookupPath::from_depth(&self.engine.table, size, key, depth)))
    }

    #[inline(never)]
    fn paths_from_hints<'k>(&self, keys: &[&'k [u8]], size: LinearHashSize) -> LookupPaths<'k> {
        let mut sums = [const { HintSums::new_const() }; GROUP];
        for (sums, key) in sums.iter_mut().zip(keys) {
            self.engine.table.hints.prefetch(key, sums);
        }
        with_positions(keys.iter().zip(&sums).map(|(key, sums)| self.lookup_path_by_hints(key, sums, size)))
    }

    /// Follows all paths in turns. Returns the records at their ends, by position, and prefetches
    /// them.
    #[inline(always)]
    fn follow_all(&self, mut paths: LookupPaths<'_>, size: LinearHashSize) -> [Option<KeyRecord>; GROUP] {
        let mut guesses = [None; GROUP];
        while !paths.is_empty() {
            let mut at = 0;
            while let Some((place, path)) = paths.get_mut(at) {
                match self.step(path, size) {
                    LookupStep::On => {
                        at += 1;
                        continue;
                    }
                    LookupStep::Leaf(Some(record)) => {
                        KeyRecord::prefetch(record.word());
                        guesses[*place] = Some(record);
                    }
                    LookupStep::Leaf(None) | LookupStep::Nowhere => {}
                }
                paths.swap_remove(at);
            }
        }
        guesses
    }

    /// Returns the words of the keys' values: from these records if their keys match, else from a
    /// search that begins at the root. Prefetches the targets of the words.
    #[inline(always)]
    fn words_of(&self, keys: &[&[u8]], guesses: &[Option<KeyRecord>; GROUP]) -> ArrayVec<Option<u64>, GROUP> {
        let words = keys
            .iter()
            .zip(guesses)
            .map(|(key, &guess)| self.word_of(key, guess).inspect(|&word| S::prefetch(word)));
        words.collect()
    }
}

/// Returns the paths that begin below the root, with their positions.
#[inline(always)]
fn with_positions<'k>(paths: impl Iterator<Item = Option<LookupPath<'k>>>) -> LookupPaths<'k> {
    paths.enumerate().filter_map(|(place, path)| Some((place, path?))).collect()
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::tests::trie;
    use super::super::variant::CuckooOfLeastBits;
    use super::*;
    use crate::index::{MAX_KEY_LEN, OrderedIndex};
    use crate::slot::Inline;

    type Index = CuckooTrieVariant<Inline<u64>, CuckooOfLeastBits<4>>;

    fn get_many(index: &Index, keys: &[&[u8]]) -> Vec<Option<u64>> {
        let guard = index.collector().enter();
        let mut values = vec![];
        index.get_many(keys, &guard, |place, value| {
            assert_eq!(place, values.len(), "answers come in the order of the keys");
            values.push(value);
        });
        values
    }

    fn insert(index: &Index, key: &[u8], value: u64) {
        index.insert(key, Inline(value), &index.collector().enter()).unwrap();
    }

    /// Returns a path in one of some folders.
    fn path(n: u64) -> Vec<u8> {
        let name = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("/usr/share/doc/{}/examples/{:03}/{name:x}", n % 7, n % 97).into_bytes()
    }

    fn random(n: u64) -> Vec<u8> {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
    }

    /// Looks up present and absent keys, their prefixes and their neighbours, and compares the
    /// answers with those of a map.
    fn answers_match_a_map(key: impl Fn(u64) -> Vec<u8>) {
        let index = trie::<CuckooOfLeastBits<4>>();
        let mut map = BTreeMap::new();
        for n in 0..6_000 {
            let key = key(n);
            // Also insert some prefixes of it, among them the empty one.
            for len in [key.len(), key.len() - n as usize % key.len(), 0].into_iter().take(1 + n as usize % 3)
            {
                insert(&index, &key[..len], n);
                map.insert(key[..len].to_vec(), n);
            }
        }
        let absent = (6_000..7_000).map(&key);
        let beginnings =
            map.keys().flat_map(|key| [&key[..key.len() / 2], &key[..key.len().saturating_sub(1)]]);
        let longer = map.keys().map(|key| [key.as_slice(), &[0]].concat());
        let beside = map.keys().filter_map(|key| {
            let mut key = key.clone();
            *key.last_mut()? ^= 1;
            Some(key)
        });
        let too_long = [vec![b'/'; MAX_KEY_LEN + 1], [path(3), vec![0; MAX_KEY_LEN]].concat()];
        let mut asked: Vec<Vec<u8>> = map.keys().cloned().chain(absent).chain(too_long).collect();
        asked.extend(beginnings.map(<[u8]>::to_vec).chain(longer).chain(beside));
        // Every group has keys of all sorts, and every key occurs twice, in different groups.
        let count = asked.len();
        let slices: Vec<&[u8]> = (0..2 * count).map(|at| asked[at * 7_919 % count].as_slice()).collect();
        let expected: Vec<Option<u64>> = slices.iter().map(|&key| map.get(key).copied()).collect();
        assert!(get_many(&index, &slices) == expected);
        for len in [0, 1, GROUP - 1, GROUP, GROUP + 1, 3 * GROUP + 2] {
            assert_eq!(get_many(&index, &slices[..len]), expected[..len], "{len} keys");
        }
        let same = vec![slices[0]; 2 * GROUP + 1];
        assert_eq!(get_many(&index, &same), vec![expected[0]; same.len()]);
    }

    #[test]
    fn batches_of_paths_match_a_map() {
        answers_match_a_map(path);
    }

    #[test]
    fn batches_of_random_keys_match_a_map() {
        answers_match_a_map(random);
    }

    #[test]
    fn an_empty_index_has_nothing_for_a_batch() {
        assert_eq!(get_many(&trie::<CuckooOfLeastBits<4>>(), &[b"", b"goose", &[0; 300]]), [None; 3]);
    }

    /// While the batches run, the nodes on their paths move to other buckets and get other parents.
    fn finds_all_during_growth(key: impl Fn(u64) -> Vec<u8> + Sync) {
        let index = trie::<CuckooOfLeastBits<4>>();
        let count = 30_000;
        let kept: Vec<Vec<u8>> = (0..count / 10).map(|n| key(10 * n)).collect();
        kept.iter().zip(0..).for_each(|(key, n)| insert(&index, key, n));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in (0..count).filter(|n| n % 10 != 0) {
                    insert(&index, &key(n), n);
                }
                for n in (0..count).filter(|n| n % 10 != 0) {
                    assert_eq!(index.remove(&key(n), &index.collector().enter()), Some(n));
                }
                done.store(true, Ordering::Relaxed);
            });
            let missing: Vec<Vec<u8>> = (count..count + 3_000).map(&key).collect();
            let slices: Vec<&[u8]> = kept.iter().zip(&missing).flat_map(|(a, b)| [a.as_slice(), b]).collect();
            while !done.load(Ordering::Relaxed) {
                for (place, value) in get_many(&index, &slices).into_iter().enumerate() {
                    assert_eq!(value, (place % 2 == 0).then_some(place as u64 / 2), "key {place}");
                }
            }
        });
    }

    #[test]
    fn batches_of_paths_find_all_keys_during_growth() {
        finds_all_during_growth(path);
    }

    #[test]
    fn batches_of_random_keys_find_all_keys_during_growth() {
        finds_all_during_growth(random);
    }
}
