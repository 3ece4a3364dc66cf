//! Leaves: up to 128 keys between two anchors, as a small hash table and a list in key order.
//!
//! ```text
//!   lines 0, 1    version, next, prev, counts, spilled lines; flags: a bit per slot;
//!                 the anchor, or its address if it is longer than 80 bytes
//!   lines 2, 3    order: which slot holds the first key, the second, ...;
//!                 the tail is in any order
//!   lines 4 - 19  slots: 16 lines of 8 tagged pointers to records
//! ```
//!
//! A key's tag determines the line of its slot. If that line is full, the slot is in one of the
//! next lines, and `spilled` has the full line's bit. So a lookup knows both lines that it needs,
//! the header and the slots' line, as soon as it knows the leaf, and fetches them together. The
//! paper sorts a leaf's tags and guesses the position from their number. That costs one more
//! dependent read, and each insert moves half of the tags (section 3.2). Here an insert moves
//! nothing and becomes visible by one store.
//!
//! # Invariants
//! 1. A leaf is used only while it is live: it was reached under a guard that is still held, or it
//!    is not shared yet, or the index is borrowed mutably.
//! 2. The anchor's bytes never change. The links, and whether the anchor is `terminated`, change
//!    only under the lock of the table (`meta_trie.rs`).
//! 3. Slots, counts and order change only under the leaf's lock. A change that moves a key out of a
//!    reader's reach (a split, a merge), or that rearranges the order, marks the version first. An
//!    insert or removal of a single key is one store to a slot; a lookup needs no mark for it. A
//!    record's rank is written before the record.
//! 4. A record is in at most one slot of the leaves that are not deleted, except during a split or
//!    a merge, when both leaves are locked and marked. A deleted leaf has no records.
//! 5. If a key's record is not in its tag's line, all lines from that line up to the record's line
//!    are `spilled`.
//!
//! Design: `docs/design/wormhole.md`.

mod order;
mod slots;

use std::ptr::NonNull;

use skein_sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};
use skein_sync::reclaim::{GracePeriod, Guard, PROTECT};
use skein_sync::version::{Version, VersionWord};

pub(super) use slots::{LeafRanks, home, looks_like};

use super::line::LINE;
use super::variant::WormholeSettings;
use crate::memory::{Arena, CACHE_LINE, MemoryPart, address_of, at_address, prefetch_lines, prefetch_read};

/// Lines of slots.
pub(in crate::wormhole) const LINES: usize = if cfg!(skein_loom) { 1 } else { 16 };
/// Slots in a leaf.
pub(in crate::wormhole) const SLOTS: usize = LINE * LINES;
/// Maximum length of an anchor that lies in the leaf. Up to 32 bytes lie in the first line,
/// starting at its second half, so that a comparison by 32 bytes reads no other line.
const NEAR: usize = 80;
/// How many lines after a full one an insert prefetches.
const SPILLED_AHEAD: usize = 4;
/// Words of the flags.
const FLAGS: usize = SLOTS.div_ceil(64);

#[repr(C, align(64))]
struct LeafBody {
    version: VersionWord,
    next: AtomicU64,
    prev: AtomicU64,
    anchor_len: u16,
    spilled: AtomicU16,
    /// Keys in the leaf.
    count: AtomicU8,
    /// The number of leading entries of `order` that are in key order.
    sorted: AtomicU8,
    terminated: AtomicU8,
    /// Whether the tags of the records are of the keyed hash.
    keyed: AtomicU8,
    anchor: AnchorBytes,
    /// By slot: the value of its key, in an index that keeps values here (`value.rs`).
    flags: [AtomicU64; FLAGS],
    order: LeafOrder,
    slots: LeafSlots,
}

/// An anchor's bytes: `near` if there are at most [`NEAR`], otherwise allocated at `far`.
union AnchorBytes {
    near: [u8; NEAR],
    far: NonNull<u8>,
}

const _: () = assert!(cfg!(skein_loom) || std::mem::offset_of!(LeafBody, anchor) == CACHE_LINE / 2);

#[repr(align(64))]
struct LeafOrder([AtomicU64; SLOTS / 8]);

