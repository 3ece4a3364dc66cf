//! Wormhole, the steps of its figure 11, and variants without our additions to the paper's design.

use std::marker::PhantomData;
use std::sync::Arc;

use skein_index::wormhole::variant::{
    WormholeBase, WormholeForOneThread, WormholeSettings, WormholeStandard, WormholeVariant,
    WormholeWithFourProbes, WormholeWithIncrementalHash, WormholeWithLeafTags, WormholeWithTags,
    WormholeWithTwoProbes, WormholeWithoutShortAnchors,
};
use skein_index::{Collector, Inline, OrderedIndex};

use super::{OurIndex, OurIndexKind, step, whole};
use crate::rival::index::RegisteredIndex;

/// Its name in reports.
pub const NAME: &str = "skein-wormhole";

/// The part of its memory that is the trie of anchors: the hash table and its items.
pub const TRIE: &str = "trie of anchors";

/// The variant without locks and versions.
pub const FOR_ONE_THREAD: &str = "wormhole, one thread";

pub static ENTRIES: [RegisteredIndex; 9] = [
    whole::<WormholeOf<WormholeStandard>>(),
    // The steps of Wormhole's figure 11, in order.
    step::<WormholeOf<WormholeBase>>("wormhole, base"),
    step::<WormholeOf<WormholeWithTags>>("wormhole + tags"),
    step::<WormholeOf<WormholeWithIncrementalHash>>("wormhole + tags + incremental hash"),
    step::<WormholeOf<WormholeWithLeafTags>>("wormhole + tags + incremental hash + leaf tags"),
    // Without one of our additions each; they are compared with the default index.
    step::<WormholeOf<WormholeWithoutShortAnchors>>("wormhole - short anchors"),
    step::<WormholeOf<WormholeWithTwoProbes>>("wormhole, 2 probes"),
    step::<WormholeOf<WormholeWithFourProbes>>("wormhole, 4 probes"),
    // The cost of locks and versions.
    RegisteredIndex::alone::<OurIndex<WormholeAlone>>().as_step_of(NAME, FOR_ONE_THREAD),
];

struct WormholeOf<V>(PhantomData<V>);

impl<V: WormholeSettings> OurIndexKind for WormholeOf<V> {
    type Index = WormholeVariant<Inline<u64>, V>;
    const NAME: &'static str = NAME;
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
