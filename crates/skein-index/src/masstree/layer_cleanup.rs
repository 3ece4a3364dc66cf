//! Cleanup of deeper layers that have become small: a layer shrinks, becomes a suffix, or is
//! removed.
//!
//! ```text
//!   layer is empty            remove its slot in the upper node; then clean up that node
//!   one key, no deeper layer  move the key into a suffix block of the upper slot
//!   few keys                  copy the root to a narrower solo node
//!   root with one child       make the child the root
//! ```
//!
//! A cleanup runs under the lock of the upper border node. The writer descends again and locks that
//! node first, which keeps the order of locks. Under that lock neither the link nor the layer's
//! root can change, so a replaced node is unlinked for good when it is retired.
//!
//! Long keys with a common start make long chains of layers with one key each. All layers of a
//! chain are locked from the top and removed together; otherwise a removal would take time
//! quadratic in the length of the chain.
//!
//! A writer that waits for the lock of a removed node finds it deleted and restarts; so does a
//! reader. Values move as they do when a layer is created: the old block keeps the value as of the
//! change. Source: section 4.6.5.

use skein_sync::reclaim::Guard;

use super::MasstreeVariant;
use super::border::{BorderEntry, SlicePosition};
use super::key::KeySlice;
use super::key_lengths::LINK;
use super::latch::NodeLatch;
use super::link::SlotLink;
use super::lookup::{SliceLookup, find_border, layer_root, look_up};
use super::node::Node;
use super::remove::{CleanupNeeded, cleanup_needed, collapse_root, shrunk_width};
use super::suffix::SuffixBlock;
use super::variant::MasstreeSettings;
use super::write::UnlinkedParts;
use crate::slot::Slot;

/// A locked border node of an upper layer, and the layer below that one of its slots links to.
struct UpperBorder<V: MasstreeSettings> {
    upper: NodeLatch<V>,
    /// The upper layer's first byte within the key.
    offset: usize,
    slice: KeySlice,
    link: Node<V>,
}

/// The chain of layers from a locked border node down to the layer to clean up. All layers in
/// between hold only a link to the next one.
struct LayerChain<V: MasstreeSettings> {
    /// The locked border nodes. The first is the one above the chain.
    latches: Vec<NodeLatch<V>>,
    /// The slice of the link in each of them.
    slices: Vec<KeySlice>,
}

