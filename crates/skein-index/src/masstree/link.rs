//! The tagged word of a slot whose key goes on: a suffix block, or a deeper layer.
//!
//! ```text
//!   ┌───────────────────────────────────────┬───────┬───────┐
//!   │ address                               │ lines │ layer │     lines: how many cache lines to ask for,
//!   └───────────────────────────────────────┴───────┴───────┘            0 for all of a full node
//!    63                                    3 2     1    0
//! ```
//!
//! Kind and address are one word, so a slot turns from a suffix into a layer by one store. The paper stores them
//! apart and needs a third state, UNSTABLE, in which readers wait (section 4.6.3); here no reader can ever see
//! a link of one kind with the marker of the other, so there is nothing to wait for.

use super::node::Node;
use super::suffix::SuffixBlock;
use super::variant::{WITHOUT_PREFETCH, without};

const LAYER: u64 = 1;

/// Where a key goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotLink<const W: usize> {
    /// In a suffix block.
    Suffix(SuffixBlock),
    /// In a layer, by its root; the root may be stale, and then the layer's root is found by parents.
    Layer(Node<W>),
}

impl<const W: usize> SlotLink<W> {
    /// The link in a slot's word.
    ///
    /// # Safety
    /// The word was read from a slot whose code is `LINK`, and the node's version showed that word and code
    /// belong together, under the guard that protects the target.
    #[inline(always)]
    pub(super) unsafe fn from_word(word: u64) -> Self {
        // SAFETY: passed on to the caller; the low bits tell the kind.
        unsafe {
            if word & LAYER == 0 {
                Self::Suffix(SuffixBlock::from_word(word))
            } else {
                Self::Layer(Node::from_word(word))
            }
        }
    }

    /// The word to store in a slot.
    pub(super) fn word(self) -> u64 {
        match self {
            Self::Suffix(suffix) => suffix.address(),
            Self::Layer(root) => root.address() | root.lines_hint() << 1 | LAYER,
        }
    }

    /// Asks for the cache lines that following a slot's word will read; of a suffix, so many bytes. The word need
    /// not be valid.
    #[inline(always)]
    pub(super) fn prefetch(word: u64, length: usize) {
        if without(W, WITHOUT_PREFETCH) {
            return;
        }
        if word & LAYER == 0 {
            SuffixBlock::prefetch(word, length);
        } else {
            Node::<W>::prefetch_hint(word & !7, (word >> 1) & 3);
        }
    }
}
