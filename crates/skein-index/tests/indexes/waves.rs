//! Waves of inserts and removals, so that nodes split and merge all the time, under scans in both
//! directions. The scans are checked against the contract for every key.
//!
//! ```text
//!   key's count   0: absent   1: is being inserted   2: present   3: is being removed   4: absent ...
//!   scan          counts before ─► keys returned ─► counts after
//! ```
//!
//! If a key's count was the same 2 before and after the scan, the key was present throughout, and
//! the scan must return it once. If the key was absent throughout, the scan must not return it. No
//! scan returns a key on the wrong side of its start. `SKEIN_STRESS=30` makes the runs 30 times as
//! long.
#![cfg_attr(feature = "planted-bugs", allow(dead_code, unused_imports))]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::checked::CheckedIndex;
use crate::support::random::TestRandom;
use crate::support::{returned, shared_keys, times};
use skein_index::cuckoo_trie::variant::{CuckooOfLeastBits, CuckooTrieVariant};
use skein_index::masstree::variant::{MasstreeOfWidth, MasstreeVariant};
#[cfg(not(feature = "planted-bugs"))]
use skein_index::page_tree::variant::{PageTreeOfWidth, PageTreeSettings, PageTreeStandard, PageTreeVariant};
use skein_index::skip_list::variant::{SkipListOf, SkipListSettings, SkipListStandard, SkipListVariant};
use skein_index::wormhole::variant::{WormholeOfWidth, WormholeSettings, WormholeStandard, WormholeVariant};
use skein_index::{Collector, Cursor, Inline, MlpIndex, OrderedIndex};

const WRITERS: usize = 2;
const PRESENT: u64 = 2;
/// The messages of the checks of writers and scans.
const LOST: &str = "a key is lost";
const BACK: &str = "a removed key is back";
const UNORDERED: &str = "out of order, or twice";
const WRONGLY_MET: &str = "met an absent key, or missed a present one:";

/// The state that the threads of one run share. A key's value is its position among the sorted
/// keys.
struct WaveRun<'r, I> {
    index: &'r I,
    keys: &'r [Vec<u8>],
    counts: Vec<AtomicU64>,
    stop: AtomicBool,
}

impl<I: OrderedIndex<Inline<u64>>> WaveRun<'_, I> {
    /// Returns the writer that owns a key. Some keys have no owner and stay, so that there are
    /// always neighbours.
    fn owner(key: usize) -> Option<usize> {
        (!key.is_multiple_of(16)).then_some(key % WRITERS)
    }

    fn insert(&self, key: usize) {
        self.counts[key].fetch_add(1, Ordering::SeqCst);
        let guard = self.index.collector().enter();
        assert_eq!(self.index.insert(&self.keys[key], Inline(key as u64), &guard), Ok(None), "{BACK}: {key}");
        self.counts[key].fetch_add(1, Ordering::SeqCst);
    }

    fn remove(&self, key: usize) {
        self.counts[key].fetch_add(1, Ordering::SeqCst);
        let guard = self.index.collector().enter();
        assert_eq!(self.index.remove(&self.keys[key], &guard), Some(key as u64), "{LOST}: {key}");
        self.counts[key].fetch_add(1, Ordering::SeqCst);
    }

    /// Inserts and removes all of one writer's keys: in order, in reverse order, and in random
    /// order.
    fn write(&self, writer: usize, waves: usize) {
        let mut random = TestRandom::new(writer as u64);
        let mut own: Vec<usize> =
            (0..self.keys.len()).filter(|&key| Self::owner(key) == Some(writer)).collect();
        for wave in 0..waves {
            for &key in &own {
                self.insert(key);
            }
            match wave % 3 {
                0 => own.sort_unstable(),
                1 => own.reverse(),
                _ => random.shuffle(&mut own),
            }
            for &key in &own {
                self.remove(key);
            }
        }
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Ordering::SeqCst)).collect()
    }

    /// Scans in one direction until the run ends: alternately all keys, and some keys from a random
    /// one.
    fn scan(&self, forward: bool) {
        let mut random = TestRandom::new(forward.into());
        while !self.stop.load(Ordering::Relaxed) {
            self.scan_from(if forward { 0 } else { self.keys.len() - 1 }, self.keys.len(), forward);
            self.scan_from(random.below(self.keys.len()), random.below(60), forward);
        }
    }

    /// Runs one scan of at most `most` keys.
    fn scan_from(&self, start: usize, most: usize, forward: bool) {
        let before = self.counts();
        let guard = self.index.collector().enter();
        let mut cursor = self.index.cursor(&guard);
        let mut met = Vec::new();
        let start_key = &self.keys[start];
        let mut on = if forward { cursor.seek(start_key) } else { cursor.seek_back(start_key) };
        while on && met.len() < most {
            let key = cursor.value().expect("it stands on a key") as usize;
            assert_eq!(cursor.key(), Some(&*self.keys[key]), "the value of another key");
            met.push(key);
            on = if forward { cursor.next() } else { cursor.prev() };
        }
        let after = self.counts();
        assert!(
            met.is_sorted_by(|a, b| if forward { a < b } else { a > b }),
            "{UNORDERED}, forward {forward}: {met:?}"
        );
        assert!(
            met.first().is_none_or(|&first| if forward { first >= start } else { first <= start }),
            "from {start} on, forward {forward}: {met:?}"
        );
        // A scan that ended early says nothing about keys behind the last one that it returned.
        let last = if on { met.last().copied() } else { Some(if forward { self.keys.len() - 1 } else { 0 }) };
        let Some(last) = last else { return };
        met.sort_unstable();
        for key in start.min(last)..=start.max(last) {
            if before[key] == after[key] && before[key].is_multiple_of(2) {
                let present = before[key] % 4 == PRESENT;
                let is_met = met.binary_search(&key).is_ok();
                assert_eq!(is_met, present, "{WRONGLY_MET} {key}, forward {forward}: {met:?}");
            }
        }
    }
}

