//! A border node on a cursor's path, and the cursor's position in it.

use skein_sync::version::Version;

use super::key::KeySlice;
use super::key_lengths::{KeyLengths, LINK};
use super::node::Node;
use super::permutation::SlotPermutation;
use super::variant::MasstreeSettings;
use crate::memory::prefetch_read;
use crate::slot::Slot;

/// How many keys ahead of the cursor the targets of links are prefetched. Most suffixes and small
/// layers are scattered in memory, so a scan would wait for each.
const AHEAD: isize = 4;

/// Offset of the second byte whose line is prefetched. A suffix may begin anywhere in a line, and
/// most suffixes end before this byte.
const SECOND_LINE: usize = 41;

/// A border node on the cursor's path.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderFrame<V: MasstreeSettings> {
    pub(super) node: Node<V>,
    pub(super) version: Version,
    pub(super) permutation: SlotPermutation,
    /// From -1, before the first key, to the count, past the last.
    pub(super) position: isize,
    /// Whether a slot held a link when the cursor reached the node: a hint.
    links: bool,
}

impl<V: MasstreeSettings> BorderFrame<V> {
    pub(super) fn new(node: Node<V>, version: Version) -> Self {
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

    /// Prefetches the target of the key that is [`AHEAD`] steps away.
    #[inline(always)]
    pub(super) fn prefetch_ahead<S: Slot>(&self, forward: bool) {
        if self.links || S::OWNS {
            self.prefetch::<S>(self.node.key_lengths(), forward, AHEAD);
        }
    }

    /// Prefetches the targets of the first keys of a node that the cursor has just reached.
    #[inline(always)]
    pub(super) fn prefetch_first<S: Slot>(&self, forward: bool) {
        if self.links || S::OWNS {
            let lengths = self.node.key_lengths();
            (0..AHEAD).for_each(|ahead| self.prefetch::<S>(lengths, forward, ahead));
        }
    }

    /// Prefetches two lines of the target of the key that is `ahead` steps away, or its value.
    ///
    /// It has no branch, because it runs for each key and a processor cannot predict the next keys.
    /// If the key does not exist or has no target, it prefetches a line of the node itself. The
    /// address is not validated: prefetching a wrong address is harmless.
    #[inline(always)]
    fn prefetch<S: Slot>(&self, lengths: KeyLengths, forward: bool, ahead: isize) {
        let position = if forward { self.position + ahead } else { self.position - ahead };
        let count = self.permutation.count();
        let position = position.cast_unsigned();
        let slot = self.permutation.slot(if position < count { position } else { 0 });
        let word = self.node.lv(slot, lengths.width());
        let asked = if S::OWNS || lengths.code(slot) == LINK { word & !7 } else { self.node.address() };
        let start: *const u8 = std::ptr::without_provenance(asked as usize);
        prefetch_read(start);
        prefetch_read(start.wrapping_add(SECOND_LINE));
    }

    /// Returns the slot at the frame's position.
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

    /// Moves the frame to the first live key at or after `slice`. Returns whether that key equals
    /// `slice`.
    pub(super) fn lower_bound(&mut self, slice: KeySlice) -> bool {
        let lengths = self.node.key_lengths();
        for position in 0..self.permutation.count() {
            let slot = self.permutation.slot(position);
            if !lengths.is_live(slot) {
                continue;
            }
            let here = KeySlice { bits: self.node.slice(slot), code: lengths.code(slot) };
            if here >= slice {
                self.position = position.cast_signed();
                return here == slice;
            }
        }
        self.position = self.permutation.count().cast_signed();
        false
    }

    /// Returns the neighbour in the direction of the scan.
    pub(super) fn neighbour(&self, forward: bool) -> BorderNeighbour<V> {
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
        // If the left neighbour has split, its `next` leads to a node in between.
        if neighbour.next() == Some(node) {
            BorderNeighbour::Found(frame.to_last())
        } else {
            BorderNeighbour::Changed
        }
    }
}

/// The neighbour of a node.
pub(super) enum BorderNeighbour<V: MasstreeSettings> {
    Found(BorderFrame<V>),
    None,
    /// A node has changed: descend again.
    Changed,
}
