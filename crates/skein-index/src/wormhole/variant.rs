//! What the const parameter of an index says: how many keys a leaf takes, and what the index does without.
//!
//! ```text
//!   bit  16 ........... 8  7 ... 0
//!         └──────┬──────┘  └──┬──┘
//!       flags, below       keys in a full leaf, 4 to 128
//! ```
//!
//! The flags take away one design feature each, so that its worth can be measured (Wormhole, section 4.1, figure 11). They cost the
//! index as it comes nothing: they are constants.

/// The table's tags are not trusted: the prefix of each trie node that a search meets is compared in full.
pub const WITHOUT_TAGS: usize = 1 << 8;
/// The hash of each prefix is computed from its first byte on.
pub const WITHOUT_INCREMENTAL_HASH: usize = 1 << 9;
/// Leaves are searched by key, not by tag: half of the keys that remain go with each comparison.
pub const WITHOUT_LEAF_TAGS: usize = 1 << 10;
/// A leaf's tags are searched from its first line on, and not from the line that the tag says.
pub const WITHOUT_POSITION: usize = 1 << 11;
/// Leaves split in their middle, and not where the anchor is short.
pub const WITHOUT_SHORT_ANCHORS: usize = 1 << 12;
/// No locks, no versions: for one thread; [`Wormhole::alone`](super::Wormhole::alone) makes such an index.
pub const ALONE: usize = 1 << 16;
/// Memory lies on pages of the common size.
pub const WITHOUT_HUGE_PAGES: usize = 1 << 15;
/// Two prefixes are probed at a time, a third of the lengths apart.
pub const PROBES_2: usize = 1 << 13;
/// Four prefixes are probed at a time.
pub const PROBES_4: usize = 1 << 14;

/// The keys of a full leaf.
pub(super) const fn width(variant: usize) -> usize {
    variant & 0xff
}

/// Whether a variant has a flag.
pub(super) const fn has(variant: usize, flag: usize) -> bool {
    variant & flag != 0
}

/// How many prefixes a search probes at a time.
pub(super) const fn probes(variant: usize) -> usize {
    if has(variant, PROBES_4) {
        4
    } else if has(variant, PROBES_2) {
        2
    } else {
        1
    }
}
