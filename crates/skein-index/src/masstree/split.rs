//! Splits: a full border node moves its upper half to a new right neighbour, and so on up the tree.
//!
//! ```text
//!        parent                     parent
//!       /      \                   /  |   \
//!   [a b c d] [x y]   + e  =>  [a b] [c d e] [x y]
//!                                 └──next──►
//! ```
//!
//! A node is marked as splitting from the first change to the last. New readers of it wait, and a
//! reader that was in the middle sees that the version's split counter has changed. Locks are
//! acquired upwards, and released when the level above is locked. Source: Masstree, sections 4.3
//! and 4.5, figure 5.
//!
//! Keys of one slice stay in one border node. There are at most ten (lengths 0 to 8, and one link),
//! so the W + 1 = 16 keys to divide have a border between two slices somewhere. If the new key is
//! inserted at the far right, the old node stays full and the new node starts with that key alone.
//! So keys inserted in order fill their nodes (section 4.3).

use skein_sync::version::Version;

use super::MasstreeVariant;
use super::border::BorderEntry;
use super::key_lengths::{KeyLengths, REUSED};
use super::latch::NodeLatch;
use super::node::Node;
use super::permutation::SlotPermutation;
use super::variant::MasstreeSettings;
use crate::slot::Slot;

/// The keys of a full border node with a new key among them, in order.
struct OverfullBorder<V: MasstreeSettings> {
    node: Node<V>,
    lengths: KeyLengths,
    permutation: SlotPermutation,
    position: usize,
    new: BorderEntry,
}

impl<V: MasstreeSettings> OverfullBorder<V> {
    fn get(&self, index: usize) -> BorderEntry {
        match index {
            _ if index < self.position => self.node.entry(self.lengths, self.permutation, index),
            _ if index == self.position => self.new,
            _ => self.node.entry(self.lengths, self.permutation, index - 1),
        }
    }

    /// Returns whether the node may be cut before this key.
    fn can_cut(&self, index: usize) -> bool {
        self.get(index - 1).slice.bits != self.get(index).slice.bits
    }

