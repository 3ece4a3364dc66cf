//! A leaf's lock as a value: dropping it unlocks, so a panic in a caller's closure leaves nothing locked.
//!
//! # The order of locks
//! Leaves from left to right, then the trie's (`meta.rs`).

use std::ops::Deref;

use super::leaf::Leaf;

/// A locked leaf.
#[derive(Debug)]
pub(super) struct Latch(Leaf);

impl Latch {
    /// Locks a leaf, waiting for it; none if it is deleted.
    #[inline]
    pub(super) fn take(leaf: Leaf) -> Option<Self> {
        leaf.version().lock();
        let latch = Self(leaf);
        (!leaf.version().peek().is_deleted()).then_some(latch)
    }

    /// The latch of a leaf that was created locked.
    pub(super) fn of_new(leaf: Leaf) -> Self {
        debug_assert!(leaf.version().peek().is_locked());
        Self(leaf)
    }

    /// The leaf.
    pub(super) fn leaf(&self) -> Leaf {
        self.0
    }
}

impl Deref for Latch {
    type Target = Leaf;

    fn deref(&self) -> &Leaf {
        &self.0
    }
}

impl Drop for Latch {
    #[inline]
    fn drop(&mut self) {
        self.0.version().unlock();
    }
}
