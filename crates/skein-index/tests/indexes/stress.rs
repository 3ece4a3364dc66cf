//! Stress tests: many threads on one index. Every thread knows exactly the value of each of its own
//! keys at every moment; values name the key they belong to; scans must return all keys that stay.
//!
//! `SKEIN_STRESS=30 cargo test --release -p skein-index --test indexes stress` makes the runs 30
//! times as long.
#![cfg_attr(feature = "planted-bugs", allow(dead_code, unused_imports))]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::checked::CheckedIndex;
use crate::support::random::TestRandom;
use crate::support::{returned, shared_keys, times};
use skein_index::cuckoo_trie::variant::{
    CuckooOfLeastBits, CuckooSettings, CuckooStandard, CuckooTrieVariant,
};
use skein_index::masstree::variant::{MasstreeOfWidth, MasstreeSettings, MasstreeStandard, MasstreeVariant};
use skein_index::mlp_index::variant::{
    MlpBucketPerKey, MlpCrowded, MlpIndexVariant, MlpSettings, MlpStandard, MlpWithoutPrefetch,
};
#[cfg(not(feature = "planted-bugs"))]
use skein_index::page_tree::variant::{PageTreeOfWidth, PageTreeSettings, PageTreeStandard, PageTreeVariant};
use skein_index::skip_list::variant::{
    BareSkipListOf, SkipListOf, SkipListSettings, SkipListStandard, SkipListVariant,
};
use skein_index::wormhole::variant::{WormholeOfWidth, WormholeSettings, WormholeStandard, WormholeVariant};
use skein_index::{Boxed, Collector, ComputeAction, Cursor, Guard, Inline, Masstree, OrderedIndex, Slot};

/// The messages of the checks on a writer's keys and on the keys that stay.
const NOT_AS_LEFT: &str = "a key is not as its writer left it";
const MISSING: &str = "a stable key is missing";

/// Returns a value that names its key: the key's number above, a counter below.
fn value_of(key: usize, version: u64) -> u64 {
    (key as u64) << 32 | version & 0xffff_ffff
}

fn key_in(value: u64) -> usize {
    (value >> 32) as usize
}

/// The state that the threads of one run share.
struct StressRun<'r, I> {
    index: &'r I,
    keys: &'r [Vec<u8>],
    /// Every `stable`-th key is inserted before the threads start, and stays.
    stable: usize,
    stop: AtomicBool,
}

