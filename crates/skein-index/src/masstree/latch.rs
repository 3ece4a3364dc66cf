//! A node's lock as a value: dropping it unlocks, so a panic in a caller's closure leaves nothing locked.
//!
//! # The order of locks
//! Upper layers before deeper ones; within a layer, children before parents, left before right. Moving right
//! along border links gives up one lock before taking the next.

use std::ops::Deref;

use super::lookup::BorderVisit;
use super::node::Node;

/// A locked node.
#[derive(Debug)]
pub(super) struct NodeLatch<const W: usize>(Node<W>);

impl<const W: usize> NodeLatch<W> {
    /// Locks a node, waiting for it; none if it is deleted.
    #[inline]
    pub(super) fn take(node: Node<W>) -> Option<Self> {
        node.version().lock();
        let latch = Self(node);
        (!node.version().peek().is_deleted()).then_some(latch)
    }

    /// The latch of a node that was created locked.
    pub(super) fn of_new(node: Node<W>) -> Self {
        debug_assert!(node.version().peek().is_locked());
        Self(node)
    }

    /// Locks the border node that holds `slice`: the visited one, or one to its right if it has split since.
    /// None if the node does not cover the slice any more; then the caller descends again.
    #[inline]
    pub(super) fn take_for(visit: BorderVisit<W>, slice: u64) -> Option<Self> {
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
        // The range below a low key may have gone to the left neighbour while we waited.
        (slice >= latch.low()).then_some(latch)
    }

    /// Locks the parent of a locked node; none if that is a root.
    pub(super) fn take_parent(&self) -> Option<Self> {
        loop {
            let parent = self.0.parent()?;
            parent.version().lock();
            let latch = Self(parent);
            // The parent may have split while we waited, and our node moved (section 4.5).
            if self.0.parent() == Some(parent) {
                return Some(latch);
            }
        }
    }

    /// The locked node, as a value to keep.
    #[inline(always)]
    pub(super) fn node(&self) -> Node<W> {
        self.0
    }
}

impl<const W: usize> Deref for NodeLatch<W> {
    type Target = Node<W>;

    #[inline(always)]
    fn deref(&self) -> &Node<W> {
        &self.0
    }
}

impl<const W: usize> Drop for NodeLatch<W> {
    #[inline]
    fn drop(&mut self) {
        self.0.version().unlock();
    }
}
