//! Writes: one locked border node at a time.
//!
//! ```text
//!   descend ──► lock ──► find ──► call the closure ──► change ──► unlock ──► retire, clean up
//!      ▲         │        │
//!      └─────────┴────────┘  the node was deleted, or the key is in a deeper layer now: restart
//! ```
//!
//! A writer descends as a reader does. It calls the closure of `compute` once, when it holds all
//! locks that any decision needs, so nothing has to be undone. Source: Masstree, sections 4.3 and
//! 4.5.

use skein_sync::reclaim::Guard;

use super::MasstreeVariant;
use super::border::SlicePosition;
use super::key::KeySlice;
use super::latch::NodeLatch;
use super::layer::repair_link;
use super::link::SlotLink;
use super::lookup::{BorderVisit, SliceLookup, find_border, look_up};
use super::node::Node;
use super::suffix::SuffixBlock;
use super::variant::MasstreeSettings;
use crate::index::{ComputeAction, Computed};
use crate::slot::{Slot, retire_value};

/// The location of a key, present or absent: the border node of the deepest layer that the key
/// leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderLocation<V: MasstreeSettings> {
    /// The layer's first byte within the key.
    pub(super) offset: usize,
    /// The key's slice in that layer.
    pub(super) slice: KeySlice,
    /// The border node.
    pub(super) visit: BorderVisit<V>,
    /// The border node of the layer above that links here.
    pub(super) upper: Option<BorderVisit<V>>,
}

/// The state of a key in a locked border node.
#[derive(Clone, Copy, Debug)]
enum KeyInBorder {
    /// The value is in the slot.
    Value { slot: usize, position: usize },
    /// The value is in a suffix block.
    Suffix { suffix: SuffixBlock, position: usize },
    /// Another key with the same slice is in a suffix block.
    Other { slot: usize, suffix: SuffixBlock },
    /// No key has this slice. The key belongs at this position.
    Vacant { position: usize },
}

/// Memory that a change unlinked, to be retired when no lock is held.
#[derive(Debug)]
pub(super) struct UnlinkedParts<V: MasstreeSettings> {
    pub(super) suffix: Option<SuffixBlock>,
    pub(super) node: Option<Node<V>>,
}

impl<V: MasstreeSettings> UnlinkedParts<V> {
    const NOTHING: Self = Self { suffix: None, node: None };

    /// Hands the unlinked memory over to the collector.
    #[inline]
    pub(super) fn retire<S: Slot>(self, value: Option<u64>, guard: &impl Guard) {
        // SAFETY: all three are unlinked from the tree: no guard entered from now on finds them.
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

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Descends as far as the key leads, and repairs stale links on the path.
    #[inline]
    pub(super) fn find_location(&self, key: &[u8]) -> BorderLocation<V> {
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

    /// Carries out the decision of `change` about `key`, which must not be too long.
    #[inline]
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Computed<'g, S> {
        self.write_from(None, key, change, guard)
    }

    /// Does the same from a location that was found before, under this guard, with the same key.
    #[inline]
    pub(super) fn write_from<'g, G: Guard>(
        &'g self,
        mut location_hint: Option<BorderLocation<V>>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Computed<'g, S> {
        loop {
            let location = location_hint.take().unwrap_or_else(|| self.find_location(key));
            let Some(latch) = NodeLatch::take_for(location.visit, location.slice.bits) else { continue };
            let Some(mut state) = find_in_border(&latch, &location, key) else { continue };
            let mut locked = (None, latch);
            if matches!(state, KeyInBorder::Vacant { .. }) && locked.1.is_full() && !locked.1.is_full_width()
            {
                let Some(both) = lock_for_growth(&location, key, locked.1) else { continue };
                locked = both;
                let Some(again) = find_in_border(&locked.1, &location, key) else { continue };
                state = again;
            }
            let (upper, latch) = locked;
            let before = match state {
                KeyInBorder::Value { slot, .. } => Some(latch.lv(slot, latch.key_lengths().width())),
                KeyInBorder::Suffix { suffix, .. } => Some(suffix.value()),
                KeyInBorder::Other { .. } | KeyInBorder::Vacant { .. } => None,
            };
            // SAFETY: the word is in the tree; it is retired, if ever, under this guard or a later
            // one.
            let seen: Option<S::Ref<'g>> = before.map(|word| unsafe { S::borrow(word) });
            let changed = match change(seen) {
                ComputeAction::Put(value) => {
                    let unlinked = self.put(upper, latch, state, &location, key, value.into_word());
                    if before.is_none() {
                        self.base.len.add(guard.thread_id(), 1);
                    }
                    unlinked.retire::<S>(before, guard);
                    true
                }
                ComputeAction::Remove if before.is_some() => {
                    drop(upper);
                    self.remove_locked(latch, state, &location, key, guard);
                    self.base.len.add(guard.thread_id(), -1);
                    UnlinkedParts::<V>::NOTHING.retire::<S>(before, guard);
                    true
                }
                ComputeAction::Keep | ComputeAction::Remove => false,
            };
            return Computed { before: seen, changed };
        }
    }

