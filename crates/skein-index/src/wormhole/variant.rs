//! The const parameter of an index: the capacity of a leaf, and the features that are disabled.
//!
//! ```text
//!   bit  16 ........... 8  7 ... 0
//!         └──────┬──────┘  └──┬──┘
//!       flags, below       keys in a full leaf, 4 to 128
//! ```
//!
//! Most flags disable one design feature, to measure its worth (Wormhole, section 4.1, figure 11).
//! The flags are constants, so they cost the default index nothing.

/// A search does not trust the table's tags: it compares the prefix of each trie node in full.
pub const WITHOUT_TAGS: usize = 1 << 8;
/// The hash of each prefix is computed from its first byte.
pub const WITHOUT_INCREMENTAL_HASH: usize = 1 << 9;
/// Leaves are searched by key, not by tag: by binary search.
pub const WITHOUT_LEAF_TAGS: usize = 1 << 10;
/// A leaf's tags are searched from its first line, not from the tag's line.
pub const WITHOUT_POSITION: usize = 1 << 11;
/// Leaves split in their middle, not where the anchor is short.
pub const WITHOUT_SHORT_ANCHORS: usize = 1 << 12;
/// No locks and no versions: for one thread.
/// [`Wormhole::single_threaded`](super::Wormhole::single_threaded) creates such an index.
pub const ALONE: usize = 1 << 16;
/// Memory lies on pages of the normal size.
pub const WITHOUT_HUGE_PAGES: usize = 1 << 15;
/// Two prefixes are probed at a time, a third of the lengths apart.
pub const PROBES_2: usize = 1 << 13;
/// Four prefixes are probed at a time.
pub const PROBES_4: usize = 1 << 14;

/// Returns the capacity of a leaf.
pub(super) const fn width(variant: usize) -> usize {
    variant & 0xff
}

/// Returns whether a variant has a flag.
pub(super) const fn has(variant: usize, flag: usize) -> bool {
    variant & flag != 0
}

/// Returns how many prefixes a search probes at a time.
pub(super) const fn probes(variant: usize) -> usize {
    if has(variant, PROBES_4) {
        4
    } else if has(variant, PROBES_2) {
        2
    } else {
        1
    }
}