#[repr(align(64))]
struct LeafSlots([AtomicU64; SLOTS]);

/// A leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wormhole) struct WormholeLeaf(NonNull<LeafBody>);

/// The position of a key relative to a leaf's range.
#[derive(Clone, Copy, Debug)]
pub(in crate::wormhole) enum LeafSide {
    /// Below the anchor.
    Left,
    /// In the leaf's range.
    Inside,
    /// At or above the next leaf's anchor.
    Right(WormholeLeaf),
}

impl WormholeLeaf {
    /// Allocates a leaf without keys, with this version and anchor.
    pub(in crate::wormhole) fn new(arena: &Arena, version: Version, anchor: &[u8]) -> Self {
        let bytes = if anchor.len() > NEAR {
            let far = arena.alloc(anchor.len(), MemoryPart::Nodes);
            // SAFETY: allocated with this size, and exclusively ours.
            unsafe { std::ptr::copy_nonoverlapping(anchor.as_ptr(), far.as_ptr(), anchor.len()) };
            AnchorBytes { far }
        } else {
            let mut near = [0; NEAR];
            near[..anchor.len()].copy_from_slice(anchor);
            AnchorBytes { near }
        };
        let body = LeafBody {
            version: VersionWord::new(version),
            next: AtomicU64::new(0),
            prev: AtomicU64::new(0),
            anchor_len: u16::try_from(anchor.len()).expect("an anchor has at most MAX_KEY_LEN bytes"),
            spilled: AtomicU16::new(0),
            count: AtomicU8::new(0),
            sorted: AtomicU8::new(0),
            terminated: AtomicU8::new(0),
            keyed: AtomicU8::new(0),
            anchor: bytes,
            flags: std::array::from_fn(|_| AtomicU64::new(0)),
            order: LeafOrder(std::array::from_fn(|_| AtomicU64::new(0))),
            slots: LeafSlots(std::array::from_fn(|_| AtomicU64::new(0))),
        };
        let block = arena.alloc(size_of::<LeafBody>(), MemoryPart::Nodes).cast::<LeafBody>();
        block.as_ptr().expose_provenance();
        // SAFETY: the size is a multiple of a line, so the block begins on one; it is exclusively
        // ours.
        unsafe { block.write(body) };
        Self(block)
    }

