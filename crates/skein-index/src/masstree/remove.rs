//! What a removal leaves empty: border nodes, interior nodes, layers.
//!
//! ```text
//!        [ d | m ]                [ d | m ]            an empty node leaves its list and its parent;
//!       /   |     \              /  |      \           its range goes to the left neighbour
//!     A ⇄  (B)  ⇄  C      =>   A ⇄────────► C
//! ```
//!
//! - A border node that is empty is unlinked, unless it is its tree's leftmost: that one stays, so that
//!   there is always a left neighbour to take over the range. Low keys never change: the range goes left.
//! - If the node was its parent's first child, the separator that leads to it lies in an ancestor;
//!   it is raised to the low key of the next child, for the same reason.
//! - An interior node that loses its only child goes too. A root with one child gives way to that child.
//! - Interior nodes are marked as splitting, so that readers under way start the layer over: a key range
//!   moves between their children.
//!
//! Deeper layers are tidied in `tidy.rs`. Source: Masstree, section 4.6.5.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::Masstree;
use super::latch::Latch;
use super::node::{Node, width_for};
use crate::slot::Slot;

/// What a removal calls for, once the node is unlocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aftermath {
    /// Nothing.
    Nothing,
    /// The border node is empty, and not a root.
    EmptyBorder,
    /// The border node is a deeper layer by itself, and holds so little that the layer may shrink or go.
    SmallLayer,
}

/// The width that a layer with `count` keys should shrink to, if that is worth a copy: to half or less, with
/// room for one key more, so that a key which comes and goes does not make it swing.
pub(super) fn shrunk_width<const W: usize>(count: usize, width: usize) -> Option<usize> {
    let target = width_for::<W>(count + 1);
    (2 * target <= width).then_some(target)
}

/// What the state of a locked border node, in the layer at `offset`, calls for.
pub(super) fn aftermath<const W: usize>(latch: &Latch<W>, offset: usize) -> Aftermath {
    let count = latch.permutation().count();
    if !latch.version().peek().is_root() {
        return if count == 0 { Aftermath::EmptyBorder } else { Aftermath::Nothing };
    }
    if offset > 0 && (count <= 1 || shrunk_width::<W>(count, latch.lens().width()).is_some()) {
        return Aftermath::SmallLayer;
    }
    Aftermath::Nothing
}

impl<S: Slot, const W: usize> Masstree<S, W> {
    /// Does what the aftermath of a removal of `key` from `node`, in the layer at `offset`, calls for.
    #[inline]
    pub(super) fn clean_up<G: Guard>(
        &self,
        after: Aftermath,
        node: Node<W>,
        key: &[u8],
        offset: usize,
        guard: &G,
    ) {
        match after {
            Aftermath::Nothing => {}
            Aftermath::SmallLayer => self.tidy(key, offset, guard),
            Aftermath::EmptyBorder => {
                if unlink(node, guard) {
                    if offset == 0 { self.collapse_tree_root(guard) } else { self.tidy(key, offset, guard) }
                }
            }
        }
    }

    /// As long as the tree's root has a single child, makes that the root.
    fn collapse_tree_root<G: Guard>(&self, guard: &G) {
        loop {
            let root = self.root();
            if !collapse_root(root, |child| self.replace_root(root, child), guard) {
                return;
            }
        }
    }
}

/// Unlinks a border node if it is empty and not its tree's leftmost. Returns whether that has left the
/// tree's root with a single child.
#[cold]
fn unlink<const W: usize, G: Guard>(node: Node<W>, guard: &G) -> bool {
    let mut backoff = Backoff::new();
    let (left, latch) = loop {
        let Some(prev) = node.prev() else { return false };
        if node.version().peek().is_deleted() {
            return false;
        }
        if let Some(left) = Latch::take(prev)
            && left.next() == Some(node)
        {
            let Some(latch) = Latch::take(node) else { return false };
            if latch.permutation().count() > 0 {
                return false;
            }
            break (left, latch);
        }
        // The left neighbour has split or gone; `prev` is about to say so.
        backoff.wait();
    };
    let mut gone = Vec::new();
    let lone_root = cut_off(&latch, &mut gone);
    latch.version().mark_deleted();
    // `prev` of the right neighbour is ours to change: we hold the lock on its left neighbour.
    if let Some(next) = latch.next() {
        next.set_prev(Some(left.node()));
    }
    left.set_next(latch.next());
    drop((left, latch));
    // SAFETY: unlinked above from neighbours and parents.
    unsafe {
        node.retire(guard);
        for interior in gone {
            Node::<W>::retire(interior, guard);
        }
    }
    lone_root
}

/// If `root` has a single child, makes that the root of the layer, by `relink`; returns whether it did.
///
/// In a deeper layer the caller holds the lock of the border node above.
pub(super) fn collapse_root<const W: usize, G: Guard>(
    root: Node<W>,
    relink: impl FnOnce(Node<W>),
    guard: &G,
) -> bool {
    if root.version().peek().is_border() || root.nkeys() > 0 {
        return false;
    }
    let child = root.child(0);
    let (Some(below), Some(latch)) = (Latch::take(child), Latch::take(root)) else { return false };
    if !latch.version().peek().is_root() || latch.nkeys() > 0 || latch.child(0) != child {
        return false;
    }
    latch.version().mark_deleted();
    below.set_parent(None);
    below.version().set_root(true);
    relink(child);
    drop((below, latch));
    // SAFETY: the child has no parent any more, and `relink` replaced the only other link.
    unsafe { root.retire(guard) };
    true
}

/// Takes a locked node out of its parent, and that out of its own if nothing is left of it. Adds the interior
/// nodes that went to `gone`; returns whether a root is left with a single child.
fn cut_off<const W: usize>(node: &Latch<W>, gone: &mut Vec<Node<W>>) -> bool {
    let mut held: Vec<Latch<W>> = Vec::new();
    let mut child = node.node();
    let parent = loop {
        let below = held.last().unwrap_or(node);
        let parent = below.take_parent().expect("a root is on its tree's left edge, and that stays");
        parent.version().mark_splitting();
        if parent.nkeys() > 0 {
            break parent;
        }
        parent.version().mark_deleted();
        child = parent.node();
        gone.push(child);
        held.push(parent);
    };
    let index = parent.child_position(child);
    let lone_root = parent.nkeys() == 1 && parent.version().peek().is_root();
    let next_low = parent.key(0);
    parent.remove_child(index);
    if index == 0 {
        raise_separator(parent, next_low, &mut held);
    }
    lone_root
}

/// A locked node's range now starts at `low`: raises the separator on its left, which lies in the nearest
/// ancestor of which it is not in the first child.
fn raise_separator<const W: usize>(mut node: Latch<W>, low: u64, held: &mut Vec<Latch<W>>) {
    loop {
        let parent = node.take_parent().expect("only nodes off the left edge lose their first child");
        parent.version().mark_splitting();
        let index = parent.child_position(node.node());
        held.push(node);
        if index > 0 {
            parent.set_key(index - 1, low);
            return;
        }
        node = parent;
    }
}

impl<const W: usize> Latch<W> {
    /// Removes the child at `index` from this marked interior node, with the separator on its left, or, for
    /// the first child, on its right.
    fn remove_child(&self, index: usize) {
        let nkeys = self.nkeys();
        for i in index.saturating_sub(1)..nkeys - 1 {
            self.set_key(i, self.key(i + 1));
        }
        self.set_key(nkeys - 1, u64::MAX);
        for i in index..nkeys {
            self.set_child(i, self.child(i + 1));
        }
        self.set_nkeys(nkeys - 1);
    }
}
