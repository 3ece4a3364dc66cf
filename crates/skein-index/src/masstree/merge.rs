//! Merging: two neighbours that removals have left sparse become one node.
//!
//! ```text
//!            [ d | m ]                      [ m ]         the keys of the right node, and
//!           /    |    \                    /     \        its range, move to the left node
//!   A (a b) ⇄ B (e) ⇄  C    =>   A (a b e) ⇄────► C
//! ```
//!
//! The paper frees a border node when it is empty, so a tree that has lost nine keys in ten keeps
//! nearly all of its nodes. Here two neighbours become one when together they hold at most two
//! thirds of a node. A split leaves two halves. So a pair loses a third of a node before it merges,
//! and gains a third before it splits again: one key that is inserted and removed in turn does not
//! make it oscillate. Design: `docs/design/thinning.md`.
//!
//! - The right node is always the one removed. So low keys never change, and a tree's leftmost node
//!   stays. A stale link to a layer's former root stays valid, because that root is leftmost on its
//!   level.
//! - The right node is deleted with its contents in place. Readers and writers that reach it, or
//!   hold a location in it, restart.
//! - The left node is marked as inserting. Its range grows, so it still covers every slice that it
//!   covered before: a reader looks again and need not restart. Cursors descend again, because the
//!   keys after theirs have moved.
//! - Both nodes are marked before the parents change, and stay marked until the merge is complete.
//!   A reader that the changed parent sends to the left node waits there until the keys have moved.
//! - Interior nodes merge alike, within one parent. The separator between them moves down into the
//!   merged node.
//! - If the node was its parent's first child, the separator that leads to it lies in an ancestor.
//!   That separator is raised to the low key of the next child. These ancestors are marked as
//!   splitting, because the range of a child has moved to another child.
//!
//! # Order of locks
//! A merge locks the left node, the right one, and then the parents from below, as `latch.rs`
//! requires. A thread that holds a parent waits only for nodes above it, so there is no deadlock.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::latch::NodeLatch;
use super::node::Node;
use super::variant::MasstreeSettings;

/// Returns the maximum number of keys of a merged node.
const fn merged_max<V: MasstreeSettings>() -> usize {
    2 * V::WIDTH / 3
}

/// Returns whether a node with this many keys looks for a neighbour to merge with.
pub(super) const fn is_sparse<V: MasstreeSettings>(keys: usize) -> bool {
    keys <= V::WIDTH / 3
}

/// Returns whether two neighbouring border nodes with these numbers of keys merge.
fn borders_fit<V: MasstreeSettings>(left: usize, right: usize) -> bool {
    left + right <= merged_max::<V>() || right == 0
}

/// Returns whether two neighbouring interior nodes with these numbers of keys merge. The separator
/// between them moves down.
fn interiors_fit<V: MasstreeSettings>(left: usize, right: usize) -> bool {
    left + 1 + right <= merged_max::<V>()
}

/// Merges a border node with a neighbour, if they fit in one node, and then its ancestors likewise.
/// Returns whether the tree's root has a single child left.
#[cold]
pub(super) fn merge_border<V: MasstreeSettings, G: Guard>(node: Node<V>, guard: &G) -> bool {
    let parent = absorb_border(node, guard).or_else(|| absorb_border(node.next()?, guard));
    parent.is_some_and(|parent| merge_interior(parent, guard))
}

/// Moves the keys of a border node to its left neighbour and unlinks the node, if both fit in one;
/// an empty node always fits. Returns the interior node that has lost a child.
fn absorb_border<V: MasstreeSettings, G: Guard>(node: Node<V>, guard: &G) -> Option<Node<V>> {
    let (left, right) = lock_with_left(node)?;
    move_keys(&left, &right);
    right.version().mark_deleted();
    let mut gone = vec![node];
    let parent = cut_off(&right, &mut gone);
    // We may change `prev` of the right neighbour, because we hold the lock of its left neighbour.
    if let Some(next) = right.next() {
        next.set_prev(Some(left.node()));
    }
    left.set_next(right.next());
    drop((left, right));
    for node in gone {
        // SAFETY: unlinked above from neighbours and parents.
        unsafe { node.retire(guard) };
    }
    Some(parent)
}

/// Locks a border node and its left neighbour. Returns `None` if they do not fit in one node, or if
/// the node is leftmost or deleted.
fn lock_with_left<V: MasstreeSettings>(node: Node<V>) -> Option<(NodeLatch<V>, NodeLatch<V>)> {
    let fit = |left: Node<V>| borders_fit::<V>(left.permutation().count(), node.permutation().count());
    let mut backoff = Backoff::new();
    loop {
        // These are only hints until both nodes are locked.
        let prev = node.prev().filter(|&prev| fit(prev) && !node.version().peek().is_deleted())?;
        if let Some(left) = NodeLatch::take(prev)
            && left.next() == Some(node)
        {
            let right = NodeLatch::take(node)?;
            return fit(prev).then_some((left, right));
        }
        // The left neighbour has split or is deleted. Its writer is about to update `prev`.
        backoff.wait();
    }
}

/// Adds all keys of a node to its left neighbour, which must have enough free slots.
fn move_keys<V: MasstreeSettings>(left: &NodeLatch<V>, right: &NodeLatch<V>) {
    let (lengths, permutation) = (right.key_lengths(), right.permutation());
    if permutation.count() > 0 {
        left.version().mark_inserting();
    }
    for position in 0..permutation.count() {
        left.insert_entry(left.permutation().count(), right.entry(lengths, permutation, position));
    }
}

