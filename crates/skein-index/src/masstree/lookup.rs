//! Lookups: down the layers without a lock and without a store.
//!
//! ```text
//!   root ─► interior ─► interior ─► border ─► value
//!                                     │ link
//!                                     ├─► suffix block ─► value
//!                                     └─► root of the next layer ─► ...
//! ```
//!
//! - *Interior nodes, hand over hand* ([`find_border`]): a reader loads a child's version before it
//!   checks the parent's version, so at that moment the child was the right one. If the parent had
//!   an insert, the reader repeats this step; if it split, the reader restarts the layer. Source:
//!   section 4.6.4, figure 6.
//! - *The border node* ([`look_up`]): loaded fields count only if the version is still the same.
//!   After a split the key can only have moved right, so the reader follows `next` while the low
//!   keys allow it. Source: figure 7.
//! - A reader that finds a node deleted restarts from the tree's root. That is rare: a node is
//!   deleted only if it is merged into its left neighbour, replaced by a wider one, or part of a
//!   removed layer.

use skein_sync::version::Version;

use super::MasstreeVariant;
use super::key::KeySlice;
use super::key_lengths::LINK;
use super::link::SlotLink;
use super::node::Node;
use super::search::{child_index, find_slot};
use super::variant::MasstreeSettings;
use super::write::BorderLocation;
use crate::slot::Slot;

/// The result of a search for a slice in a border node.
#[derive(Clone, Copy, Debug)]
pub(super) enum SliceLookup {
    /// No key starts with these bytes.
    Absent,
    /// The key ends here: the word of its value.
    Value(u64),
    /// The key continues: the word of the link.
    Link(u64),
    /// The node is deleted. The caller must restart from the tree's root.
    Restart,
}

/// A border node, and the version at which it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderVisit<V: MasstreeSettings> {
    pub(super) node: Node<V>,
    pub(super) version: Version,
}

/// Searches the border node for `key`, and its right neighbours if the node has split. Leaves
/// `visit` at the node and version for which the result holds.
#[inline(always)]
pub(super) fn look_up<V: MasstreeSettings>(visit: &mut BorderVisit<V>, key: KeySlice) -> SliceLookup {
    loop {
        let node = visit.node;
        let lengths = node.key_lengths();
        let found = match find_slot(node, lengths, key) {
            None => SliceLookup::Absent,
            Some(slot) if key.code == LINK => SliceLookup::Link(node.lv(slot, lengths.width())),
            Some(slot) => SliceLookup::Value(node.lv(slot, lengths.width())),
        };
        if !node.version().changed(visit.version) {
            return found;
        }
        if !catch_up(visit, key.bits) {
            return SliceLookup::Restart;
        }
    }
}

/// After a change: reloads the version, and moves right if the node has split. Returns false if the
/// node is deleted.
#[cold]
pub(super) fn catch_up<V: MasstreeSettings>(visit: &mut BorderVisit<V>, slice: u64) -> bool {
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

/// Returns the present root of the layer and its version. `node` is, or once was, the layer's root.
/// Returns `None` if a node is deleted.
#[inline(always)]
pub(super) fn layer_root<V: MasstreeSettings>(mut node: Node<V>) -> Option<BorderVisit<V>> {
    loop {
        let version = node.version().stable();
        if version.is_deleted() {
            return None;
        }
        if version.is_root() {
            return Some(BorderVisit { node, version });
        }
        // A split leaves the old root on the left; the present root is above it (section 4.6.4).
        node = node.parent()?;
    }
}

/// Returns the border node that covers `slice`, from a layer's root that may be stale; `None` if a
/// node was deleted.
#[inline(always)]
pub(super) fn find_border<V: MasstreeSettings>(root: Node<V>, slice: u64) -> Option<BorderVisit<V>> {
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

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Returns the word of `key`'s value.
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
                SlotLink::<V>::prefetch(word, key.len() - offset);
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
    /// Does the same from a location that was found before, under this guard, with the same key.
    #[inline]
    pub(super) fn lookup_at(&self, location: &BorderLocation<V>, key: &[u8]) -> Option<u64> {
        let mut visit = location.visit;
        let word = match look_up(&mut visit, location.slice) {
            SliceLookup::Absent => return None,
            SliceLookup::Value(word) => return Some(word),
            SliceLookup::Restart => return self.lookup(key),
            SliceLookup::Link(word) => word,
        };
        // SAFETY: `look_up` validated the word; the caller holds a guard.
        match unsafe { SlotLink::<V>::from_word(word) } {
            SlotLink::Suffix(suffix) => {
                (suffix.bytes() == &key[location.offset + 8..]).then(|| suffix.value())
            }
            // The key has moved to a deeper layer since.
            SlotLink::Layer(_) => self.lookup(key),
        }
    }
}
