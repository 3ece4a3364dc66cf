//! Cursors: along the list of leaves, one leaf at a time.
//!
//! Forward, the next leaf is the one that was linked when the cursor viewed the current leaf. A
//! leaf inserted in between since then came from a split of the current leaf, so the view already
//! has its keys. Backward, a leaf counts as the left one only while its link to the right leads
//! back to the current leaf. Otherwise the cursor looks again, or seeks from the anchor.
//!
//! If the leaf to the right is deleted, the cursor seeks from that leaf's anchor: it has returned
//! all keys below it. If the view has changed, the cursor seeks from its current key. Source:
//! Wormhole, Algorithm 2, `RangeSearchAscending`; backward scans are ours.

use std::marker::PhantomData;

use skein_sync::reclaim::Guard;
use skein_sync::version::Version;

use super::WormholeVariant;
use super::latch::LeafLatch;
use super::leaf::{LeafSide, WormholeLeaf};
use super::leaf_view::{LeafStart, LeafUnready, LeafView};
use super::lookup::GuessWalk;
use super::variant::WormholeSettings;
use crate::cursor::{CursorMoves, CursorPosition};
use crate::index::MAX_KEY_LEN;
use crate::record::KeyRecord;
use crate::slot::Slot;

/// A position in a [`Wormhole`](crate::Wormhole).
#[derive(Debug)]
pub struct WormholeCursor<'g, S: Slot, G: Guard, V: WormholeSettings> {
    index: &'g WormholeVariant<S, V>,
    guard: PhantomData<&'g G>,
    view: Option<LeafView<V>>,
    position: CursorPosition<KeyRecord>,
}

// SAFETY: a cursor holds an index that is `Sync`, and addresses that the guard keeps alive. If the
// guard may move to another thread, so may the cursor.
unsafe impl<S: Slot, G: Guard + Sync, V: WormholeSettings> Send for WormholeCursor<'_, S, G, V> {}

impl<'g, S: Slot, G: Guard, V: WormholeSettings> WormholeCursor<'g, S, G, V> {
    pub(super) fn new(index: &'g WormholeVariant<S, V>, _guard: &'g G) -> Self {
        Self { index, guard: PhantomData, view: None, position: CursorPosition::Fresh }
    }

    /// Moves to the first key from `key` on, in the given direction.
    fn seek_from(&mut self, key: &[u8], inclusive: bool, forward: bool) -> bool {
        // No key in the index is longer than the limit. So the longest allowed prefix of `key`
        // replaces it. Forward, that prefix itself is below `key` and must be excluded.
        let (key, inclusive) =
            if key.len() > MAX_KEY_LEN { (&key[..MAX_KEY_LEN], !forward) } else { (key, inclusive) };
        let target = self.index.locate(key);
        let mut walk = GuessWalk::new(target.leaf);
        loop {
            let leaf = walk.leaf;
            leaf.prefetch_all();
            let version = leaf.stable::<V>();
            if version.is_deleted() {
                walk.leave(self.index, key);
                continue;
            }
            let side = leaf.side_of(key);
            let tag = if leaf.is_keyed() { self.index.keyed_tag(key) } else { target.tag };
            if leaf.changed::<V>(version) {
                continue;
            }
            if !matches!(side, LeafSide::Inside) {
                walk.turn(self.index, key, side);
            } else if self.view_leaf(leaf, version, LeafStart::Key { key, tag, inclusive }, forward) {
                return self.settle(forward);
            }
        }
    }

    /// Makes a leaf the view. Returns false if the caller must try again.
    pub(super) fn view_leaf(
        &mut self,
        leaf: WormholeLeaf,
        version: Version,
        start: LeafStart<'_>,
        forward: bool,
    ) -> bool {
        match LeafView::make(&mut self.view, leaf, version, start, forward) {
            Ok(()) => return true,
            Err(LeafUnready::Unsorted) => sort_leaf::<V>(leaf),
            Err(LeafUnready::Changed) => {}
        }
        false
    }

    /// Enters a leaf at the end that the scan reaches first. Returns false if the leaf is deleted.
    fn enter(&mut self, leaf: WormholeLeaf, forward: bool) -> bool {
        leaf.prefetch_all();
        loop {
            let version = leaf.stable::<V>();
            if version.is_deleted() {
                return false;
            }
            if self.view_leaf(leaf, version, LeafStart::End, forward) {
                return true;
            }
        }
    }

