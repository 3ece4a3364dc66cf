//! A node's lock as a value. Dropping it unlocks, so a panic in a caller's closure leaves no lock
//! held.
//!
//! # The order of locks
//! Upper layers before deeper layers; within a layer, children before parents and left before
//! right. A thread that moves right along border links releases one lock before it acquires the
//! next.

use std::ops::Deref;

use super::lookup::BorderVisit;
use super::node::Node;
use super::variant::MasstreeSettings;

/// A locked node.
#[derive(Debug)]
pub(super) struct NodeLatch<V: MasstreeSettings>(Node<V>);

impl<V: MasstreeSettings> NodeLatch<V> {
    /// Locks a node, and blocks until it has the lock. Returns `None` if the node is deleted.
    #[inline]
    pub(super) fn take(node: Node<V>) -> Option<Self> {
        node.version().lock();
        let latch = Self(node);
        (!node.version().peek().is_deleted()).then_some(latch)
    }

    /// Returns the latch of a node that was created locked.
    pub(super) fn of_new(node: Node<V>) -> Self {
        debug_assert!(node.version().peek().is_locked());
        Self(node)
    }

    /// Locks the border node that covers `slice`: the visited one, or one to its right if it has
    /// split since. Returns `None` if the node no longer covers the slice; the caller must descend
    /// again.
    #[inline(always)]
    pub(super) fn take_for(visit: BorderVisit<V>, slice: u64) -> Option<Self> {
        let mut latch = Self::take(visit.node)?;
        if !latch.is_full_width() {
            return Some(latch);
        }
        if visit.version.split_until(latch.version().peek()) {
            while let Some(next) = latch.next()
                && slice >= next.low()
            {
                drop(latch);
                latch = Self::take(next)?;
            }
        }
        // While we waited, a merge may have moved the range below the low key to the left
        // neighbour.
        (slice >= latch.low()).then_some(latch)
    }

    /// Locks the parent of a locked node. Returns `None` if the node is a root.
    pub(super) fn take_parent(&self) -> Option<Self> {
        loop {
            let parent = self.0.parent()?;
            parent.version().lock();
            let latch = Self(parent);
            // While we waited, the parent may have split and our node may have moved (section 4.5).
            if self.0.parent() == Some(parent) {
                return Some(latch);
            }
        }
    }

    /// Returns the locked node, as a value that outlives the latch.
    #[inline(always)]
    pub(super) fn node(&self) -> Node<V> {
        self.0
    }
}

impl<V: MasstreeSettings> Deref for NodeLatch<V> {
    type Target = Node<V>;

    #[inline(always)]
    fn deref(&self) -> &Node<V> {
        &self.0
    }
}

impl<V: MasstreeSettings> Drop for NodeLatch<V> {
    #[inline]
    fn drop(&mut self) {
        self.0.version().unlock();
    }
}
