//! The sizes of a page: how much room for further keys it gets.

use super::{HEAD, SLOT, SLOTS_MAX, SLOTS_STEP};
use crate::memory::{Arena, CACHE_LINE};

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

    /// Returns the size of a page of this shape with a prefix of so many bytes.
    pub(in crate::page_tree) fn size(self, prefix_len: usize) -> usize {
        Arena::rounded((HEAD + SLOT * self.slots + self.heap + prefix_len).next_multiple_of(CACHE_LINE))
    }
}
