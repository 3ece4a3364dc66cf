use std::sync::Arc;

use skein_sync::reclaim::Collector;

use super::*;
use crate::slot::Inline;

#[test]
fn dbg() {
    let index = CuckooTrie::<Inline<u64>, 11>::with_variant(Arc::new(Collector::new()));
    let guard = index.base.collector.enter();
    for n in 0..20_000_u64 {
        index.insert(&n.to_be_bytes(), Inline(n), &guard).unwrap();
    }
    drop(guard);
    let mut index = index;
    println!("{:?}", index.check());
}
