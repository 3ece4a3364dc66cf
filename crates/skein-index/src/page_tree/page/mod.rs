//! Pages: up to 64 keys of one range, with their values.
//!
//! ```text
//!   head      version, counts, sizes
//!   tags      by slot: a byte of the key's hash; 0 for a slot without a key
//!   entries   by slot: where the key lies in the heap
//!   order     by rank: the slot of the key
//!   heads     by rank: the first two bytes of the key behind the prefix
//!   values    by slot: the word of the value; only if values are not embedded
//!   heap      by insertion: an entry for each key, with the bytes behind the prefix, and the value if
//!             values are embedded
//!   prefix    the bytes that all keys of the range share
//! ```
//!
//! A lookup compares all tags at once, and then mostly one key. A lower bound compares all heads at
//! once, and then a few keys. A key is never moved: a full page is replaced by one or two new ones.
//! A new value of a key gets a new entry if values are embedded, and the slot leads there then.
//!
//! `entry.rs` has the entries in the heap, `shape.rs` the sizes of new pages, `change.rs` the
//! changes under the lock, `hole.rs` dead entries that are used again, `free.rs` the end of a page.
//!
//! Sources: the order is Masstree's permutation (section 4.6.2), the tags are Wormhole's (section
//! 3.2), the heads are the "poor man's normalized keys" of Graefe and Larson, "B-Tree Indexes and
//! CPU Caches" (2001).
//!
//! # Invariants
//! 1. A page is used only while it is live: it was reached under a guard that is still held, or it
//!    is not shared yet, or the index is borrowed mutably.
//! 2. A page has the same range of keys for life, and all keys of the range begin with its prefix.
//!    Its sizes never change.
//! 3. Everything that changes in a page changes under its lock. A change that moves ranks marks the
//!    version first. The order's first `live` slots have keys.
//! 4. An entry is written before its slot leads to it, and the slot before a tag or a rank
//!    publishes it. The bytes of an entry do not change while a reader may have found it, but for
//!    what a value itself changes atomically. A slot is used for one key. A removed key is in no
//!    array any more, and behind the last rank is no slot. So a reader may follow every slot that it
//!    loads, at any moment.
//! 5. A deleted page does not change any more. It is deleted only when its keys are in other pages,
//!    which are reachable and locked.
//! 6. A key of more than 126 bytes behind the prefix lies in a block of its own. The page that
//!    is not deleted owns it, until the key is removed.
//! 7. `dead` counts the bytes of entries that no slot with a key leads to. If there are none, the
//!    entries lie in the order of their slots, without gaps.
//! 8. The hole is a dead entry that no slot has led to since its period. When that period has passed
//!    (`GraceClock`), no reader has the entry, and a new value may be written there.

mod change;
mod entry;
mod free;
mod hole;
mod shape;

use std::cmp::Ordering as KeyOrder;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use skein_sync::reclaim::PROTECT;
use skein_sync::version::{Version, VersionWord};

use super::child::Child;
use super::lanes::{self, BYTES};
use crate::memory::{Arena, CACHE_LINE, MemoryPart, address_of, at_address, prefetch_read};
use crate::slot::Slot;
use entry::{FAR, FAR_KEY, WORD};

pub(super) use entry::{EntryKey, EntryValue, entry_size};
pub(super) use shape::PageShape;

/// The greatest number of keys in a page.
pub(in crate::page_tree) const SLOTS_MAX: usize = 64;
/// The slots of a page are a multiple of this, so that arrays end at words.
pub(in crate::page_tree) const SLOTS_STEP: usize = 8;

#[repr(C)]
struct PageHead {
    version: VersionWord,
    live: AtomicU8,
    used: AtomicU8,
    slots: u8,
    /// Whether the page was visited by a packer and not written since.
    quiet: AtomicBool,
    prefix_len: u16,
    heap_start: u16,
    heap_used: AtomicU16,
    heap_size: u16,
    dead: AtomicU16,
    /// The size of the page in cache lines.
    lines: u16,
    /// A dead entry, by its position and its length, or no bytes (invariant 8).
    hole: AtomicU16,
    hole_len: AtomicU16,
    /// The period of the clock in which the hole's entry died.
    hole_period: AtomicU32,
}

