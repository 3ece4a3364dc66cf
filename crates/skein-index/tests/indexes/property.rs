//! Runs random operations on each index and compares it with a `BTreeMap` after every step.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::checked::CheckedIndex;
use crate::support::numbers::{EmbeddedNumber, NumberSlot};
use crate::support::{
    IndexOperation, any_key, compare_all, crowded_key, operations, run, short_key, spread_key, zero_tails,
};
use proptest::prelude::*;
use skein_index::cuckoo_trie::variant::{
    CuckooOfLeastBits, CuckooSettings, CuckooStandard, CuckooTrieVariant, CuckooWithoutPrefetch,
};
use skein_index::masstree::variant::{
    MasstreeBase, MasstreeOfWidth, MasstreeSettings, MasstreeStandard, MasstreeVariant,
};
use skein_index::mlp_index::variant::{
    MlpBucketPerKey, MlpCrowded, MlpCrowdedBucketPerKey, MlpIndexVariant, MlpSettings, MlpStandard,
    MlpWithAllLevelsUnfetched,
};
use skein_index::page_tree::variant::{PageTreeOfWidth, PageTreeSettings, PageTreeStandard, PageTreeVariant};
use skein_index::skip_list::variant::{
    BareSkipListOf, SkipListOf, SkipListSettings, SkipListStandard, SkipListVariant, SkipListWithoutPrefetch,
};
use skein_index::wormhole::variant::{
    WormholeBaseWithoutShortAnchors, WormholeOfWidth, WormholeSettings, WormholeStandard, WormholeVariant,
    WormholeWithFourProbes, WormholeWithTwoProbes,
};
use skein_index::{Collector, Inline, Masstree, OrderedIndex};

fn masstree<V: MasstreeSettings>(operations: &[IndexOperation]) {
    check(MasstreeVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), operations);
}

fn wormhole<V: WormholeSettings>(operations: &[IndexOperation]) {
    check(WormholeVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), operations);
}

fn page_tree<V: PageTreeSettings>(operations: &[IndexOperation]) {
    check(PageTreeVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), operations);
    check(PageTreeVariant::<EmbeddedNumber, V>::with_variant(Arc::new(Collector::new())), operations);
}

fn cuckoo_trie<V: CuckooSettings>(operations: &[IndexOperation]) {
    check(CuckooTrieVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), operations);
}

fn skip_list<V: SkipListSettings>(operations: &[IndexOperation]) {
    check(SkipListVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), operations);
}

fn mlp_index<V: MlpSettings>(operations: &[IndexOperation]) {
    check(MlpIndexVariant::<Inline<u64>, V>::with_variant(Arc::new(Collector::new())), operations);
}

