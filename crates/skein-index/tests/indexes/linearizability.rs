//! Linearizability of small histories. A few threads do a few operations each on two or three keys.
//! There must be an order of all operations that explains their answers and respects real time
//! (`support/history.rs`).

use std::sync::{Arc, Barrier};

use crate::support::history::{FinishedCall, HistoryCall, HistoryClock, explains, perform};
use crate::support::random::TestRandom;
use skein_index::cuckoo_trie::variant::{CuckooOfLeastBits, CuckooTrieVariant};
use skein_index::masstree::variant::{MasstreeOfWidth, MasstreeVariant};
use skein_index::mlp_index::variant::{MlpBucketPerKey, MlpCrowded, MlpIndexVariant};
use skein_index::page_tree::variant::{PageTreeOfWidth, PageTreeVariant};
use skein_index::skip_list::variant::{BareSkipListOf, SkipListOf, SkipListVariant};
use skein_index::wormhole::variant::{WormholeOfWidth, WormholeVariant};
use skein_index::{Collector, Inline, OrderedIndex};

const THREADS: usize = 3;
const OPERATIONS: usize = 5;

/// Runs one thread's operations.
fn run<I: OrderedIndex<Inline<u64>>>(
    index: &I,
    keys: &[&[u8]],
    clock: &HistoryClock,
    seed: u64,
) -> Vec<FinishedCall> {
    let mut random = TestRandom::new(seed);
    let operation =
        |_| perform(index, keys, (random.below(keys.len()), HistoryCall::any(&mut random)), clock);
    (0..OPERATIONS).map(operation).collect()
}

fn masstree() -> MasstreeVariant<Inline<u64>, MasstreeOfWidth<3>> {
    MasstreeVariant::with_variant(Arc::new(Collector::new()))
}

fn wormhole() -> WormholeVariant<Inline<u64>, WormholeOfWidth<4>> {
    WormholeVariant::with_variant(Arc::new(Collector::new()))
}

fn page_tree() -> PageTreeVariant<Inline<u64>, PageTreeOfWidth<4>> {
    PageTreeVariant::with_variant(Arc::new(Collector::new()))
}

fn cuckoo_trie() -> CuckooTrieVariant<Inline<u64>, CuckooOfLeastBits<1>> {
    CuckooTrieVariant::with_variant(Arc::new(Collector::new()))
}

/// Two levels, so that nodes are linked on several levels and walks are long.
fn skip_list() -> SkipListVariant<Inline<u64>, SkipListOf<2, 0>> {
    SkipListVariant::with_variant(Arc::new(Collector::new()))
}

fn bare_skip_list() -> SkipListVariant<Inline<u64>, BareSkipListOf<2, 0>> {
    SkipListVariant::with_variant(Arc::new(Collector::new()))
}

fn mlp_index() -> MlpIndexVariant<Inline<u64>, MlpCrowded> {
    MlpIndexVariant::with_variant(Arc::new(Collector::new()))
}

/// Every insert and every removal resizes the table.
fn resizing_mlp_index() -> MlpIndexVariant<Inline<u64>, MlpBucketPerKey> {
    MlpIndexVariant::with_variant(Arc::new(Collector::new()))
}

