//! Runs random operations on each index and compares it with a `BTreeMap` after every step.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::checked::CheckedIndex;
use crate::support::{
    IndexOperation, any_key, compare_all, crowded_key, operations, run, short_key, spread_key, zero_tails,
};
use proptest::prelude::*;
use skein_index::cuckoo_trie::variant::WITHOUT_PREFETCH as CUCKOO_WITHOUT_PREFETCH;
use skein_index::masstree::variant::{
    WITHOUT_HUGE_PAGES, WITHOUT_INTEGERS, WITHOUT_PERMUTATION, WITHOUT_PREFETCH,
};
use skein_index::mlp_index::variant::{
    ALL_LEVELS, BUCKET_PER_KEY, CROWDED, DEFAULT, WITHOUT_PREFETCH as MLP_WITHOUT_PREFETCH,
};
use skein_index::skip_list::variant::{
    AHEAD_3, AHEAD_4, BARE, PLAIN, WITHOUT_PREFETCH as SKIP_WITHOUT_PREFETCH,
};
use skein_index::wormhole::variant::{
    PROBES_2, PROBES_4, WITHOUT_INCREMENTAL_HASH, WITHOUT_LEAF_TAGS, WITHOUT_POSITION, WITHOUT_SHORT_ANCHORS,
    WITHOUT_TAGS,
};
use skein_index::{Collector, CuckooTrie, Inline, Masstree, MlpIndex, OrderedIndex, SkipList, Wormhole};

fn masstree<const W: usize>(operations: &[IndexOperation]) {
    check(Masstree::<Inline<u64>, W>::with_variant(Arc::new(Collector::new())), operations);
}

fn wormhole<const W: usize>(operations: &[IndexOperation]) {
    check(Wormhole::<Inline<u64>, W>::with_variant(Arc::new(Collector::new())), operations);
}

fn cuckoo_trie<const V: usize>(operations: &[IndexOperation]) {
    check(CuckooTrie::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), operations);
}

fn skip_list<const V: usize>(operations: &[IndexOperation]) {
    check(SkipList::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), operations);
}

fn mlp_index<const V: usize>(operations: &[IndexOperation]) {
    check(MlpIndex::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), operations);
}

