//! Frames: pages in memory.
//!
//! # Invariants
//! 1. The bytes of a frame never change: who changes a page makes another frame of it (`writer.rs`). So a reader needs no lock.
//! 2. `dirty` goes from true to false once, when the bytes have been written; then `place` says where. Both under the lock of the page's stripe.

use std::sync::{Mutex, OnceLock};

use skein_sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use skein_sync::locks::lock;

use super::retired_frames::RetiredFrameCount;
use crate::page::{PageId, PagePlace};
use crate::page_buf::PageBuf;
use crate::page_file::{PageMemory, PlaceReservation};
use crate::policy::USES_MOST;

/// The frame has left, or is about to: nobody takes a reference any more.
const CLOSED: u32 = u32::MAX;

/// A page in memory.
#[derive(Debug)]
pub(super) struct PageFrame {
    pub(super) id: PageId,
    pub(super) bytes: PageMemory,
    /// How many hold a reference, or [`CLOSED`].
    references: AtomicU32,
    /// How often it was used, up to a most, less what the policy took.
    uses: AtomicU8,
    dirty: AtomicBool,
    /// Whether a checkpoint under way needs this form of the page: then its place has one more reason to be kept.
    claimed: AtomicBool,
    place: AtomicU32,
    /// The place that is promised to it, as long as it is dirty.
    reservation: Mutex<Option<PlaceReservation>>,
    /// Set once the frame is out of the table.
    retired: OnceLock<RetiredFrameCount>,
}

impl PageFrame {
    /// A page as it was read from a place.
    pub(super) fn read(id: PageId, bytes: PageMemory, place: PagePlace) -> Self {
        Self::new(id, bytes, Some(place), None)
    }

    /// A page as it is to be written, at a place that is promised to it.
    pub(super) fn changed(id: PageId, bytes: PageBuf, reservation: PlaceReservation) -> Self {
        Self::new(id, PageMemory::Owned(bytes), None, Some(reservation))
    }

    fn new(
        id: PageId,
        bytes: PageMemory,
        place: Option<PagePlace>,
        reservation: Option<PlaceReservation>,
    ) -> Self {
        Self {
            id,
            bytes,
            references: AtomicU32::new(0),
            uses: AtomicU8::new(0),
            dirty: AtomicBool::new(place.is_none()),
            claimed: AtomicBool::new(false),
            place: AtomicU32::new(place.map_or(0, |place| place.0)),
            reservation: Mutex::new(reservation),
            retired: OnceLock::new(),
        }
    }

    /// Takes its promise; none if that was taken before.
    pub(super) fn take_reservation(&self) -> Option<PlaceReservation> {
        lock(&self.reservation).take()
    }

    /// Gives it a promise again: it was not written.
    pub(super) fn put_reservation(&self, reservation: PlaceReservation) {
        *lock(&self.reservation) = Some(reservation);
    }

    /// Counts the frame as retired until it is dropped.
    pub(super) fn count_as_retired(&self, counted: RetiredFrameCount) {
        let is_first = self.retired.set(counted).is_ok();
        debug_assert!(is_first, "page {} was retired twice", self.id.0);
    }

    /// Takes a reference, unless the frame has left.
    pub(super) fn refer(&self) -> bool {
        let more = |references| Some(references).filter(|count| *count != CLOSED).map(|count| count + 1);
        // AcqRel: pairs with `close`: either it sees the reference, or the reference is not taken.
        self.references.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// Gives a reference back.
    pub(super) fn release(&self) {
        // Release: pairs with the Acquire in `close`.
        self.references.fetch_sub(1, Ordering::Release);
    }

    pub(super) fn is_referred(&self) -> bool {
        // Relaxed: a hint; `close` decides.
        !matches!(self.references.load(Ordering::Relaxed), 0 | CLOSED)
    }

    /// Lets nobody take a reference from now on; false if somebody has one.
    pub(super) fn close(&self) -> bool {
        // AcqRel: pairs with `refer` and `release`.
        self.references.compare_exchange(0, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Takes back a [`close`](Self::close).
    pub(super) fn reopen(&self) {
        // Release: as in `release`.
        self.references.store(0, Ordering::Release);
    }

    /// Counts a use.
    #[inline]
    pub(super) fn count_use(&self) {
        // Relaxed, and two steps: a use that is lost is no harm, and a line that need not be written is not.
        let uses = self.uses.load(Ordering::Relaxed);
        if uses < USES_MOST {
            self.uses.store(uses + 1, Ordering::Relaxed);
        }
    }

    /// Takes one of the uses that were counted; false if there is none.
    pub(super) fn take_use(&self) -> bool {
        let uses = self.uses.load(Ordering::Relaxed);
        self.uses.store(uses.saturating_sub(1), Ordering::Relaxed);
        uses > 0
    }

    pub(super) fn is_dirty(&self) -> bool {
        // Acquire: pairs with the Release in `written`.
        self.dirty.load(Ordering::Acquire)
    }

    /// Where it lies in the file; none as long as it is dirty.
    pub(super) fn place(&self) -> Option<PagePlace> {
        if self.is_dirty() { None } else { Some(PagePlace(self.place.load(Ordering::Relaxed))) }
    }

    /// A checkpoint needs it. The page's stripe is locked.
    pub(super) fn claim(&self) {
        // Relaxed: under the stripe's lock, as who reads it is.
        self.claimed.store(true, Ordering::Relaxed);
    }

    /// No checkpoint needs it any more. Returns the place that was kept for one. The page's stripe is locked.
    pub(super) fn unclaim(&self) -> Option<PagePlace> {
        self.claimed.store(false, Ordering::Relaxed);
        self.place()
    }

    pub(super) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Relaxed)
    }

    /// It has been written there (invariant 2).
    pub(super) fn written(&self, place: PagePlace) {
        self.place.store(place.0, Ordering::Relaxed);
        // Release: pairs with the Acquire in `is_dirty`.
        self.dirty.store(false, Ordering::Release);
    }
}
