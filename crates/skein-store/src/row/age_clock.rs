//! The last use of each row, in a few of its bits: a clock that advances with the bytes written,
//! and the stamps that it gives to rows.
//!
//! ```text
//!   a row's first word:   63        52 51                     0
//!                         stamp        version      stamp 0: not noted; REMOVED: not in an index
//! ```
//!
//! A read compares the row's stamp with the clock's, and writes the row's word only if they differ.
//! So a row in use is written once per tick, however often it is read. While the clock is at 0 a
//! read neither compares nor writes. The clock ticks each time a fixed share of the memory limit
//! was written. So a key sees some dozens of ticks between its last use and its eviction, at any
//! rate of writes.
//!
//! While keys are evicted by frequency, the clock has another form, and stamps mean what
//! `use_count` says. After a change of the policy, a row keeps a stamp of the other form until its
//! next use.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::use_count;

/// Bits of the version, below the stamp.
pub(crate) const VERSION_BITS: u32 = 52;
pub(crate) const VERSION_MASK: u64 = (1 << VERSION_BITS) - 1;

/// The stamp of a row that was removed from its index and waits to be freed.
pub(crate) const REMOVED: u64 = !VERSION_MASK;

/// The clock has the stamps from 1 to this.
const STAMPS: u64 = (REMOVED >> VERSION_BITS) - 1;

/// The number of ticks while as many bytes as the limit are written.
const TICKS: usize = 64;

/// The same while frequencies are noted: a count falls by one with each tick.
const FREQUENCY_TICKS: usize = 16;

/// Set in the clock's value while frequencies are noted.
const COUNTING: u64 = 1;

/// What rows note of their use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UseNotes {
    Nothing,
    LastUse,
    Frequency,
}

/// The age of rows that are older than the clock can tell.
pub(crate) const AGE_MAX: u16 = STAMPS as u16;

/// The clock of all rows of a store. (It uses the atomics of std, because the words of rows are in
/// the memory of the arena.)
#[derive(Debug, Default)]
pub(crate) struct AgeClock {
    /// The present stamp, at its position in the word; 0 while use is not noted. Below it,
    /// `COUNTING`.
    now: AtomicU64,
    /// Bytes written since the last tick.
    written: AtomicUsize,
    /// Whether rows are counted when they are removed from their index.
    counts_removed: AtomicBool,
}

