//! The cleanup after a removal: sparse nodes merge, empty nodes are deleted, and layers shrink.
//!
//! A sparse border node merges with a neighbour if they fit, and an empty one always merges
//! (`merge.rs`). The exception is the leftmost node of a tree, which stays, so that every other
//! node has a left neighbour to take over its range. An interior node that loses its only child is
//! removed too. A root with one child is replaced by that child. Deeper layers are cleaned up in
//! `layer_cleanup.rs`. Source of all but the merges: Masstree, section 4.6.5.

use skein_sync::reclaim::Guard;

use super::MasstreeVariant;
use super::latch::NodeLatch;
use super::merge::{is_sparse, merge_border};
use super::node::{Node, width_for};
use super::variant::MasstreeSettings;
use crate::slot::Slot;

/// The cleanup that a removal requires, after the node is unlocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CleanupNeeded {
    /// Nothing.
    Nothing,
    /// The border node is sparse, or empty, and not a root.
    SparseBorder,
    /// The border node is a whole deeper layer and holds so few keys that the layer may shrink or
    /// be removed.
    SmallLayer,
}

/// Returns the width that a layer with `count` keys should shrink to, or `None` if a copy is not
/// worth it. The new width is at most half of the old one and has a free slot, so a key that is
/// inserted and removed in turn does not make it oscillate.
pub(super) fn shrunk_width<V: MasstreeSettings>(count: usize, width: usize) -> Option<usize> {
    let target = width_for::<V>(count + 1);
    (2 * target <= width).then_some(target)
}

/// Returns the cleanup that a locked border node requires. `offset` is that of its layer.
#[inline]
pub(super) fn cleanup_needed<V: MasstreeSettings>(latch: &NodeLatch<V>, offset: usize) -> CleanupNeeded {
    let count = latch.permutation().count();
    if !latch.version().peek().is_root() {
        return if is_sparse::<V>(count) { CleanupNeeded::SparseBorder } else { CleanupNeeded::Nothing };
    }
    if offset > 0 && (count <= 1 || shrunk_width::<V>(count, latch.key_lengths().width()).is_some()) {
        return CleanupNeeded::SmallLayer;
    }
    CleanupNeeded::Nothing
}

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Carries out the cleanup after a removal of `key` from `node`, in the layer at `offset`.
    #[inline]
    pub(super) fn clean_up<G: Guard>(
        &self,
        after: CleanupNeeded,
        node: Node<V>,
        key: &[u8],
        offset: usize,
        guard: &G,
    ) {
        match after {
            CleanupNeeded::Nothing => {}
            CleanupNeeded::SmallLayer => self.clean_up_layer(key, offset, guard),
            CleanupNeeded::SparseBorder => {
                if merge_border(node, guard) {
                    if offset == 0 {
                        self.collapse_tree_root(guard);
                    } else {
                        self.clean_up_layer(key, offset, guard);
                    }
                }
            }
        }
    }

    /// While the tree's root has a single child, makes that child the root.
    fn collapse_tree_root<G: Guard>(&self, guard: &G) {
        loop {
            let root = self.root();
            if !collapse_root(root, |child| self.replace_root(root, child), guard) {
                return;
            }
        }
    }
}

/// If `root` has a single child, makes the child the root of the layer by calling `relink`. Returns
/// whether it did.
///
/// In a deeper layer the caller must hold the lock of the border node above.
pub(super) fn collapse_root<V: MasstreeSettings, G: Guard>(
    root: Node<V>,
    relink: impl FnOnce(Node<V>),
    guard: &G,
) -> bool {
    if root.version().peek().is_border() || root.nkeys() > 0 {
        return false;
    }
    let child = root.child(0);
    let (Some(below), Some(latch)) = (NodeLatch::take(child), NodeLatch::take(root)) else { return false };
    if !latch.version().peek().is_root() || latch.nkeys() > 0 || latch.child(0) != child {
        return false;
    }
    latch.version().mark_deleted();
    below.set_parent(None);
    below.version().set_root(true);
    relink(child);
    drop((below, latch));
    // SAFETY: the child no longer has a parent, and `relink` replaced the only other link.
    unsafe { root.retire(guard) };
    true
}
