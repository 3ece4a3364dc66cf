//! A leaf's lock as a value: dropping it unlocks, so a panic in a caller's closure leaves nothing locked.
//!
//! # The order of locks
//! Leaves from left to right, then the trie's (`meta.rs`).

use std::ops::Deref;

use skein_sync::version::Version;

use super::leaf::WormholeLeaf;
use super::variant::{ALONE, has};

/// A locked leaf.
#[derive(Debug)]
pub(super) struct LeafLatch<const W: usize>(WormholeLeaf);

impl<const W: usize> LeafLatch<W> {
    /// Locks a leaf, waiting for it; none if it is deleted.
    #[inline]
    pub(super) fn take(leaf: WormholeLeaf) -> Option<Self> {
        if !has(W, ALONE) {
            leaf.version().lock();
        }
        let latch = Self(leaf);
        (!leaf.peek::<W>().is_deleted()).then_some(latch)
    }

    /// The version of leaves that are created to be [`of_new`](Self::of_new).
    pub(super) const NEW: Version =
        if has(W, ALONE) { Version::BORDER } else { Version::BORDER.as_locked_split() };

    /// The latch of a leaf that was created locked.
    pub(super) fn of_new(leaf: WormholeLeaf) -> Self {
        debug_assert!(has(W, ALONE) || leaf.version().peek().is_locked());
        Self(leaf)
    }

    /// The leaf.
    pub(super) fn leaf(&self) -> WormholeLeaf {
        self.0
    }

    /// Announces that records or ranks move within the leaf.
    pub(super) fn mark_inserting(&self) {
        if !has(W, ALONE) {
            self.0.version().mark_inserting();
        }
    }

    /// Announces that the leaf's range will change.
    pub(super) fn mark_splitting(&self) {
        if !has(W, ALONE) {
            self.0.version().mark_splitting();
        }
    }

    /// Announces that the leaf is unlinked for good.
    pub(super) fn mark_deleted(&self) {
        if !has(W, ALONE) {
            self.0.version().mark_deleted();
        }
    }
}

impl<const W: usize> Deref for LeafLatch<W> {
    type Target = WormholeLeaf;

    fn deref(&self) -> &WormholeLeaf {
        &self.0
    }
}

impl<const W: usize> Drop for LeafLatch<W> {
    #[inline]
    fn drop(&mut self) {
        if !has(W, ALONE) {
            self.0.version().unlock();
        }
    }
}