/// Removes a locked node from its parent. If the parent has no other child, removes the parent from
/// its own parent, and so on. Appends the removed interior nodes to `gone`. Returns the interior
/// node that has lost a child.
fn cut_off<V: MasstreeSettings>(node: &NodeLatch<V>, gone: &mut Vec<Node<V>>) -> Node<V> {
    let mut held: Vec<NodeLatch<V>> = Vec::new();
    let mut child = node.node();
    let parent = loop {
        let below = held.last().unwrap_or(node);
        let parent =
            below.take_parent().expect("a root is on the left edge of its tree and is never removed");
        parent.version().mark_splitting();
        if parent.nkeys() > 0 {
            break parent;
        }
        parent.version().mark_deleted();
        child = parent.node();
        gone.push(child);
        held.push(parent);
    };
    let lost = parent.node();
    let index = parent.child_position(child);
    let next_low = parent.key(0);
    parent.remove_child(index);
    if index == 0 {
        raise_separator(parent, next_low, &mut held);
    }
    lost
}

/// Raises the separator on the left of a locked node after its range has changed to start at `low`.
/// The separator lies in the nearest ancestor that does not have the node in its first child.
fn raise_separator<V: MasstreeSettings>(mut node: NodeLatch<V>, low: u64, held: &mut Vec<NodeLatch<V>>) {
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

/// Two adjacent interior nodes and their parent, all locked.
struct Siblings<V: MasstreeSettings> {
    left: NodeLatch<V>,
    right: NodeLatch<V>,
    parent: NodeLatch<V>,
    /// The index of the right node among the parent's children.
    index: usize,
}

/// Merges an interior node with a sibling, if they fit in one node, and so on up the tree. Returns
/// whether this reached the root and the root has a single child.
fn merge_interior<V: MasstreeSettings, G: Guard>(mut node: Node<V>, guard: &G) -> bool {
    loop {
        if node.version().peek().is_root() {
            return node.nkeys() == 0;
        }
        let Some(siblings) = lock_with_sibling(node) else { return false };
        node = siblings.merge(guard);
    }
}

/// Locks an interior node, a sibling, and their parent. Returns `None` if no sibling fits, or if
/// the node is deleted.
fn lock_with_sibling<V: MasstreeSettings>(node: Node<V>) -> Option<Siblings<V>> {
    let mut backoff = Backoff::new();
    loop {
        if node.version().peek().is_deleted() {
            return None;
        }
        let parent = node.parent()?;
        let version = parent.version().stable();
        let pair = fitting_pair(parent, node);
        // The order of two siblings never changes, so this is the order in which to lock them.
        if !parent.version().changed(version) {
            let (left, right) = pair?;
            if let (Some(left), Some(right)) = (NodeLatch::take(left), NodeLatch::take(right))
                && let Some(siblings) = Siblings::of(left, right)
            {
                return Some(siblings);
            }
        }
        backoff.wait();
    }
}

/// Returns a node and one of its siblings that fit in one node. The caller must validate the
/// result.
fn fitting_pair<V: MasstreeSettings>(parent: Node<V>, node: Node<V>) -> Option<(Node<V>, Node<V>)> {
    let nkeys = parent.nkeys();
    let index = (0..=nkeys).find(|&index| parent.child(index) == node)?;
    let left = (index > 0).then(|| (parent.child(index - 1), node));
    let right = (index < nkeys).then(|| (node, parent.child(index + 1)));
    left.into_iter().chain(right).find(|(left, right)| interiors_fit::<V>(left.nkeys(), right.nkeys()))
}

impl<V: MasstreeSettings> Siblings<V> {
    /// Locks the parent too. Returns `None` if the two nodes are no longer siblings, or do not fit.
    fn of(left: NodeLatch<V>, right: NodeLatch<V>) -> Option<Self> {
        let parent = right.take_parent()?;
        let index = parent.child_position(right.node());
        let siblings = index > 0 && parent.child(index - 1) == left.node();
        (siblings && interiors_fit::<V>(left.nkeys(), right.nkeys())).then_some(Self {
            left,
            right,
            parent,
            index,
        })
    }

    /// Moves the children of the right node to the left one and unlinks the right node. Returns the
    /// parent.
    fn merge<G: Guard>(self, guard: &G) -> Node<V> {
        let Self { left, right, parent, index } = self;
        left.version().mark_inserting();
        right.version().mark_deleted();
        parent.version().mark_inserting();
        let (kept, moved) = (left.nkeys(), right.nkeys());
        left.set_key(kept, parent.key(index - 1));
        for i in 0..moved {
            left.set_key(kept + 1 + i, right.key(i));
        }
        for i in 0..=moved {
            left.set_child(kept + 1 + i, right.child(i));
            // We may change it, because we hold the lock of the old parent.
            right.child(i).set_parent(Some(left.node()));
        }
        left.set_nkeys(kept + 1 + moved);
        parent.remove_child(index);
        let (gone, above) = (right.node(), parent.node());
        drop((left, right, parent));
        // SAFETY: its parent and its children no longer lead to it.
        unsafe { gone.retire(guard) };
        above
    }
}

impl<V: MasstreeSettings> NodeLatch<V> {
    /// Removes the child at `index` from this marked interior node, with the separator on its left,
    /// or, for the first child, on its right.
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
