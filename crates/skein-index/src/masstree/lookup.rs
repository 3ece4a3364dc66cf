//! Lookups: down the layers without a lock and without a store.
//!
//! ```text
//!   root ─► interior ─► interior ─► border ─► value
//!                                     │ link
//!                                     ├─► suffix block ─► value
//!                                     └─► root of the next layer ─► ...
//! ```
//!
//! - *Hand over hand* ([`find_border`]): a child's version is taken before the parent's is checked, so
//!   at that moment the child was the right one. An insert into the parent repeats this one step; a split
//!   starts the layer over. Source: section 4.6.4, figure 6.
//! - *In the border node* ([`look_up`]): what was read counts only if the version is still the same. After
//!   a split the key can only have moved right, so the reader follows `next` as far as the low keys say.
//!   Source: figure 7.
//! - A node that was deleted sends the reader back to the tree's root. That is rare: nodes go only when they are
//!   merged into their left neighbour, replaced by a wider one, or part of a layer that went.

use skein_sync::version::Version;

use super::Masstree;
use super::key::KeySlice;
use super::key_lengths::LINK;
use super::link::SlotLink;
use super::node::Node;
use super::search::{child_index, find_slot};
use super::write::BorderLocation;
use crate::slot::Slot;

/// What a border node says about a slice.
#[derive(Clone, Copy, Debug)]
pub(super) enum SliceLookup {
    /// Nothing starts like this.
    Absent,
    /// The key ends here: the value's word.
    Value(u64),
    /// The key goes on: the link's word.
    Link(u64),
    /// The node is gone; start over from the tree's root.
    Restart,
}

/// A border node, and the version at which it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderVisit<const W: usize> {
    pub(super) node: Node<W>,
    pub(super) version: Version,
}

/// Looks for `key` in the border node, and in its right neighbours if it has split meanwhile; leaves `visit`
/// at the node and version that the answer holds for.
#[inline(always)]
pub(super) fn look_up<const W: usize>(visit: &mut BorderVisit<W>, key: KeySlice) -> SliceLookup {
    loop {
        let node = visit.node;
        let lens = node.key_lengths();
        let found = match find_slot(node, lens, key) {
            None => SliceLookup::Absent,
            Some(slot) if key.code == LINK => SliceLookup::Link(node.lv(slot, lens.width())),
            Some(slot) => SliceLookup::Value(node.lv(slot, lens.width())),
        };
        if !node.version().changed(visit.version) {
            return found;
        }
        if !catch_up(visit, key.bits) {
            return SliceLookup::Restart;
        }
    }
}

/// After a change: takes the version anew and moves right if the node has split. False if it is deleted.
#[cold]
pub(super) fn catch_up<const W: usize>(visit: &mut BorderVisit<W>, slice: u64) -> bool {
    let seen = visit.version;
    visit.version = visit.node.version().stable();
    if visit.version.is_deleted() {
        return false;
    }
    if cfg!(feature = "planted-bugs") || !seen.split_until(visit.version) || !visit.node.is_full_width() {
        return true;
    }
    while let Some(next) = visit.node.next() {
        if slice < next.low() {
            break;
        }
        *visit = BorderVisit { node: next, version: next.version().stable() };
        if visit.version.is_deleted() {
            return false;
        }
    }
    true
}

/// The root of the layer that `node` was once the root of, with its version; none if a node is deleted.
#[inline(always)]
pub(super) fn layer_root<const W: usize>(mut node: Node<W>) -> Option<BorderVisit<W>> {
    loop {
        let version = node.version().stable();
        if version.is_deleted() {
            return None;
        }
        if version.is_root() {
            return Some(BorderVisit { node, version });
        }
        // Splits leave the old root on the left; the real one is above (section 4.6.4).
        node = node.parent()?;
    }
}

/// The border node in whose range `slice` is, from a layer's root that may be stale; none if it was deleted.
#[inline(always)]
pub(super) fn find_border<const W: usize>(root: Node<W>, slice: u64) -> Option<BorderVisit<W>> {
    'layer: loop {
        let mut visit = layer_root(root)?;
        while !visit.version.is_border() {
            let child = visit.node.child(child_index(visit.node, slice));
            child.prefetch();
            let version = child.version().stable();
            if visit.node.version().changed(visit.version) {
                let now = visit.node.version().stable();
                if visit.version.split_until(now) {
                    continue 'layer;
                }
                visit.version = now;
                continue;
            }
            if version.is_deleted() {
                return None;
            }
            visit = BorderVisit { node: child, version };
        }
        return Some(visit);
    }
}

impl<S: Slot, const W: usize> Masstree<S, W> {
    /// The word of `key`'s value.
    #[inline]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        'tree: loop {
            let mut root = self.root();
            let mut offset = 0;
            loop {
                let slice = KeySlice::at(key, offset);
                let Some(mut visit) = find_border(root, slice.bits) else { continue 'tree };
                let word = match look_up(&mut visit, slice) {
                    SliceLookup::Absent => return None,
                    SliceLookup::Value(word) => return Some(word),
                    SliceLookup::Restart => continue 'tree,
                    SliceLookup::Link(word) => word,
                };
                offset += 8;
                SlotLink::<W>::prefetch(word, key.len() - offset);
                // SAFETY: `look_up` validated the word; the caller holds a guard.
                match unsafe { SlotLink::from_word(word) } {
                    SlotLink::Suffix(suffix) => {
                        return (suffix.bytes() == &key[offset..]).then(|| suffix.value());
                    }
                    SlotLink::Layer(node) => root = node,
                }
            }
        }
    }
    /// The same, from a spot that was reached before, under this guard, with the same key.
    #[inline]
    pub(super) fn lookup_at(&self, spot: &BorderLocation<W>, key: &[u8]) -> Option<u64> {
        let mut visit = spot.visit;
        let word = match look_up(&mut visit, spot.slice) {
            SliceLookup::Absent => return None,
            SliceLookup::Value(word) => return Some(word),
            SliceLookup::Restart => return self.lookup(key),
            SliceLookup::Link(word) => word,
        };
        // SAFETY: `look_up` validated the word; the caller holds a guard.
        match unsafe { SlotLink::<W>::from_word(word) } {
            SlotLink::Suffix(suffix) => (suffix.bytes() == &key[spot.offset + 8..]).then(|| suffix.value()),
            // The key has gone on in a layer since.
            SlotLink::Layer(_) => self.lookup(key),
        }
    }
}