/// Runs the operations, compares, and removes every other key. Checks the structure at each stage,
/// and the memory at the end.
fn check(mut index: impl CheckedIndex, operations: &[IndexOperation]) {
    let empty = index.memory().live();
    let mut model = BTreeMap::new();
    for operation in operations {
        let guard = index.collector().enter();
        run(&index, &mut model, operation, &guard);
    }
    compare_all(&index, &model, &index.collector().enter());
    index.verify();

    let mut keep = false;
    model.retain(|key, _| {
        keep = !keep;
        assert!(index.remove(key, &index.collector().enter()).is_some());
        if keep {
            index.insert(key, Inline(1), &index.collector().enter()).unwrap();
        }
        keep
    });
    for value in model.values_mut() {
        *value = 1;
    }
    compare_all(&index, &model, &index.collector().enter());
    index.verify();

    for key in model.keys() {
        assert!(index.remove(key, &index.collector().enter()).is_some());
    }
    compare_all(&index, &BTreeMap::new(), &index.collector().enter());
    index.verify();
    assert_eq!(index.memory().live(), empty, "memory was not returned");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn masstree_of_width_15(operations in operations(&any_key(), 500)) {
        masstree::<15>(&operations);
    }

    #[test]
    fn masstree_of_width_10(operations in operations(&any_key(), 500)) {
        masstree::<10>(&operations);
    }

    #[test]
    fn masstree_without_optimisations(operations in operations(&any_key(), 500)) {
        masstree::<{ 15 | WITHOUT_PREFETCH | WITHOUT_PERMUTATION | WITHOUT_INTEGERS | WITHOUT_HUGE_PAGES }>(&operations);
    }

    #[test]
    fn masstree_of_width_3(operations in operations(&spread_key(), 600)) {
        masstree::<3>(&operations);
    }

    #[test]
    fn wormhole_with_leaves_of_128(operations in operations(&any_key(), 900)) {
        wormhole::<128>(&operations);
    }

    #[test]
    fn wormhole_with_leaves_of_8(operations in operations(&any_key(), 500)) {
        wormhole::<8>(&operations);
    }

    #[test]
    fn wormhole_with_leaves_of_4(operations in operations(&any_key(), 500)) {
        wormhole::<4>(&operations);
    }

    #[test]
    fn wormhole_with_keys_that_differ_in_their_tails(operations in operations(&zero_tails(), 500)) {
        wormhole::<4>(&operations);
    }

    #[test]
    fn wormhole_that_probes_two_prefixes_at_once(operations in operations(&any_key(), 500)) {
        wormhole::<{ 4 | PROBES_2 }>(&operations);
    }

    #[test]
    fn wormhole_that_probes_four_prefixes_at_once(operations in operations(&any_key(), 500)) {
        wormhole::<{ 4 | PROBES_4 }>(&operations);
    }

    #[test]
    fn wormhole_without_optimisations(operations in operations(&any_key(), 500)) {
        wormhole::<{
            16 | WITHOUT_TAGS
                | WITHOUT_INCREMENTAL_HASH
                | WITHOUT_LEAF_TAGS
                | WITHOUT_POSITION
                | WITHOUT_SHORT_ANCHORS
        }>(&operations);
    }

    #[test]
    fn cuckoo_trie_of_full_size(operations in operations(&any_key(), 500)) {
        cuckoo_trie::<{ skein_index::cuckoo_trie::variant::DEFAULT }>(&operations);
    }

    #[test]
    fn cuckoo_trie_of_two_buckets(operations in operations(&any_key(), 500)) {
        cuckoo_trie::<1>(&operations);
    }

    #[test]
    fn cuckoo_trie_of_four_buckets_without_prefetch(operations in operations(&spread_key(), 500)) {
        cuckoo_trie::<{ 2 | CUCKOO_WITHOUT_PREFETCH }>(&operations);
    }

    // In a small table a run of one symbol repeats its hash so soon that one index in thirty
    // thousand has no colour left for a key.
    #[test]
    fn cuckoo_trie_with_zero_tails(operations in operations(&zero_tails(), 300)) {
        cuckoo_trie::<8>(&operations);
    }

    #[test]
    fn mlp_index_of_short_keys(operations in operations(&short_key(), 500)) {
        mlp_index::<DEFAULT>(&operations);
    }

    #[test]
    fn mlp_index_that_prefetches_all_levels(operations in operations(&short_key(), 300)) {
        mlp_index::<{ ALL_LEVELS | MLP_WITHOUT_PREFETCH }>(&operations);
    }

    #[test]
    fn mlp_index_of_crowded_keys(operations in operations(&crowded_key(), 700)) {
        mlp_index::<CROWDED>(&operations);
    }

    #[test]
    fn mlp_index_that_resizes(operations in operations(&short_key(), 500)) {
        mlp_index::<BUCKET_PER_KEY>(&operations);
    }

    #[test]
    fn mlp_index_of_crowded_keys_that_resizes(operations in operations(&crowded_key(), 500)) {
        mlp_index::<{ CROWDED | BUCKET_PER_KEY }>(&operations);
    }

    #[test]
    fn skip_list_of_full_height(operations in operations(&any_key(), 500)) {
        skip_list::<{ skein_index::skip_list::variant::DEFAULT }>(&operations);
    }

    #[test]
    fn skip_list_with_a_longer_lead(operations in operations(&any_key(), 500)) {
        skip_list::<{ 32 | AHEAD_4 }>(&operations);
    }

    #[test]
    fn skip_list_of_three_levels(operations in operations(&spread_key(), 500)) {
        skip_list::<{ 3 | AHEAD_3 }>(&operations);
    }

    #[test]
    fn skip_list_without_versions(operations in operations(&any_key(), 500)) {
        skip_list::<{ skein_index::skip_list::variant::DEFAULT | BARE }>(&operations);
    }

    #[test]
    fn skip_list_of_two_levels_without_versions(operations in operations(&spread_key(), 500)) {
        skip_list::<{ 2 | BARE }>(&operations);
    }

    #[test]
    fn skip_list_of_one_level(operations in operations(&spread_key(), 300)) {
        skip_list::<{ 1 | PLAIN }>(&operations);
    }

    #[test]
    fn skip_list_without_optimisations(operations in operations(&zero_tails(), 300)) {
        skip_list::<{ 8 | PLAIN | SKIP_WITHOUT_PREFETCH }>(&operations);
    }
}

/// Inserting keys in order leaves full nodes behind, not half-full ones (Masstree, section 4.3):
/// the split of the last node moves only the new key.
#[test]
fn keys_in_order_fill_their_nodes() {
    let mut index = Masstree::<Inline<u64>>::new();
    for key in 0..15_000_u64 {
        index.insert(&key.to_be_bytes(), Inline(key), &index.collector().enter()).unwrap();
    }
    assert_eq!(index.check().unwrap().full, 1_000);
}
