//! The const parameter of a tree: its width, and the features that are disabled.
//!
//! ```text
//!   bit   8 7 6 5 4  3 2 1 0
//!         └───┬───┘  └──┬──┘
//!       flags, below    slots of a full node, 3 to 15
//! ```
//!
//! Each flag disables one design feature, to measure its worth (Masstree, section 6.2, figure 8).
//! The flags are constants, so they cost the default tree nothing.

/// Nodes are not prefetched. A read waits for each of their cache lines.
pub const WITHOUT_PREFETCH: usize = 1 << 4;
/// Border nodes keep their slots in key order: an insert moves the slots after it, and readers of
/// the node restart.
pub const WITHOUT_PERMUTATION: usize = 1 << 5;
/// Slices are compared byte by byte, not as integers.
pub const WITHOUT_INTEGERS: usize = 1 << 6;
/// Memory lies on pages of the normal size.
pub const WITHOUT_HUGE_PAGES: usize = 1 << 7;

/// Returns the slots of a full node.
pub(super) const fn width(variant: usize) -> usize {
    variant & 15
}

/// Returns whether a variant disables a feature.
pub(super) const fn without(variant: usize, feature: usize) -> bool {
    variant & feature != 0
}

/// Returns whether slice `a` is at most `b`.
#[inline(always)]
pub(super) fn at_most<const W: usize>(a: u64, b: u64) -> bool {
    if without(W, WITHOUT_INTEGERS) { bytes_in_turn(a, b).is_le() } else { a <= b }
}

/// Returns whether two slices are equal.
#[inline(always)]
pub(super) fn equal<const W: usize>(a: u64, b: u64) -> bool {
    if without(W, WITHOUT_INTEGERS) { bytes_in_turn(a, b).is_eq() } else { a == b }
}

/// Compares slices as strings: byte by byte, until one differs.
#[inline(always)]
fn bytes_in_turn(a: u64, b: u64) -> std::cmp::Ordering {
    for shift in (0..8).rev() {
        // `black_box` hides each byte; otherwise the compiler would compare the integers again.
        let (a, b) = (std::hint::black_box((a >> (8 * shift)) as u8), (b >> (8 * shift)) as u8);
        if a != b {
            return a.cmp(&b);
        }
    }
    std::cmp::Ordering::Equal
}
