//! Locks of pages, nodes and the root as values. Dropping one unlocks, so a panic in a caller's
//! closure leaves no lock held.
//!
//! # The order of locks
//! From the page up to the root. A writer that holds a page or node and needs its neighbour tries
//! its lock once, and does without if it is taken.

use std::ops::Deref;

use skein_sync::version::{Version, VersionWord};

use super::child::{Child, Target};
use super::node::{Node, Separator};
use super::page::Page;

/// The version of a page that is made locked: no reader waits for it but one that finds nothing.
pub(super) const NEW_PAGE: Version = Version::BORDER.as_locked_split();

/// A locked page.
#[derive(Debug)]
pub(super) struct PageLatch(Page);

impl PageLatch {
    /// Locks a page. Returns `None` if it is deleted.
    #[inline]
    pub(super) fn take(page: Page) -> Option<Self> {
        page.version().lock();
        let latch = Self(page);
        (!page.version().peek().is_deleted()).then_some(latch)
    }

    /// Locks a page if its lock is free. Returns `None` if it is taken or the page is deleted.
    pub(super) fn try_take(page: Page) -> Option<Self> {
        let latch = page.version().try_lock().then(|| Self(page))?;
        (!page.version().peek().is_deleted()).then_some(latch)
    }

    /// Returns the latch of a page that was made locked.
    pub(super) fn of_new(page: Page) -> Self {
        debug_assert!(page.version().peek().is_locked());
        Self(page)
    }

    pub(super) fn page(&self) -> Page {
        self.0
    }
}

impl Deref for PageLatch {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.0
    }
}

impl Drop for PageLatch {
    #[inline]
    fn drop(&mut self) {
        self.0.version().unlock();
    }
}

/// A locked node that is not deleted.
#[derive(Debug)]
pub(super) struct NodeLatch(Node);

impl NodeLatch {
    /// Locks a node. Returns `None` if it is deleted.
    pub(super) fn take(node: Node) -> Option<Self> {
        node.version().lock();
        let latch = Self(node);
        (!node.version().peek().is_deleted()).then_some(latch)
    }

    /// Locks a node if its lock is free. The node must not be deleted.
    pub(super) fn try_take(node: Node) -> Option<Self> {
        node.version().try_lock().then(|| {
            debug_assert!(!node.version().peek().is_deleted());
            Self(node)
        })
    }

    pub(super) fn node(&self) -> Node {
        self.0
    }
}

impl Deref for NodeLatch {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.0
    }
}

impl Drop for NodeLatch {
    fn drop(&mut self) {
        self.0.version().unlock();
    }
}

/// The lock of the root's word.
#[derive(Debug)]
pub(super) struct RootLatch<'t>(&'t VersionWord);

impl<'t> RootLatch<'t> {
    pub(super) fn take(lock: &'t VersionWord) -> Self {
        lock.lock();
        Self(lock)
    }
}

impl Drop for RootLatch<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// The locked parent of a page or a node: a node and the child's position in it, or the root.
#[derive(Debug)]
pub(super) enum Parent<'t> {
    Root(RootLatch<'t>),
    Node(NodeLatch, usize),
}

impl Parent<'_> {
    /// Returns the separator before the child at this position, if the parent knows it.
    pub(super) fn separator_before(&self, at: usize) -> Option<Separator<'_>> {
        match self {
            Self::Node(node, _) if at > 0 && at < node.children() => Some(node.separator(at - 1)),
            _ => None,
        }
    }

    /// Returns whether this is a node with one child.
    pub(super) fn is_of_one(&self) -> bool {
        matches!(self, Self::Node(node, _) if node.children() == 1)
    }

    /// Returns the neighbours of the child, each with the position of the left one of the two.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = (Child, usize)> {
        let (node, at) = match self {
            Self::Root(_) => (None, 0),
            Self::Node(node, at) => (Some(node.node()), *at),
        };
        let beside = [(at + 1, at), (at.wrapping_sub(1), at.wrapping_sub(1))].into_iter();
        let beside = beside.filter(move |(other, _)| node.is_some_and(|node| *other < node.children()));
        beside.filter_map(move |(other, left)| Some((node?.child(other), left)))
    }
}

/// Returns the page of a link that leads to one.
///
/// # Safety
/// As for [`Child::target`].
pub(super) unsafe fn page_of(child: Child) -> Option<Page> {
    // SAFETY: the caller's promise.
    match unsafe { child.target() } {
        Target::Page(page) => Some(page),
        Target::Node(_) => None,
    }
}
