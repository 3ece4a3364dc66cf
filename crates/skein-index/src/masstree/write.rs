//! Writes: one locked border node at a time.
//!
//! ```text
//!   reach ──► lock ──► seat ──► ask the closure ──► change ──► unlock ──► retire, tidy
//!     ▲        │        │
//!     └────────┴────────┘  the node went, or the key goes on in a layer by now: start over
//! ```
//!
//! The way down is a reader's. The closure of `compute` is asked once, under all the locks that its answer can
//! need, so nothing has to be undone. Source: Masstree, sections 4.3 and 4.5.

use skein_sync::reclaim::Guard;

use super::Masstree;
use super::border::SlicePosition;
use super::key::KeySlice;
use super::latch::NodeLatch;
use super::layer::repair_link;
use super::link::SlotLink;
use super::lookup::{BorderVisit, SliceLookup, find_border, look_up};
use super::node::Node;
use super::suffix::SuffixBlock;
use crate::index::{ComputeAction, Computed};
use crate::slot::{Slot, retire_value};

/// Where a key is or belongs: the border node of the deepest layer it leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderLocation<const W: usize> {
    /// The layer's first byte within the key.
    pub(super) offset: usize,
    /// The key's slice in that layer.
    pub(super) slice: KeySlice,
    /// The border node.
    pub(super) visit: BorderVisit<W>,
    /// The border node of the layer above that links here.
    pub(super) upper: Option<BorderVisit<W>>,
}

/// What a locked border node holds for a key.
#[derive(Clone, Copy, Debug)]
enum KeyInBorder {
    /// Its value, in the slot.
    Value { slot: usize, position: usize },
    /// Its value, in a suffix block.
    Suffix { suffix: SuffixBlock, position: usize },
    /// Another key with the same slice, in a suffix block.
    Other { slot: usize, suffix: SuffixBlock },
    /// Nothing; it belongs at this position.
    Vacant { position: usize },
}

/// What a change took out of the tree, to be retired once no lock is held.
#[derive(Debug)]
pub(super) struct UnlinkedParts<const W: usize> {
    pub(super) suffix: Option<SuffixBlock>,
    pub(super) node: Option<Node<W>>,
}

impl<const W: usize> UnlinkedParts<W> {
    const NOTHING: Self = Self { suffix: None, node: None };

    /// Hands over what was unlinked to the collector.
    #[inline]
    pub(super) fn retire<S: Slot>(self, value: Option<u64>, guard: &impl Guard) {
        // SAFETY: all three are out of the tree: nobody who takes a guard from now on finds them.
        unsafe {
            if let Some(suffix) = self.suffix {
                suffix.retire(guard);
            }
            if let Some(node) = self.node {
                node.retire(guard);
            }
            if let Some(word) = value {
                retire_value::<S>(word, guard);
            }
        }
    }
}

impl<S: Slot, const W: usize> Masstree<S, W> {
    /// Goes down as far as the key leads, mending stale links on the way.
    #[inline]
    pub(super) fn reach(&self, key: &[u8]) -> BorderLocation<W> {
        'tree: loop {
            let mut root = self.root();
            let mut offset = 0;
            let mut upper = None;
            loop {
                let slice = KeySlice::at(key, offset);
                let Some(mut visit) = find_border(root, slice.bits) else { continue 'tree };
                match look_up(&mut visit, slice) {
                    SliceLookup::Restart => continue 'tree,
                    SliceLookup::Absent | SliceLookup::Value(_) => {
                        return BorderLocation { offset, slice, visit, upper };
                    }
                    // SAFETY: `look_up` validated the word; the caller holds a guard.
                    SliceLookup::Link(word) => match unsafe { SlotLink::from_word(word) } {
                        SlotLink::Suffix(_) => return BorderLocation { offset, slice, visit, upper },
                        SlotLink::Layer(node) => {
                            root = node;
                            if !root.version().peek().is_root() {
                                repair_link(visit, slice, root);
                            }
                        }
                    },
                }
                upper = Some(visit);
                offset += 8;
            }
        }
    }

