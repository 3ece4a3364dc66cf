//! A border node on a cursor's path, and the position in it.

use skein_sync::version::Version;

use super::key::Slice;
use super::lens::LINK;
use super::link::Link;
use super::node::Node;
use super::permutation::Permutation;
use crate::slot::Slot;

/// How many keys ahead the cursor asks for what they link to. Most suffixes and small layers lie scattered,
/// and a scan would wait for each.
const AHEAD: isize = 4;

/// Bytes of a suffix to ask for before its length is known.
const SUFFIX_AHEAD: usize = 32;

/// A border node on the cursor's path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<const W: usize> {
    pub(super) node: Node<W>,
    pub(super) version: Version,
    pub(super) permutation: Permutation,
    /// From -1, before the first, to the count, past the last.
    pub(super) position: isize,
}

impl<const W: usize> Frame<W> {
    pub(super) fn new(node: Node<W>, version: Version) -> Self {
        Self { node, version, permutation: node.permutation(), position: 0 }
    }

    pub(super) fn to_last(mut self) -> Self {
        self.position = self.permutation.count().cast_signed() - 1;
        self
    }

    pub(super) fn step(&mut self, forward: bool) {
        self.position += if forward { 1 } else { -1 };
    }

    /// Asks for what the key [`AHEAD`] steps on leads to.
    #[inline]
    pub(super) fn prefetch_ahead<S: Slot>(&self, forward: bool) {
        self.prefetch::<S>(forward, AHEAD);
    }

    /// Asks for what the key `ahead` steps on links to, or for its value. Nothing is validated: a wrong address does no
    /// harm.
    #[inline]
    fn prefetch<S: Slot>(&self, forward: bool, ahead: isize) {
        let position = if forward { self.position + ahead } else { self.position - ahead };
        let Some(slot) = self.slot_at(position) else { return };
        let lens = self.node.lens();
        let word = self.node.lv(slot, lens.width());
        if lens.code(slot) == LINK {
            Link::<W>::prefetch(word, SUFFIX_AHEAD);
        } else if S::OWNS {
            S::prefetch(word);
        }
    }

    /// Asks for what the first keys of a node just reached lead to.
    #[inline]
    pub(super) fn prefetch_first<S: Slot>(&self, forward: bool) {
        (0..AHEAD).for_each(|ahead| self.prefetch::<S>(forward, ahead));
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
    pub(super) fn lower_bound(&mut self, slice: Slice) -> bool {
        let lens = self.node.lens();
        for position in 0..self.permutation.count() {
            let slot = self.permutation.slot(position);
            if !lens.is_live(slot) {
                continue;
            }
            let here = Slice { bits: self.node.slice(slot), code: lens.code(slot) };
            if here >= slice {
                self.position = position.cast_signed();
                return here == slice;
            }
        }
        self.position = self.permutation.count().cast_signed();
        false
    }

    /// The neighbour in the direction of travel.
    pub(super) fn neighbour(&self, forward: bool) -> Neighbour<W> {
        let node = self.node;
        let neighbour = match node.is_full_width() {
            false => None,
            true if forward => node.next(),
            true => node.prev(),
        };
        if self.changed() {
            return Neighbour::Changed;
        }
        let Some(neighbour) = neighbour else { return Neighbour::None };
        let version = neighbour.version().stable();
        if version.is_deleted() {
            return Neighbour::Changed;
        }
        let frame = Self::new(neighbour, version);
        if forward {
            if let Some(after) = neighbour.next() {
                after.prefetch();
            }
            return Neighbour::Found(frame);
        }
        // If the left neighbour has split, its `next` leads to the node that lies between.
        if neighbour.next() == Some(node) { Neighbour::Found(frame.to_last()) } else { Neighbour::Changed }
    }
}

/// What lies beside a node.
pub(super) enum Neighbour<const W: usize> {
    Found(Frame<W>),
    None,
    /// Something has changed; descend again.
    Changed,
}
