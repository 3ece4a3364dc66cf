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
//! it keeps the order of locks. Under that lock the link cannot change, nor can the layer's root be given up,
//! so the replaced nodes are unlinked for good when they are retired. Writers that wait for a lock of a
//! node that goes find it deleted and start over; readers likewise. Values move as they do when
//! a layer is made: the old place keeps the value as of the change. Source: section 4.6.5.

use skein_sync::reclaim::Guard;

use super::Masstree;
use super::border::{Entry, Seat};
use super::key::Slice;
use super::latch::Latch;
use super::lens::LINK;
use super::link::Link;
use super::lookup::{Found, find_border, layer_root, look_up};
use super::node::Node;
use super::remove::{Aftermath, aftermath, collapse_root, shrunk_width};
use super::suffix::Suffix;
use super::write::Unlinked;
use crate::slot::Slot;

impl<S: Slot, const W: usize> Masstree<S, W> {
    /// Tidies the layer that `key` leads to at `offset`, and those above it as they become small.
    #[cold]
    pub(super) fn tidy<G: Guard>(&self, key: &[u8], mut offset: usize, guard: &G) {
        while offset > 0 {
            let Some((upper, link)) = self.lock_above(key, offset) else { return };
            let node = upper.node();
            offset -= 8;
            let after = self.tidy_layer(upper, link, Slice::at(key, offset), offset, guard);
            match after {
                Aftermath::Nothing => return,
                Aftermath::SmallLayer => {}
                Aftermath::EmptyBorder => return self.clean_up(after, node, key, offset, guard),
            }
        }
    }

    /// Locks the border node that links to the layer at `offset`; returns the linked node too. None if there
    /// is no such layer any more.
    fn lock_above(&self, key: &[u8], offset: usize) -> Option<(Latch<W>, Node<W>)> {
        'tree: loop {
            let mut root = self.root();
            let mut at = 0;
            loop {
                let slice = Slice::at(key, at);
                let Some(mut visit) = find_border(root, slice.bits) else { continue 'tree };
                let word = match look_up(&mut visit, slice) {
                    Found::Restart => continue 'tree,
                    Found::Absent | Found::Value(_) => return None,
                    Found::Link(word) => word,
                };
                // SAFETY: `look_up` validated the word; the caller holds a guard.
                let Link::Layer(link) = (unsafe { Link::from_word(word) }) else { return None };
                at += 8;
                if at == offset {
                    let Some(latch) = Latch::take_link_to(visit, slice, link) else { continue 'tree };
                    return Some((latch, link));
                }
                root = link;
            }
        }
    }

    /// Tidies one layer. `upper` is the locked border node, in the layer at `offset`, whose slot for `slice`
    /// links to it. Returns what the change calls for in `upper`'s own layer.
    fn tidy_layer<G: Guard>(
        &self,
        upper: Latch<W>,
        link: Node<W>,
        slice: Slice,
        offset: usize,
        guard: &G,
    ) -> Aftermath {
        let mut link = link;
        loop {
            let Some(root) = layer_root(link) else { return Aftermath::Nothing };
            if !root.version.is_border() {
                let relink = |child| upper.relink(slice, Link::Layer(child));
                if collapse_root(root.node, relink, guard) {
                    link = root.node.child(0);
                } else if root.node.nkeys() > 0 {
                    return Aftermath::Nothing;
                }
                continue;
            }
            let Some(latch) = Latch::take(root.node) else { return Aftermath::Nothing };
            if !latch.version().peek().is_root() {
                // It has split while we waited.
                continue;
            }
            let Some(unlinked) = self.shrink_border(&upper, slice, &latch) else { return Aftermath::Nothing };
            let after = aftermath(&upper, offset);
            drop(latch);
            drop(upper);
            unlinked.retire::<S>(None, guard);
            return after;
        }
    }

    /// Replaces the border node that is a whole layer by something smaller, if it can be; returns what has
    /// been unlinked.
    fn shrink_border(&self, upper: &Latch<W>, slice: Slice, root: &Latch<W>) -> Option<Unlinked<W>> {
        let (lens, permutation) = (root.lens(), root.permutation());
        let count = permutation.count();
        let mut unlinked = Unlinked { suffix: None, node: Some(root.node()) };
        match count {
            0 => {
                let Seat::Taken { position, .. } = upper.seat(slice) else {
                    unreachable!("the caller has found the slot")
                };
                upper.remove_entry(position);
            }
            1 if let Some((suffix, old)) = self.pulled_up(root.entry(lens, permutation, 0)) => {
                upper.relink(slice, Link::Suffix(suffix));
                unlinked.suffix = old;
            }
            _ => {
                let width = shrunk_width::<W>(count, lens.width())?;
                let entries = (0..count).map(|position| root.entry(lens, permutation, position));
                let narrower = self.new_layer(width, entries);
                upper.relink(slice, Link::Layer(narrower));
            }
        }
        root.version().mark_deleted();
        Some(unlinked)
    }

    /// A suffix block that holds a layer's only key, slice included; and the block it had there, if any. None
    /// if the key goes on in a deeper layer.
    fn pulled_up(&self, entry: Entry) -> Option<(Suffix, Option<Suffix>)> {
        let bytes = entry.slice.bits.to_be_bytes();
        if entry.slice.code != LINK {
            let own = &bytes[..entry.slice.code.into()];
            return Some((Suffix::new(&self.arena, own, entry.lv), None));
        }
        // SAFETY: the node is locked, so word and code belong together; the caller's guard protects.
        match unsafe { Link::<W>::from_word(entry.lv) } {
            Link::Layer(_) => None,
            Link::Suffix(old) => {
                let whole = [&bytes[..], old.bytes()].concat();
                Some((Suffix::new(&self.arena, &whole, old.value()), Some(old)))
            }
        }
    }
}
