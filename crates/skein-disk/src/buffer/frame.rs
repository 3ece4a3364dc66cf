//! Frames: pages in memory.
//!
//! # Invariants
//! 1. The bytes of a frame never change. A writer that changes a page makes a new frame for it
//!    (`writer.rs`). So a reader needs no lock.
//! 2. `dirty` changes once, from true to false, after the bytes were written. From then on `place`
//!    is their position. Both change under the lock of the page's stripe.
//! 3. The place of a frame has one more reason to be kept for each of `claimed` and `kept`. The
//!    thread that writes the frame adds them, before `dirty` changes.

use std::sync::{Mutex, OnceLock};

use skein_sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use skein_sync::locks::lock;

use super::retired_frames::RetiredFrameCount;
use crate::page::{PageId, PagePlace};
use crate::page_buf::PageBuf;
use crate::page_file::{PageMemory, PlaceReservation};
use crate::policy::USES_MOST;

/// The value of `references` in a frame that is evicted or about to be: it accepts no new
/// reference.
const CLOSED: u32 = u32::MAX;

/// A page in memory.
#[derive(Debug)]
pub(super) struct PageFrame {
    pub(super) id: PageId,
    pub(super) bytes: PageMemory,
    /// The number of references, or [`CLOSED`].
    references: AtomicU32,
    /// The number of uses up to a maximum, minus those that the policy took.
    uses: AtomicU8,
    dirty: AtomicBool,
    /// The publication that made this version; 0 if the page was read from the file.
    born: u64,
    /// Whether a running checkpoint needs this version of the page (invariant 3).
    claimed: AtomicBool,
    /// The number of kept versions in memory that have the frame (invariant 3): two for a moment,
    /// if it is kept again before the first one has ended.
    kept: AtomicU32,
    place: AtomicU32,
    /// The place that is promised to a dirty frame.
    reservation: Mutex<Option<PlaceReservation>>,
    /// Set when the frame is taken out of the table.
    retired: OnceLock<RetiredFrameCount>,
}

impl PageFrame {
    /// Makes a frame of a page that was read from a place.
    pub(super) fn read(id: PageId, bytes: PageMemory, place: PagePlace) -> Self {
        Self::new(id, bytes, 0, Some(place), None)
    }

    /// Makes a frame of a page that publication `born` changes, with a promised place to write it
    /// to.
    pub(super) fn changed(id: PageId, bytes: PageBuf, born: u64, reservation: PlaceReservation) -> Self {
        Self::new(id, PageMemory::Owned(bytes), born, None, Some(reservation))
    }

    fn new(
        id: PageId,
        bytes: PageMemory,
        born: u64,
        place: Option<PagePlace>,
        reservation: Option<PlaceReservation>,
    ) -> Self {
        Self {
            id,
            bytes,
            references: AtomicU32::new(0),
            uses: AtomicU8::new(0),
            dirty: AtomicBool::new(place.is_none()),
            born,
            claimed: AtomicBool::new(false),
            kept: AtomicU32::new(0),
            place: AtomicU32::new(place.map_or(0, |place| place.0)),
            reservation: Mutex::new(reservation),
            retired: OnceLock::new(),
        }
    }

    /// Takes the promised place. Returns `None` if it was taken before.
    pub(super) fn take_reservation(&self) -> Option<PlaceReservation> {
        lock(&self.reservation).take()
    }

    /// Returns the promised place after a failed write.
    pub(super) fn put_reservation(&self, reservation: PlaceReservation) {
        *lock(&self.reservation) = Some(reservation);
    }

    /// Counts the frame as retired until it is dropped. Only the first call counts: a frame that
    /// was kept for a snapshot may be retired by the table and by the snapshot.
    pub(super) fn count_as_retired(&self, counted: RetiredFrameCount) {
        drop(self.retired.set(counted));
    }