/// Runs writers and scanners at once. In the end only the keys that stay are present, and the nodes
/// that the waves filled are freed.
fn waves<I: CheckedIndex>(mut index: I, mut keys: Vec<Vec<u8>>, waves: usize) {
    keys.sort();
    let run = WaveRun {
        index: &index,
        keys: &keys,
        counts: keys.iter().map(|_| AtomicU64::new(0)).collect(),
        stop: AtomicBool::new(false),
    };
    (0..keys.len()).for_each(|key| run.insert(key));
    let full = index.memory().nodes;
    (0..keys.len()).filter(|&key| WaveRun::<I>::owner(key).is_some()).for_each(|key| run.remove(key));
    std::thread::scope(|scope| {
        let run = &run;
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || run.write(writer, times(waves)))).collect();
        let scanners = [true, false].map(|forward| scope.spawn(move || run.scan(forward)));
        // The scanners stop even if a writer's check fails.
        let results: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        run.stop.store(true, Ordering::Relaxed);
        returned(results);
        returned(scanners.map(std::thread::ScopedJoinHandle::join));
    });
    run.scan_from(0, keys.len(), true);
    // One thread at a time shrinks a table, and the others continue. If that thread was
    // interrupted, later removals shrink the table.
    run.write(0, 1);
    index.verify();
    assert_eq!(index.len(), keys.len().div_ceil(16));
    assert!(index.memory().nodes < 2 * full / 3, "nodes have not merged: {} of {full}", index.memory().nodes);
}

fn wormhole<V: WormholeSettings>(keys: Vec<Vec<u8>>, count: usize) {
    waves(WormholeVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), keys, count);
}

#[cfg(not(feature = "planted-bugs"))]
fn masstree(keys: Vec<Vec<u8>>, count: usize) {
    waves(
        MasstreeVariant::<Inline<u64>, MasstreeOfWidth<3>>::with_variant(Arc::new(Collector::new())),
        keys,
        count,
    );
}

/// The table starts with eight buckets.
#[cfg(not(feature = "planted-bugs"))]
fn cuckoo_trie(keys: Vec<Vec<u8>>, count: usize) {
    waves(
        CuckooTrieVariant::<Inline<u64>, CuckooOfLeastBits<3>>::with_variant(Arc::new(Collector::new())),
        keys,
        count,
    );
}

#[cfg(not(feature = "planted-bugs"))]
fn skip_list<V: SkipListSettings>(keys: Vec<Vec<u8>>, count: usize) {
    waves(SkipListVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), keys, count);
}

#[cfg(not(feature = "planted-bugs"))]
fn page_tree<V: PageTreeSettings>(keys: Vec<Vec<u8>>, count: usize) {
    waves(PageTreeVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), keys, count);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn page_tree_with_pages_of_4() {
    page_tree::<PageTreeOfWidth<4>>(shared_keys::numbers(200), 150);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn page_tree_with_long_separators() {
    page_tree::<PageTreeOfWidth<4>>(shared_keys::paths(200), 150);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn page_tree_with_pages_of_64() {
    page_tree::<PageTreeStandard>(shared_keys::paths(2_000), 20);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn wormhole_with_leaves_of_4() {
    wormhole::<WormholeOfWidth<4>>(shared_keys::numbers(200), 150);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn wormhole_with_long_anchors() {
    wormhole::<WormholeOfWidth<4>>(shared_keys::paths(200), 150);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn wormhole_with_leaves_of_128() {
    wormhole::<WormholeStandard>(shared_keys::paths(2_000), 20);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn narrow_masstree_with_numbers() {
    masstree(shared_keys::numbers(200), 150);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn narrow_masstree_with_paths() {
    masstree(shared_keys::paths(200), 150);
}

/// So many keys that their buckets fill several pages.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn small_cuckoo_trie_with_numbers() {
    cuckoo_trie(shared_keys::numbers(6_000), 8);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn small_cuckoo_trie_with_paths() {
    cuckoo_trie(shared_keys::paths(6_000), 8);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn skip_list_with_numbers() {
    skip_list::<SkipListStandard>(shared_keys::numbers(1_000), 40);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn skip_list_with_a_longer_lead_and_paths() {
    skip_list::<SkipListOf<32, 4>>(shared_keys::paths(1_000), 40);
}

/// Towers are so low that all are linked and unlinked side by side.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn skip_list_of_two_levels_with_paths() {
    skip_list::<SkipListOf<2, 0>>(shared_keys::paths(100), 150);
}

#[cfg(not(feature = "planted-bugs"))]
fn mlp_index(keys: Vec<Vec<u8>>, count: usize) {
    waves(MlpIndex::<Inline<u64>>::new(), keys, count);
}

/// So many keys that the table is much larger than the flat bitmap.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn mlp_index_with_numbers() {
    mlp_index(shared_keys::numbers(160_000), 1);
}

/// The bug: a split does not announce itself to the readers of its leaf.
#[test]
#[cfg(feature = "planted-bugs")]
fn an_unannounced_split_is_noticed() {
    let round = || wormhole::<WormholeOfWidth<4>>(shared_keys::numbers(200), 150);
    // A few rounds if each thread has a core, hundreds if they share one.
    let messages = [LOST, BACK, UNORDERED, WRONGLY_MET];
    let caught = (0..3_000).any(|_| crate::support::planted::caught(&messages, round));
    assert!(caught, "the planted bug went unnoticed");
}
