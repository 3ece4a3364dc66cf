//! Indexes with a checker that verifies their whole structure.
use skein_index::cuckoo_trie::variant::{CuckooSettings, CuckooTrieVariant};
use skein_index::masstree::variant::{MasstreeSettings, MasstreeVariant};
use skein_index::mlp_index::variant::{MlpIndexVariant, MlpSettings};
use skein_index::page_tree::variant::{PageTreeSettings, PageTreeVariant};
use skein_index::skip_list::variant::{SkipListSettings, SkipListVariant};
use skein_index::wormhole::variant::{WormholeSettings, WormholeVariant};
use skein_index::{Inline, OrderedIndex};

use super::numbers::NumberSlot;

/// An index of numbers with a checker.
pub trait CheckedIndex<S: NumberSlot = Inline<u64>>: OrderedIndex<S> {
    /// Panics if an invariant does not hold.
    fn verify(&mut self);
}

impl<V: MasstreeSettings> CheckedIndex for MasstreeVariant<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<V: WormholeSettings> CheckedIndex for WormholeVariant<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<S: NumberSlot, V: PageTreeSettings> CheckedIndex<S> for PageTreeVariant<S, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<V: CuckooSettings> CheckedIndex for CuckooTrieVariant<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<V: SkipListSettings> CheckedIndex for SkipListVariant<Inline<u64>, V> {
    fn verify(&mut self) {
        self.check().unwrap();
    }
}

impl<V: MlpSettings> CheckedIndex for MlpIndexVariant<Inline<u64>, V> {
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
