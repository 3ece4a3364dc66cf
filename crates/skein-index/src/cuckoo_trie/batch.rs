//! Many lookups at once: each goes one step, then the next one does, so that while one waits for memory the others go on.
//!
//! ```text
//!   step        asks for                               needs
//!   hints       the lines of the key's hints           the key
//!   begin       the first node's two buckets           the hints, or the depth at which all begin
//!   node        those of the node below, or a record   the buckets
//!   value       what the value points to               the record
//! ```
//!
//! The steps from node to node are as many as a key needs; who has come to a leaf leaves the turns. What a way comes to is checked as in a lookup by
//! itself (`steps.rs`), and what it cannot tell is looked up from the root by itself.

use arrayvec::ArrayVec;

use super::CuckooTrie;
use super::hints::HintSums;
use super::lookup_path::{LookupPath, LookupStep};
use super::table::LinearHashSize;
use crate::record::KeyRecord;
use crate::slot::Slot;

/// Lookups in a group.
const GROUP: usize = 32;

/// Lookups under way, with their places in the group.
type LookupPaths<'k> = ArrayVec<(usize, LookupPath<'k>), GROUP>;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// Looks up all keys; `found` gets each one's position and its value's word.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let size = self.table.places();
            let ways = match self.table.depths.start() {
                Some(depth) => self.begin_at(depth, keys, size),
                None => self.begin_by_hints(keys, size),
            };
            let words = self.words_of(keys, &self.follow_all(ways, size));
            for (place, word) in words.into_iter().enumerate() {
                found(group * GROUP + place, word);
            }
        }
    }

    #[inline(always)]
    fn begin_at<'k>(&self, depth: u32, keys: &[&'k [u8]], size: LinearHashSize) -> LookupPaths<'k> {
        with_places(keys.iter().map(|key| LookupPath::from_depth(&self.table, size, key, depth)))
    }

    #[inline(never)]
    fn begin_by_hints<'k>(&self, keys: &[&'k [u8]], size: LinearHashSize) -> LookupPaths<'k> {
        let mut sums = [const { HintSums::new_const() }; GROUP];
        for (sums, key) in sums.iter_mut().zip(keys) {
            self.table.hints.ask(key, sums);
        }
        with_places(keys.iter().zip(&sums).map(|(key, sums)| self.lookup_path_by_hints(key, sums, size)))
    }

    /// Follows all ways in turns; gives the records that they come to by their places, and asks for those.
    #[inline(always)]
    fn follow_all(&self, mut ways: LookupPaths<'_>, size: LinearHashSize) -> [Option<KeyRecord>; GROUP] {
        let mut guesses = [None; GROUP];
        while !ways.is_empty() {
            let mut at = 0;
            while let Some((place, way)) = ways.get_mut(at) {
                match self.step(way, size) {
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
                ways.swap_remove(at);
            }
        }
        guesses
    }

    /// The words of the keys' values, which are in these records or looked for from the root; what they stand for is asked for.
    #[inline(always)]
    fn words_of(&self, keys: &[&[u8]], guesses: &[Option<KeyRecord>; GROUP]) -> ArrayVec<Option<u64>, GROUP> {
        let words = keys
            .iter()
            .zip(guesses)
            .map(|(key, &guess)| self.word_of(key, guess).inspect(|&word| S::prefetch(word)));
        words.collect()
    }
}

/// The ways that begin below the root, with their places.
#[inline(always)]
fn with_places<'k>(ways: impl Iterator<Item = Option<LookupPath<'k>>>) -> LookupPaths<'k> {
    ways.enumerate().filter_map(|(place, way)| Some((place, way?))).collect()
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::CuckooTrie;
    use super::super::tests::trie;
    use super::*;
    use crate::index::{MAX_KEY_LEN, OrderedIndex};
    use crate::slot::Inline;

    type Index = CuckooTrie<Inline<u64>, 4>;

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

    /// A name in one of some folders.
    fn path(n: u64) -> Vec<u8> {
        let name = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("/usr/share/doc/{}/examples/{:03}/{name:x}", n % 7, n % 97).into_bytes()
    }

    fn random(n: u64) -> Vec<u8> {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
    }

    /// Keys with their beginnings, and what lies just beside: some are there, some are not.
    fn is_as_a_map(key: impl Fn(u64) -> Vec<u8>) {
        let index = trie::<4>();
        let mut map = BTreeMap::new();
        for n in 0..6_000 {
            let key = key(n);
            // Also some beginnings of it, the empty one among them.
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
        // Of all kinds in each group, and each key again somewhere else.
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
    fn batches_of_paths_are_as_a_map_says() {
        is_as_a_map(path);
    }

    #[test]
    fn batches_of_random_keys_are_as_a_map_says() {
        is_as_a_map(random);
    }

    #[test]
    fn an_empty_index_has_nothing_for_a_batch() {
        assert_eq!(get_many(&trie::<4>(), &[b"", b"goose", &[0; 300]]), [None; 3]);
    }

    /// The nodes that ways are at move to other buckets, and get other nodes above them, all the time.
    fn finds_all_during_growth(key: impl Fn(u64) -> Vec<u8> + Sync) {
        let index = trie::<4>();
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
