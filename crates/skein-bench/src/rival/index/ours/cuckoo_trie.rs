//! The Cuckoo Trie, and variants that show the value of its prefetching.

use std::marker::PhantomData;
use std::sync::Arc;

use skein_index::cuckoo_trie::variant::{
    CuckooSettings, CuckooStandard, CuckooTrieVariant, CuckooWithoutPrefetch,
};
use skein_index::{Collector, Inline, OrderedIndex};

use super::{OurIndexKind, step, whole};
use crate::rival::index::RegisteredIndex;

/// Its name in reports.
pub const NAME: &str = "skein-cuckoo-trie";

/// The variant that prefetches no bucket.
pub const SERIAL: &str = "cuckoo trie - prefetch";

/// The variant with a table for twice the first keys, so that it does not grow before there are
/// more.
pub const ROOM: &str = "cuckoo trie + room";

/// The part of its memory other than keys and values.
pub const TABLE: &str = "table";

pub static ENTRIES: [RegisteredIndex; 3] = [
    whole::<CuckooTrieOf<CuckooStandard, false>>(),
    step::<CuckooTrieOf<CuckooWithoutPrefetch, false>>(SERIAL),
    step::<CuckooTrieOf<CuckooStandard, true>>(ROOM),
];

struct CuckooTrieOf<V, const R: bool>(PhantomData<V>);

impl<V: CuckooSettings, const R: bool> OurIndexKind for CuckooTrieOf<V, R> {
    type Index = CuckooTrieVariant<Inline<u64>, V>;
    const NAME: &'static str = NAME;
    const ABOUT: &'static str = "CuckooTrie<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        CuckooTrieVariant::with_variant(Arc::new(Collector::new()))
    }

    fn expecting(expected: usize) -> Self::Index {
        let index = Self::empty();
        if R {
            // If the reservation fails, the table grows as usual. The experiment that compares both
            // notices that and gives no verdict.
            let _ = index.reserve(2 * expected);
        }
        index
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        index.check()?;
        let memory = index.memory();
        Ok(vec![(TABLE, memory.nodes), ("keys", memory.keys)])
    }
}