const HEAD: usize = size_of::<PageHead>();
const _: () = assert!(HEAD == 32 || cfg!(skein_loom));
/// The bytes of all arrays for one slot, but without values.
const SLOT: usize = 1 + 1 + 2 + 2;

/// Returns the bytes of all arrays for one slot.
const fn slot_bytes<S: Slot>() -> usize {
    if S::EMBEDS { SLOT } else { SLOT + size_of::<u64>() }
}

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::page_tree) struct Page(NonNull<PageHead>);

/// Returns the first two bytes of a key behind the prefix, as a number.
#[inline(always)]
fn head_of(rest: &[u8]) -> u16 {
    match *rest {
        [first, second, ..] => u16::from_be_bytes([first, second]),
        [first] => u16::from_be_bytes([first, 0]),
        [] => 0,
    }
}

impl Page {
    /// Allocates a page without keys, near a page that is live if there is one.
    pub(in crate::page_tree) fn new<S: Slot>(
        arena: &Arena,
        beside: Option<Page>,
        shape: PageShape,
        version: Version,
        prefix: &[u8],
    ) -> Self {
        let fixed = HEAD + slot_bytes::<S>() * shape.slots;
        let size = shape.size::<S>(prefix.len());
        // The rounding is room for keys, as far as their positions have room.
        let heap = (size - fixed - prefix.len()).min(u16::MAX.into());
        let block = match beside {
            // SAFETY: the page is live, and from this arena.
            Some(page) => unsafe { arena.alloc_beside(page.0.cast(), page.size(), size, MemoryPart::Nodes) },
            None => arena.alloc(size, MemoryPart::Nodes),
        };
        let block = block.cast::<PageHead>();
        block.as_ptr().expose_provenance();
        let head = PageHead {
            version: VersionWord::new(version),
            live: AtomicU8::new(0),
            used: AtomicU8::new(0),
            slots: shape.slots as u8,
            quiet: AtomicBool::new(false),
            prefix_len: prefix.len() as u16,
            heap_start: fixed as u16,
            heap_used: AtomicU16::new(0),
            heap_size: heap as u16,
            dead: AtomicU16::new(0),
            lines: (size / CACHE_LINE) as u16,
            hole: AtomicU16::new(0),
            hole_len: AtomicU16::new(0),
            hole_period: AtomicU32::new(0),
        };
        // SAFETY: the block has `size` bytes and is exclusively ours; arrays of zeros are valid.
        unsafe {
            block.write(head);
            block.cast::<u8>().add(HEAD).write_bytes(0, fixed - HEAD);
            // No rank has a slot.
            block.cast::<u8>().add(HEAD + 3 * shape.slots).write_bytes(u8::MAX, shape.slots);
            let end = block.cast::<u8>().add(fixed + heap);
            end.copy_from_nonoverlapping(NonNull::from(prefix).cast(), prefix.len());
        }
        Self(block)
    }

