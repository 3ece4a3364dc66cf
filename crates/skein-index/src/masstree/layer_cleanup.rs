//! Deeper layers that have become small: they shrink, move up into a suffix, or go.
//!
//! ```text
//!   layer is empty             slot of the upper node is removed, and that node's turn comes
//!   one key, no deeper layer   the key moves into a suffix block of the upper slot
//!   few keys                   the root is copied to a narrower solo node
//!   root with one child        the child becomes the root
//! ```
//!
//! All of it happens under the lock of the upper border node, which is taken first, by descending again, so
//! it keeps the order of locks. Long keys with a common start make long chains of layers with one key each; all
//! layers of a chain are locked from the top and go at once, or a removal would take time by the square of its length. Under that lock the link cannot change, nor can the layer's root be given up,
//! so the replaced nodes are unlinked for good when they are retired. Writers that wait for a lock of a
//! node that goes find it deleted and start over; readers likewise. Values move as they do when
//! a layer is made: the old place keeps the value as of the change. Source: section 4.6.5.

use skein_sync::reclaim::Guard;

use super::Masstree;
use super::border::{BorderEntry, SlicePosition};
use super::key::KeySlice;
use super::key_lengths::LINK;
use super::latch::NodeLatch;
use super::link::SlotLink;
use super::lookup::{SliceLookup, find_border, layer_root, look_up};
use super::node::Node;
use super::remove::{CleanupNeeded, aftermath, collapse_root, shrunk_width};
use super::suffix::SuffixBlock;
use super::write::UnlinkedParts;
use crate::slot::Slot;

/// A border node in an upper layer, and the layer below that hangs on one of its slots.
struct UpperBorder<const W: usize> {
    upper: NodeLatch<W>,
    /// The upper layer's first byte within the key.
    offset: usize,
    slice: KeySlice,
    link: Node<W>,
}

/// The layers from a locked border node down to one to be tidied. All between hold just a link to the next.
struct LayerChain<const W: usize> {
    /// The border node above the chain first.
    latches: Vec<NodeLatch<W>>,
    /// The slice of the link in each of them.
    slices: Vec<KeySlice>,
}

/// What tidying came to.
enum LayerCleanup {
    Done(CleanupNeeded),
    /// Somebody else has changed one of the layers.
    Retry,
}

impl<S: Slot, const W: usize> Masstree<S, W> {
    /// Tidies the layer that `key` leads to at `offset`, and those above it as they become small.
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

    /// Locks the lowest border node above the layer at `offset` that holds more than the link on the way there,
    /// or else the first one. None if there is no such layer any more.
    fn lock_above(&self, key: &[u8], offset: usize) -> Option<UpperBorder<W>> {
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
                // A hint only: what counts is checked under the locks.
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

    /// Tidies the layer at `offset`, locking those between it and `above` on the way down.
    fn clean_up_below<G: Guard>(
        &self,
        above: UpperBorder<W>,
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

    /// Replaces the border node that is a whole layer by something smaller, if it can be. Returns what that calls
    /// for in the layer above the chain.
    fn shrink<G: Guard>(
        &self,
        chain: LayerChain<W>,
        root: NodeLatch<W>,
        offset: usize,
        guard: &G,
    ) -> CleanupNeeded {
        let (lens, permutation) = (root.key_lengths(), root.permutation());
        let count = permutation.count();
        let (top, slice) = chain.topmost();
        let mut moved = None;
        let mut all = true;
        match count {
            0 => {
                let SlicePosition::Taken { position, .. } = top.position_of(slice) else {
                    unreachable!("the slot was found when the node was locked")
                };
                top.remove_entry(position);
            }
            1 if let Some((suffix, old)) = self.move_key_up(&chain, root.entry(lens, permutation, 0)) => {
                top.relink(slice, SlotLink::Suffix(suffix));
                moved = old;
            }
            _ => {
                let Some(width) = shrunk_width::<W>(count, lens.width()) else {
                    return CleanupNeeded::Nothing;
                };
                let entries = (0..count).map(|position| root.entry(lens, permutation, position));
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
        let after = aftermath(top, offset);
        drop((root, chain));
        for node in gone {
            UnlinkedParts::<W> { suffix: None, node: Some(node) }.retire::<S>(None, guard);
        }
        UnlinkedParts::<W> { suffix: moved, node: None }.retire::<S>(None, guard);
        after
    }

    /// A suffix block that holds a layer's only key, from the chain's first own slice on; and the block it had
    /// there, if any. None if the key goes on in a deeper layer.
    fn move_key_up(
        &self,
        chain: &LayerChain<W>,
        entry: BorderEntry,
    ) -> Option<(SuffixBlock, Option<SuffixBlock>)> {
        let own = entry.slice.bits.to_be_bytes();
        let mut bytes: Vec<u8> =
            chain.slices[1..].iter().flat_map(|slice| slice.bits.to_be_bytes()).collect();
        if entry.slice.code != LINK {
            bytes.extend_from_slice(&own[..entry.slice.code.into()]);
            return Some((SuffixBlock::new(&self.base.arena, &bytes, entry.lv), None));
        }
        // SAFETY: the node is locked, so word and code belong together; the caller's guard protects.
        match unsafe { SlotLink::<W>::from_word(entry.lv) } {
            SlotLink::Layer(_) => None,
            SlotLink::Suffix(old) => {
                bytes.extend_from_slice(&own);
                bytes.extend_from_slice(old.bytes());
                Some((SuffixBlock::new(&self.base.arena, &bytes, old.value()), Some(old)))
            }
        }
    }
}

impl<const W: usize> LayerChain<W> {
    /// The border node above the chain, and the slice of its link.
    fn topmost(&self) -> (&NodeLatch<W>, KeySlice) {
        (&self.latches[0], self.slices[0])
    }

    /// The border node that links to the layer to be tidied, and the slice of its link.
    fn lowest(&self) -> (&NodeLatch<W>, KeySlice) {
        let last = self.latches.len() - 1;
        (&self.latches[last], self.slices[last])
    }
}

/// The layer that a locked border node links to, if that is all it holds.
fn lone_link<const W: usize>(latch: &NodeLatch<W>) -> Option<Node<W>> {
    let (lens, permutation) = (latch.key_lengths(), latch.permutation());
    if permutation.count() != 1 {
        return None;
    }
    let entry = latch.entry(lens, permutation, 0);
    if entry.slice.code != LINK {
        return None;
    }
    // SAFETY: the node is locked, so word and code belong together; the caller's guard protects.
    match unsafe { SlotLink::from_word(entry.lv) } {
        SlotLink::Layer(node) => Some(node),
        SlotLink::Suffix(_) => None,
    }
}
