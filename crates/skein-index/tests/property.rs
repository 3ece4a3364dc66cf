//! Random operations on each index, compared with a `BTreeMap` step by step.
#![cfg(not(skein_loom))]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use skein_index::masstree::variant::{
    WITHOUT_HUGE_PAGES, WITHOUT_INTEGERS, WITHOUT_PERMUTATION, WITHOUT_PREFETCH,
};
use skein_index::{Collector, Inline, Masstree, OrderedIndex};
use support::{Operation, any_key, compare_all, operations, run, spread_key};

/// Runs the operations, compares, removes every other key, checks the structure at each stage, and at the
/// end the memory.
fn check<const W: usize>(operations: &[Operation]) {
    let mut index = Masstree::<Inline<u64>, W>::with_width(Arc::new(Collector::new()));
    let empty = index.memory().live();
    let mut model = BTreeMap::new();
    for operation in operations {
        let guard = index.collector().enter();
        run(&index, &mut model, operation, &guard);
    }
    compare_all(&index, &model, &index.collector().enter());
    index.check().unwrap();

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
    index.check().unwrap();

    for key in model.keys() {
        assert!(index.remove(key, &index.collector().enter()).is_some());
    }
    compare_all(&index, &BTreeMap::new(), &index.collector().enter());
    index.check().unwrap();
    assert_eq!(index.memory().live(), empty, "memory has not come back");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn masstree_of_width_15(operations in operations(&any_key(), 500)) {
        check::<15>(&operations);
    }

    #[test]
    fn masstree_of_width_10(operations in operations(&any_key(), 500)) {
        check::<10>(&operations);
    }

    #[test]
    fn masstree_without_what_makes_it_fast(operations in operations(&any_key(), 500)) {
        check::<{ 15 | WITHOUT_PREFETCH | WITHOUT_PERMUTATION | WITHOUT_INTEGERS | WITHOUT_HUGE_PAGES }>(&operations);
    }

    #[test]
    fn masstree_of_width_3(operations in operations(&spread_key(), 600)) {
        check::<3>(&operations);
    }
}

/// Keys that come in order leave full nodes behind, not half-full ones (Masstree, section 4.3): the split of the last node takes
/// only the new key along.
#[test]
fn keys_in_order_fill_their_nodes() {
    let mut index = Masstree::<Inline<u64>>::new();
    for key in 0..15_000_u64 {
        index.insert(&key.to_be_bytes(), Inline(key), &index.collector().enter()).unwrap();
    }
    assert_eq!(index.check().unwrap().full, 1_000);
}
