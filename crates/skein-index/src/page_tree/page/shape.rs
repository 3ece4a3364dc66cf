//! The sizes of a page: how much room for further keys it gets.

use super::{HEAD, SLOTS_MAX, SLOTS_STEP, slot_bytes};
use crate::memory::{Arena, CACHE_LINE};
use crate::slot::Slot;

/// The sizes of a page that is being made.
#[derive(Clone, Copy, Debug)]
pub(in crate::page_tree) struct PageShape {
    pub(in crate::page_tree) slots: usize,
    pub(in crate::page_tree) heap: usize,
}

impl PageShape {
    /// Returns the shape for `keys` keys of `bytes` bytes in the heap, and at least one more of
    /// `more` bytes. There is room for a quarter more.
    pub(in crate::page_tree) fn with_room(keys: usize, bytes: usize, more: usize, width: usize) -> Self {
        let slots = (keys + (keys / 4).max(SLOTS_STEP)).min(width).max(keys + 1);
        let each = if keys == 0 { SLOTS_STEP } else { bytes.div_ceil(keys) };
        let free = slots - keys;
        let heap = bytes + (free * each).max(more);
        Self { slots: slots.next_multiple_of(SLOTS_STEP).min(SLOTS_MAX), heap }
    }

    /// Returns the shape of the first page of an index.
    pub(in crate::page_tree) fn first(width: usize) -> Self {
        Self::with_room(0, 0, 0, width)
    }

    /// Returns the shape of a page that keys were removed from. There is room for an eighth more, and
    /// never less than in a first page.
    pub(in crate::page_tree) fn after_removals(keys: usize, bytes: usize, width: usize) -> Self {
        let first = Self::first(width);
        let slots = (keys + keys / 8 + 1).min(width).next_multiple_of(SLOTS_STEP);
        Self { slots: slots.max(first.slots).min(SLOTS_MAX), heap: (bytes + bytes / 8).max(first.heap) }
    }

    /// Returns the size of a page of this shape with a prefix of so many bytes.
    pub(in crate::page_tree) fn size<S: Slot>(self, prefix_len: usize) -> usize {
        let fixed = HEAD + slot_bytes::<S>() * self.slots;
        Arena::rounded((fixed + self.heap + prefix_len).next_multiple_of(CACHE_LINE))
    }
}
