//! Wormhole, the steps of its figure 11, and variants without our additions to the paper's design.

use std::sync::Arc;

use linkme::distributed_slice;
use skein_index::wormhole::variant as worm;
use skein_index::{Collector, Inline, OrderedIndex, Wormhole};

use super::{OurIndex, OurIndexKind};
use crate::rival::index::{ENTRIES, RegisteredIndex};

/// Its name in reports.
pub const NAME: &str = "skein-wormhole";

/// The part of its memory that is the trie of anchors: the hash table and its items.
pub const TRIE: &str = "trie of anchors";

/// The variant without locks and versions.
pub const FOR_ONE_THREAD: &str = "wormhole, one thread";

#[distributed_slice(ENTRIES)]
static WHOLE: RegisteredIndex = RegisteredIndex::shared::<OurIndex<WormholeOf<128>>>(2);

// The steps of Wormhole's figure 11, in order.
#[distributed_slice(ENTRIES)]
static BASE: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<BASE_WORMHOLE>>>(210).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static TAGS: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WITH_TAGS>>>(211).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static INCREMENTAL: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WITH_INCREMENTAL>>>(212).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static LEAF_TAGS: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WITH_LEAF_TAGS>>>(213).as_step_of(NAME);

// The variants without one of our additions each; they are compared with the default index.
#[distributed_slice(ENTRIES)]
static MIDDLE: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<{ 128 | worm::WITHOUT_SHORT_ANCHORS }>>>(214)
        .as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static PROBES_2: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<{ 128 | worm::PROBES_2 }>>>(215).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static PROBES_4: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<{ 128 | worm::PROBES_4 }>>>(216).as_step_of(NAME);

/// The cost of locks and versions.
#[distributed_slice(ENTRIES)]
static ALONE: RegisteredIndex = RegisteredIndex::alone::<OurIndex<WormholeAlone>>(217).as_step_of(NAME);

const WITH_LEAF_TAGS: usize = 128 | worm::WITHOUT_POSITION;
const WITH_INCREMENTAL: usize = WITH_LEAF_TAGS | worm::WITHOUT_LEAF_TAGS;
const WITH_TAGS: usize = WITH_INCREMENTAL | worm::WITHOUT_INCREMENTAL_HASH;
const BASE_WORMHOLE: usize = WITH_TAGS | worm::WITHOUT_TAGS;

struct WormholeOf<const W: usize>;

impl<const W: usize> OurIndexKind for WormholeOf<W> {
    type Index = Wormhole<Inline<u64>, W>;
    const NAME: &'static str = match W {
        BASE_WORMHOLE => "wormhole, base",
        WITH_TAGS => "wormhole + tags",
        WITH_INCREMENTAL => "wormhole + tags + incremental hash",
        WITH_LEAF_TAGS => "wormhole + tags + incremental hash + leaf tags",
        _ if W & worm::WITHOUT_SHORT_ANCHORS != 0 => "wormhole - short anchors",
        _ if W & worm::PROBES_2 != 0 => "wormhole, 2 probes",
        _ if W & worm::PROBES_4 != 0 => "wormhole, 4 probes",
        _ => NAME,
    };
    const ABOUT: &'static str = "Wormhole<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        Wormhole::with_variant(Arc::new(Collector::new()))
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        parts(index)
    }
}

struct WormholeAlone;

impl OurIndexKind for WormholeAlone {
    type Index = Wormhole<Inline<u64>, { 128 | worm::ALONE }>;
    const NAME: &'static str = FOR_ONE_THREAD;
    const ABOUT: &'static str = "Wormhole without locks and versions";

    fn empty() -> Self::Index {
        // SAFETY: the entry is registered for one thread, and the bench's scans end before it
        // writes.
        unsafe { Wormhole::single_threaded(Arc::new(Collector::new())) }
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        parts(index)
    }
}

/// Verifies the index and returns the bytes that it holds, by part; its nodes are its leaves.
fn parts<const W: usize>(index: &mut Wormhole<Inline<u64>, W>) -> Result<Vec<(&'static str, usize)>, String> {
    let trie = index.check()?.trie_bytes;
    let memory = index.memory();
    Ok(vec![("nodes", memory.nodes - trie), (TRIE, trie), ("keys", memory.keys)])
}