    /// Returns the page at an address.
    ///
    /// # Safety
    /// The address is that of a page, and invariant 1 holds for it.
    #[inline(always)]
    pub(in crate::page_tree) unsafe fn from_address(address: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { at_address(address) })
    }

    /// Returns whether the page should move, because its memory is being vacated.
    pub(in crate::page_tree) fn is_vacated(self, arena: &Arena) -> bool {
        arena.is_vacated(self.0.cast(), self.size())
    }

    /// Returns the link to the page.
    pub(in crate::page_tree) fn link(self) -> Child {
        Child::to_page(address_of(self.0), self.size())
    }

    #[inline(always)]
    fn head<'a>(self) -> &'a PageHead {
        // SAFETY: the page is live (invariant 1); what changes in its head is atomic.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    pub(in crate::page_tree) fn version<'a>(self) -> &'a VersionWord {
        &self.head().version
    }

    /// Returns whether all that was read of the page since this version belongs to one state of it, in
    /// which the page was not deleted.
    #[inline(always)]
    pub(in crate::page_tree) fn is_since(self, version: Version) -> bool {
        version.is_stable() && !version.is_deleted() && !self.version().changed(version)
    }

    #[inline(always)]
    pub(in crate::page_tree) fn slots(self) -> usize {
        self.head().slots.into()
    }

    /// Returns the number of keys.
    #[inline(always)]
    pub(in crate::page_tree) fn live(self) -> usize {
        // Acquire: pairs with the Release in `set_live`.
        self.head().live.load(Ordering::Acquire).into()
    }

    /// Marks the page as quiet. Returns whether it was: no writer has changed it since the last visit.
    pub(in crate::page_tree) fn visit(self) -> bool {
        let quiet = &self.head().quiet;
        // Relaxed: a hint. If a writer is at work now, the page may be packed one visit too early.
        quiet.load(Ordering::Relaxed) || {
            quiet.store(true, Ordering::Relaxed);
            false
        }
    }

    /// Returns the number of slots that have been used.
    pub(in crate::page_tree) fn used(self) -> usize {
        self.head().used.load(Ordering::Relaxed).into()
    }

    /// Returns the size of the page in bytes.
    pub(in crate::page_tree) fn size(self) -> usize {
        usize::from(self.head().lines) * CACHE_LINE
    }

    #[inline(always)]
    pub(in crate::page_tree) fn prefix_len(self) -> usize {
        self.head().prefix_len.into()
    }

    /// Returns the bytes that all keys of the page's range share.
    #[inline(always)]
    pub(in crate::page_tree) fn prefix<'a>(self) -> &'a [u8] {
        let start = usize::from(self.head().heap_start) + usize::from(self.head().heap_size);
        // SAFETY: written in `new`, and never changed (invariant 2).
        unsafe { NonNull::slice_from_raw_parts(self.at(start), self.prefix_len()).as_ref() }
    }

    /// Returns the address of a byte of the page, which must lie inside it.
    #[inline(always)]
    fn at(self, byte: usize) -> NonNull<u8> {
        // SAFETY: the caller stays inside the page's block.
        unsafe { self.0.cast::<u8>().add(byte) }
    }

    /// Returns the words of an array that starts behind `before` bytes a slot and has `each`.
    #[inline(always)]
    fn array<'a>(self, before: usize, each: usize) -> &'a [AtomicU64] {
        let slots = self.slots();
        let start = self.at(HEAD + before * slots).cast();
        // SAFETY: inside the page and aligned, because there are multiples of eight slots; only
        // accessed as words.
        unsafe { NonNull::slice_from_raw_parts(start, each * slots / 8).as_ref() }
    }

    #[inline(always)]
    fn tags<'a>(self) -> &'a [AtomicU64] {
        self.array(0, 1)
    }

    #[inline(always)]
    pub(in crate::page_tree) fn order<'a>(self) -> &'a [AtomicU64] {
        self.array(3, 1)
    }

    #[inline(always)]
    fn heads<'a>(self) -> &'a [AtomicU64] {
        self.array(4, 2)
    }

    #[inline(always)]
    fn entry_at<'a>(self, slot: usize) -> &'a AtomicU16 {
        debug_assert!(slot < self.slots());
        // SAFETY: inside the page and aligned; only accessed as 16 bits.
        unsafe { self.at(HEAD + self.slots() + 2 * slot).cast().as_ref() }
    }

    #[inline(always)]
    fn value_at<'a>(self, slot: usize) -> &'a AtomicU64 {
        debug_assert!(slot < self.slots());
        // SAFETY: inside the page and aligned; only accessed as a word.
        unsafe { self.at(HEAD + 6 * self.slots() + 8 * slot).cast().as_ref() }
    }

    /// Returns the word of a slot's value. Of an embedded value, that is its address.
    #[inline(always)]
    pub(in crate::page_tree) fn value<S: Slot>(self, slot: usize) -> u64 {
        if !S::EMBEDS {
            return self.value_at(slot).load(PROTECT);
        }
        let entry = self.entry(slot);
        // SAFETY: the slot is published, so its entry is complete and never changes (invariant 4).
        unsafe {
            let value = Self::value_in(entry);
            if entry.read() & WORD == 0 { address_of(value) } else { value.cast::<u64>().read_unaligned() }
        }
    }

    /// Returns the word of a slot's value, unless the value is embedded.
    pub(in crate::page_tree) fn word<S: Slot>(self, slot: usize) -> Option<u64> {
        // SAFETY: as in `value`.
        let embedded = S::EMBEDS && unsafe { self.entry(slot).read() } & WORD == 0;
        (!embedded).then(|| self.value::<S>(slot))
    }

    /// Returns the address of the value in an entry.
    ///
    /// # Safety
    /// `entry` is that of a published slot, in a page with values in its entries.
    #[inline(always)]
    unsafe fn value_in(entry: NonNull<u8>) -> NonNull<u8> {
        // SAFETY: the entry is complete (invariant 4). Entries start at even addresses, because all
        // have an even size.
        unsafe {
            let length = entry.read() & !WORD;
            let key = if length == FAR { FAR_KEY } else { 1 + usize::from(length) };
            entry.add(key.next_multiple_of(2))
        }
    }

    /// Returns a slot's value for the entry of another page. The page is locked.
    fn entry_value<S: Slot>(self, slot: usize) -> EntryValue<S> {
        if let Some(word) = self.word::<S>(slot) {
            return EntryValue::Word(word);
        }
        let sizes = self.entry_sizes::<S>(slot);
        // SAFETY: the value follows the key in its entry.
        EntryValue::Copy(unsafe { self.entry(slot).add(sizes.key) }, sizes.value)
    }

    /// Returns the slot of the key at a rank.
    #[inline(always)]
    pub(in crate::page_tree) fn slot_of(self, rank: usize) -> usize {
        lanes::get::<BYTES>(self.order(), rank) as usize
    }

    /// Returns a bit for each slot with a tag.
    #[inline(always)]
    pub(in crate::page_tree) fn tagged(self, tag: u8) -> u64 {
        lanes::equal(self.tags(), tag)
    }

    /// Returns the tag of a slot.
    pub(in crate::page_tree) fn tag(self, slot: usize) -> u8 {
        lanes::get::<BYTES>(self.tags(), slot) as u8
    }

    #[inline(always)]
    fn heap(self) -> NonNull<u8> {
        self.at(self.head().heap_start.into())
    }

    #[inline(always)]
    fn entry(self, slot: usize) -> NonNull<u8> {
        // Pairs with the Release in `lead_to`: the entry is complete (invariant 4).
        let start = usize::from(self.entry_at(slot).load(PROTECT));
        // SAFETY: an entry lies in the heap.
        unsafe { self.heap().add(start) }
    }

    /// Prefetches the hole, or else the end of the heap, where the next entry is written.
    #[inline(always)]
    pub(in crate::page_tree) fn prefetch_room(self) {
        let (hole, end) = (self.hole(), usize::from(self.head().heap_used.load(Ordering::Relaxed)));
        let start = if hole.is_empty() { end } else { hole.start };
        // SAFETY: both lie in the heap.
        prefetch_read(unsafe { self.heap().add(start) }.as_ptr());
    }

    /// Prefetches the order of the keys, for an insert.
    #[inline(always)]
    pub(in crate::page_tree) fn prefetch_order(self) {
        for line in (0..3 * self.slots()).step_by(CACHE_LINE) {
            prefetch_read(self.at(HEAD + 3 * self.slots() + line).as_ptr());
        }
        prefetch_read(self.at(HEAD + 6 * self.slots() - 1).as_ptr());
    }

    /// Prefetches the key that an insert compares first.
    #[inline(always)]
    pub(in crate::page_tree) fn prefetch_neighbour(self, rest: &[u8]) {
        let (low, high) = lanes::bounds(self.heads(), self.live(), head_of(rest));
        let slot = (low < high).then(|| self.slot_of(low.midpoint(high)));
        if let Some(slot) = slot.filter(|&slot| slot < self.slots()) {
            prefetch_read(self.entry(slot).as_ptr());
        }
    }

    /// Prefetches a slot's key and value.
    #[inline(always)]
    pub(in crate::page_tree) fn prefetch_slot<S: Slot>(self, slot: usize) {
        prefetch_read(self.entry(slot).as_ptr());
        if !S::EMBEDS {
            prefetch_read(self.value_at(slot));
        }
    }

    /// Returns the address and the length of a key that lies elsewhere.
    ///
    /// # Safety
    /// `entry` is that of a published slot, and its length is [`FAR`].
    #[inline(always)]
    unsafe fn far(entry: NonNull<u8>) -> (NonNull<u8>, u16) {
        // SAFETY: `EntryKey::write` has written these bytes, and they never change (invariant 4).
        unsafe {
            let length = entry.add(1).cast::<u16>().read_unaligned();
            let address = entry.add(3).cast::<u64>().read_unaligned();
            (at_address(address), length)
        }
    }

    /// Returns a slot's key.
    #[inline(always)]
    pub(in crate::page_tree) fn key_of<'a>(self, slot: usize) -> EntryKey<'a> {
        let entry = self.entry(slot);
        // SAFETY: the slot is published, so its entry is complete and never changes (invariant 4).
        unsafe {
            let length = entry.read() & !WORD;
            if length == FAR {
                let (block, length) = Self::far(entry);
                return EntryKey::Far(block, length);
            }
            EntryKey::Near(NonNull::slice_from_raw_parts(entry.add(1), length.into()).as_ref(), &[])
        }
    }

    /// Returns a slot's key without the page's prefix.
    #[inline(always)]
    pub(in crate::page_tree) fn rest<'a>(self, slot: usize) -> &'a [u8] {
        match self.key_of(slot) {
            EntryKey::Near(rest, _) => rest,
            // SAFETY: a block has as many bytes as its key, and is freed after the guard of whoever
            // found its slot (invariant 4).
            EntryKey::Far(block, length) => unsafe {
                &NonNull::slice_from_raw_parts(block, length.into()).as_ref()[self.prefix_len()..]
            },
        }
    }

    /// Returns whether a slot's key is the prefix followed by `rest`.
    #[inline(always)]
    pub(in crate::page_tree) fn holds(self, slot: usize, rest: &[u8]) -> bool {
        let held = self.rest(slot);
        held.len() == rest.len() && crate::record::same_bytes(held, rest)
    }

    /// Returns the slot of a key, given behind the prefix. A reader must check that the page was
    /// not deleted, and a reader that finds nothing must check the version.
    #[inline(always)]
    pub(in crate::page_tree) fn find(self, rest: &[u8], tag: u8) -> Option<usize> {
        let mut tagged = self.tagged(tag);
        while tagged != 0 {
            let slot = tagged.trailing_zeros() as usize;
            if self.holds(slot, rest) {
                return Some(slot);
            }
            tagged &= tagged - 1;
        }
        None
    }

    /// Returns the rank of the first key that is not less than the prefix followed by `rest`, and
    /// its slot if it is equal. A reader must check the version.
    #[inline(always)]
    pub(in crate::page_tree) fn rank(self, rest: &[u8], live: usize) -> (usize, Option<usize>) {
        let (mut low, mut high) = lanes::bounds(self.heads(), live, head_of(rest));
        while low < high {
            let middle = low.midpoint(high);
            let slot = self.slot_of(middle);
            if slot >= self.slots() {
                // A key was removed meanwhile, so the version has changed.
                break;
            }
            match self.rest(slot).cmp(rest) {
                KeyOrder::Less => low = middle + 1,
                KeyOrder::Equal => return (middle, Some(slot)),
                KeyOrder::Greater => high = middle,
            }
        }
        (low, None)
    }
}
