//! Changes within one locked border node.

use std::cmp::Ordering;

use super::key::KeySlice;
use super::key_lengths::{KeyLengths, LINK, REUSED};
use super::latch::NodeLatch;
use super::node::Node;
use super::permutation::SlotPermutation;
use super::variant::{WITHOUT_PERMUTATION, without};

/// Where a slice is, or belongs, in a border node.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlicePosition {
    /// It is there.
    Taken { slot: usize, position: usize },
    /// It is not there, and belongs at this position of the permutation.
    Vacant { position: usize },
}

/// One key of a border node: its slice, and its value or link.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderEntry {
    pub(super) slice: KeySlice,
    pub(super) lv: u64,
}

impl<const W: usize> Node<W> {
    /// The key at `position`.
    pub(super) fn entry(
        self,
        lens: KeyLengths,
        permutation: SlotPermutation,
        position: usize,
    ) -> BorderEntry {
        let slot = permutation.slot(position);
        let slice = KeySlice { bits: self.slice(slot), code: lens.code(slot) };
        BorderEntry { slice, lv: self.lv(slot, lens.width()) }
    }

    /// Fills a border node from its first slot on: one that nobody else can see, or that is marked as inserting.
    pub(super) fn fill(self, entries: impl Iterator<Item = BorderEntry>) {
        let mut lens = self.key_lengths();
        let width = lens.width();
        let mut count = 0;
        for entry in entries {
            self.set_slice(count, entry.slice.bits);
            self.set_lv(count, width, entry.lv);
            lens = lens.with(count, entry.slice.code);
            count += 1;
        }
        self.set_permutation(SlotPermutation::identity(count, width));
        self.set_key_lengths(lens);
    }
}

impl<const W: usize> NodeLatch<W> {
    /// Finds the seat of a slice.
    #[inline]
    pub(super) fn position_of(&self, slice: KeySlice) -> SlicePosition {
        let (permutation, lens) = (self.permutation(), self.key_lengths());
        for position in 0..permutation.count() {
            let slot = permutation.slot(position);
            let here = KeySlice { bits: self.slice(slot), code: lens.code(slot) };
            match here.cmp(&slice) {
                Ordering::Less => {}
                Ordering::Equal => return SlicePosition::Taken { slot, position },
                Ordering::Greater => return SlicePosition::Vacant { position },
            }
        }
        SlicePosition::Vacant { position: permutation.count() }
    }

    /// Whether all slots hold keys.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.permutation().count() == self.key_lengths().width()
    }

    /// Adds a key at `position`; there is a free slot.
    ///
    /// A slot that was in use before is marked: a reader may have matched its old slice and be about to read
    /// its value (section 4.6.5). A fresh slot needs no mark, since its code makes it appear all at once.
    #[inline]
    pub(super) fn insert_entry(&self, position: usize, entry: BorderEntry) {
        if without(W, WITHOUT_PERMUTATION) {
            return self.insert_in_order(position, entry);
        }
        let (permutation, slot) = self.permutation().insert_at(position);
        let lens = self.key_lengths();
        if lens.code(slot) == REUSED {
            self.version().mark_inserting();
        }
        self.set_slice(slot, entry.slice.bits);
        self.set_lv(slot, lens.width(), entry.lv);
        self.set_permutation(permutation);
        self.set_key_lengths(lens.with(slot, entry.slice.code));
    }

    /// Adds a key as a node without a permutation has to: all slots are written anew, in order.
    fn insert_in_order(&self, position: usize, entry: BorderEntry) {
        let (lens, permutation) = (self.key_lengths(), self.permutation());
        let old = |index: usize| self.entry(lens, permutation, index);
        let mut entries: [BorderEntry; 15] = [entry; 15];
        let count = permutation.count();
        for index in 0..count {
            entries[if index < position { index } else { index + 1 }] = old(index);
        }
        self.version().mark_inserting();
        self.set_key_lengths((0..lens.width()).fold(lens, |lens, slot| lens.with(slot, REUSED)));
        self.fill(entries.into_iter().take(count + 1));
    }

    /// Removes the key at `position`. Its slice and value stay, for readers who have found it already.
    pub(super) fn remove_entry(&self, position: usize) {
        let (permutation, lens) = (self.permutation(), self.key_lengths());
        self.set_key_lengths(lens.with(permutation.slot(position), REUSED));
        self.set_permutation(permutation.remove_at(position, lens.width()));
    }

    /// Whether the key in this slot goes on.
    #[inline(always)]
    pub(super) fn is_link(&self, slot: usize) -> bool {
        self.key_lengths().code(slot) == LINK
    }
}