fn check<I: OrderedIndex<Inline<u64>>>(make: fn() -> I, keys: &[&[u8]], others: &[&[u8]], rounds: u64) {
    for round in 0..rounds {
        let index = make();
        // More keys, so that nodes are nearly full and the operations split, grow, shrink and
        // unlink them.
        for key in &others[..round as usize % (others.len() + 1)] {
            index.insert(key, Inline(0), &index.collector().enter()).unwrap();
        }
        let (clock, barrier) = (HistoryClock::default(), Barrier::new(THREADS));
        let history: Vec<FinishedCall> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS as u64)
                .map(|thread| {
                    let (index, clock, barrier) = (&index, &clock, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        run(index, keys, clock, round * THREADS as u64 + thread)
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert!(explains(&history), "no order explains {history:#?}");
    }
}

#[test]
fn histories_in_one_node() {
    check(masstree, &[b"b", b"d"], &[b"a", b"c", b"e"], 3000);
}

#[test]
fn histories_in_a_layer() {
    check(masstree, &[b"prefix-one", b"prefix-two", b"prefix-"], &[b"prefix-three", b"prefix-t", b"a"], 3000);
}

#[test]
fn histories_in_a_leaf_that_splits_and_merges() {
    check(wormhole, &[b"b", b"d"], &[b"a", b"c", b"e", b"f", b"g"], 3000);
}

#[test]
fn histories_in_leaves_with_a_common_prefix() {
    let others: [&[u8]; 5] = [b"prefix-three", b"prefix-t", b"a", b"prefix-\0", b"prefix-\0\0"];
    check(wormhole, &[b"prefix-one", b"prefix-two", b"prefix-"], &others, 3000);
}

#[test]
fn histories_in_a_page_that_splits_and_merges() {
    check(page_tree, &[b"b", b"d"], &[b"a", b"c", b"e", b"f", b"g"], 3000);
}

#[test]
fn histories_in_pages_with_a_common_prefix() {
    let others: [&[u8]; 5] = [b"prefix-three", b"prefix-t", b"a", b"prefix-\0", b"prefix-\0\0"];
    check(page_tree, &[b"prefix-one", b"prefix-two", b"prefix-"], &others, 3000);
}

#[test]
fn histories_in_a_trie_of_two_buckets() {
    check(cuckoo_trie, &[b"b", b"d"], &[b"a", b"c", b"e", b"f", b"g"], 3000);
}

#[test]
fn histories_in_a_trie_with_jumps() {
    let others: [&[u8]; 5] = [
        b"a prefix of many symbols, three",
        b"a prefix",
        b"a prefix of",
        b"a prefix of\0",
        b"a prefix of many",
    ];
    check(
        cuckoo_trie,
        &[b"a prefix of many symbols, one", b"a prefix of many symbols, two", b"a"],
        &others,
        3000,
    );
}

#[test]
fn histories_in_a_list_of_two_levels() {
    check(skip_list, &[b"b", b"d"], &[b"a", b"c", b"e", b"f", b"g"], 3000);
    check(bare_skip_list, &[b"b", b"d"], &[b"a", b"c", b"e", b"f", b"g"], 3000);
}

#[test]
fn histories_in_a_list_with_long_keys() {
    let others: [&[u8]; 5] = [b"prefix-three", b"prefix-t", b"a", b"prefix-\0", b"prefix-\0\0"];
    check(skip_list, &[b"prefix-one", b"prefix-two", b"prefix-"], &others, 3000);
}

#[test]
fn histories_in_a_table_of_short_keys() {
    let others: [&[u8]; 6] = [b"a", b"ac", b"\0\0\0a", b"ab\0\0c", b"ab\0\0\0\0\0\0", b"b"];
    check(mlp_index, &[b"ab", b"ab\0", b"ab\0\0b"], &others, 3000);
    check(resizing_mlp_index, &[b"ab", b"ab\0", b"ab\0\0b"], &others, 3000);
}

#[test]
fn histories_in_a_crowded_table() {
    let others: [&[u8]; 6] =
        [b"\0\0\x08", b"\0\0\x08\x08", b"\0\0\0\x08\0\x08", b"\0\0\0\0\x08", b"\0\0\x08\0\0\0", b"\x08"];
    check(mlp_index, &[b"\0\0\0\x08", b"\0\0\0\x08\x08", b"\0\0\0"], &others, 3000);
}

/// Checks the search itself: it must reject a history that no order explains.
#[test]
fn a_wrong_history_is_rejected() {
    let done = |kind, answer, began, ended| FinishedCall { key: 0, kind, answer, began, ended };
    let stale = [done(HistoryCall::Insert(1), None, 0, 1), done(HistoryCall::Get, None, 2, 3)];
    assert!(!explains(&stale));
    let overlapping = [done(HistoryCall::Insert(1), None, 0, 2), done(HistoryCall::Get, None, 1, 3)];
    assert!(explains(&overlapping));
}