impl<I: OrderedIndex<Inline<u64>>> StressRun<'_, I> {
    fn is_stable(&self, key: usize) -> bool {
        key.is_multiple_of(self.stable)
    }

    /// Changes the keys of one writer and compares every answer with the expected one.
    fn write(&self, writer: usize, writers: usize, operations: usize) -> HashMap<usize, u64> {
        let mut random = TestRandom::new(writer as u64 + 1);
        let mut mine: HashMap<usize, u64> = HashMap::new();
        let own: Vec<usize> =
            (0..self.keys.len()).filter(|&key| !self.is_stable(key) && key % writers == writer).collect();
        for version in 0..operations as u64 {
            let guard = self.index.collector().enter();
            // Occasionally a wave of removals, so that nodes and layers are removed.
            let wave = (version / 512).is_multiple_of(2);
            let key = own[random.below(own.len())];
            let bytes = &self.keys[key];
            let value = value_of(key, version);
            let expected = mine.get(&key).copied();
            match random.below(10) {
                0 => assert_eq!(self.index.get(bytes, &guard), expected, "{NOT_AS_LEFT}: {key}"),
                1 => {
                    let done = self
                        .index
                        .compute(
                            bytes,
                            |seen| {
                                assert_eq!(seen, expected, "{NOT_AS_LEFT}: {key}");
                                ComputeAction::Put(Inline(value))
                            },
                            &guard,
                        )
                        .unwrap();
                    assert_eq!((done.before, done.changed), (expected, true), "{NOT_AS_LEFT}: {key}");
                    mine.insert(key, value);
                }
                n if (n < 4) == wave => {
                    assert_eq!(self.index.remove(bytes, &guard), expected, "{NOT_AS_LEFT}: {key}");
                    mine.remove(&key);
                }
                _ => {
                    let before = self.index.insert(bytes, Inline(value), &guard).unwrap();
                    assert_eq!(before, expected, "{NOT_AS_LEFT}: {key}");
                    mine.insert(key, value);
                }
            }
        }
        mine
    }

    /// Looks keys up, one by one and in batches. Stable keys must be present, and every value must
    /// belong to its key.
    fn read(&self, seed: u64) {
        let mut random = TestRandom::new(seed);
        while !self.stop.load(Ordering::Relaxed) {
            let guard = self.index.collector().enter();
            let numbers: Vec<usize> = (0..40).map(|_| random.below(self.keys.len())).collect();
            let batch: Vec<&[u8]> = numbers.iter().map(|&key| &*self.keys[key]).collect();
            let check = |key: usize, found: Option<u64>| {
                assert!(found.is_some() || !self.is_stable(key), "{MISSING}: {key}");
                assert!(found.is_none_or(|value| key_in(value) == key), "key {key} has the value of another");
            };
            self.index.get_many(&batch, &guard, |at, found| check(numbers[at], found));
            for &key in &numbers {
                check(key, self.index.get(&self.keys[key], &guard));
            }
        }
    }

    /// Scans in both directions. Keys must be in order, values must belong to their keys, and all
    /// stable keys must appear exactly once.
    fn scan(&self) {
        let stable = (0..self.keys.len()).filter(|&key| self.is_stable(key)).count();
        let mut forward = false;
        let mut last: Vec<u8> = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            forward = !forward;
            let guard = self.index.collector().enter();
            let mut cursor = self.index.cursor(&guard);
            let (mut met, mut first) = (0, true);
            while if forward { cursor.next() } else { cursor.prev() } {
                let (key, value) = (cursor.key().unwrap(), cursor.value().unwrap());
                let ordered = if forward { *last < *key } else { *last > *key };
                assert!(first || ordered, "{last:?} and then {key:?}, forward: {forward}");
                assert_eq!(&self.keys[key_in(value)], key);
                met += usize::from(self.is_stable(key_in(value)));
                first = false;
                last.clear();
                last.extend_from_slice(key);
            }
            assert_eq!(met, stable, "a scan missed stable keys or met them twice, forward: {forward}");
        }
    }
}

/// Runs writers, readers and scanners at once. Afterwards the index must hold the recorded writes,
/// and return its memory when all keys are removed.
fn stress<I: CheckedIndex>(mut index: I, keys: &[Vec<u8>], operations: usize) {
    let empty = index.memory().live();
    let run = StressRun { index: &index, keys, stable: 7, stop: AtomicBool::new(false) };
    let mut expected: HashMap<usize, u64> =
        (0..keys.len()).filter(|&key| run.is_stable(key)).map(|key| (key, value_of(key, 0))).collect();
    let guard = index.collector().enter();
    for (&key, &value) in &expected {
        index.insert(&keys[key], Inline(value), &guard).unwrap();
    }
    drop(guard);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| (writer, &run))
            .map(|(w, run)| scope.spawn(move || run.write(w, 3, times(operations))))
            .collect();
        let others = [scope.spawn(|| run.read(99)), scope.spawn(|| run.scan())];
        // The other threads stop even if a writer's check fails.
        let results: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        run.stop.store(true, Ordering::Relaxed);
        expected.extend(returned(results).into_iter().flatten());
        returned(others.map(std::thread::ScopedJoinHandle::join));
    });
    let guard = index.collector().enter();
    assert_eq!(index.len(), expected.len());
    for (key, bytes) in keys.iter().enumerate() {
        assert_eq!(index.get(bytes, &guard), expected.get(&key).copied());
    }
    let mut cursor = index.cursor(&guard);
    let mut count = 0;
    while cursor.next() {
        count += 1;
    }
    assert_eq!(count, expected.len());
    drop(cursor);
    drop(guard);
    index.verify();
    let guard = index.collector().enter();
    for key in expected.keys() {
        assert!(index.remove(&keys[*key], &guard).is_some());
    }
    guard.flush();
    drop(guard);
    assert_eq!(index.memory().live(), empty, "memory was not returned");
    index.verify();
}

fn masstree<V: MasstreeSettings>(keys: &[Vec<u8>], operations: usize) {
    stress(MasstreeVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), keys, operations);
}

#[cfg(not(feature = "planted-bugs"))]
fn wormhole<V: WormholeSettings>(keys: &[Vec<u8>], operations: usize) {
    stress(WormholeVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), keys, operations);
}

