//! Links: what a tower holds on one level.
//!
//! ```text
//!   63                                3 2 1       0
//!  ┌───────────────────────────────────┬─┬───────┬──────┐
//!  │ address of the next node, or 0    │0│ claim │ mark │
//!  └───────────────────────────────────┴─┴───────┴──────┘
//! ```
//!
//! The mark says that the node *that holds the link* goes: a marked link never changes again, so nothing can be linked after a node that
//! goes, and no node can be unlinked after it before it is itself (Fomitchev and Ruppert 2004, which the paper builds on; Harris 2001).

//!
//! The claim, on the bottom level alone, says that a thread decides about a key that belongs between both nodes and is not there (`compute.rs`): only
//! it changes the link, marks included. Who reads links overlooks the claim (`Node::next`).

use super::node::Node;
use crate::memory::{address_of, prefetch_read};

const MARK: u64 = 1;
const CLAIM: u64 = 2;

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TowerLink<const V: usize>(u64);

impl<const V: usize> TowerLink<V> {
    /// The end of a level.
    pub(super) const END: Self = Self(0);

    #[inline(always)]
    pub(super) fn to(node: Node<V>) -> Self {
        Self(address_of(node.header()))
    }

    #[inline(always)]
    pub(super) fn from_word(word: u64) -> Self {
        Self(word)
    }

    #[inline(always)]
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// Whether the node that holds the link goes.
    #[inline(always)]
    pub(super) fn is_marked(self) -> bool {
        self.0 & MARK != 0
    }

    #[inline(always)]
    pub(super) fn marked(self) -> Self {
        Self(self.0 | MARK)
    }

    #[inline(always)]
    pub(super) fn unmarked(self) -> Self {
        Self(self.0 & !MARK)
    }

    #[inline(always)]
    pub(super) fn is_claimed(self) -> bool {
        self.0 & CLAIM != 0
    }

    #[inline(always)]
    pub(super) fn claimed(self) -> Self {
        Self(self.0 | CLAIM)
    }

    #[inline(always)]
    pub(super) fn unclaimed(self) -> Self {
        Self(self.0 & !CLAIM)
    }

    /// The node that it leads to.
    #[inline(always)]
    pub(super) fn node(self) -> Option<Node<V>> {
        let address = self.0 & !MARK;
        // SAFETY: an address in a link is that of a node (`to`); whoever follows it keeps the node's invariant 4.
        (address != 0).then(|| unsafe { Node::at(address) })
    }

    /// Asks for what a search reads of the node: its first key bytes, and its link on `level`.
    #[inline(always)]
    pub(super) fn prefetch(self, level: usize) {
        let header: *const u8 = std::ptr::without_provenance((self.0 & !MARK) as usize);
        prefetch_read(header);
        prefetch_read(header.wrapping_sub(8 * (level + 1)));
    }

    /// Asks for what a scan reads of the node.
    #[inline(always)]
    pub(super) fn prefetch_whole(self) {
        let header: *const u8 = std::ptr::without_provenance((self.0 & !MARK) as usize);
        prefetch_read(header.wrapping_sub(8));
        prefetch_read(header.wrapping_add(Node::<V>::FIXED - 1));
    }
}
