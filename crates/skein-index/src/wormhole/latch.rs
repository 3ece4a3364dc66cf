//! A leaf's lock as a value. Dropping it unlocks, so a panic in a caller's closure leaves no lock
//! held.
//!
//! # The order of locks
//! Leaves from left to right, then the trie's lock (`meta_trie.rs`).

use std::marker::PhantomData;
use std::ops::Deref;

use skein_sync::version::Version;

use super::leaf::WormholeLeaf;
use super::variant::WormholeSettings;

/// A locked leaf.
#[derive(Debug)]
pub(super) struct LeafLatch<V: WormholeSettings>(WormholeLeaf, PhantomData<V>);

impl<V: WormholeSettings> LeafLatch<V> {
    /// Locks a leaf, and blocks until it has the lock. Returns `None` if the leaf is deleted.
    #[inline]
    pub(super) fn take(leaf: WormholeLeaf) -> Option<Self> {
        if !V::ONE_THREAD {
            leaf.version().lock();
        }
        let latch = Self(leaf, PhantomData);
        (!leaf.peek::<V>().is_deleted()).then_some(latch)
    }

    /// The version of a leaf that is created for [`of_new`](Self::of_new).
    pub(super) const NEW: Version =
        if V::ONE_THREAD { Version::BORDER } else { Version::BORDER.as_locked_split() };

    /// Returns the latch of a leaf that was created locked.
    pub(super) fn of_new(leaf: WormholeLeaf) -> Self {
        debug_assert!(V::ONE_THREAD || leaf.version().peek().is_locked());
        Self(leaf, PhantomData)
    }

    pub(super) fn leaf(&self) -> WormholeLeaf {
        self.0
    }

    /// Marks the leaf before records or ranks move within it.
    pub(super) fn mark_inserting(&self) {
        if !V::ONE_THREAD {
            self.0.version().mark_inserting();
        }
    }

    /// Marks the leaf before its range changes.
    pub(super) fn mark_splitting(&self) {
        if !V::ONE_THREAD {
            self.0.version().mark_splitting();
        }
    }

    /// Marks the leaf as unlinked for good.
    pub(super) fn mark_deleted(&self) {
        if !V::ONE_THREAD {
            self.0.version().mark_deleted();
        }
    }
}

impl<V: WormholeSettings> Deref for LeafLatch<V> {
    type Target = WormholeLeaf;

    fn deref(&self) -> &WormholeLeaf {
        &self.0
    }
}

impl<V: WormholeSettings> Drop for LeafLatch<V> {
    #[inline]
    fn drop(&mut self) {
        if !V::ONE_THREAD {
            self.0.version().unlock();
        }
    }
}