    /// Sets the key's value under the given locks.
    fn put(
        &self,
        upper: Option<NodeLatch<V>>,
        latch: NodeLatch<V>,
        state: KeyInBorder,
        location: &BorderLocation<V>,
        key: &[u8],
        value: u64,
    ) -> UnlinkedParts<V> {
        let width = latch.key_lengths().width();
        match state {
            KeyInBorder::Value { slot, .. } => latch.set_lv(slot, width, value),
            KeyInBorder::Suffix { suffix, .. } => suffix.set_value(value),
            KeyInBorder::Other { slot, suffix } => {
                let old = (suffix.bytes(), suffix.value());
                let link = self.layer_of_two(old, (&key[location.offset + 8..], value));
                latch.set_lv(slot, width, link.word());
                return UnlinkedParts { suffix: Some(suffix), node: None };
            }
            KeyInBorder::Vacant { position } => {
                let entry = self.entry_for(key, location.offset, value);
                match upper {
                    _ if !latch.is_full() => latch.insert_entry(position, entry),
                    Some(upper) => {
                        let slice = KeySlice::at(key, location.offset - 8);
                        let old = self.grow_solo(&upper, slice, &latch, position, entry);
                        return UnlinkedParts { suffix: None, node: Some(old) };
                    }
                    None => self.split_border(latch, position, entry),
                }
            }
        }
        UnlinkedParts::NOTHING
    }

    /// Removes the key that the locked node holds, and cleans up the node and its layer if they
    /// have become small.
    fn remove_locked<G: Guard>(
        &self,
        latch: NodeLatch<V>,
        state: KeyInBorder,
        location: &BorderLocation<V>,
        key: &[u8],
        guard: &G,
    ) {
        let (position, suffix) = match state {
            KeyInBorder::Value { position, .. } => (position, None),
            KeyInBorder::Suffix { position, suffix } => (position, Some(suffix)),
            KeyInBorder::Other { .. } | KeyInBorder::Vacant { .. } => unreachable!("the key is present"),
        };
        latch.remove_entry(position);
        let node = latch.node();
        let after = super::remove::cleanup_needed(&latch, location.offset);
        drop(latch);
        UnlinkedParts::<V> { suffix, node: None }.retire::<S>(None, guard);
        self.clean_up(after, node, key, location.offset, guard);
    }
}

/// Releases the lock of a full solo node, then locks the upper node and the solo node in the order
/// of locks. Returns `None` if the layer has changed in between.
#[cold]
fn lock_for_growth<V: MasstreeSettings>(
    location: &BorderLocation<V>,
    key: &[u8],
    solo: NodeLatch<V>,
) -> Option<(Option<NodeLatch<V>>, NodeLatch<V>)> {
    let node = solo.node();
    drop(solo);
    let slice = KeySlice::at(key, location.offset - 8);
    let upper = NodeLatch::take_link_to(location.upper?, slice, node)?;
    let solo = NodeLatch::take(node)?;
    Some((Some(upper), solo))
}

/// Returns the state of the key in the locked node; `None` if the key continues in a deeper layer.
#[inline]
fn find_in_border<V: MasstreeSettings>(
    latch: &NodeLatch<V>,
    location: &BorderLocation<V>,
    key: &[u8],
) -> Option<KeyInBorder> {
    let (slot, position) = match latch.position_of(location.slice) {
        SlicePosition::Vacant { position } => return Some(KeyInBorder::Vacant { position }),
        SlicePosition::Taken { slot, position } => (slot, position),
    };
    if !latch.is_link(slot) {
        return Some(KeyInBorder::Value { slot, position });
    }
    // SAFETY: under the lock, word and code belong together; the caller's guard protects the
    // target.
    match unsafe { SlotLink::from_word(latch.lv(slot, latch.key_lengths().width())) } {
        SlotLink::<V>::Layer(_) => None,
        SlotLink::Suffix(suffix) if suffix.bytes() == &key[location.offset + 8..] => {
            Some(KeyInBorder::Suffix { suffix, position })
        }
        SlotLink::Suffix(suffix) => Some(KeyInBorder::Other { slot, suffix }),
    }
}
