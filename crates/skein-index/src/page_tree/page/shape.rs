//! The sizes of a page: how much room for further keys it gets.

use super::{HEAD, SLOTS_MAX, SLOTS_STEP, slot_bytes};
use crate::memory::{Arena, CACHE_LINE};
use crate::slot::Slot;

/// The sizes of a page that is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::page_tree) struct PageShape {
    pub(in crate::page_tree) slots: usize,
    pub(in crate::page_tree) heap: usize,
}

/// The most bytes of a page, unless its prefix or some entries are long.
const SIZE_MAX: usize = 4 << 10;

impl PageShape {
    /// Returns the shape of the first page of an index.
    pub(in crate::page_tree) fn first(width: usize) -> Self {
        let slots = SLOTS_STEP.min(width).next_multiple_of(SLOTS_STEP);
        Self { slots, heap: SLOTS_STEP * slots }
    }

    /// Returns the shape of the pages of an index in which `keys` keys have `bytes` bytes in the
    /// heap. It depends on the keys as little as possible, so most pages have one size.
    pub(in crate::page_tree) fn standard<S: Slot>(
        keys: usize,
        bytes: usize,
        prefix_len: usize,
        width: usize,
    ) -> Self {
        let each = average(keys, bytes);
        let wanted = HEAD + prefix_len + width * (slot_bytes::<S>() + each);
        let most = SIZE_MAX.max(HEAD + prefix_len + SIZE_MAX / 2);
        Self::of_size::<S>(Arena::rounded_down(wanted.min(most)), each, prefix_len, width)
    }

    /// Returns the shape of a page of `size` bytes for entries of `each` bytes.
    fn of_size<S: Slot>(size: usize, each: usize, prefix_len: usize, width: usize) -> Self {
        let room = size.saturating_sub(HEAD + prefix_len);
        let shape = |slots: usize| {
            let slots = slots.max(SLOTS_STEP);
            Self { slots, heap: room.saturating_sub(slot_bytes::<S>() * slots) }
        };
        let fitting = (room / (slot_bytes::<S>() + each)).clamp(1, width);
        let keys = |shape: &Self| shape.slots.min(width).min(shape.heap / each.max(1));
        let fewer = shape(fitting / SLOTS_STEP * SLOTS_STEP);
        let more = shape(fitting.next_multiple_of(SLOTS_STEP));
        if keys(&fewer) > keys(&more) { fewer } else { more }
    }

    /// Returns a shape for the same entries that takes at most `most` bytes.
    pub(in crate::page_tree) fn within<S: Slot>(
        self,
        most: usize,
        keys: usize,
        bytes: usize,
        prefix_len: usize,
        width: usize,
    ) -> Self {
        if self.size::<S>(prefix_len) <= most {
            return self;
        }
        Self::of_size::<S>(most, average(keys, bytes), prefix_len, width)
    }

    /// Returns the shape of a page whose values are replaced often: a size class more, so that it
    /// is compacted seldom, and room for at least so many bytes.
    pub(in crate::page_tree) fn with_more_room<S: Slot>(self, prefix_len: usize, bytes: usize) -> Self {
        let size = self.size::<S>(prefix_len);
        let heap = self.heap + Arena::rounded(size + 1) - size;
        Self { slots: self.slots, heap: heap.max(bytes + bytes / 4) }
    }

    /// Returns the shape with room for at least so many keys and bytes.
    pub(in crate::page_tree) fn at_least(self, keys: usize, bytes: usize) -> Self {
        let slots = self.slots.max(keys.next_multiple_of(SLOTS_STEP)).min(SLOTS_MAX);
        Self { slots, heap: self.heap.max(bytes) }
    }

    /// Returns whether so many keys and bytes take at most this share, in sixteenths.
    pub(in crate::page_tree) fn holds(self, keys: usize, bytes: usize, share: usize, width: usize) -> bool {
        16 * keys <= share * self.slots.min(width) && 16 * bytes <= share * self.heap
    }

    /// Returns the shape of a page that keys were removed from. There is room for an eighth more,
    /// and never less than in a first page.
    pub(in crate::page_tree) fn after_removals(keys: usize, bytes: usize, width: usize) -> Self {
        let slots = (keys + keys / 8 + 1).min(width);
        Self::first(width).at_least(slots, bytes + bytes / 8)
    }

    /// Returns the size of a page of this shape with a prefix of so many bytes.
    pub(in crate::page_tree) fn size<S: Slot>(self, prefix_len: usize) -> usize {
        let fixed = HEAD + slot_bytes::<S>() * self.slots;
        Arena::rounded((fixed + self.heap + prefix_len).next_multiple_of(CACHE_LINE))
    }
}

/// Returns the bytes of an entry in the heap on average.
fn average(keys: usize, bytes: usize) -> usize {
    if keys == 0 { SLOTS_STEP } else { bytes.div_ceil(keys) }
}