    /// Does what `change` decides about `key`, which is not too long.
    #[inline]
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Computed<'g, S> {
        self.write_from(None, key, change, guard)
    }

    /// The same, from a spot that was reached before, under this guard, with the same key.
    pub(super) fn write_from<'g, G: Guard>(
        &'g self,
        mut reached: Option<BorderLocation<W>>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Computed<'g, S> {
        loop {
            let spot = reached.take().unwrap_or_else(|| self.reach(key));
            let Some(latch) = NodeLatch::take_for(spot.visit, spot.slice.bits) else { continue };
            let Some(mut held) = find_in_border(&latch, &spot, key) else { continue };
            let mut locked = (None, latch);
            if matches!(held, KeyInBorder::Vacant { .. }) && locked.1.is_full() && !locked.1.is_full_width() {
                let Some(both) = lock_for_growth(&spot, key, locked.1) else { continue };
                locked = both;
                let Some(again) = find_in_border(&locked.1, &spot, key) else { continue };
                held = again;
            }
            let (upper, latch) = locked;
            let before = match held {
                KeyInBorder::Value { slot, .. } => Some(latch.lv(slot, latch.key_lengths().width())),
                KeyInBorder::Suffix { suffix, .. } => Some(suffix.value()),
                KeyInBorder::Other { .. } | KeyInBorder::Vacant { .. } => None,
            };
            // SAFETY: the word is in the tree, and retired, if at all, under this guard or a later one.
            let seen: Option<S::Ref<'g>> = before.map(|word| unsafe { S::borrow(word) });
            let changed = match change(seen) {
                ComputeAction::Put(value) => {
                    let unlinked = self.put(upper, latch, held, &spot, key, value.into_word());
                    if before.is_none() {
                        self.base.len.add(guard.thread_id(), 1);
                    }
                    unlinked.retire::<S>(before, guard);
                    true
                }
                ComputeAction::Remove if before.is_some() => {
                    drop(upper);
                    self.take_out(latch, held, &spot, key, guard);
                    self.base.len.add(guard.thread_id(), -1);
                    UnlinkedParts::<W>::NOTHING.retire::<S>(before, guard);
                    true
                }
                ComputeAction::Keep | ComputeAction::Remove => false,
            };
            return Computed { before: seen, changed };
        }
    }

    /// Sets the key's value, under the locks it needs.
    fn put(
        &self,
        upper: Option<NodeLatch<W>>,
        latch: NodeLatch<W>,
        held: KeyInBorder,
        spot: &BorderLocation<W>,
        key: &[u8],
        value: u64,
    ) -> UnlinkedParts<W> {
        let width = latch.key_lengths().width();
        match held {
            KeyInBorder::Value { slot, .. } => latch.set_lv(slot, width, value),
            KeyInBorder::Suffix { suffix, .. } => suffix.set_value(value),
            KeyInBorder::Other { slot, suffix } => {
                let old = (suffix.bytes(), suffix.value());
                let link = self.layer_of_two(old, (&key[spot.offset + 8..], value));
                latch.set_lv(slot, width, link.word());
                return UnlinkedParts { suffix: Some(suffix), node: None };
            }
            KeyInBorder::Vacant { position } => {
                let entry = self.entry_for(key, spot.offset, value);
                match upper {
                    _ if !latch.is_full() => latch.insert_entry(position, entry),
                    Some(upper) => {
                        let slice = KeySlice::at(key, spot.offset - 8);
                        let old = self.grow_solo(&upper, slice, &latch, position, entry);
                        return UnlinkedParts { suffix: None, node: Some(old) };
                    }
                    None => self.split_border(latch, position, entry),
                }
            }
        }
        UnlinkedParts::NOTHING
    }

    /// Removes the key that the locked node holds, and what its going leaves empty.
    fn take_out<G: Guard>(
        &self,
        latch: NodeLatch<W>,
        held: KeyInBorder,
        spot: &BorderLocation<W>,
        key: &[u8],
        guard: &G,
    ) {
        let (position, suffix) = match held {
            KeyInBorder::Value { position, .. } => (position, None),
            KeyInBorder::Suffix { position, suffix } => (position, Some(suffix)),
            KeyInBorder::Other { .. } | KeyInBorder::Vacant { .. } => unreachable!("the key is there"),
        };
        latch.remove_entry(position);
        let node = latch.node();
        let after = super::remove::aftermath(&latch, spot.offset);
        drop(latch);
        UnlinkedParts::<W> { suffix, node: None }.retire::<S>(None, guard);
        self.clean_up(after, node, key, spot.offset, guard);
    }
}

/// Gives up a full solo node's lock to take first the upper node's and then its own, in the order of
/// locks. None if the layer has changed meanwhile.
#[cold]
fn lock_for_growth<const W: usize>(
    spot: &BorderLocation<W>,
    key: &[u8],
    solo: NodeLatch<W>,
) -> Option<(Option<NodeLatch<W>>, NodeLatch<W>)> {
    let node = solo.node();
    drop(solo);
    let slice = KeySlice::at(key, spot.offset - 8);
    let upper = NodeLatch::take_link_to(spot.upper?, slice, node)?;
    let solo = NodeLatch::take(node)?;
    Some((Some(upper), solo))
}

/// What the locked node holds for the key; none if the key goes on in a layer.
#[inline]
fn find_in_border<const W: usize>(
    latch: &NodeLatch<W>,
    spot: &BorderLocation<W>,
    key: &[u8],
) -> Option<KeyInBorder> {
    let (slot, position) = match latch.position_of(spot.slice) {
        SlicePosition::Vacant { position } => return Some(KeyInBorder::Vacant { position }),
        SlicePosition::Taken { slot, position } => (slot, position),
    };
    if !latch.is_link(slot) {
        return Some(KeyInBorder::Value { slot, position });
    }
    // SAFETY: under the lock, word and code belong together; the caller's guard protects the target.
    match unsafe { SlotLink::from_word(latch.lv(slot, latch.key_lengths().width())) } {
        SlotLink::<W>::Layer(_) => None,
        SlotLink::Suffix(suffix) if suffix.bytes() == &key[spot.offset + 8..] => {
            Some(KeyInBorder::Suffix { suffix, position })
        }
        SlotLink::Suffix(suffix) => Some(KeyInBorder::Other { slot, suffix }),
    }
}
