//! Indexes with a checker that verifies their whole structure.

use skein_index::mlp_index::variant::BUCKET_PER_KEY;
use skein_index::{CuckooTrie, Inline, Masstree, MlpIndex, OrderedIndex, SkipList, Wormhole};

/// An index with a checker.
pub trait CheckedIndex: OrderedIndex<Inline<u64>> {
    /// Panics if an invariant does not hold.
    fn verify(&mut self);
}

impl<const W: usize> CheckedIndex for Masstree<Inline<u64>, W> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<const W: usize> CheckedIndex for Wormhole<Inline<u64>, W> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<const V: usize> CheckedIndex for CuckooTrie<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<const V: usize> CheckedIndex for SkipList<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<const V: usize> CheckedIndex for MlpIndex<Inline<u64>, V> {
    fn verify(&mut self) {
        let shape = self.check().unwrap();
        if V & BUCKET_PER_KEY != 0 {
            assert!(
                shape.slots >= 4 * (2_048 + shape.leaves),
                "the table has not grown with every key: {shape:?}"
            );
        }
    }
}
