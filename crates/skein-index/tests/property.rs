//! Random operations on each index, compared with a `BTreeMap` step by step.
#![cfg(not(skein_loom))]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use skein_index::{Collector, Inline, Masstree, OrderedIndex};
use support::{Operation, any_key, compare_all, operations, run, spread_key};

fn check<I: OrderedIndex<Inline<u64>>>(index: &I, operations: &[Operation]) {
    let mut model = BTreeMap::new();
    for operation in operations {
        let guard = index.collector().enter();
        run(index, &mut model, operation, &guard);
    }
    let guard = index.collector().enter();
    compare_all(index, &model, &guard);
    for key in model.keys() {
        assert!(index.remove(key, &guard).is_some());
    }
    compare_all(index, &BTreeMap::new(), &guard);
}

fn masstree<const W: usize>() -> Masstree<Inline<u64>, W> {
    Masstree::with_width(Arc::new(Collector::new()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn masstree_of_width_15(operations in operations(any_key(), 400)) {
        check(&masstree::<15>(), &operations);
    }

    #[test]
    fn masstree_of_width_10(operations in operations(any_key(), 400)) {
        check(&masstree::<10>(), &operations);
    }

    #[test]
    fn masstree_of_width_3(operations in operations(spread_key(), 600)) {
        check(&masstree::<3>(), &operations);
    }
}