    /// Adds a reference. Returns false if the frame is closed.
    pub(super) fn refer(&self) -> bool {
        let more = |references| Some(references).filter(|count| *count != CLOSED).map(|count| count + 1);
        // AcqRel: pairs with `close`: either `close` sees the reference, or the reference is
        // refused.
        self.references.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// Releases a reference.
    pub(super) fn release(&self) {
        // Release: pairs with the Acquire in `close`.
        self.references.fetch_sub(1, Ordering::Release);
    }

    pub(super) fn is_referred(&self) -> bool {
        // Relaxed: a hint; `close` decides.
        !matches!(self.references.load(Ordering::Relaxed), 0 | CLOSED)
    }

    /// Refuses all later references. Returns false and changes nothing if there is a reference.
    pub(super) fn close(&self) -> bool {
        // AcqRel: pairs with `refer` and `release`.
        self.references.compare_exchange(0, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Undoes a [`close`](Self::close).
    pub(super) fn reopen(&self) {
        // Release: as in `release`.
        self.references.store(0, Ordering::Release);
    }

    #[inline]
    pub(super) fn count_use(&self) {
        // Relaxed, in two steps: a lost use does no harm, and the cache line is written only if the
        // count changes.
        let uses = self.uses.load(Ordering::Relaxed);
        if uses < USES_MOST {
            self.uses.store(uses + 1, Ordering::Relaxed);
        }
    }

    /// Takes one of the counted uses. Returns false if there was no use left.
    pub(super) fn take_use(&self) -> bool {
        let uses = self.uses.load(Ordering::Relaxed);
        self.uses.store(uses.saturating_sub(1), Ordering::Relaxed);
        uses > 0
    }

    pub(super) fn is_dirty(&self) -> bool {
        // Acquire: pairs with the Release in `set_written`.
        self.dirty.load(Ordering::Acquire)
    }

    /// Returns the frame's place in the file, or `None` while it is dirty.
    pub(super) fn place(&self) -> Option<PagePlace> {
        if self.is_dirty() { None } else { Some(PagePlace(self.place.load(Ordering::Relaxed))) }
    }

    /// Marks the frame as needed by a checkpoint. The caller holds the page's stripe lock.
    pub(super) fn claim(&self) {
        // Relaxed: all accesses are under the stripe's lock.
        self.claimed.store(true, Ordering::Relaxed);
    }

    /// Removes the mark of a checkpoint. Returns the place that was kept for it, if there is one.
    /// The caller holds the page's stripe lock.
    pub(super) fn unclaim(&self) -> Option<PagePlace> {
        self.claimed.store(false, Ordering::Relaxed);
        self.place()
    }

    pub(super) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Relaxed)
    }

    /// Returns the publication that made this version; 0 if it is not known.
    pub(super) fn born(&self) -> u64 {
        self.born
    }

    /// Counts the frame as kept for a snapshot. The caller holds the page's stripe lock, unless the
    /// frame was written: then the count adds no reason any more.
    pub(super) fn keep(&self) {
        // SeqCst: as in `end_keep`.
        self.kept.fetch_add(1, Ordering::SeqCst);
    }

    /// Undoes one [`keep`](Self::keep). The caller holds the page's stripe lock, unless the frame
    /// was written. It takes over the reason for the frame's place, if there is one.
    pub(super) fn end_keep(&self) {
        // SeqCst, like the swap of a publication and `is_kept`: either the writer that replaces the
        // frame sees the count fall, or the caller sees the frame replaced (`release_version`).
        let before = self.kept.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "the frame of page {:?} was not kept", self.id);
    }

    /// Returns the number of kept versions that have the frame.
    pub(super) fn times_kept(&self) -> u32 {
        self.kept.load(Ordering::SeqCst)
    }

    pub(super) fn is_kept(&self) -> bool {
        self.times_kept() > 0
    }

    /// Notes that the bytes were written to a place (invariant 2).
    pub(super) fn set_written(&self, place: PagePlace) {
        self.place.store(place.0, Ordering::Relaxed);
        // Release: pairs with the Acquire in `is_dirty`.
        self.dirty.store(false, Ordering::Release);
    }
}