#[cfg(not(feature = "planted-bugs"))]
fn page_tree<V: PageTreeSettings>(keys: &[Vec<u8>], operations: usize) {
    stress(PageTreeVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), keys, operations);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn page_tree_with_numbers() {
    page_tree::<PageTreeStandard>(&shared_keys::numbers(4_000), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn page_tree_with_paths() {
    page_tree::<PageTreeStandard>(&shared_keys::paths(2_000), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn page_tree_of_small_pages_with_numbers() {
    page_tree::<PageTreeOfWidth<4>>(&shared_keys::numbers(60), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn page_tree_of_small_pages_with_paths() {
    page_tree::<PageTreeOfWidth<4>>(&shared_keys::paths(200), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn page_tree_of_small_pages_with_long_keys() {
    page_tree::<PageTreeOfWidth<4>>(&shared_keys::long(12), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn wormhole_with_numbers() {
    wormhole::<WormholeStandard>(&shared_keys::numbers(4_000), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn wormhole_with_paths() {
    wormhole::<WormholeStandard>(&shared_keys::paths(2_000), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn wormhole_of_small_leaves_with_numbers() {
    wormhole::<WormholeOfWidth<4>>(&shared_keys::numbers(60), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn wormhole_of_small_leaves_with_paths() {
    wormhole::<WormholeOfWidth<4>>(&shared_keys::paths(200), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn wormhole_of_small_leaves_with_long_keys() {
    wormhole::<WormholeOfWidth<4>>(&shared_keys::long(12), 60_000);
}

#[cfg(not(feature = "planted-bugs"))]
fn cuckoo_trie<V: CuckooSettings>(keys: &[Vec<u8>], operations: usize) {
    stress(CuckooTrieVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), keys, operations);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn cuckoo_trie_with_numbers() {
    cuckoo_trie::<CuckooStandard>(&shared_keys::numbers(4_000), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn cuckoo_trie_with_paths() {
    cuckoo_trie::<CuckooStandard>(&shared_keys::paths(2_000), 60_000);
}

/// So few buckets that the table grows and shrinks all the time, and entries move.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn cuckoo_trie_of_two_buckets_with_numbers() {
    cuckoo_trie::<CuckooOfLeastBits<1>>(&shared_keys::numbers(60), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn cuckoo_trie_of_two_buckets_with_paths() {
    cuckoo_trie::<CuckooOfLeastBits<1>>(&shared_keys::paths(200), 60_000);
}

/// For the incident see `cuckoo_trie_of_long_keys` in `schedules.rs`.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn cuckoo_trie_with_long_keys() {
    cuckoo_trie::<CuckooStandard>(&shared_keys::long(12), 60_000);
}

#[cfg(not(feature = "planted-bugs"))]
fn skip_list<V: SkipListSettings>(keys: &[Vec<u8>], operations: usize) {
    stress(SkipListVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), keys, operations);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn skip_list_with_numbers() {
    skip_list::<SkipListStandard>(&shared_keys::numbers(4_000), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn skip_list_with_paths() {
    skip_list::<SkipListStandard>(&shared_keys::paths(2_000), 60_000);
}

/// So few levels and keys that the same nodes are inserted and removed all the time.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn skip_list_of_three_levels_with_numbers() {
    skip_list::<SkipListOf<3, 3>>(&shared_keys::numbers(60), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn skip_list_without_versions() {
    skip_list::<BareSkipListOf>(&shared_keys::numbers(4_000), 60_000);
    skip_list::<BareSkipListOf>(&shared_keys::paths(2_000), 60_000);
    skip_list::<BareSkipListOf<3, 3>>(&shared_keys::numbers(60), 60_000);
}

#[cfg(not(feature = "planted-bugs"))]
fn mlp_index<V: MlpSettings>(keys: &[Vec<u8>], operations: usize) {
    stress(MlpIndexVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), keys, operations);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn mlp_index_with_numbers() {
    mlp_index::<MlpStandard>(&shared_keys::numbers(4_000), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn mlp_index_with_short_keys() {
    mlp_index::<MlpStandard>(&shared_keys::short(2_000), 60_000);
}

/// So few keys, and so close together, that writers use the same nodes all the time.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn mlp_index_with_few_short_keys() {
    mlp_index::<MlpWithoutPrefetch>(&shared_keys::short(60), 60_000);
}

/// Names that share few buckets: the table grows and shrinks all the time, and nodes move.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn mlp_index_with_crowded_keys() {
    mlp_index::<MlpCrowded>(&shared_keys::crowded(200), 30_000);
}

/// Every insert and every removal resizes the table, under readers and scans.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn mlp_index_that_resizes() {
    mlp_index::<MlpBucketPerKey>(&shared_keys::short(600), 30_000);
    mlp_index::<MlpBucketPerKey>(&shared_keys::numbers(600), 30_000);
}

/// The suite must notice a lookup that does not follow a split: the checks above fail within some
/// rounds.
#[test]
#[cfg(feature = "planted-bugs")]
fn a_lost_split_check_is_noticed() {
    let caught = (0..200).any(|_| {
        let round = || masstree::<MasstreeOfWidth<3>>(&shared_keys::paths(60), 20_000);
        crate::support::planted::caught(&[NOT_AS_LEFT, MISSING], round)
    });
    assert!(caught, "the planted bug went unnoticed");
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn masstree_with_numbers() {
    masstree::<MasstreeStandard>(&shared_keys::numbers(600), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn masstree_with_paths() {
    masstree::<MasstreeStandard>(&shared_keys::paths(500), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn narrow_masstree_with_numbers() {
    masstree::<MasstreeOfWidth<3>>(&shared_keys::numbers(60), 60_000);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn narrow_masstree_with_paths() {
    masstree::<MasstreeOfWidth<3>>(&shared_keys::paths(60), 60_000);
}

/// Several threads increment keys that other threads remove. No increment may be lost.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn increments_are_not_lost() {
    const THREADS: usize = 4;
    let rounds = times(20_000);
    let index = MasstreeVariant::<Inline<u64>, MasstreeOfWidth<3>>::with_variant(Arc::new(Collector::new()));
    let keys = shared_keys::paths(12);
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (index, keys, taken) = (&index, &keys, &taken);
            scope.spawn(move || {
                let mut random = TestRandom::new(thread as u64);
                for _ in 0..rounds {
                    let guard = index.collector().enter();
                    let key = &keys[random.below(keys.len())];
                    index
                        .compute(key, |seen| ComputeAction::Put(Inline(seen.unwrap_or(0) + 1)), &guard)
                        .unwrap();
                    if random.below(4) == 0 {
                        let key = &keys[random.below(keys.len())];
                        let removed = index.remove(key, &guard).unwrap_or(0);
                        taken.fetch_add(removed as usize, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let guard = index.collector().enter();
    let left: u64 = keys.iter().filter_map(|key| index.get(key, &guard)).sum();
    assert_eq!(left as usize + taken.into_inner(), THREADS * rounds);
}

/// A value that counts how many of its kind are alive.
struct CountedValue {
    key: usize,
    alive: Arc<AtomicUsize>,
}

impl CountedValue {
    fn slot(key: usize, alive: &Arc<AtomicUsize>) -> Boxed<Self> {
        alive.fetch_add(1, Ordering::Relaxed);
        Boxed::new(Self { key, alive: Arc::clone(alive) })
    }
}

impl Drop for CountedValue {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Values on the heap are dropped exactly once, and never while a reader uses them.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn boxed_values_are_dropped_once() {
    let alive = Arc::new(AtomicUsize::new(0));
    let index = Masstree::<Boxed<CountedValue>>::new();
    let keys = shared_keys::paths(200);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (index, keys, alive) = (&index, &keys, &alive);
            scope.spawn(move || {
                let mut random = TestRandom::new(thread);
                for _ in 0..times(20_000) {
                    let guard = index.collector().enter();
                    let key = random.below(keys.len());
                    let seen = match random.below(4) {
                        0 => index.remove(&keys[key], &guard),
                        1 | 2 => index.insert(&keys[key], CountedValue::slot(key, alive), &guard).unwrap(),
                        _ => index.get(&keys[key], &guard),
                    };
                    assert!(
                        seen.is_none_or(|value| value.key == key && value.alive.load(Ordering::Relaxed) > 0)
                    );
                }
                index.collector().enter().flush();
            });
        }
    });
    let left = index.len();
    assert!(alive.load(Ordering::Relaxed) >= left);
    drop(index);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    const { assert!(<Boxed<CountedValue> as Slot>::OWNS) };
}
