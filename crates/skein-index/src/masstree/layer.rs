//! Deeper layers: creating one, and growing a solo node.
//!
//! ```text
//!   slot: link ─► suffix "peg/a.png"      one key with this slice
//!                      │  + key "...peg/b.png"
//!                      ▼
//!   slot: link ─► solo 1 "peg/a.pn" ─► solo 2 "g" , "g"...
//!                 the common slices     a node for both keys
//! ```
//!
//! A writer builds a new layer aside and links it by one store of the slot's word (`link.rs`
//! explains why the paper's UNSTABLE state is not needed). The old key's value moves from its
//! suffix block to the new layer. The block keeps the old value, so a reader that still holds the
//! block returns the value as of the moment of the change, which lies within that reader's
//! operation.
//!
//! A full solo node is replaced by a wider copy: lock the upper border node, then the solo node,
//! link the copy, mark the old node deleted. Readers of the old node restart. Sources: sections
//! 4.6.3 and 4.6.5.

use skein_sync::version::Version;

use super::MasstreeVariant;
use super::border::BorderEntry;
use super::key::KeySlice;
use super::key_lengths::LINK;
use super::latch::NodeLatch;
use super::link::SlotLink;
use super::lookup::{BorderVisit, layer_root};
use super::node::{Node, width_for};
use super::search::find_slot;
use super::suffix::SuffixBlock;
use super::variant::MasstreeSettings;
use crate::slot::Slot;

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Returns the entry for the rest of a key from `offset` on, and its value. Allocates a suffix
    /// block if the rest has more than eight bytes.
    pub(super) fn entry_for(&self, key: &[u8], offset: usize, value: u64) -> BorderEntry {
        let slice = KeySlice::at(key, offset);
        let lv = match slice.code {
            LINK => {
                SlotLink::<V>::Suffix(SuffixBlock::new(&self.base.arena, &key[offset + 8..], value)).word()
            }
            _ => value,
        };
        BorderEntry { slice, lv }
    }

    /// Allocates a solo root with these entries, in order.
    pub(super) fn new_layer(&self, width: usize, entries: impl Iterator<Item = BorderEntry>) -> Node<V> {
        let root = Node::new_border(&self.base.arena, width, Version::BORDER.as_root());
        root.fill(entries);
        root
    }

    /// Builds the layers that hold two different keys, passed from the first byte after their
    /// common slice. Returns the link to the topmost layer.
    pub(super) fn layer_of_two(&self, a: (&[u8], u64), b: (&[u8], u64)) -> SlotLink<V> {
        let mut offset = 0;
        while KeySlice::at(a.0, offset) == KeySlice::at(b.0, offset) {
            offset += 8;
        }
        let (first, second) = if a.0 < b.0 { (a, b) } else { (b, a) };
        let both = [self.entry_for(first.0, offset, first.1), self.entry_for(second.0, offset, second.1)];
        let mut link = SlotLink::Layer(self.new_layer(width_for::<V>(2), both.into_iter()));
        while offset > 0 {
            offset -= 8;
            let entry = BorderEntry { slice: KeySlice::at(a.0, offset), lv: link.word() };
            link = SlotLink::Layer(self.new_layer(width_for::<V>(1), std::iter::once(entry)));
        }
        link
    }

    /// Replaces a full solo node by a wider one that also has `new` at `position`. `upper` is the
    /// locked border node whose slot for `slice` links to the solo node. Returns the old node,
    /// unlinked.
    pub(super) fn grow_solo(
        &self,
        upper: &NodeLatch<V>,
        slice: KeySlice,
        solo: &NodeLatch<V>,
        position: usize,
        new: BorderEntry,
    ) -> Node<V> {
        let (lengths, permutation) = (solo.key_lengths(), solo.permutation());
        let count = permutation.count();
        let old = |index: usize| solo.entry(lengths, permutation, index);
        let entries = (0..position).map(old).chain(std::iter::once(new)).chain((position..count).map(old));
        let wider = self.new_layer(width_for::<V>(count + 1), entries);
        upper.relink(slice, SlotLink::Layer(wider));
        solo.version().mark_deleted();
        solo.node()
    }
}

impl<V: MasstreeSettings> NodeLatch<V> {
    /// Stores another link in the slot for `slice` of a locked border node. The slot must hold a
    /// link.
    pub(super) fn relink(&self, slice: KeySlice, link: SlotLink<V>) {
        let lengths = self.key_lengths();
        let slot = find_slot(self.node(), lengths, slice).expect("the caller has found the slot");
        self.set_lv(slot, lengths.width(), link.word());
    }

    /// Locks the border node whose slot for `slice` links to `root`. `upper` is an earlier visit of
    /// that border node. Returns `None` if the link has changed.
    pub(super) fn take_link_to(upper: BorderVisit<V>, slice: KeySlice, root: Node<V>) -> Option<Self> {
        let latch = Self::take_for(upper, slice.bits)?;
        let lengths = latch.key_lengths();
        let slot = find_slot(latch.node(), lengths, slice)?;
        // SAFETY: under the lock, word and code belong together; the caller's guard protects the
        // target.
        let link = unsafe { SlotLink::from_word(latch.lv(slot, lengths.width())) };
        (link == SlotLink::Layer(root)).then_some(latch)
    }
}

/// Redirects a link that leads to a former root to the present root.
///
/// A link changes only under the lock of its node, and a layer's root is replaced only under that
/// lock too. So the stored root is not stale.
#[cold]
pub(super) fn repair_link<V: MasstreeSettings>(upper: BorderVisit<V>, slice: KeySlice, stale: Node<V>) {
    if let Some(latch) = NodeLatch::take_link_to(upper, slice, stale)
        && let Some(root) = layer_root(stale)
    {
        latch.relink(slice, SlotLink::Layer(root.node));
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::sync::Arc;

    use skein_sync::reclaim::Collector;

    use super::super::variant::MasstreeOfWidth;
    use super::*;
    use crate::index::OrderedIndex;
    use crate::slot::Inline;

    type Tree = MasstreeVariant<Inline<u64>, MasstreeOfWidth<3>>;

    fn put(tree: &Tree, key: &[u8]) {
        tree.insert(key, Inline(1), &tree.collector().enter()).expect("a short key");
    }

    /// Returns the node that the tree's only first slice links to.
    fn linked(tree: &Tree) -> Node<MasstreeOfWidth<3>> {
        let upper = tree.root();
        let lengths = upper.key_lengths();
        // SAFETY: one thread, and the slot holds a link, because all keys share the first slice and
        // are longer.
        match unsafe { SlotLink::from_word(upper.lv(upper.permutation().slot(0), lengths.width())) } {
            SlotLink::Layer(node) => node,
            SlotLink::Suffix(_) => panic!("the keys have a layer of their own"),
        }
    }

    /// A split of a layer's root leaves the link above stale, which costs readers a step up. The
    /// next write repairs it (section 4.6.4).
    #[test]
    fn the_next_write_repairs_a_stale_link() {
        let tree = Tree::with_variant(Arc::new(Collector::new()));
        for last in b'a'..=b'd' {
            put(&tree, &[b"prefix00", &[last][..]].concat());
        }
        let stale = linked(&tree);
        assert!(!stale.version().peek().is_root(), "four keys split a node of three");
        assert!(tree.get(b"prefix00d", &tree.collector().enter()).is_some());
        assert_eq!(linked(&tree), stale, "readers store nothing");
        put(&tree, b"prefix00e");
        assert!(linked(&tree).version().peek().is_root());
    }
}
