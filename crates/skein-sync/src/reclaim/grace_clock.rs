//! A clock of grace periods: tells whether all guards of a moment have ended.
//!
//! ```text
//!   period    0        │ 1              │ 2
//!   unlink ──► now()=0 │ ──► beacon 0 retired ──► .. last old guard ends ──► passed = 1
//! ```
//!
//! A collector calls a reclaimer for each object. Memory inside an object, such as an old value in
//! a page, is too small for that. Its owner notes the period in which it was unlinked, and uses it
//! again when that period has passed.
//!
//! # Protocol
//! 1. An owner unlinks with a `SeqCst` store and then loads the period, `SeqCst` too.
//! 2. A period ends by an addition to `now`, and then the thread that added retires a *beacon*. So
//!    whatever was noted in the period was unlinked before the beacon was retired. A guard that is
//!    taken later sees it unlinked, as it would an object that was retired with the beacon.
//! 3. The beacon's reclaimer runs when all other guards have ended. It raises `passed` to the number
//!    of the next period. The next period begins, at the earliest, when `passed` has this number.
//! 4. A thread that is due while a beacon is under way retires one more for the same period. Its load
//!    of `now` comes after the addition, so its beacon proves as much. The first one may lie in the
//!    batch of a thread that has ended or is idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{GracePeriod, Guard};

/// Beacons that are retired together. A batch is handed over only if it has an object for each
/// active guard.
const BEACONS: usize = 16;

/// A clock of grace periods, for memory that is used again and not freed.
///
/// ```
/// use skein_sync::reclaim::{Collector, GraceClock};
///
/// let (collector, clock) = (Collector::new(), GraceClock::default());
/// let unlinked = clock.now();
/// assert!(!clock.has_passed(unlinked));
/// while !clock.has_passed(unlinked) {
///     clock.request(&collector.enter());
/// }
/// ```
#[derive(Debug, Default)]
pub struct GraceClock {
    now: AtomicU32,
    /// All periods before this one have passed.
    passed: Arc<AtomicU32>,
    requests: AtomicU32,
}

/// A retired object that reports the end of a period.
struct Beacon {
    passed: Arc<AtomicU32>,
    next: u32,
}

impl GraceClock {
    /// The requests that end a period. A period costs some microseconds, because all processors
    /// are told.
    const REQUESTS: u32 = if cfg!(miri) { 4 } else { 1 << 10 };

    /// Returns the present period. Memory that was unlinked by a `SeqCst` store before the call may
    /// be used again when [`has_passed`](Self::has_passed) says so of this period.
    #[inline]
    pub fn now(&self) -> u32 {
        // SeqCst: protocol 1 and 2, with the exchange in `request`.
        self.now.load(Ordering::SeqCst)
    }

    /// Returns whether all guards that were active in a period have ended.
    #[inline]
    pub fn has_passed(&self, period: u32) -> bool {
        // Acquire: pairs with the Release in `reclaim`, after the last reads of those guards.
        self.passed.load(Ordering::Acquire) > period
    }

    /// Asks for the end of the present period. One request of many ends it, so this may be called
    /// whenever something waits. The caller holds no lock that a reclaimer takes.
    #[inline]
    pub fn request(&self, guard: &impl Guard) {
        // Relaxed, and not one step: a lost request is made again.
        let requests = self.requests.load(Ordering::Relaxed) + 1;
        self.requests.store(requests % Self::REQUESTS, Ordering::Relaxed);
        if requests == Self::REQUESTS {
            self.end_period(guard);
        }
    }

    #[cold]
    fn end_period(&self, guard: &impl Guard) {
        let period = self.passed.load(Ordering::Relaxed);
        // The last period does not end: what is unlinked in it is never used again.
        if let Some(next) = period.checked_add(1) {
            // SeqCst: protocol 1, 2 and 4.
            let added = self.now.compare_exchange(period, next, Ordering::SeqCst, Ordering::SeqCst);
            let next = added.map_or_else(|under_way| under_way, |_| next);
            let beacon = Box::new(Beacon { passed: Arc::clone(&self.passed), next });
            // SAFETY: nobody else has the beacon, and the reclaimer takes it once, on any thread.
            unsafe { guard.defer_retire(Box::into_raw(beacon), reclaim) };
        }
        for _ in 1..BEACONS {
            // SAFETY: its reclaimer does not use the pointer.
            unsafe { guard.defer_retire(std::ptr::dangling_mut::<u8>(), |_, _| {}) };
        }
        guard.flush();
    }
}

unsafe fn reclaim(beacon: *mut Beacon, _: &GracePeriod) {
    // SAFETY: from `Box::into_raw` in `end_period`; the collector passes it once.
    let beacon = unsafe { Box::from_raw(beacon) };
    // Release: pairs with the Acquire in `has_passed`. Beacons may come late, so `passed` never falls.
    beacon.passed.fetch_max(beacon.next, Ordering::Release);
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use crate::reclaim::Collector;

    fn request_all(clock: &GraceClock, collector: &Collector) {
        for _ in 0..4 * GraceClock::REQUESTS {
            clock.request(&collector.enter());
        }
    }

    #[test]
    fn a_period_passes_when_its_guards_have_ended() {
        let (collector, clock) = (Collector::new(), GraceClock::default());
        let guard = collector.enter_owned();
        let unlinked = clock.now();
        request_all(&clock, &collector);
        assert!(clock.now() > unlinked, "the period ended");
        assert!(!clock.has_passed(unlinked), "a guard of the period is active");
        drop(guard);
        assert!(clock.has_passed(unlinked));
        assert!(!clock.has_passed(clock.now()));
        let second = clock.now();
        request_all(&clock, &collector);
        assert!(clock.has_passed(second));
    }

    #[test]
    fn many_guards_do_not_stop_the_clock() {
        let (collector, clock) = (Collector::new(), GraceClock::default());
        let guards: Vec<_> = (0..3 * BEACONS).map(|_| collector.enter_owned()).collect();
        request_all(&clock, &collector);
        drop(guards);
        request_all(&clock, &collector);
        assert!(clock.has_passed(0));
    }

    /// Incident: a beacon lay in the batch of a thread that had ended, which was too small for the
    /// guards of that time. Consequence: the clock stood still. Fix: threads that are due later
    /// retire beacons of their own.
    fn the_clock_goes_on_after(end_a_period: impl FnOnce(&GraceClock, &Collector)) {
        let (collector, clock) = (Collector::new(), GraceClock::default());
        let guards: Vec<_> = (0..BEACONS + 4).map(|_| collector.enter_owned()).collect();
        end_a_period(&clock, &collector);
        assert_eq!(clock.now(), 1);
        drop(guards);
        request_all(&clock, &collector);
        assert!(clock.has_passed(0));
    }

    #[test]
    fn a_beacon_of_a_thread_that_ended_does_not_stop_the_clock() {
        the_clock_goes_on_after(|clock, collector| {
            std::thread::scope(|scope| {
                scope.spawn(|| (0..GraceClock::REQUESTS).for_each(|_| clock.request(&collector.enter())));
            });
        });
    }

    #[test]
    fn a_beacon_of_an_owned_guard_does_not_stop_the_clock() {
        the_clock_goes_on_after(|clock, collector| {
            let own = collector.enter_owned();
            (0..GraceClock::REQUESTS).for_each(|_| clock.request(&own));
        });
    }

    #[test]
    fn the_collector_may_outlive_the_clock() {
        let (collector, clock) = (Collector::new(), GraceClock::default());
        let guard = collector.enter_owned();
        request_all(&clock, &collector);
        drop(clock);
        drop(guard);
        drop(collector);
    }
}
