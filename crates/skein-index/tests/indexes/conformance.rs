//! Runs the conformance suite on every index. To add an index, add one line at the end.

use std::sync::Arc;

use crate::support::conformance::{IndexFamily, conformance};
use skein_index::mlp_index::variant::{MlpBucketPerKey, MlpIndexVariant};
use skein_index::page_tree::PageTree;
use skein_index::skip_list::variant::{BareSkipListOf, SkipListVariant};
use skein_index::{Collector, CuckooTrie, Masstree, MlpIndex, SkipList, Slot, Wormhole};

struct OfMasstree;

impl IndexFamily for OfMasstree {
    type Index<S: Slot> = Masstree<S>;

    fn index<S: Slot>() -> Masstree<S> {
        Masstree::new()
    }

    fn with_budget<S: Slot>(bytes: usize) -> Masstree<S> {
        Masstree::with_collector(Arc::new(Collector::new())).with_budget(bytes)
    }
}

struct OfWormhole;

impl IndexFamily for OfWormhole {
    type Index<S: Slot> = Wormhole<S>;

    fn index<S: Slot>() -> Wormhole<S> {
        Wormhole::new()
    }

    fn with_budget<S: Slot>(bytes: usize) -> Wormhole<S> {
        Wormhole::with_collector(Arc::new(Collector::new())).with_budget(bytes)
    }
}

struct OfPageTree;

impl IndexFamily for OfPageTree {
    type Index<S: Slot> = PageTree<S>;

    fn index<S: Slot>() -> PageTree<S> {
        PageTree::new()
    }

    fn with_budget<S: Slot>(bytes: usize) -> PageTree<S> {
        PageTree::with_collector(Arc::new(Collector::new())).with_budget(bytes)
    }
}

struct OfCuckooTrie;

impl IndexFamily for OfCuckooTrie {
    type Index<S: Slot> = CuckooTrie<S>;

    fn index<S: Slot>() -> CuckooTrie<S> {
        CuckooTrie::new()
    }

    fn with_budget<S: Slot>(bytes: usize) -> CuckooTrie<S> {
        CuckooTrie::with_collector(Arc::new(Collector::new())).with_budget(bytes)
    }
}

struct OfSkipList;

impl IndexFamily for OfSkipList {
    type Index<S: Slot> = SkipList<S>;

    fn index<S: Slot>() -> SkipList<S> {
        SkipList::new()
    }

    fn with_budget<S: Slot>(bytes: usize) -> SkipList<S> {
        SkipList::with_collector(Arc::new(Collector::new())).with_budget(bytes)
    }
}

/// Nodes without versions.
struct OfBareSkipList;

impl IndexFamily for OfBareSkipList {
    type Index<S: Slot> = SkipListVariant<S, BareSkipListOf>;

    fn index<S: Slot>() -> Self::Index<S> {
        SkipListVariant::with_variant(Arc::new(Collector::new()))
    }

    fn with_budget<S: Slot>(bytes: usize) -> Self::Index<S> {
        Self::index().with_budget(bytes)
    }
}

struct OfMlpIndex;

impl IndexFamily for OfMlpIndex {
    type Index<S: Slot> = MlpIndex<S>;
    const LONGEST: usize = skein_index::mlp_index::MAX_LEN;

    fn index<S: Slot>() -> MlpIndex<S> {
        MlpIndex::new()
    }

    fn with_budget<S: Slot>(bytes: usize) -> MlpIndex<S> {
        MlpIndex::with_collector(Arc::new(Collector::new())).with_budget(bytes)
    }
}

/// The same, with a table that every insert and every removal resizes.
struct OfResizingMlpIndex;

impl IndexFamily for OfResizingMlpIndex {
    type Index<S: Slot> = MlpIndexVariant<S, MlpBucketPerKey>;
    const LONGEST: usize = skein_index::mlp_index::MAX_LEN;

    fn index<S: Slot>() -> Self::Index<S> {
        MlpIndexVariant::with_variant(Arc::new(Collector::new()))
    }

    fn with_budget<S: Slot>(bytes: usize) -> Self::Index<S> {
        Self::index().with_budget(bytes)
    }
}

conformance!(masstree, OfMasstree);
conformance!(wormhole, OfWormhole);
conformance!(page_tree, OfPageTree);
conformance!(cuckoo_trie, OfCuckooTrie);
conformance!(mlp_index, OfMlpIndex);
conformance!(mlp_index_that_resizes, OfResizingMlpIndex);
conformance!(skip_list, OfSkipList);
conformance!(bare_skip_list, OfBareSkipList);
