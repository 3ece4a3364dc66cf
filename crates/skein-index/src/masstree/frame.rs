//! A border node on a cursor's path, and the position in it.

use skein_sync::version::Version;

use super::key::KeySlice;
use super::key_lengths::{KeyLengths, LINK};
use super::node::Node;
use super::permutation::SlotPermutation;
use crate::memory::prefetch_read;
use crate::slot::Slot;

/// How many keys ahead the cursor asks for what they link to. Most suffixes and small layers lie scattered,
/// and a scan would wait for each.
const AHEAD: isize = 4;

/// Where the second byte lies whose line is asked for: a suffix may begin anywhere in a line, and most end by there.
const SECOND_LINE: usize = 41;

/// A border node on the cursor's path.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderFrame<const W: usize> {
    pub(super) node: Node<W>,
    pub(super) version: Version,
    pub(super) permutation: SlotPermutation,
    /// From -1, before the first, to the count, past the last.
    pub(super) position: isize,
    /// Whether any slot held a link when the cursor came: a hint.
    links: bool,
}

impl<const W: usize> BorderFrame<W> {
    pub(super) fn new(node: Node<W>, version: Version) -> Self {
        Self {
            node,
            version,
            permutation: node.permutation(),
            position: 0,
            links: node.key_lengths().any_link(),
        }
    }

    pub(super) fn to_last(mut self) -> Self {
        self.position = self.permutation.count().cast_signed() - 1;
        self
    }

    pub(super) fn step(&mut self, forward: bool) {
        self.position += if forward { 1 } else { -1 };
    }

    /// Asks for what the key [`AHEAD`] steps on leads to.
    #[inline(always)]
    pub(super) fn prefetch_ahead<S: Slot>(&self, forward: bool) {
        if self.links || S::OWNS {
            self.prefetch::<S>(self.node.key_lengths(), forward, AHEAD);
        }
    }

    /// Asks for what the first keys of a node just reached lead to.
    #[inline(always)]
    pub(super) fn prefetch_first<S: Slot>(&self, forward: bool) {
        if self.links || S::OWNS {
            let lens = self.node.key_lengths();
            (0..AHEAD).for_each(|ahead| self.prefetch::<S>(lens, forward, ahead));
        }
    }

    /// Asks for two lines of what the key `ahead` steps on links to, or for its value. Without a branch, for it runs for
    /// each key and nothing about the next ones can be foreseen: where there is no such key, or nothing to ask for, it asks for
    /// a line at hand. Nothing is validated: a wrong address does no harm.
    #[inline(always)]
    fn prefetch<S: Slot>(&self, lens: KeyLengths, forward: bool, ahead: isize) {
        let position = if forward { self.position + ahead } else { self.position - ahead };
        let count = self.permutation.count();
        let position = position.cast_unsigned();
        let slot = self.permutation.slot(if position < count { position } else { 0 });
        let word = self.node.lv(slot, lens.width());
        let asked = if S::OWNS || lens.code(slot) == LINK { word & !7 } else { self.node.address() };
        let start: *const u8 = std::ptr::without_provenance(asked as usize);
        prefetch_read(start);
        prefetch_read(start.wrapping_add(SECOND_LINE));
    }

    /// The slot at the frame's position.
    #[inline(always)]
    pub(super) fn slot(&self) -> Option<usize> {
        self.slot_at(self.position)
    }

    #[inline(always)]
    fn slot_at(&self, position: isize) -> Option<usize> {
        let position = usize::try_from(position).ok()?;
        (position < self.permutation.count()).then(|| self.permutation.slot(position))
    }

    pub(super) fn changed(&self) -> bool {
        self.node.version().changed(self.version)
    }

    /// Puts the frame on the first live key at or after `slice`; returns whether it is equal.
    pub(super) fn lower_bound(&mut self, slice: KeySlice) -> bool {
        let lens = self.node.key_lengths();
        for position in 0..self.permutation.count() {
            let slot = self.permutation.slot(position);
            if !lens.is_live(slot) {
                continue;
            }
            let here = KeySlice { bits: self.node.slice(slot), code: lens.code(slot) };
            if here >= slice {
                self.position = position.cast_signed();
                return here == slice;
            }
        }
        self.position = self.permutation.count().cast_signed();
        false
    }

    /// The neighbour in the direction of travel.
    pub(super) fn neighbour(&self, forward: bool) -> BorderNeighbour<W> {
        let node = self.node;
        let neighbour = match node.is_full_width() {
            false => None,
            true if forward => node.next(),
            true => node.prev(),
        };
        if self.changed() {
            return BorderNeighbour::Changed;
        }
        let Some(neighbour) = neighbour else { return BorderNeighbour::None };
        let version = neighbour.version().stable();
        if version.is_deleted() {
            return BorderNeighbour::Changed;
        }
        let frame = Self::new(neighbour, version);
        if forward {
            if let Some(after) = neighbour.next() {
                after.prefetch();
            }
            return BorderNeighbour::Found(frame);
        }
        // If the left neighbour has split, its `next` leads to the node that lies between.
        if neighbour.next() == Some(node) {
            BorderNeighbour::Found(frame.to_last())
        } else {
            BorderNeighbour::Changed
        }
    }
}

/// What lies beside a node.
pub(super) enum BorderNeighbour<const W: usize> {
    Found(BorderFrame<W>),
    None,
    /// Something has changed; descend again.
    Changed,
}