    /// Returns the position of a cursor on the record at the view's position.
    #[inline(always)]
    fn on(view: &LeafView<V>, record: KeyRecord) -> CursorPosition<KeyRecord> {
        let slot = if WormholeVariant::<S, V>::IN_LEAF { view.slot() } else { 0 };
        CursorPosition::On(record, WormholeVariant::<S, V>::word(view.leaf, slot, record))
    }

    /// Stands on the record at the view's position, or on the next record in the given direction.
    pub(super) fn settle(&mut self, forward: bool) -> bool {
        loop {
            let Some(view) = &self.view else { return self.move_off_end(forward) };
            if !view.is_past_end() {
                let Some(record) = view.record() else { return self.resume(forward) };
                self.position = Self::on(view, record);
                return true;
            }
            // The key to seek from if the neighbour is deleted. The cursor's own key does not
            // serve: a seek that has passed the end of a leaf has no key.
            let (entered, boundary) = if forward {
                let Some(next) = view.next else { return self.move_off_end(true) };
                (self.enter(next, true), next.anchor())
            } else {
                let left = view.leaf;
                let Some(entered) = self.step_back(left) else { return self.move_off_end(false) };
                (entered, left.anchor())
            };
            if !entered {
                return self.seek_from(boundary, forward, forward);
            }
        }
    }

    /// Enters the leaf left of `leaf`, at its end. Returns `None` if there is no such leaf, and
    /// false if `leaf` is deleted.
    fn step_back(&mut self, leaf: WormholeLeaf) -> Option<bool> {
        loop {
            let prev = leaf.prev();
            if leaf.is_deleted::<V>() {
                return Some(false);
            }
            if self.enter(prev?, false) && self.view.as_ref().is_some_and(|view| view.next == Some(leaf)) {
                return Some(true);
            }
        }
    }

    /// Seeks again from the cursor's key, because the leaf has changed or the scan turns round. The
    /// first record of a view is always loaded, so a cursor that finds a record missing stands on a
    /// key.
    #[cold]
    fn resume(&mut self, forward: bool) -> bool {
        let CursorPosition::On(record, _) = self.position else { unreachable!("a step begins on a record") };
        self.seek_from(record.key(), false, forward)
    }

    fn move_off_end(&mut self, forward: bool) -> bool {
        self.position = CursorPosition::off_end(forward);
        self.view = None;
        false
    }
}

/// Sorts a leaf's keys, for this scan and for later ones.
#[cold]
fn sort_leaf<V: WormholeSettings>(leaf: WormholeLeaf) {
    let Some(latch) = LeafLatch::<V>::take(leaf) else { return };
    latch.sort_ranks(|| latch.mark_inserting());
}

// SAFETY: a word is loaded from a leaf or a record under the guard that the cursor borrows.
unsafe impl<'g, S: Slot, G: Guard, V: WormholeSettings> CursorMoves<'g, S> for WormholeCursor<'g, S, G, V> {
    type Key = KeyRecord;

    #[inline(always)]
    fn position(&self) -> &CursorPosition<KeyRecord> {
        &self.position
    }

    #[inline(always)]
    fn bytes<'k>(&'k self, key: &'k KeyRecord) -> &'k [u8] {
        key.key()
    }

    fn seek_to(&mut self, key: &[u8], forward: bool) -> bool {
        self.position = CursorPosition::Fresh;
        self.seek_from(key, true, forward)
    }

    fn move_to_last(&mut self) -> bool {
        self.position = CursorPosition::Fresh;
        loop {
            let leaf = self.index.last_leaf();
            if self.enter(leaf, false) && self.view.as_ref().is_some_and(|view| view.next.is_none()) {
                return self.settle(false);
            }
        }
    }

    #[inline]
    fn step(&mut self, _: KeyRecord, forward: bool) -> bool {
        match &mut self.view {
            Some(view) if view.was_loaded(forward) => {
                view.step();
                if !view.is_past_end()
                    && let Some(record) = view.record()
                {
                    self.position = Self::on(view, record);
                    return true;
                }
                self.settle(forward)
            }
            _ => self.resume(forward),
        }
    }
}
