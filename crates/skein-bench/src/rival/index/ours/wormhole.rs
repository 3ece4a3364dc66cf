//! Wormhole, the steps of its figure 11, and variants without our additions to the paper's design.

use std::marker::PhantomData;
use std::sync::Arc;

use linkme::distributed_slice;
use skein_index::wormhole::variant::{
    WormholeBase, WormholeForOneThread, WormholeSettings, WormholeStandard, WormholeVariant,
    WormholeWithFourProbes, WormholeWithIncrementalHash, WormholeWithLeafTags, WormholeWithTags,
    WormholeWithTwoProbes, WormholeWithoutShortAnchors,
};
use skein_index::{Collector, Inline, OrderedIndex};

use super::{OurIndex, OurIndexKind};
use crate::rival::index::{ENTRIES, RegisteredIndex};

/// Its name in reports.
pub const NAME: &str = "skein-wormhole";

/// The part of its memory that is the trie of anchors: the hash table and its items.
pub const TRIE: &str = "trie of anchors";

/// The variant without locks and versions.
pub const FOR_ONE_THREAD: &str = "wormhole, one thread";

#[distributed_slice(ENTRIES)]
static WHOLE: RegisteredIndex = RegisteredIndex::shared::<OurIndex<WormholeOf<WormholeStandard>>>(2);

// The steps of Wormhole's figure 11, in order.
#[distributed_slice(ENTRIES)]
static BASE: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WormholeBase>>>(210).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static TAGS: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WormholeWithTags>>>(211).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static INCREMENTAL: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WormholeWithIncrementalHash>>>(212).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static LEAF_TAGS: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WormholeWithLeafTags>>>(213).as_step_of(NAME);

// The variants without one of our additions each; they are compared with the default index.
#[distributed_slice(ENTRIES)]
static MIDDLE: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WormholeWithoutShortAnchors>>>(214).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static PROBES_2: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WormholeWithTwoProbes>>>(215).as_step_of(NAME);

#[distributed_slice(ENTRIES)]
static PROBES_4: RegisteredIndex =
    RegisteredIndex::shared::<OurIndex<WormholeOf<WormholeWithFourProbes>>>(216).as_step_of(NAME);

/// The cost of locks and versions.
#[distributed_slice(ENTRIES)]
static ALONE: RegisteredIndex = RegisteredIndex::alone::<OurIndex<WormholeAlone>>(217).as_step_of(NAME);

struct WormholeOf<V>(PhantomData<V>);

impl<V: WormholeSettings> OurIndexKind for WormholeOf<V> {
    type Index = WormholeVariant<Inline<u64>, V>;
    const NAME: &'static str = match (V::TAGS, V::INCREMENTAL_HASH, V::LEAF_TAGS, V::POSITION) {
        (false, ..) => "wormhole, base",
        (_, false, ..) => "wormhole + tags",
        (_, _, false, _) => "wormhole + tags + incremental hash",
        (_, _, _, false) => "wormhole + tags + incremental hash + leaf tags",
        _ if !V::SHORT_ANCHORS => "wormhole - short anchors",
        _ if V::PROBES == 2 => "wormhole, 2 probes",
        _ if V::PROBES == 4 => "wormhole, 4 probes",
        _ => NAME,
    };
    const ABOUT: &'static str = "Wormhole<Inline<u64>>, as it comes but for what its name says";

    fn empty() -> Self::Index {
        WormholeVariant::with_variant(Arc::new(Collector::new()))
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        parts(index)
    }
}

struct WormholeAlone;

impl OurIndexKind for WormholeAlone {
    type Index = WormholeVariant<Inline<u64>, WormholeForOneThread>;
    const NAME: &'static str = FOR_ONE_THREAD;
    const ABOUT: &'static str = "Wormhole without locks and versions";

    fn empty() -> Self::Index {
        // SAFETY: the entry is registered for one thread, and the bench's scans end before it
        // writes.
        unsafe { WormholeVariant::single_threaded(Arc::new(Collector::new())) }
    }

    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        parts(index)
    }
}

/// Verifies the index and returns the bytes that it holds, by part; its nodes are its leaves.
fn parts<V: WormholeSettings>(
    index: &mut WormholeVariant<Inline<u64>, V>,
) -> Result<Vec<(&'static str, usize)>, String> {
    let trie = index.check()?.trie_bytes;
    let memory = index.memory();
    Ok(vec![("nodes", memory.nodes - trie), (TRIE, trie), ("keys", memory.keys)])
}
