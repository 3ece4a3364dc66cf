//! What the const parameter of a tree says: its width, and what it does without.
//!
//! ```text
//!   bit   8 7 6 5 4  3 2 1 0
//!         └───┬───┘  └──┬──┘
//!       flags, below    slots of a full node, 3 to 15
//! ```
//!
//! The flags take away one design feature each, so that its worth can be measured (Masstree, section 6.2, figure 8). They cost the
//! tree as it comes nothing: they are constants.

/// Nodes are not asked for ahead of their use; each of their cache lines is waited for when it is read.
pub const WITHOUT_PREFETCH: usize = 1 << 4;
/// Border nodes keep their slots in order: an insert moves what lies behind, and readers of the node start over.
pub const WITHOUT_PERMUTATION: usize = 1 << 5;
/// Slices are compared byte by byte and not as integers.
pub const WITHOUT_INTEGERS: usize = 1 << 6;
/// Memory lies on pages of the common size.
pub const WITHOUT_HUGE_PAGES: usize = 1 << 7;

/// The slots of a full node.
pub(super) const fn width(variant: usize) -> usize {
    variant & 15
}

/// Whether a variant does without something.
pub(super) const fn without(variant: usize, feature: usize) -> bool {
    variant & feature != 0
}

/// Whether a slice is at most another one.
#[inline(always)]
pub(super) fn at_most<const W: usize>(a: u64, b: u64) -> bool {
    if without(W, WITHOUT_INTEGERS) { bytes_in_turn(a, b).is_le() } else { a <= b }
}

/// Whether two slices are the same.
#[inline(always)]
pub(super) fn equal<const W: usize>(a: u64, b: u64) -> bool {
    if without(W, WITHOUT_INTEGERS) { bytes_in_turn(a, b).is_eq() } else { a == b }
}

/// Compares as a program does that takes keys for strings: until a byte differs.
#[inline(always)]
fn bytes_in_turn(a: u64, b: u64) -> std::cmp::Ordering {
    for shift in (0..8).rev() {
        // Each byte goes through the processor by itself; otherwise the compiler sees the integers again.
        let (a, b) = (std::hint::black_box((a >> (8 * shift)) as u8), (b >> (8 * shift)) as u8);
        if a != b {
            return a.cmp(&b);
        }
    }
    std::cmp::Ordering::Equal
}
