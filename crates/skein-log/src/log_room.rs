//! The room of a log: the bytes that its buffer may hold, so that each has a place on the disk.
//!
//! ```text
//!   active segment                     next segment, ready
//!   ██████ written ░░░ rest ░░░│margin  ░░░░░░░ all of it ░░░░░░░│margin
//!                  └─ limit = the larger one of both ─┘
//! ```
//!
//! At `buffered` a write is acknowledged while its record is in the buffer. On a full disk the
//! record would stay there, and a kill would lose it. So operations enter only while the buffer
//! holds less than the limit; then the commit of the acknowledged records needs no new segment.
//!
//! 1. The records of both open epochs fit: all into the rest of the active segment, or all into the
//!    next one. A commit that does not fit into the rest goes to the next segment, and so does
//!    every later one.
//! 2. The margin is for the marks, and for the records of operations that are inside when the limit
//!    is reached. An operation with more than the margin may pass the limit. On a full disk its
//!    epoch is then not durable until there is room.
//! 3. Bytes that were taken out of the buffer count until their position is reserved, so the sum of
//!    the buffer and the written bytes never seems smaller than it is.
//! 4. No wake-up is lost. A thread that finds no room wakes the log's writer thread, then looks
//!    again and waits under the buffer's lock. The writer thread waits until the next segment is
//!    ready, and then wakes those that wait, under the same lock. If it does so before the thread
//!    waits, the thread's second look comes later, and sees the segment.
//!
//! At `sync` there is no limit, because nothing is acknowledged before it is durable.

use std::sync::Mutex;

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::locks::lock;

use crate::planted_bugs::{self, PlantedBug};
use crate::record::SegmentLink;
use crate::segment::SEGMENT_HEADER;

/// The largest margin of a segment, in bytes; a small segment keeps a quarter.
const MARGIN: u64 = 1 << 20;

/// The room of one log; see the module head.
#[derive(Debug)]
pub struct LogRoom {
    /// `None` if there is no limit.
    parts: Option<Mutex<RoomParts>>,
    /// A copy for threads that enter.
    limit: AtomicU64,
}

/// Bytes without the margins.
#[derive(Debug, Default)]
struct RoomParts {
    active: u64,
    next: u64,
    /// The margin of the active segment.
    margin: u64,
}

fn margin(capacity: u64) -> u64 {
    (capacity / 4).min(MARGIN)
}

impl LogRoom {
    /// Creates the room of a log without a segment. Without `is_bounded` it has no limit.
    pub fn new(is_bounded: bool) -> Self {
        Self {
            parts: is_bounded.then(Mutex::default),
            limit: AtomicU64::new(if is_bounded { 0 } else { u64::MAX }),
        }
    }

    /// Returns the bytes that the buffer may hold.
    #[inline]
    pub fn limit(&self) -> u64 {
        if planted_bugs::is_on(PlantedBug::EntryWithoutRoom) {
            return u64::MAX;
        }
        // Relaxed: a hint; no other data depends on it.
        self.limit.load(Ordering::Relaxed)
    }

    /// Returns whether writes that were refused may continue: the next segment is ready, or the
    /// active one has some room beyond its margin.
    pub fn is_enough(&self) -> bool {
        self.parts.as_ref().is_none_or(|parts| {
            let parts = lock(parts);
            parts.next > 0 || parts.active > parts.margin
        })
    }

    /// Notes the end of the records in the active segment. The log's file lock must be held.
    pub fn set_active(&self, capacity: u64, end: u64) {
        self.change(|parts| {
            parts.margin = margin(capacity);
            parts.active = capacity.saturating_sub(end + parts.margin);
        });
    }

    /// Notes the capacity of the next segment, which is ready; 0 if no segment is ready.
    pub fn set_next(&self, capacity: u64) {
        let begun = (SEGMENT_HEADER + SegmentLink::RECORD_LEN) as u64;
        self.change(|parts| parts.next = capacity.saturating_sub(begun + margin(capacity)));
    }

    fn change(&self, change: impl FnOnce(&mut RoomParts)) {
        if let Some(parts) = &self.parts {
            let mut parts = lock(parts);
            change(&mut parts);
            self.limit.store(parts.active.max(parts.next), Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_larger_one_of_both_segments() {
        let room = LogRoom::new(true);
        assert_eq!((room.limit(), room.is_enough()), (0, false));
        room.set_next(1 << 20);
        let whole = (768 << 10) - (SEGMENT_HEADER + SegmentLink::RECORD_LEN) as u64;
        assert_eq!((room.limit(), room.is_enough()), (whole, true));
        room.set_next(0);
        room.set_active(64 << 20, 60 << 20);
        assert_eq!((room.limit(), room.is_enough()), (3 << 20, true));
        room.set_active(64 << 20, 62 << 20);
        assert_eq!((room.limit(), room.is_enough()), (1 << 20, false));
        room.set_active(64 << 20, 70 << 20);
        assert_eq!(room.limit(), 0, "a large record made the segment longer");
    }

    #[test]
    fn without_a_limit_nothing_changes() {
        let room = LogRoom::new(false);
        room.set_active(100, 100);
        room.set_next(0);
        assert_eq!((room.limit(), room.is_enough()), (u64::MAX, true));
    }
}
