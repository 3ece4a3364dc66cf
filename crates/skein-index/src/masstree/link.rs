//! The tagged word of a slot whose key continues in a suffix block or a deeper layer.
//!
//! ```text
//!   ┌───────────────────────────────────────┬───────┬───────┐
//!   │ address                               │ lines │ layer │   lines: cache lines to prefetch,
//!   └───────────────────────────────────────┴───────┴───────┘          0 for all of a full node
//!    63                                    3 2     1    0
//! ```
//!
//! Kind and address are one word, so one store turns a suffix into a layer. The paper stores them
//! apart and needs a third state, UNSTABLE, in which readers wait (section 4.6.3). Here a reader
//! can never see the address of one kind with the marker of the other.

use super::node::Node;
use super::suffix::SuffixBlock;
use super::variant::MasstreeSettings;

const LAYER: u64 = 1;

/// The target of a slot whose key continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotLink<V: MasstreeSettings> {
    /// A suffix block.
    Suffix(SuffixBlock),
    /// A layer, by its root. The root may be stale; the present root is then found through parents.
    Layer(Node<V>),
}

impl<V: MasstreeSettings> SlotLink<V> {
    /// Returns the link in a slot's word.
    ///
    /// # Safety
    /// The word was read from a slot whose code is `LINK`, under the guard that protects the
    /// target, and the node's version showed that word and code belong together.
    #[inline(always)]
    pub(super) unsafe fn from_word(word: u64) -> Self {
        // SAFETY: the caller's promise; the low bits hold the kind.
        unsafe {
            if word & LAYER == 0 {
                Self::Suffix(SuffixBlock::from_word(word))
            } else {
                Self::Layer(Node::from_word(word))
            }
        }
    }

    /// Returns the word to store in a slot.
    pub(super) fn word(self) -> u64 {
        match self {
            Self::Suffix(suffix) => suffix.address(),
            Self::Layer(root) => root.address() | root.lines_hint() << 1 | LAYER,
        }
    }

    /// Prefetches the target of a slot's word: of a suffix, `length` bytes. The word may be
    /// invalid.
    #[inline(always)]
    pub(super) fn prefetch(word: u64, length: usize) {
        if !V::PREFETCH {
            return;
        }
        if word & LAYER == 0 {
            SuffixBlock::prefetch(word, length);
        } else {
            Node::<V>::prefetch_hint(word & !7, (word >> 1) & 3);
        }
    }
}
