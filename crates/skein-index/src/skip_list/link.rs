//! Links: one word per level of a tower.
//!
//! ```text
//!   63                                3 2 1       0
//!  ┌───────────────────────────────────┬─┬───────┬──────┐
//!  │ address of the next node, or 0    │0│ claim │ mark │
//!  └───────────────────────────────────┴─┴───────┴──────┘
//! ```
//!
//! The mark says that the node *that holds the link* is being removed. A marked link never changes
//! again. So no node can be linked behind a marked node, and no node behind it can be unlinked
//! before the marked node itself is (Fomitchev and Ruppert 2004, on which the paper builds; Harris
//! 2001).
//!
//! The claim exists on the bottom level only. It says that a thread is deciding about a missing key
//! that belongs between the two nodes (`compute.rs`). Only that thread changes the link, marks
//! included. Readers ignore the claim (`Node::next`).

use std::marker::PhantomData;

use super::node::Node;
use super::variant::SkipListSettings;
use crate::memory::{address_of, prefetch_read};

const MARK: u64 = 1;
const CLAIM: u64 = 2;

/// The link of a node on one level, with its claim and mark bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TowerLink<V: SkipListSettings>(u64, PhantomData<V>);

impl<V: SkipListSettings> TowerLink<V> {
    /// The end of a level.
    pub(super) const END: Self = Self(0, PhantomData);

    #[inline(always)]
    pub(super) fn to(node: Node<V>) -> Self {
        Self(address_of(node.header()), PhantomData)
    }

    #[inline(always)]
    pub(super) fn from_word(word: u64) -> Self {
        Self(word, PhantomData)
    }

    #[inline(always)]
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// Returns true if the node that holds the link is being removed.
    #[inline(always)]
    pub(super) fn is_marked(self) -> bool {
        self.0 & MARK != 0
    }

    #[inline(always)]
    pub(super) fn marked(self) -> Self {
        Self(self.0 | MARK, PhantomData)
    }

    #[inline(always)]
    pub(super) fn unmarked(self) -> Self {
        Self(self.0 & !MARK, PhantomData)
    }

    #[inline(always)]
    pub(super) fn is_claimed(self) -> bool {
        self.0 & CLAIM != 0
    }

    #[inline(always)]
    pub(super) fn claimed(self) -> Self {
        Self(self.0 | CLAIM, PhantomData)
    }

    #[inline(always)]
    pub(super) fn unclaimed(self) -> Self {
        Self(self.0 & !CLAIM, PhantomData)
    }

    /// Returns the node that the link leads to, or `None` at the end of the level.
    #[inline(always)]
    pub(super) fn node(self) -> Option<Node<V>> {
        let address = self.0 & !MARK;
        // SAFETY: an address in a link is that of a node (`to`). The caller must follow the node's
        // invariant 4.
        (address != 0).then(|| unsafe { Node::at(address) })
    }

    /// Prefetches the parts of the node that a search reads: its first key bytes, and its link on
    /// `level`.
    #[inline(always)]
    pub(super) fn prefetch(self, level: usize) {
        let header: *const u8 = std::ptr::without_provenance((self.0 & !MARK) as usize);
        prefetch_read(header);
        prefetch_read(header.wrapping_sub(8 * (level + 1)));
    }

    /// Prefetches the parts of the node that a scan reads.
    #[inline(always)]
    pub(super) fn prefetch_whole(self) {
        let header: *const u8 = std::ptr::without_provenance((self.0 & !MARK) as usize);
        prefetch_read(header.wrapping_sub(8));
        prefetch_read(header.wrapping_add(Node::<V>::FIXED - 1));
    }
}