impl AgeClock {
    /// Returns the clock's value, for [`stamp_after_use`]; 0 while use is not noted.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        // Relaxed: a number; as all here, it orders nothing.
        self.now.load(Ordering::Relaxed)
    }

    /// Returns the stamp of a new row.
    #[inline]
    pub(crate) fn first_stamp(&self) -> u64 {
        let now = self.now();
        if now & COUNTING == 0 { now } else { use_count::first(now) }
    }

    /// Returns what is noted.
    pub(crate) fn notes(&self) -> UseNotes {
        match self.now() {
            0 => UseNotes::Nothing,
            now if now & COUNTING == 0 => UseNotes::LastUse,
            _ => UseNotes::Frequency,
        }
    }

    /// Starts or stops noting use.
    pub(crate) fn note_use(&self, notes: UseNotes) {
        if notes != self.notes() {
            let first = match notes {
                UseNotes::Nothing => 0,
                UseNotes::LastUse => 1 << VERSION_BITS,
                UseNotes::Frequency => use_count::first_tick() | COUNTING,
            };
            self.now.store(first, Ordering::Relaxed);
        }
    }

    /// Returns whether rows are counted when they are removed from their index.
    #[inline]
    pub(crate) fn counts_removed(&self) -> bool {
        self.counts_removed.load(Ordering::Relaxed)
    }

    pub(crate) fn count_removed(&self, on: bool) {
        self.counts_removed.store(on, Ordering::Relaxed);
    }

    /// Notes that `bytes` bytes were written, and ticks when the bytes since the last tick reach
    /// `limit / TICKS`.
    pub(crate) fn written(&self, bytes: usize, limit: usize) {
        let now = self.now();
        if now == 0 {
            return;
        }
        let tick = limit / if now & COUNTING == 0 { TICKS } else { FREQUENCY_TICKS } + 1;
        let before = self.written.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) >= tick {
            self.written.store(0, Ordering::Relaxed);
            self.tick(now);
        }
    }

    /// Advances from the value `then`. Of two concurrent ticks one is lost. A tick that is
    /// concurrent with the end of noting is lost, too: otherwise it would start noting again.
    fn tick(&self, then: u64) {
        let next = if then & COUNTING == 0 {
            ((then >> VERSION_BITS) % STAMPS + 1) << VERSION_BITS
        } else {
            use_count::next_tick(then) | COUNTING
        };
        _ = self.now.compare_exchange(then, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns how many ticks ago a stamp, at its position in the word, was the present one.
    fn age(&self, stamp: u64) -> u16 {
        let (now, then) = (self.now() >> VERSION_BITS, stamp >> VERSION_BITS);
        if then == 0 || now == 0 {
            return AGE_MAX;
        }
        ((now + STAMPS - then) % STAMPS) as u16
    }

    /// Returns how soon a row with this stamp should be evicted: the greater the sooner.
    pub(crate) fn rank(&self, stamp: u64) -> u16 {
        match self.notes() {
            UseNotes::Frequency => u16::from(u8::MAX - use_count::count(self.now(), stamp)),
            UseNotes::LastUse | UseNotes::Nothing => self.age(stamp),
        }
    }

    /// Returns how often a row with this stamp was used, on a logarithmic scale; `None` unless
    /// frequencies are noted.
    pub(crate) fn frequency(&self, stamp: u64) -> Option<u8> {
        (self.notes() == UseNotes::Frequency).then(|| use_count::count(self.now(), stamp))
    }
}

/// Returns the stamp of a row that is used when the clock's value is `now`.
#[inline]
pub(super) fn stamp_after_use(now: u64, stamp: u64) -> u64 {
    if now & COUNTING == 0 { now } else { use_count::used(now, stamp) }
}

/// Returns the stamp of a row that is visited, but not used.
pub(super) fn stamp_after_visit(now: u64, stamp: u64) -> u64 {
    if now & COUNTING == 0 { stamp } else { use_count::settled(now, stamp) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_ticks_by_bytes_written_and_wraps() {
        let ages = AgeClock::default();
        ages.written(1 << 30, 6400);
        assert_eq!((ages.now(), ages.age(0)), (0, AGE_MAX), "use is not noted");
        ages.note_use(UseNotes::LastUse);
        let first = ages.now();
        assert_eq!((first >> VERSION_BITS, ages.age(first)), (1, 0));
        ages.written(50, 6400);
        assert_eq!(ages.age(first), 0);
        ages.written(51, 6400);
        assert_eq!(ages.age(first), 1);
        for _ in 0..STAMPS - 2 {
            ages.written(101, 6400);
            assert!(ages.now() != 0 && ages.now() != REMOVED);
        }
        assert_eq!(u64::from(ages.age(first)), STAMPS - 1);
        ages.written(101, 6400);
        assert_eq!(ages.now(), first);
        ages.note_use(UseNotes::Nothing);
        assert_eq!(ages.now(), 0);
    }

    #[test]
    fn frequencies_have_a_clock_of_their_own() {
        let ages = AgeClock::default();
        ages.note_use(UseNotes::Frequency);
        let new = ages.first_stamp();
        assert_eq!((ages.frequency(new), ages.rank(new)), (Some(5), 250));
        ages.written(401, 6400);
        assert_eq!(ages.frequency(new), Some(4));
        let used = (0..1000).fold(new, |stamp, _| stamp_after_use(ages.now(), stamp));
        assert!(ages.frequency(used).is_some_and(|count| count > 8) && ages.rank(used) < 248);
        ages.written(401, 6400);
        let visited = stamp_after_visit(ages.now(), used);
        assert!(visited != used && ages.frequency(visited) == ages.frequency(used));
        ages.note_use(UseNotes::LastUse);
        assert_eq!((ages.frequency(used), stamp_after_visit(ages.now(), used)), (None, used));
    }

    #[test]
    fn a_tick_after_the_end_does_not_restart_noting() {
        let ages = AgeClock::default();
        ages.note_use(UseNotes::LastUse);
        let then = ages.now();
        ages.note_use(UseNotes::Nothing);
        ages.tick(then);
        assert_eq!(ages.now(), 0);
        ages.note_use(UseNotes::LastUse);
        ages.tick(then);
        assert_eq!(ages.now() >> VERSION_BITS, 2);
    }
}
