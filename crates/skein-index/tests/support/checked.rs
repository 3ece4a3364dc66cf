//! Indexes with a checker that verifies their whole structure.
use skein_index::cuckoo_trie::variant::CuckooSettings;
use skein_index::masstree::variant::MasstreeSettings;
use skein_index::mlp_index::variant::MlpSettings;
use skein_index::skip_list::variant::SkipListSettings;
use skein_index::wormhole::variant::WormholeSettings;
use skein_index::{CuckooTrie, Inline, Masstree, MlpIndex, OrderedIndex, SkipList, Wormhole};

/// An index with a checker.
pub trait CheckedIndex: OrderedIndex<Inline<u64>> {
    /// Panics if an invariant does not hold.
    fn verify(&mut self);
}

impl<V: MasstreeSettings> CheckedIndex for Masstree<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<V: WormholeSettings> CheckedIndex for Wormhole<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<V: CuckooSettings> CheckedIndex for CuckooTrie<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<V: SkipListSettings> CheckedIndex for SkipList<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<V: MlpSettings> CheckedIndex for MlpIndex<Inline<u64>, V> {
    fn verify(&mut self) {
        let shape = self.check().unwrap();
        if V::BUCKET_PER_KEY {
            assert!(
                shape.slots >= 4 * (2_048 + shape.leaves),
                "the table has not grown with every key: {shape:?}"
            );
        }
    }
}
