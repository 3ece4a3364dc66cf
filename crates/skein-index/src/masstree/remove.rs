//! What a removal calls for: sparse nodes merge, empty ones go, and layers shrink.
//!
//! A border node that has become sparse merges with a neighbour, and an empty one always does
//! (`merge.rs`), unless it is its tree's leftmost: that one stays, so that there is always a left
//! neighbour to take over a range. An interior node that loses its only child goes too. A root with
//! one child gives way to that child. Deeper layers are tidied in `tidy.rs`. Source of all but the
//! merges: Masstree, section 4.6.5.

use skein_sync::reclaim::Guard;

use super::Masstree;
use super::latch::NodeLatch;
use super::merge::{is_sparse, merge_border};
use super::node::{Node, width_for};
use crate::slot::Slot;

/// What a removal calls for, once the node is unlocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CleanupNeeded {
    /// Nothing.
    Nothing,
    /// The border node is sparse, or empty, and not a root.
    SparseBorder,
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
pub(super) fn aftermath<const W: usize>(latch: &NodeLatch<W>, offset: usize) -> CleanupNeeded {
    let count = latch.permutation().count();
    if !latch.version().peek().is_root() {
        return if is_sparse::<W>(count) { CleanupNeeded::SparseBorder } else { CleanupNeeded::Nothing };
    }
    if offset > 0 && (count <= 1 || shrunk_width::<W>(count, latch.key_lengths().width()).is_some()) {
        return CleanupNeeded::SmallLayer;
    }
    CleanupNeeded::Nothing
}

impl<S: Slot, const W: usize> Masstree<S, W> {
    /// Does what the aftermath of a removal of `key` from `node`, in the layer at `offset`, calls for.
    #[inline]
    pub(super) fn clean_up<G: Guard>(
        &self,
        after: CleanupNeeded,
        node: Node<W>,
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
                        self.collapse_tree_root(guard)
                    } else {
                        self.clean_up_layer(key, offset, guard)
                    }
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
    let (Some(below), Some(latch)) = (NodeLatch::take(child), NodeLatch::take(root)) else { return false };
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
