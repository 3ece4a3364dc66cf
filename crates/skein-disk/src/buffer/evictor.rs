//! The evictor: a thread that evicts ahead of need, so that a write seldom waits until another page
//! is written.
//!
//! ```text
//!   full cache ─► a thread evicts a changed page by itself ─► wakes the evictor
//!   evictor       evicts until a sixteenth of the cache is free ─► sleeps
//! ```
//!
//! Nobody waits for the evictor. If it falls behind, a thread that needs room evicts pages itself.
//! If a page cannot be written, the evictor sleeps, and the thread that needs room reports the
//! error.

use skein_sync::background::ThreadSignal;

use super::BufferManager;

/// The free share of the cache at which the evictor sleeps, and its most pages.
const FREE_SHARE: usize = 16;
const FREE_MOST: usize = 256;
/// A cache of fewer pages needs all of them, and nothing is evicted ahead.
const LARGE_CACHE: usize = 256;

/// Returns the number of pages that the evictor keeps free in a cache of so many pages.
fn free_pages(capacity: usize) -> usize {
    if capacity < LARGE_CACHE { 0 } else { (capacity / FREE_SHARE).min(FREE_MOST) }
}

impl BufferManager {
    /// Evicts whenever it is woken, until the thread is stopped.
    pub(crate) fn evict_ahead(&self, signal: &ThreadSignal) {
        while signal.wait() {
            while self.is_short_of_room() && !signal.is_stopped() && self.evict_quietly().is_ok() {}
        }
    }

    fn is_short_of_room(&self) -> bool {
        let capacity = self.room.capacity();
        self.room.taken() > capacity - free_pages(capacity)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use skein_log::storage::sim::{SimError, SimStorage};
    use skein_sync::background::BackgroundThread;

    use super::*;
    use crate::page::DiskPageKind;

    fn publish(buffer: &BufferManager, count: usize) -> crate::Result<()> {
        (0..count).try_for_each(|_| {
            let mut writer = buffer.write();
            writer.make(DiskPageKind::Records)?;
            writer.publish()
        })
    }

    fn waits_until(mut is_so: impl FnMut() -> bool) -> bool {
        let begun = Instant::now();
        loop {
            if is_so() {
                return true;
            }
            if begun.elapsed() > Duration::from_secs(10) {
                return false;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_share_of_a_full_cache_becomes_free() {
        let storage = SimStorage::new();
        let buffer = Arc::new(crate::buffer::tests::open(&storage, 320).unwrap());
        let evicting = buffer.clone();
        let thread = BackgroundThread::start("evictor", buffer.evictor.clone(), move |signal| {
            evicting.evict_ahead(signal);
        })
        .unwrap();
        publish(&buffer, 320).unwrap();
        assert_eq!(buffer.stats().evictions, 0, "the cache was not full before");
        publish(&buffer, 1).unwrap();
        // The page of the publication may come after the evictor's last look.
        assert!(waits_until(|| buffer.stats().resident <= 301), "{:?}", buffer.stats());
        assert!(buffer.stats().resident >= 299, "no more than a sixteenth: {:?}", buffer.stats());
        // It does not evict from a disk that fails, and evicts again when it works.
        storage.fail_at(storage.operations() + 1, SimError::NoSpace, true);
        publish(&buffer, 100).expect_err("no page can be written");
        storage.no_faults();
        let is_freed = waits_until(|| {
            publish(&buffer, 1).unwrap();
            buffer.stats().resident <= 301
        });
        assert!(is_freed, "{:?}", buffer.stats());
        thread.stop();
        buffer.check_places();
    }

    #[test]
    fn a_small_cache_keeps_all_its_pages() {
        assert_eq!([16, 255, 256, 320, 4_096, 1 << 20].map(free_pages), [0, 0, 16, 20, 256, 256]);
    }
}