/// Runs the operations, compares, and removes every other key. Checks the structure at each stage,
/// and the memory at the end.
fn check<S: NumberSlot>(mut index: impl CheckedIndex<S>, operations: &[IndexOperation]) {
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
            index.insert(key, S::of(1), &index.collector().enter()).unwrap();
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
        masstree::<MasstreeStandard>(&operations);
    }

    #[test]
    fn masstree_of_width_10(operations in operations(&any_key(), 500)) {
        masstree::<MasstreeOfWidth<10>>(&operations);
    }

    #[test]
    fn masstree_without_optimisations(operations in operations(&any_key(), 500)) {
        masstree::<MasstreeBase>(&operations);
    }

    #[test]
    fn masstree_of_width_3(operations in operations(&spread_key(), 600)) {
        masstree::<MasstreeOfWidth<3>>(&operations);
    }

    #[test]
    fn wormhole_with_leaves_of_128(operations in operations(&any_key(), 900)) {
        wormhole::<WormholeStandard>(&operations);
    }

    #[test]
    fn wormhole_with_leaves_of_8(operations in operations(&any_key(), 500)) {
        wormhole::<WormholeOfWidth<8>>(&operations);
    }

    #[test]
    fn wormhole_with_leaves_of_4(operations in operations(&any_key(), 500)) {
        wormhole::<WormholeOfWidth<4>>(&operations);
    }

    #[test]
    fn wormhole_with_keys_that_differ_in_their_tails(operations in operations(&zero_tails(), 500)) {
        wormhole::<WormholeOfWidth<4>>(&operations);
    }

    #[test]
    fn wormhole_that_probes_two_prefixes_at_once(operations in operations(&any_key(), 500)) {
        wormhole::<WormholeWithTwoProbes<4>>(&operations);
    }

    #[test]
    fn wormhole_that_probes_four_prefixes_at_once(operations in operations(&any_key(), 500)) {
        wormhole::<WormholeWithFourProbes<4>>(&operations);
    }

    #[test]
    fn page_tree_with_pages_of_64(operations in operations(&any_key(), 900)) {
        page_tree::<PageTreeStandard>(&operations);
    }

    #[test]
    fn page_tree_with_pages_of_4(operations in operations(&any_key(), 500)) {
        page_tree::<PageTreeOfWidth<4>>(&operations);
    }

    #[test]
    fn page_tree_with_pages_of_12(operations in operations(&spread_key(), 700)) {
        page_tree::<PageTreeOfWidth<12>>(&operations);
    }

    #[test]
    fn page_tree_with_keys_that_differ_in_their_tails(operations in operations(&zero_tails(), 500)) {
        page_tree::<PageTreeOfWidth<4>>(&operations);
    }

    #[test]
    fn wormhole_without_optimisations(operations in operations(&any_key(), 500)) {
        wormhole::<WormholeBaseWithoutShortAnchors<16>>(&operations);
    }

    #[test]
    fn cuckoo_trie_of_full_size(operations in operations(&any_key(), 500)) {
        cuckoo_trie::<CuckooStandard>(&operations);
    }

    #[test]
    fn cuckoo_trie_of_two_buckets(operations in operations(&any_key(), 500)) {
        cuckoo_trie::<CuckooOfLeastBits<1>>(&operations);
    }

    #[test]
    fn cuckoo_trie_of_four_buckets_without_prefetch(operations in operations(&spread_key(), 500)) {
        cuckoo_trie::<CuckooWithoutPrefetch<2>>(&operations);
    }

    // In a small table a run of one symbol repeats its hash so soon that one index in thirty
    // thousand has no colour left for a key.
    #[test]
    fn cuckoo_trie_with_zero_tails(operations in operations(&zero_tails(), 300)) {
        cuckoo_trie::<CuckooOfLeastBits<8>>(&operations);
    }

    #[test]
    fn mlp_index_of_short_keys(operations in operations(&short_key(), 500)) {
        mlp_index::<MlpStandard>(&operations);
    }

    #[test]
    fn mlp_index_that_prefetches_all_levels(operations in operations(&short_key(), 300)) {
        mlp_index::<MlpWithAllLevelsUnfetched>(&operations);
    }

    #[test]
    fn mlp_index_of_crowded_keys(operations in operations(&crowded_key(), 700)) {
        mlp_index::<MlpCrowded>(&operations);
    }

    #[test]
    fn mlp_index_that_resizes(operations in operations(&short_key(), 500)) {
        mlp_index::<MlpBucketPerKey>(&operations);
    }

    #[test]
    fn mlp_index_of_crowded_keys_that_resizes(operations in operations(&crowded_key(), 500)) {
        mlp_index::<MlpCrowdedBucketPerKey>(&operations);
    }

    #[test]
    fn skip_list_of_full_height(operations in operations(&any_key(), 500)) {
        skip_list::<SkipListStandard>(&operations);
    }

    #[test]
    fn skip_list_with_a_longer_lead(operations in operations(&any_key(), 500)) {
        skip_list::<SkipListOf<32, 4>>(&operations);
    }

    #[test]
    fn skip_list_of_three_levels(operations in operations(&spread_key(), 500)) {
        skip_list::<SkipListOf<3, 3>>(&operations);
    }

    #[test]
    fn skip_list_without_versions(operations in operations(&any_key(), 500)) {
        skip_list::<BareSkipListOf>(&operations);
    }

    #[test]
    fn skip_list_of_two_levels_without_versions(operations in operations(&spread_key(), 500)) {
        skip_list::<BareSkipListOf<2, 0>>(&operations);
    }

    #[test]
    fn skip_list_of_one_level(operations in operations(&spread_key(), 300)) {
        skip_list::<SkipListOf<1, 0>>(&operations);
    }

    #[test]
    fn skip_list_without_optimisations(operations in operations(&zero_tails(), 300)) {
        skip_list::<SkipListWithoutPrefetch<8, 0>>(&operations);
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
