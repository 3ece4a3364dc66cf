//! The search within a node.
//!
//! The paper finds linear search as fast as binary search, or faster (section 4.8). We measured one
//! independent lookup in a tree of 100,000 random 8-byte keys, in the second-level cache (Xeon,
//! Sapphire Rapids; best of six runs on a busy machine):
//!
//! | interior node                        | ns  | border node                            | ns  |
//! |--------------------------------------|-----|----------------------------------------|-----|
//! | linear over all keys, no branch      | 187 | all slices compared, no branch (taken) | 135 |
//! | binary, no branch                    | 151 | slices in turn, stop at the right one  | 200 |
//! | two steps of three, no branch (taken)| 135 |                                        |     |
//!
//! In the left column the border search is the one taken; in the right column the interior search
//! is. The number of comparisons matters less than branches: a branch on random keys mispredicts
//! about once per node. In an isolated node, searching in key order through the permutation takes
//! 14.6 ns linearly and 16.6 ns by halves; comparing all slices takes 9.8 ns.

use super::key::KeySlice;
use super::key_lengths::KeyLengths;
use super::node::Node;
use super::variant::{self, MasstreeSettings, at_most};

/// Returns the index of the child of an interior node that covers `slice`.
#[inline(always)]
pub(super) fn child_index<V: MasstreeSettings>(node: Node<V>, slice: u64) -> usize {
    let nkeys = node.nkeys();
    // Unused keys are `u64::MAX`, so all keys can be compared. A slice may have that value too,
    // hence the `min`.
    let passed = |index: usize| usize::from(at_most::<V>(node.key(index), slice));
    let index = if V::WIDTH == 15 {
        // Three keys cut the other twelve into groups of three.
        let group = 4 * (passed(3) + passed(7) + passed(11));
        group + passed(group) + passed(group + 1) + passed(group + 2)
    } else {
        (0..V::WIDTH).map(passed).sum()
    };
    index.min(nkeys)
}

/// Returns the slot of a border node that holds this live slice.
#[inline(always)]
pub(super) fn find_slot<V: MasstreeSettings>(
    node: Node<V>,
    lengths: KeyLengths,
    key: KeySlice,
) -> Option<usize> {
    let slots = lengths.width();
    let mut equal = 0_u32;
    if slots == V::WIDTH {
        for slot in 0..V::WIDTH {
            equal |= u32::from(variant::equal::<V>(node.slice(slot), key.bits)) << slot;
        }
    } else {
        for slot in 0..slots {
            equal |= u32::from(variant::equal::<V>(node.slice(slot), key.bits)) << slot;
        }
    }
    // Rarely more than one: a slice with several lengths, or a free slot with an old slice.
    while equal != 0 {
        let slot = equal.trailing_zeros() as usize;
        if lengths.code(slot) == key.code {
            return Some(slot);
        }
        equal &= equal - 1;
    }
    None
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use skein_sync::version::Version;

    use super::super::border::BorderEntry;
    use super::super::key_lengths::LINK;
    use super::super::variant::{MasstreeOfWidth, MasstreeStandard};
    use super::*;
    use crate::memory::{Arena, MemoryPart};

    fn finds_every_child<V: MasstreeSettings>() {
        let arena = Arena::new();
        let node = Node::<V>::new_interior(&arena, Version::INTERIOR);
        for nkeys in 0..=V::WIDTH {
            for index in 0..nkeys {
                node.set_key(index, 10 * (index as u64 + 1));
            }
            node.set_nkeys(nkeys);
            for slice in 0..10 * (V::WIDTH as u64 + 2) {
                assert_eq!(child_index(node, slice), nkeys.min(slice as usize / 10), "{slice} among {nkeys}");
            }
            assert_eq!(child_index(node, u64::MAX), nkeys);
        }
        // SAFETY: the node is this test's own.
        unsafe { node.free(MemoryPart::Nodes) };
    }

    #[test]
    fn finds_the_child() {
        finds_every_child::<MasstreeStandard>();
        finds_every_child::<MasstreeOfWidth<10>>();
        finds_every_child::<MasstreeOfWidth<3>>();
    }

    #[test]
    fn finds_the_slot_by_slice_and_code() {
        let arena = Arena::new();
        for width in [1, 2, 4, 7, 15] {
            let node = Node::<MasstreeStandard>::new_border(&arena, width, Version::BORDER);
            let slice =
                |n: usize| KeySlice { bits: n as u64 / 2, code: if n.is_multiple_of(2) { 8 } else { LINK } };
            node.fill((0..width).map(|n| BorderEntry { slice: slice(n), lv: 0 }));
            for n in 0..20 {
                assert_eq!(find_slot(node, node.key_lengths(), slice(n)), (n < width).then_some(n));
            }
            // SAFETY: the node is this test's own.
            unsafe { node.free(MemoryPart::Nodes) };
        }
    }
}