/// The result of one cleanup.
enum LayerCleanup {
    Done(CleanupNeeded),
    /// Another thread has changed one of the layers.
    Retry,
}

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Cleans up the layer that `key` leads to at `offset`, and then the layers above it that
    /// become small.
    #[cold]
    pub(super) fn clean_up_layer<G: Guard>(&self, key: &[u8], mut offset: usize, guard: &G) {
        while offset > 0 {
            let Some(above) = self.lock_above(key, offset) else { return };
            let (node, upper_offset) = (above.upper.node(), above.offset);
            let LayerCleanup::Done(after) = self.clean_up_below(above, key, offset, guard) else { continue };
            offset = upper_offset;
            match after {
                CleanupNeeded::Nothing => return,
                CleanupNeeded::SmallLayer => {}
                CleanupNeeded::SparseBorder => return self.clean_up(after, node, key, offset, guard),
            }
        }
    }

    /// Locks the lowest border node above the layer at `offset` that holds more than the link on
    /// the path, or else the topmost one. Returns `None` if the layer no longer exists.
    fn lock_above(&self, key: &[u8], offset: usize) -> Option<UpperBorder<V>> {
        'tree: loop {
            let mut root = self.root();
            let mut found = None;
            for at in (0..offset).step_by(8) {
                let slice = KeySlice::at(key, at);
                let Some(mut visit) = find_border(root, slice.bits) else { continue 'tree };
                let word = match look_up(&mut visit, slice) {
                    SliceLookup::Restart => continue 'tree,
                    SliceLookup::Absent | SliceLookup::Value(_) => return None,
                    SliceLookup::Link(word) => word,
                };
                // SAFETY: `look_up` validated the word; the caller holds a guard.
                let SlotLink::Layer(link) = (unsafe { SlotLink::from_word(word) }) else { return None };
                // This is only a hint: it is checked again under the locks.
                let lone = visit.version.is_root() && visit.node.permutation().count() == 1;
                if !lone || found.is_none() {
                    found = Some((visit, at, slice, link));
                }
                root = link;
            }
            let (visit, offset, slice, link) = found?;
            let Some(upper) = NodeLatch::take_link_to(visit, slice, link) else { continue 'tree };
            return Some(UpperBorder { upper, offset, slice, link });
        }
    }

    /// Cleans up the layer at `offset`, and locks the layers between it and `above` on the way
    /// down.
    fn clean_up_below<G: Guard>(
        &self,
        above: UpperBorder<V>,
        key: &[u8],
        offset: usize,
        guard: &G,
    ) -> LayerCleanup {
        let mut at = above.offset + 8;
        let mut link = above.link;
        let mut chain = LayerChain { latches: vec![above.upper], slices: vec![above.slice] };
        loop {
            let Some(root) = layer_root(link) else { return LayerCleanup::Retry };
            if !root.version.is_border() {
                let (upper, slice) = chain.lowest();
                if at < offset {
                    return LayerCleanup::Retry;
                }
                let relink = |child| upper.relink(slice, SlotLink::Layer(child));
                if collapse_root(root.node, relink, guard) {
                    link = root.node.child(0);
                    continue;
                }
                let nothing = root.node.nkeys() > 0;
                return if nothing {
                    LayerCleanup::Done(CleanupNeeded::Nothing)
                } else {
                    LayerCleanup::Retry
                };
            }
            let Some(latch) = NodeLatch::take(root.node) else { return LayerCleanup::Retry };
            if !latch.version().peek().is_root() {
                // It has split while we waited.
                return LayerCleanup::Retry;
            }
            if at == offset {
                return LayerCleanup::Done(self.shrink(chain, latch, above.offset, guard));
            }
            let Some(next) = lone_link(&latch) else { return LayerCleanup::Retry };
            chain.latches.push(latch);
            chain.slices.push(KeySlice::at(key, at));
            link = next;
            at += 8;
        }
    }

    /// Replaces a border node that is a whole layer by something smaller, if possible. Returns the
    /// cleanup that the layer above the chain requires.
    fn shrink<G: Guard>(
        &self,
        chain: LayerChain<V>,
        root: NodeLatch<V>,
        offset: usize,
        guard: &G,
    ) -> CleanupNeeded {
        let (lengths, permutation) = (root.key_lengths(), root.permutation());
        let count = permutation.count();
        let (top, slice) = chain.topmost();
        let mut moved = None;
        let mut all = true;
        let lone =
            if count == 1 { self.move_key_up(&chain, root.entry(lengths, permutation, 0)) } else { None };
        match (count, lone) {
            (0, _) => {
                let SlicePosition::Taken { position, .. } = top.position_of(slice) else {
                    unreachable!("the slot was found when the node was locked")
                };
                top.remove_entry(position);
            }
            (_, Some((suffix, old))) => {
                top.relink(slice, SlotLink::Suffix(suffix));
                moved = old;
            }
            (_, None) => {
                let Some(width) = shrunk_width::<V>(count, lengths.width()) else {
                    return CleanupNeeded::Nothing;
                };
                let entries = (0..count).map(|position| root.entry(lengths, permutation, position));
                let narrower = self.new_layer(width, entries);
                let (upper, slice) = chain.lowest();
                upper.relink(slice, SlotLink::Layer(narrower));
                all = false;
            }
        }
        root.version().mark_deleted();
        let mut gone = vec![root.node()];
        if all {
            for latch in &chain.latches[1..] {
                latch.version().mark_deleted();
                gone.push(latch.node());
            }
        }
        let after = cleanup_needed(top, offset);
        drop((root, chain));
        for node in gone {
            UnlinkedParts::<V> { suffix: None, node: Some(node) }.retire::<S>(None, guard);
        }
        UnlinkedParts::<V> { suffix: moved, node: None }.retire::<S>(None, guard);
        after
    }

    /// Allocates a suffix block for a layer's only key, from the chain's first own slice on.
    /// Returns it and the suffix block that the key had in the layer, if any. Returns `None` if the
    /// key continues in a deeper layer.
    fn move_key_up(
        &self,
        chain: &LayerChain<V>,
        entry: BorderEntry,
    ) -> Option<(SuffixBlock, Option<SuffixBlock>)> {
        let own = entry.slice.bits.to_be_bytes();
        let mut bytes: Vec<u8> =
            chain.slices[1..].iter().flat_map(|slice| slice.bits.to_be_bytes()).collect();
        if entry.slice.code != LINK {
            bytes.extend_from_slice(&own[..entry.slice.code.into()]);
            return Some((SuffixBlock::new(&self.base.arena, &bytes, entry.lv), None));
        }
        // SAFETY: the node is locked, so word and code belong together; the caller's guard protects
        // the target.
        match unsafe { SlotLink::<V>::from_word(entry.lv) } {
            SlotLink::Layer(_) => None,
            SlotLink::Suffix(old) => {
                bytes.extend_from_slice(&own);
                bytes.extend_from_slice(old.bytes());
                Some((SuffixBlock::new(&self.base.arena, &bytes, old.value()), Some(old)))
            }
        }
    }
}

impl<V: MasstreeSettings> LayerChain<V> {
    /// Returns the border node above the chain, and the slice of its link.
    fn topmost(&self) -> (&NodeLatch<V>, KeySlice) {
        (&self.latches[0], self.slices[0])
    }

    /// Returns the border node that links to the layer to clean up, and the slice of its link.
    fn lowest(&self) -> (&NodeLatch<V>, KeySlice) {
        let last = self.latches.len() - 1;
        (&self.latches[last], self.slices[last])
    }
}

/// Returns the layer that a locked border node links to, if the node holds nothing else.
fn lone_link<V: MasstreeSettings>(latch: &NodeLatch<V>) -> Option<Node<V>> {
    let (lengths, permutation) = (latch.key_lengths(), latch.permutation());
    if permutation.count() != 1 {
        return None;
    }
    let entry = latch.entry(lengths, permutation, 0);
    if entry.slice.code != LINK {
        return None;
    }
    // SAFETY: the node is locked, so word and code belong together; the caller's guard protects the
    // target.
    match unsafe { SlotLink::from_word(entry.lv) } {
        SlotLink::Layer(node) => Some(node),
        SlotLink::Suffix(_) => None,
    }
}
