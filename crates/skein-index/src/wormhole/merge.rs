//! Merging leaves that removals have left small.
//!
//! Two neighbours merge when together they hold at most seven eighths of a leaf's capacity, or when
//! one of them is empty. A removal that leaves its leaf at most half full checks both neighbours:
//! the right one under the lock that it holds, the left one after it has released that lock,
//! because locks are acquired from left to right. If two leaves are emptied at once, they become
//! one empty leaf, which then merges in turn. So an empty leaf remains only if it is the only leaf,
//! and that is the first one.
//!
//! A split leaves two halves. So a pair loses an eighth of a leaf before it merges, and gains an
//! eighth before it splits again. Design: `docs/design/thinning.md`.
//!
//! The right leaf is always the one removed, whichever of the two the removal was in. It is marked
//! deleted, its records move to the left leaf, and its link to the left stays, for readers that
//! still reach it. The paper tries the left neighbour first, then the right one. Source: Wormhole,
//! section 2.2 and Algorithm 4.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::WormholeVariant;
use super::latch::LeafLatch;
use super::leaf::{LeafRanks, SLOTS, WormholeLeaf};
use super::variant::WormholeSettings;
use crate::slot::Slot;

/// Returns whether two neighbouring leaves with these numbers of keys merge.
fn fit<V: WormholeSettings>(left: usize, right: usize) -> bool {
    left + right <= V::WIDTH * 7 / 8 || left == 0 || right == 0
}

impl<S: Slot, V: WormholeSettings> WormholeVariant<S, V> {
    /// Merges the leaf with a neighbour after a removal, if they fit in one leaf.
    pub(super) fn merge_if_small(&self, latch: LeafLatch<V>, guard: &impl Guard) {
        let count = latch.count();
        if count > V::WIDTH / 2 {
            return;
        }
        if let Some(next) = latch.next()
            && fit::<V>(count, next.count())
            && let Some(right) = LeafLatch::<V>::take(next)
            && fit::<V>(count, next.count())
        {
            return self.merge(latch, right, guard);
        }
        if latch.prev().is_some_and(|prev| fit::<V>(prev.count(), count)) {
            let leaf = latch.leaf();
            drop(latch);
            self.merge_left(leaf, guard);
        }
    }

    /// Merges a leaf into its left neighbour, if they still fit when both are locked, the left one
    /// first.
    fn merge_left(&self, leaf: WormholeLeaf, guard: &impl Guard) {
        let mut backoff = Backoff::new();
        while let Some(prev) = leaf.prev() {
            let Some(left) = LeafLatch::<V>::take(prev).filter(|left| left.next() == Some(leaf)) else {
                // Split or merged meanwhile. The thread that did it updates our leaf's `prev`,
                // unless our leaf is deleted itself.
                if leaf.is_deleted::<V>() {
                    return;
                }
                backoff.wait();
                continue;
            };
            if let Some(right) = LeafLatch::<V>::take(leaf)
                && fit::<V>(left.count(), right.count())
            {
                self.merge(left, right, guard);
            }
            return;
        }
    }

    /// Moves all keys of a leaf to its left neighbour. Both are locked.
    fn merge(&self, left: LeafLatch<V>, right: LeafLatch<V>, guard: &impl Guard) {
        let mut meta = self.engine.meta.lock(&self.base.arena, guard);
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
        if still_empty && let Some(latch) = LeafLatch::take(kept) {
            self.merge_if_small(latch, guard);
        }
    }

    fn move_records(&self, left: WormholeLeaf, right: WormholeLeaf) {
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
            let place = left.place(record);
            Self::move_word((right, slot.into()), (left, place));
            ranks.slots[ranks.count] = place as u8;
            ranks.count += 1;
            right.clear(slot.into());
        }
        if in_order {
            ranks.sorted += moved.sorted;
        }
        left.set_ranks(&ranks);
        right.set_ranks(&LeafRanks::EMPTY);
    }
}
