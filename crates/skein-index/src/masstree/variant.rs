//! The variants of the tree: its width, and the features that are disabled.
//!
//! Each variant but those for tests disables a design feature, to measure its worth (Masstree,
//! section 6.2, figure 8).

use super::MasstreeEngine;
use crate::byte_index::ByteIndex;
use crate::variant::{Variant, variants};

/// A tree with other settings than [`Masstree`](crate::Masstree).
pub type MasstreeVariant<S, V> = ByteIndex<S, MasstreeEngine<V>>;

/// The settings of a tree.
pub trait MasstreeSettings: Variant {
    /// The slots of a full node, 3 to 15.
    const WIDTH: usize = 15;
    /// Whether nodes are prefetched. Without that, a read waits for each of their cache lines.
    const PREFETCH: bool = true;
    /// Whether a permutation has the order of a border node's slots. Without it, the slots are in
    /// key order: an insert moves the slots after it, and readers of the node restart.
    const PERMUTATION: bool = true;
    /// Whether slices are compared as integers, not byte by byte.
    const INTEGERS: bool = true;
    /// Whether memory lies on huge pages, not on pages of the normal size.
    const HUGE_PAGES: bool = true;
}

variants! { MasstreeSettings:
    /// The tree to use, with the paper's width of 15.
    MasstreeStandard {}
}

#[cfg(feature = "paper")]
variants! { MasstreeSettings:
    /// A tree with narrow nodes, which reaches every case with few keys: for tests.
    ///
    /// A node narrower than 10 cannot hold all lengths of one slice (keys that differ only in
    /// trailing zero bytes, for example). So tests must avoid such keys: an insert that must split
    /// such a node panics.
    MasstreeOfWidth<const WIDTH: usize = 3> {
        const WIDTH: usize = WIDTH;
    }

    /// The tree without prefetching.
    MasstreeWithoutPrefetch {
        const PREFETCH: bool = false;
    }

    /// The tree with border nodes in key order.
    MasstreeWithoutPermutation {
        const PERMUTATION: bool = false;
    }

    /// The tree that compares slices byte by byte.
    MasstreeWithoutIntegers {
        const INTEGERS: bool = false;
    }

    /// The tree on pages of the normal size.
    MasstreeWithoutHugePages {
        const HUGE_PAGES: bool = false;
    }

    /// The tree with plain nodes: in key order and not prefetched.
    MasstreeWithPlainNodes {
        const PREFETCH: bool = false;
        const PERMUTATION: bool = false;
    }

    /// The tree without all of these features.
    MasstreeBase {
        const PREFETCH: bool = false;
        const PERMUTATION: bool = false;
        const INTEGERS: bool = false;
        const HUGE_PAGES: bool = false;
    }
}

/// Returns whether slice `a` is at most `b`.
#[inline(always)]
pub(super) fn at_most<V: MasstreeSettings>(a: u64, b: u64) -> bool {
    if V::INTEGERS { a <= b } else { bytes_in_turn(a, b).is_le() }
}

/// Returns whether two slices are equal.
#[inline(always)]
pub(super) fn equal<V: MasstreeSettings>(a: u64, b: u64) -> bool {
    if V::INTEGERS { a == b } else { bytes_in_turn(a, b).is_eq() }
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
