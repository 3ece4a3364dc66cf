//! Inserts and removals within one locked border node.

use std::cmp::Ordering;

use super::key::KeySlice;
use super::key_lengths::{KeyLengths, LINK, REUSED};
use super::latch::NodeLatch;
use super::node::Node;
use super::permutation::SlotPermutation;
use super::variant::MasstreeSettings;

/// The position of a slice in a border node, present or absent.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlicePosition {
    /// The slice is in this slot.
    Taken { slot: usize, position: usize },
    /// The slice is absent and belongs at this position of the permutation.
    Vacant { position: usize },
}

/// One key of a border node: its slice, and its value or link.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderEntry {
    pub(super) slice: KeySlice,
    pub(super) lv: u64,
}

impl<V: MasstreeSettings> Node<V> {
    /// Returns the key at `position`.
    pub(super) fn entry(
        self,
        lengths: KeyLengths,
        permutation: SlotPermutation,
        position: usize,
    ) -> BorderEntry {
        let slot = permutation.slot(position);
        let slice = KeySlice { bits: self.slice(slot), code: lengths.code(slot) };
        BorderEntry { slice, lv: self.lv(slot, lengths.width()) }
    }

    /// Fills a border node from its first slot. The node must be unshared or marked as inserting.
    pub(super) fn fill(self, entries: impl Iterator<Item = BorderEntry>) {
        let mut lengths = self.key_lengths();
        let width = lengths.width();
        let mut count = 0;
        for entry in entries {
            self.set_slice(count, entry.slice.bits);
            self.set_lv(count, width, entry.lv);
            lengths = lengths.with(count, entry.slice.code);
            count += 1;
        }
        self.set_permutation(SlotPermutation::identity(count, width));
        self.set_key_lengths(lengths);
    }
}

impl<V: MasstreeSettings> NodeLatch<V> {
    /// Finds the position of a slice.
    #[inline]
    pub(super) fn position_of(&self, slice: KeySlice) -> SlicePosition {
        let (permutation, lengths) = (self.permutation(), self.key_lengths());
        for position in 0..permutation.count() {
            let slot = permutation.slot(position);
            let here = KeySlice { bits: self.slice(slot), code: lengths.code(slot) };
            match here.cmp(&slice) {
                Ordering::Less => {}
                Ordering::Equal => return SlicePosition::Taken { slot, position },
                Ordering::Greater => return SlicePosition::Vacant { position },
            }
        }
        SlicePosition::Vacant { position: permutation.count() }
    }

    /// Returns whether all slots hold keys.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.permutation().count() == self.key_lengths().width()
    }

    /// Inserts a key at `position`. The node must have a free slot.
    ///
    /// If the slot was in use before, the node is marked first: a reader may have matched the old
    /// slice and be about to read its value (section 4.6.5). A fresh slot needs no mark, because
    /// one store of its code publishes the whole key.
    #[inline]
    pub(super) fn insert_entry(&self, position: usize, entry: BorderEntry) {
        if !V::PERMUTATION {
            return self.insert_in_order(position, entry);
        }
        let (permutation, slot) = self.permutation().insert_at(position);
        let lengths = self.key_lengths();
        if lengths.code(slot) == REUSED {
            self.version().mark_inserting();
        }
        self.set_slice(slot, entry.slice.bits);
        self.set_lv(slot, lengths.width(), entry.lv);
        self.set_permutation(permutation);
        self.set_key_lengths(lengths.with(slot, entry.slice.code));
    }

    /// Inserts a key into a node without a permutation: writes all slots again, in order.
    fn insert_in_order(&self, position: usize, entry: BorderEntry) {
        let (lengths, permutation) = (self.key_lengths(), self.permutation());
        let old = |index: usize| self.entry(lengths, permutation, index);
        let mut entries: [BorderEntry; 15] = [entry; 15];
        let count = permutation.count();
        for index in 0..count {
            entries[if index < position { index } else { index + 1 }] = old(index);
        }
        self.version().mark_inserting();
        self.set_key_lengths((0..lengths.width()).fold(lengths, |lengths, slot| lengths.with(slot, REUSED)));
        self.fill(entries.into_iter().take(count + 1));
    }

    /// Removes the key at `position`. Its slice and value stay in the slot, for readers that have
    /// found it already.
    #[inline]
    pub(super) fn remove_entry(&self, position: usize) {
        let (permutation, lengths) = (self.permutation(), self.key_lengths());
        self.set_key_lengths(lengths.with(permutation.slot(position), REUSED));
        self.set_permutation(permutation.remove_at(position, lengths.width()));
    }

    /// Returns whether the key in this slot continues past its slice.
    #[inline(always)]
    pub(super) fn is_link(&self, slot: usize) -> bool {
        self.key_lengths().code(slot) == LINK
    }
}