    /// Returns the leaf at an address.
    ///
    /// # Safety
    /// The address came from [`Self::address`], and invariant 1 holds for the leaf.
    #[inline(always)]
    pub(in crate::wormhole) unsafe fn from_address(address: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { at_address(address) })
    }

    #[inline(always)]
    pub(in crate::wormhole) fn address(self) -> u64 {
        address_of(self.0)
    }

    #[inline(always)]
    fn body<'a>(self) -> &'a LeafBody {
        // SAFETY: the leaf is live (invariant 1); all of its fields that change are atomic.
        unsafe { self.0.as_ref() }
    }

    /// Returns the version word. A single-threaded index does not maintain it, so all callers but
    /// [`LeafLatch`](super::latch::LeafLatch) use the four methods below.
    #[inline(always)]
    pub(in crate::wormhole) fn version<'a>(self) -> &'a VersionWord {
        &self.body().version
    }

    /// Returns the version as it is now, perhaps in the middle of a change.
    #[inline(always)]
    pub(in crate::wormhole) fn peek<V: WormholeSettings>(self) -> Version {
        if V::ONE_THREAD { Version::BORDER } else { self.version().peek() }
    }

    /// Returns a version at which no writer is rearranging the leaf. Blocks while one is.
    #[inline(always)]
    pub(in crate::wormhole) fn stable<V: WormholeSettings>(self) -> Version {
        if V::ONE_THREAD { Version::BORDER } else { self.version().stable() }
    }

    /// Returns whether the leaf was rearranged since `seen`.
    #[inline(always)]
    pub(in crate::wormhole) fn changed<V: WormholeSettings>(self, seen: Version) -> bool {
        !V::ONE_THREAD && self.version().changed(seen)
    }

    /// Returns whether the leaf was merged into its left neighbour.
    #[inline(always)]
    pub(in crate::wormhole) fn is_deleted<V: WormholeSettings>(self) -> bool {
        self.peek::<V>().is_deleted()
    }

    /// Prefetches the header's first line and the tag's line of slots.
    #[inline(always)]
    pub(in crate::wormhole) fn prefetch(self, tag: u16) {
        let start = self.0.as_ptr().cast::<u8>();
        prefetch_read(start);
        let slots = std::mem::offset_of!(LeafBody, slots) + home(tag) * CACHE_LINE;
        prefetch_read(start.wrapping_add(slots));
    }

    /// Prefetches the order too, for writes.
    #[inline(always)]
    pub(in crate::wormhole) fn prefetch_with_order(self, tag: u16) {
        self.prefetch(tag);
        self.prefetch_header();
        let order = self.0.as_ptr().cast::<u8>().wrapping_add(std::mem::offset_of!(LeafBody, order));
        prefetch_lines::<{ SLOTS.div_ceil(CACHE_LINE) }, _>(order);
    }

    /// Prefetches the header's first line, which contains a short anchor.
    #[inline(always)]
    pub(in crate::wormhole) fn prefetch_first(self) {
        prefetch_read(self.0.as_ptr().cast::<u8>());
    }

    /// Prefetches the lines that an insert needs in addition to those of [`Self::prefetch`]: the
    /// flags, the end of the order, and the lines of slots after a spilled one. Reads the header's
    /// first line.
    #[inline(always)]
    pub(in crate::wormhole) fn prefetch_for_insert(self, tag: u16) {
        let start = self.0.as_ptr().cast::<u8>();
        prefetch_read(start.wrapping_add(std::mem::offset_of!(LeafBody, flags)));
        prefetch_read(start.wrapping_add(std::mem::offset_of!(LeafBody, order) + self.count()));
        let (spilled, mut line) = (self.spilled(), home(tag));
        for _ in 0..SPILLED_AHEAD {
            if spilled & 1 << line == 0 {
                break;
            }
            line = (line + 1) % LINES;
            prefetch_read(start.wrapping_add(std::mem::offset_of!(LeafBody, slots) + line * CACHE_LINE));
        }
    }

    /// Prefetches the header with the anchor.
    #[inline(always)]
    pub(in crate::wormhole) fn prefetch_header(self) {
        const LINES_OF_HEADER: usize = std::mem::offset_of!(LeafBody, order) / CACHE_LINE;
        prefetch_lines::<LINES_OF_HEADER, _>(self.0.as_ptr());
    }

    /// Prefetches all lines, for seeks and scans.
    #[inline(always)]
    pub(in crate::wormhole) fn prefetch_all(self) {
        const LINES_IN_ALL: usize = size_of::<LeafBody>() / CACHE_LINE;
        prefetch_lines::<LINES_IN_ALL, _>(self.0.as_ptr());
    }

    /// Returns the anchor's bytes, without the terminator.
    #[inline(always)]
    pub(in crate::wormhole) fn anchor<'a>(self) -> &'a [u8] {
        let body = self.body();
        let length = body.anchor_len.into();
        // SAFETY: `new` chose the field by the same length. A far anchor is allocated with this
        // size. Neither changes, and both live as long as the leaf (invariants 1 and 2).
        unsafe {
            match self.far() {
                None => &body.anchor.near[..length],
                Some(far) => std::slice::from_raw_parts(far.as_ptr(), length),
            }
        }
    }

    /// Returns the anchor's bytes, if they lie outside the leaf.
    #[inline(always)]
    fn far(self) -> Option<NonNull<u8>> {
        let body = self.body();
        if usize::from(body.anchor_len) > NEAR {
            // SAFETY: `new` has written `far` for anchors of this length.
            Some(unsafe { body.anchor.far })
        } else {
            None
        }
    }

    /// Returns whether the anchor ends with the terminator, which is less than every byte.
    pub(in crate::wormhole) fn is_terminated(self) -> bool {
        self.body().terminated.load(Ordering::Relaxed) != 0
    }

    /// Sets whether the anchor ends with the terminator. The caller must hold the table's lock.
    pub(in crate::wormhole) fn set_terminated(self, terminated: bool) {
        // Relaxed: read under the same lock.
        self.body().terminated.store(terminated.into(), Ordering::Relaxed);
    }

    /// Returns whether the tags of the records are of the keyed hash.
    #[inline(always)]
    pub(in crate::wormhole) fn is_keyed(self) -> bool {
        // Relaxed: it changes together with the records' tags, and a reader that finds nothing
        // checks the version.
        self.body().keyed.load(Ordering::Relaxed) != 0
    }

    /// Sets whether the tags are of the keyed hash. The caller must hold the lock and replace the
    /// records' tags.
    pub(in crate::wormhole) fn set_keyed(self, keyed: bool) {
        self.body().keyed.store(keyed.into(), Ordering::Relaxed);
    }

    /// Returns the leaf to the right.
    #[inline(always)]
    pub(in crate::wormhole) fn next(self) -> Option<Self> {
        let address = self.body().next.load(PROTECT);
        // SAFETY: a leaf is unlinked before it is retired; callers hold a guard.
        (address != 0).then(|| unsafe { Self::from_address(address) })
    }

    /// Returns the leaf to the left. For a deleted leaf, that is the one which took over its keys.
    #[inline(always)]
    pub(in crate::wormhole) fn prev(self) -> Option<Self> {
        let address = self.body().prev.load(PROTECT);
        // SAFETY: as in `next`.
        (address != 0).then(|| unsafe { Self::from_address(address) })
    }

    /// Links the leaf to the right. The caller must hold the leaf's lock and the table's.
    pub(in crate::wormhole) fn set_next(self, next: Option<Self>) {
        // Release: pairs with the load in `next`; the leaf is initialised.
        self.body().next.store(next.map_or(0, Self::address), Ordering::Release);
    }

    /// Links the leaf to the left. The caller must hold the table's lock.
    pub(in crate::wormhole) fn set_prev(self, prev: Option<Self>) {
        // Release: pairs with the load in `prev`.
        self.body().prev.store(prev.map_or(0, Self::address), Ordering::Release);
    }

    /// Returns the position of `key` relative to the leaf's range. The answer for the right side
    /// holds while the leaf's version does not change.
    #[inline]
    pub(in crate::wormhole) fn side_of(self, key: &[u8]) -> LeafSide {
        match self.next() {
            Some(next) if key >= next.anchor() => LeafSide::Right(next),
            _ if key < self.anchor() => LeafSide::Left,
            _ => LeafSide::Inside,
        }
    }

    /// Frees the leaf and its anchor.
    ///
    /// # Safety
    /// No thread can reach the leaf, and it is counted as `part`.
    pub(in crate::wormhole) unsafe fn free(self, part: MemoryPart) {
        let (far, length) = (self.far(), self.anchor().len());
        // SAFETY: allocated in `new` with these sizes; the rest is the caller's promise.
        unsafe {
            if let Some(far) = far {
                Arena::free(far, length, part);
            }
            self.0.drop_in_place();
            Arena::free(self.0.cast(), size_of::<LeafBody>(), part);
        }
    }

    /// Frees the leaf when no thread can see it any more.
    ///
    /// # Safety
    /// The leaf is unlinked: no guard entered from now on can reach it.
    pub(in crate::wormhole) unsafe fn retire(self, guard: &impl Guard) {
        unsafe fn reclaim(body: *mut LeafBody, _: &GracePeriod) {
            // SAFETY: the collector passes the pointer that `retire` gave it, after the grace
            // period.
            unsafe { WormholeLeaf(NonNull::new_unchecked(body)).free(MemoryPart::Retired) };
        }
        // SAFETY: live and counted as `Nodes`; the caller guarantees that it is unlinked.
        unsafe {
            if let Some(far) = self.far() {
                Arena::recount(far, self.anchor().len(), MemoryPart::Nodes, MemoryPart::Retired);
            }
            Arena::recount(self.0.cast(), size_of::<LeafBody>(), MemoryPart::Nodes, MemoryPart::Retired);
            guard.defer_retire(self.0.as_ptr(), reclaim);
        }
    }
}
