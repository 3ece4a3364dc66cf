//! The variants of the index: the capacity of its leaves, and the features that are disabled.
//!
//! Most variants disable design features, to measure their worth (Wormhole, section 4.1, figure
//! 11).

use super::WormholeEngine;
use crate::byte_index::ByteIndex;
use crate::variant::{Variant, variants};

/// An index with other settings than [`Wormhole`](crate::Wormhole).
pub type WormholeVariant<S, V> = ByteIndex<S, WormholeEngine<V>>;

/// The settings of an index.
pub trait WormholeSettings: Variant {
    /// The keys of a full leaf, 4 to 128.
    const WIDTH: usize = 128;
    /// Whether a search trusts the table's tags. Without that, it compares the prefix of each trie
    /// node in full.
    const TAGS: bool = true;
    /// Whether the hash of a prefix continues the hash of a shorter one. Without that, it is
    /// computed from the first byte.
    const INCREMENTAL_HASH: bool = true;
    /// Whether leaves are searched by tag, not by key with a binary search.
    const LEAF_TAGS: bool = true;
    /// Whether a leaf's tags are searched from the tag's line, not from the first line.
    const POSITION: bool = true;
    /// Whether leaves split where the anchor is short, not in their middle.
    const SHORT_ANCHORS: bool = true;
    /// How many prefixes a search probes at a time.
    const PROBES: usize = 1;
    /// Whether memory lies on huge pages, not on pages of the normal size.
    const HUGE_PAGES: bool = true;
    /// Whether the index has no locks and no versions: for one thread.
    const ONE_THREAD: bool = false;
}

variants! { WormholeSettings:
    /// The index to use, with the paper's leaves of 128 keys.
    WormholeStandard {}
}

#[cfg(feature = "paper")]
variants! { WormholeSettings:
    /// An index with small leaves, which reaches every case with few keys: for tests.
    WormholeOfWidth<const WIDTH: usize = 4> {
        const WIDTH: usize = WIDTH;
    }

    /// The paper's `BaseWormhole`, without its improvements.
    WormholeBase<const WIDTH: usize = 128> {
        const WIDTH: usize = WIDTH;
        const TAGS: bool = false;
        const INCREMENTAL_HASH: bool = false;
        const LEAF_TAGS: bool = false;
        const POSITION: bool = false;
    }

    /// [`WormholeBase`] that trusts the table's tags (`TagMatching`).
    WormholeWithTags {
        const INCREMENTAL_HASH: bool = false;
        const LEAF_TAGS: bool = false;
        const POSITION: bool = false;
    }

    /// [`WormholeWithTags`] with incremental hashes (`IncHashing`).
    WormholeWithIncrementalHash {
        const LEAF_TAGS: bool = false;
        const POSITION: bool = false;
    }

    /// [`WormholeWithIncrementalHash`] that searches leaves by tag (`SortByTag`).
    WormholeWithLeafTags {
        const POSITION: bool = false;
    }

    /// The index with leaves that split in their middle.
    WormholeWithoutShortAnchors<const WIDTH: usize = 128> {
        const WIDTH: usize = WIDTH;
        const SHORT_ANCHORS: bool = false;
    }

    /// [`WormholeBase`] with leaves that split in their middle.
    WormholeBaseWithoutShortAnchors<const WIDTH: usize = 128> {
        const WIDTH: usize = WIDTH;
        const TAGS: bool = false;
        const INCREMENTAL_HASH: bool = false;
        const LEAF_TAGS: bool = false;
        const POSITION: bool = false;
        const SHORT_ANCHORS: bool = false;
    }

    /// The index that probes two prefixes at a time, a third of the lengths apart.
    WormholeWithTwoProbes<const WIDTH: usize = 128> {
        const WIDTH: usize = WIDTH;
        const PROBES: usize = 2;
    }

    /// The index that probes four prefixes at a time.
    WormholeWithFourProbes<const WIDTH: usize = 128> {
        const WIDTH: usize = WIDTH;
        const PROBES: usize = 4;
    }

    /// The index without locks and versions (*Wormhole-unsafe*).
    /// [`WormholeVariant::single_threaded`] creates it.
    WormholeForOneThread<const WIDTH: usize = 128> {
        const WIDTH: usize = WIDTH;
        const ONE_THREAD: bool = true;
    }
}