    /// Returns the index of the first key of the right half.
    fn cut(&self) -> usize {
        if self.position == V::WIDTH && self.node.next().is_none() && self.can_cut(V::WIDTH) {
            return V::WIDTH;
        }
        let middle = V::WIDTH.div_ceil(2);
        (0..=middle)
            .flat_map(|distance| [middle - distance, middle + distance])
            .find(|&index| (1..=V::WIDTH).contains(&index) && self.can_cut(index))
            .expect("a node of width 10 or more holds two different slices when it is full")
    }
}

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Splits a full border node, full-width and locked, and inserts `new` at `position`.
    pub(super) fn split_border(&self, left: NodeLatch<V>, position: usize, new: BorderEntry) {
        let (lengths, permutation) = (left.key_lengths(), left.permutation());
        let merged = OverfullBorder { node: left.node(), lengths, permutation, position, new };
        let cut = merged.cut();
        let low = merged.get(cut).slice.bits;

        let right = Node::new_border(&self.base.arena, V::WIDTH, Version::BORDER.as_locked_split());
        right.set_low(low);
        right.fill((cut..=V::WIDTH).map(|index| merged.get(index)));
        right.set_prev(Some(left.node()));
        right.set_next(left.next());

        left.version().mark_splitting();
        let kept = if position < cut { cut - 1 } else { cut };
        let mut kept_lengths = lengths;
        for moved in kept..V::WIDTH {
            kept_lengths = kept_lengths.with(permutation.slot(moved), REUSED);
        }
        left.set_key_lengths(kept_lengths);
        left.set_permutation(permutation.truncate(kept));
        if position < cut {
            left.insert_entry(position, new);
        }
        // We may change `prev` of the right neighbour, because we hold the lock of its left
        // neighbour.
        if let Some(next) = left.next() {
            next.set_prev(Some(right));
        }
        left.set_next(Some(right));
        self.ascend(left, NodeLatch::of_new(right), low);
    }

    /// Links `right`, the new and locked upper half of `left`, next to it. All its slices are at or
    /// above `separator`.
    fn ascend(&self, mut left: NodeLatch<V>, mut right: NodeLatch<V>, mut separator: u64) {
        loop {
            if left.version().peek().is_root() {
                return self.new_root(&left, &right, separator);
            }
            let parent = left.take_parent().expect("a node that is not a root has a parent");
            let index = parent.child_position(left.node());
            if parent.nkeys() < V::WIDTH {
                parent.version().mark_inserting();
                parent.insert_child(index, separator, right.node());
                return;
            }
            parent.version().mark_splitting();
            drop(left);
            let (upper, up) = self.split_interior(&parent, index, separator, right.node());
            drop(right);
            (left, right, separator) = (parent, upper, up);
        }
    }

    /// Creates a root above the two halves of the old one.
    fn new_root(&self, left: &NodeLatch<V>, right: &NodeLatch<V>, separator: u64) {
        let root = Node::new_interior(&self.base.arena, Version::INTERIOR.as_root());
        root.set_key(0, separator);
        root.set_child(0, left.node());
        root.set_child(1, right.node());
        root.set_nkeys(1);
        left.set_parent(Some(root));
        right.set_parent(Some(root));
        left.version().set_root(false);
        // The tree's own root is exact. The link to a deeper layer stays stale until a writer
        // repairs it.
        self.replace_root(left.node(), root);
    }

    /// Splits a full interior node, locked and marked, and inserts a child after the one at
    /// `index`. Returns the new right half, locked, and the separator between both.
    fn split_interior(
        &self,
        left: &NodeLatch<V>,
        index: usize,
        separator: u64,
        child: Node<V>,
    ) -> (NodeLatch<V>, u64) {
        let key = |i: usize| match i {
            _ if i < index => left.key(i),
            _ if i == index => separator,
            _ => left.key(i - 1),
        };
        let child_at = |i: usize| match i {
            _ if i <= index => left.child(i),
            _ if i == index + 1 => child,
            _ => left.child(i - 1),
        };
        // Inserts in order fill nodes here too; the right half needs at least one key.
        let middle = if index == V::WIDTH { V::WIDTH - 1 } else { V::WIDTH / 2 };
        let up = key(middle);
        let right = Node::new_interior(&self.base.arena, Version::INTERIOR.as_locked_split());
        for i in middle + 1..=V::WIDTH {
            right.set_key(i - middle - 1, key(i));
        }
        for i in middle + 1..=V::WIDTH + 1 {
            right.set_child(i - middle - 1, child_at(i));
            child_at(i).set_parent(Some(right));
        }
        right.set_nkeys(V::WIDTH - middle);

        if index < middle {
            // The new child stays on the left: shift the children that stay.
            for i in (index + 1..=middle).rev() {
                left.set_child(i, child_at(i));
            }
            for i in (index..middle).rev() {
                left.set_key(i, key(i));
            }
            child.set_parent(Some(left.node()));
        } else if index == middle {
            // `separator` moves up, and the new child is the first on the right.
            debug_assert!(up == separator);
        }
        for i in middle..V::WIDTH {
            left.set_key(i, u64::MAX);
        }
        left.set_nkeys(middle);
        (NodeLatch::of_new(right), up)
    }
}

impl<V: MasstreeSettings> NodeLatch<V> {
    /// Returns the index of a child of this interior node.
    pub(super) fn child_position(&self, child: Node<V>) -> usize {
        (0..=self.nkeys()).find(|&index| self.child(index) == child).expect("a child is in its parent")
    }

    /// Inserts a child after the one at `index`. The node must be marked and have a free slot.
    fn insert_child(&self, index: usize, separator: u64, child: Node<V>) {
        let nkeys = self.nkeys();
        for i in (index..nkeys).rev() {
            self.set_key(i + 1, self.key(i));
            self.set_child(i + 2, self.child(i + 1));
        }
        self.set_key(index, separator);
        self.set_child(index + 1, child);
        child.set_parent(Some(self.node()));
        self.set_nkeys(nkeys + 1);
    }
}
