use std::collections::BTreeMap;

use super::MlpIndex;
use super::variant::CROWDED;
use crate::index::OrderedIndex;
use crate::slot::Inline;

fn filled(keys: impl IntoIterator<Item = u64>) -> MlpIndex<Inline<u64>> {
    let index = MlpIndex::new();
    let guard = index.collector().enter();
    for key in keys {
        index.insert(&key.to_be_bytes(), Inline(!key), &guard).unwrap();
    }
    drop(guard);
    index
}

/// Numbers as good as random, and all different.
fn spread(number: u64) -> u64 {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (spread ^ spread >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Incident: in a table that had shrunk to where both buckets of a node are the same one, a node that came from its secondary bucket was not found by a
/// change. Consequence: its removal was tried for ever. Fix: a change looks for the node as in either bucket.
#[test]
fn nodes_whose_buckets_have_become_one_can_be_removed() {
    let index = filled((0..30_000).map(spread));
    let guard = index.collector().enter();
    for number in 0..30_000 {
        assert!(index.remove(&spread(number).to_be_bytes(), &guard).is_some());
    }
    assert!(index.is_empty());
}

#[test]
fn random_keys_take_little_more_than_a_slot() {
    let mut index = filled((0..200_000).map(spread));
    let shape = index.check().unwrap();
    assert!(shape.used * 100 > 64 * shape.slots, "{shape:?}");
    assert!(shape.used < 215_000 && shape.medium + shape.large < 2_000, "{shape:?}");
    assert_eq!(index.levels() & 1 << 8, 0, "few nodes are so deep: {shape:?}");
}

#[test]
fn keys_counted_upward_are_leaves_of_the_last_byte() {
    let mut index = filled(0..100_000);
    let shape = index.check().unwrap();
    assert_eq!((shape.by_level[8], shape.large >= 390), (100_000, true), "{shape:?}");
    let guard = index.collector().enter();
    for key in 0..101_000_u64 {
        assert_eq!(index.get(&key.to_be_bytes(), &guard), (key < 100_000).then_some(!key));
    }
}

#[test]
fn crowded_names_make_the_table_grow_and_are_all_found() {
    let mut index = MlpIndex::<Inline<u64>, CROWDED>::with_variant(std::sync::Arc::default());
    let mut model = BTreeMap::new();
    let guard = index.collector().enter();
    for number in 0..3_000_u64 {
        // All names of a level end in the same eleven bits.
        let key = (number % 30) << 56 | (number / 30) << 27;
        index.insert(&key.to_be_bytes(), Inline(number), &guard).unwrap();
        model.insert(key, number);
    }
    for (key, number) in &model {
        assert_eq!(index.get(&key.to_be_bytes(), &guard), Some(*number));
    }
    drop(guard);
    let shape = index.check().unwrap();
    assert!(shape.slots > 4 * shape.used, "{shape:?}");
    let guard = index.collector().enter();
    for key in model.keys() {
        assert!(index.remove(&key.to_be_bytes(), &guard).is_some());
    }
    drop(guard);
    assert_eq!(index.check().unwrap().used, 0);
}
