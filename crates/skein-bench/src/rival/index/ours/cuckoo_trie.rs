//! The Cuckoo Trie, and what its prefetching is worth.

use std::sync::Arc;

use linkme::distributed_slice;
use skein_index::cuckoo_trie::variant::{DEFAULT, WITHOUT_PREFETCH};
use skein_index::{Collector, CuckooTrie, Inline, OrderedIndex};

use super::{Named, Ours};
use crate::rival::index::{ENTRIES, Entry};

/// Its name in reports.
pub const NAME: &str = "skein-cuckoo-trie";

#[distributed_slice(ENTRIES)]
static WHOLE: Entry = Entry::shared::<Ours<CuckooTrieOf<DEFAULT>>>(3);

#[distributed_slice(ENTRIES)]
static SERIAL: Entry =
    Entry::shared::<Ours<CuckooTrieOf<{ DEFAULT | WITHOUT_PREFETCH }>>>(310).as_step_of(NAME);

struct CuckooTrieOf<const V: usize>;

impl<const V: usize> Named for CuckooTrieOf<V> {
    type Index = CuckooTrie<Inline<u64>, V>;
    const NAME: &'static str = if V & WITHOUT_PREFETCH == 0 { NAME } else { "cuckoo trie - prefetch" };
    const ABOUT: &'static str = "CuckooTrie<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        CuckooTrie::with_variant(Arc::new(Collector::new()))
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        index.check()?;
        let memory = index.memory();
        Ok(vec![("table", memory.nodes), ("keys", memory.keys)])
    }
}
