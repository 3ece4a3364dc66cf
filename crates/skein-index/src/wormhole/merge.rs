//! Merging leaves that removals have left small.
//!
//! A leaf takes in its right neighbour when both together have at most half of what one can hold, or one of them is empty; the last leaf, when
//! empty, goes into its left one. Two that were emptied at once become one empty leaf, which goes on to be merged. So there is an empty
//! leaf only where it is the only one, and that one is the first.
//!
//! The right leaf is marked deleted, its records go over, and its link to the left stays: whoever comes to it goes that way.
//! Source: Wormhole, section 2.2 and Algorithm 4.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::Wormhole;
use super::latch::Latch;
use super::leaf::{Leaf, Ranks, SLOTS};
use super::variant::width;
use crate::slot::Slot;

/// Whether two leaves with so many keys become one.
fn fit(left: usize, right: usize, width: usize) -> bool {
    left + right <= width / 2 || left == 0 || right == 0
}

impl<S: Slot, const W: usize> Wormhole<S, W> {
    /// After a removal: merges the leaf with a neighbour if they fit.
    pub(super) fn tidy(&self, latch: Latch<W>, guard: &impl Guard) {
        let count = latch.count();
        if count > width(W) / 2 {
            return;
        }
        match latch.next() {
            Some(next) => {
                if fit(count, next.count(), width(W))
                    && let Some(right) = Latch::<W>::take(next)
                    && fit(count, next.count(), width(W))
                {
                    self.merge(latch, right, guard);
                }
            }
            None if count == 0 => {
                let leaf = latch.leaf();
                drop(latch);
                self.drop_last(leaf, guard);
            }
            None => {}
        }
    }

    /// Merges an empty last leaf into its left neighbour.
    fn drop_last(&self, leaf: Leaf, guard: &impl Guard) {
        let mut backoff = Backoff::new();
        while let Some(prev) = leaf.prev() {
            let Some(left) = Latch::<W>::take(prev).filter(|left| left.next() == Some(leaf)) else {
                // Split or merged meanwhile; whoever did that gives our leaf another neighbour, if it is not gone itself.
                if leaf.is_deleted::<W>() {
                    return;
                }
                backoff.wait();
                continue;
            };
            if let Some(right) = Latch::<W>::take(leaf)
                && right.count() == 0
                && right.next().is_none()
            {
                self.merge(left, right, guard);
            }
            return;
        }
    }

    /// Moves all keys of a leaf to its left neighbour, both locked.
    fn merge(&self, left: Latch<W>, right: Latch<W>, guard: &impl Guard) {
        let mut meta = self.meta.lock(&self.base.arena, guard);
        right.mark_deleted();
        left.mark_splitting();
        if right.is_keyed() && !left.is_keyed() {
            self.make_keyed(left.leaf());
        }
        self.move_records(left.leaf(), right.leaf());
        let (kept, gone, next) = (left.leaf(), right.leaf(), right.next());
        let still_empty = left.count() == 0;
        left.set_next(next);
        if let Some(next) = next {
            next.set_prev(Some(kept));
        }
        drop((left, right));
        meta.remove_anchor(kept, gone, next);
        drop(meta);
        // SAFETY: neither the list nor the trie leads to it any more.
        unsafe { gone.retire(guard) };
        if still_empty && let Some(latch) = Latch::take(kept) {
            self.tidy(latch, guard);
        }
    }

    fn move_records(&self, left: Leaf, right: Leaf) {
        let (mut ranks, moved) = (left.ranks(), right.ranks());
        let in_order = ranks.sorted == ranks.count;
        debug_assert!(ranks.count + moved.count <= SLOTS);
        for &slot in moved.as_slice() {
            let record = right.record(slot.into()).expect("the lock keeps records in their slots");
            let record = if left.is_keyed() && !right.is_keyed() {
                record.with_tag(self.keyed_tag(record.key()))
            } else {
                record
            };
            ranks.slots[ranks.count] = left.place(record) as u8;
            ranks.count += 1;
            right.clear(slot.into());
        }
        if in_order {
            ranks.sorted += moved.sorted;
        }
        left.set_ranks(&ranks);
        right.set_ranks(&Ranks::EMPTY);
    }
}
