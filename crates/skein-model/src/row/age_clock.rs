//! The last use of each row, in a few of its bits: a clock that ticks, and the stamps that it gives
//! to rows.
//!
//! ```text
//!   a row's first word:   63      52 51            50            0
//!                         stamp      embedded      version          stamp REMOVED: not in an index
//!
//!   times by stamp:       … 9:00 │ 9:15 │ 9:20 │ 9:35 (now) │ unused, or those of an earlier cycle …
//! ```
//!
//! A read compares the row's stamp with the clock's, and writes the row's word only if they differ.
//! So a row in use is written once per tick, however often it is read.
//!
//! The clock ticks after a quarter of an hour. While keys are evicted by last use it also ticks
//! each time a fixed share of the memory limit was written. So a key sees some dozens of ticks
//! between its last use and its eviction, at any rate of writes. A table has the time at which each
//! tick began, so the age of a row is known in seconds, too (`idle_s`). A row that is not used for
//! as long as all stamps last looks as if it was used lately.
//!
//! While keys are evicted by frequency, the clock has another form, and stamps have the meaning
//! that `use_count` describes. After a change of the policy, a row keeps a stamp of the other form
//! until its next use.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::use_count;

/// The longest tick. All stamps together last for 42 days then.
const TICK_S: u32 = 15 * 60;

/// The number of stamps that stand for times before the clock began: for keys that were not used
/// for long elsewhere.
const PAST: u64 = STAMPS / 2;

/// The clock's first value.
const FIRST: u64 = (PAST + 1) << STAMP_SHIFT;

/// The position of the stamp in the word.
pub(super) const STAMP_SHIFT: u32 = 52;
pub(super) const STAMP_MASK: u64 = u64::MAX << STAMP_SHIFT;

/// Set in the word of a row that is embedded in a leaf of an index (`slot`).
pub(super) const EMBEDDED: u64 = 1 << 51;

/// The bits of the version.
pub(super) const VERSION_MASK: u64 = EMBEDDED - 1;

/// The stamp of a row that was removed from its index and waits to be freed.
pub(super) const REMOVED: u64 = STAMP_MASK;

/// The clock has the stamps from 1 to this.
const STAMPS: u64 = (REMOVED >> STAMP_SHIFT) - 1;

/// The number of ticks while as many bytes as the limit are written.
const TICKS: usize = 64;

/// The same while frequencies are noted: a count falls by one with each tick.
const FREQUENCY_TICKS: usize = 16;

/// Set in the clock's value while frequencies are noted.
const COUNTING: u64 = 1;

/// The kind of use that rows note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UseNotes {
    /// When it was last used.
    LastUse,
    /// How often it is used.
    Frequency,
}

/// The age of rows that are older than the clock can tell.
pub(super) const AGE_MAX: u16 = STAMPS as u16;

/// The clock of all rows of a store. (It uses the atomics of std, because the stamps of rows are in
/// the memory of the arena.)
#[derive(Debug)]
pub struct AgeClock {
    /// The present stamp, at its position in the word. Below it, `COUNTING`.
    now: AtomicU64,
    /// When the tick of each stamp began, in seconds since 1970; 0 if it was never reached.
    times: Box<[AtomicU32]>,
    /// Whether the clock ticks by bytes written, because keys may be evicted by their use.
    by_bytes: AtomicBool,
    /// Bytes written since the last tick.
    written: AtomicUsize,
    /// Whether rows are counted when they are removed from their index.
    counts_removed: AtomicBool,
}

impl Default for AgeClock {
    fn default() -> Self {
        Self {
            now: AtomicU64::new(FIRST),
            times: (0..=STAMPS).map(|_| AtomicU32::new(0)).collect(),
            by_bytes: AtomicBool::new(false),
            written: AtomicUsize::new(0),
            counts_removed: AtomicBool::new(false),
        }
    }
}

/// Returns the stamp after this one, as a number.
fn following(stamp: u64) -> u64 {
    stamp % STAMPS + 1
}

impl AgeClock {
    /// Returns the clock's value, for `RowRef::touch` and `settle`.
    #[inline]
    pub fn now(&self) -> u64 {
        // Relaxed: a number; as all here, it orders nothing.
        self.now.load(Ordering::Relaxed)
    }

    /// Returns the stamp of a new row.
    #[inline]
    pub fn first_stamp(&self) -> u64 {
        let now = self.now();
        if now & COUNTING == 0 { now } else { use_count::first(now) }
    }

    /// Returns the kind of use that is noted.
    #[inline]
    pub fn notes(&self) -> UseNotes {
        if self.now() & COUNTING == 0 { UseNotes::LastUse } else { UseNotes::Frequency }
    }

    /// Sets the kind of use that is noted from now on, and whether bytes written advance the clock.
    /// Must be called before the first use, and after each change of the eviction.
    pub fn note_use(&self, notes: UseNotes, by_bytes: bool, now_s: u32) {
        self.by_bytes.store(by_bytes, Ordering::Relaxed);
        let begun = self.time_of(FIRST >> STAMP_SHIFT) != 0;
        if notes == self.notes() && begun {
            return;
        }
        for stamp in 1..=STAMPS {
            let ago = (PAST + 1).checked_sub(stamp).map(|ticks| ticks as u32 * TICK_S);
            let began = ago.map_or(0, |ago| now_s.saturating_sub(ago).max(1));
            self.times[stamp as usize].store(began, Ordering::Relaxed);
        }
        let first = match notes {
            UseNotes::LastUse => FIRST,
            UseNotes::Frequency => use_count::first_tick() | COUNTING,
        };
        self.now.store(first, Ordering::Relaxed);
    }

    /// Returns when the tick of a stamp began, in seconds since 1970; 0 if it was never reached.
    fn time_of(&self, stamp: u64) -> u32 {
        // Relaxed, as all here: a reader that sees a stamp before its time answers an older time.
        self.times[stamp as usize].load(Ordering::Relaxed)
    }

    /// Returns whether rows are counted when they are removed from their index.
    #[inline]
    pub fn counts_removed(&self) -> bool {
        self.counts_removed.load(Ordering::Relaxed)
    }

    /// Sets whether rows are counted when they are removed from their index.
    pub fn count_removed(&self, on: bool) {
        self.counts_removed.store(on, Ordering::Relaxed);
    }

    /// Notes that `bytes` bytes were written, and ticks when the bytes since the last tick reach
    /// `limit / TICKS`.
    pub fn written(&self, bytes: usize, limit: usize, now_s: impl FnOnce() -> u32) {
        let now = self.now();
        if !self.by_bytes.load(Ordering::Relaxed) {
            return;
        }
        let tick = limit / if now & COUNTING == 0 { TICKS } else { FREQUENCY_TICKS } + 1;
        let before = self.written.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) >= tick {
            self.written.store(0, Ordering::Relaxed);
            self.tick(now, now_s());
        }
    }

    /// Ticks if the last tick is a quarter of an hour ago, unless frequencies are noted.
    pub fn tick_by_time(&self, now_s: u32) {
        let now = self.now();
        if now & COUNTING == 0 && now_s.saturating_sub(self.time_of(now >> STAMP_SHIFT)) >= TICK_S {
            self.tick(now, now_s);
        }
    }

    /// Advances from the value `then`. Of two concurrent ticks one is lost. A tick that is
    /// concurrent with a change of the noted use is lost, too.
    fn tick(&self, then: u64, now_s: u32) {
        let next = if then & COUNTING == 0 {
            let next = following(then >> STAMP_SHIFT);
            self.times[next as usize].store(now_s.max(1), Ordering::Relaxed);
            next << STAMP_SHIFT
        } else {
            use_count::next_tick(then) | COUNTING
        };
        _ = self.now.compare_exchange(then, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns how many ticks ago a stamp, at its position in the word, was the present one.
    fn age(&self, stamp: u64) -> u16 {
        let (now, then) = (self.now() >> STAMP_SHIFT, stamp >> STAMP_SHIFT);
        if then == 0 {
            return AGE_MAX;
        }
        ((now + STAMPS - then) % STAMPS) as u16
    }

    /// Returns how soon a row with this stamp should be evicted: the greater the sooner.
    pub fn rank(&self, stamp: u64) -> u16 {
        match self.notes() {
            UseNotes::Frequency => u16::from(u8::MAX - use_count::count(self.now(), stamp)),
            UseNotes::LastUse => self.age(stamp),
        }
    }

    /// Returns for how many seconds at least a row with this stamp was not used; `None` while
    /// frequencies are noted. It may be too small by one tick.
    pub fn idle_s(&self, stamp: u64, now_s: u32) -> Option<u32> {
        let (now, then) = (self.now(), stamp >> STAMP_SHIFT);
        if now & COUNTING != 0 {
            return None;
        }
        if then == now >> STAMP_SHIFT || stamp == REMOVED {
            return Some(0);
        }
        // The row was used before the next tick began. A stamp of the other form may have no next.
        let end = self.time_of(following(then));
        Some(if end == 0 { 0 } else { now_s.saturating_sub(end) })
    }

    /// Returns the stamp of a row that was not used for this long; `None` while frequencies are
    /// noted. Times before the oldest tick count as that tick.
    pub fn stamp_of_idle(&self, idle_s: u32, now_s: u32) -> Option<u64> {
        let now = self.now();
        if now & COUNTING != 0 {
            return None;
        }
        let (current, used) = (now >> STAMP_SHIFT, now_s.saturating_sub(idle_s));
        let mut stamp = current;
        while self.time_of(stamp) > used {
            let before = if stamp == 1 { STAMPS } else { stamp - 1 };
            if before == following(current) || self.time_of(before) == 0 {
                break;
            }
            stamp = before;
        }
        Some(stamp << STAMP_SHIFT)
    }

    /// Returns the stamp of a row that is used this often; `None` unless frequencies are noted.
    pub fn stamp_of_frequency(&self, count: u8) -> Option<u64> {
        let now = self.now();
        (now & COUNTING != 0).then(|| use_count::counted(now, count))
    }

    /// Returns how often a row with this stamp was used, on a logarithmic scale; `None` unless
    /// frequencies are noted.
    pub fn frequency(&self, stamp: u64) -> Option<u8> {
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

    const BEGAN: u32 = 1_700_000_000;

    fn begun(notes: UseNotes) -> AgeClock {
        let ages = AgeClock::default();
        ages.note_use(notes, true, BEGAN);
        ages
    }

    #[test]
    fn the_clock_ticks_by_bytes_written_and_wraps() {
        let ages = begun(UseNotes::LastUse);
        let first = ages.now();
        assert_eq!((ages.age(first), ages.age(0)), (0, AGE_MAX));
        let write = |bytes| ages.written(bytes, 6400, || BEGAN);
        write(50);
        assert_eq!(ages.age(first), 0);
        write(51);
        assert_eq!(ages.age(first), 1);
        for _ in 0..STAMPS - 2 {
            write(101);
            assert!(ages.now() != 0 && ages.now() != REMOVED);
        }
        assert_eq!(u64::from(ages.age(first)), STAMPS - 1);
        write(101);
        assert_eq!(ages.now(), first);
        ages.note_use(UseNotes::LastUse, false, BEGAN);
        write(1 << 30);
        assert_eq!(ages.now(), first, "without a limit only time counts");
    }

    #[test]
    fn idle_times_are_known_to_a_tick() {
        let ages = begun(UseNotes::LastUse);
        let first = ages.now();
        for s in 0..TICK_S {
            ages.tick_by_time(BEGAN + s);
        }
        assert_eq!((ages.now(), ages.idle_s(first, BEGAN + TICK_S - 1)), (first, Some(0)));
        let second_began = BEGAN + TICK_S + 3;
        ages.tick_by_time(second_began);
        assert_ne!(ages.now(), first);
        assert_eq!(ages.idle_s(first, second_began + 100), Some(100));
        assert_eq!(ages.idle_s(ages.now(), second_began + 100), Some(0));
        // A wall clock that is set back makes no time negative.
        assert_eq!(ages.idle_s(first, BEGAN), Some(0));
        ages.tick_by_time(BEGAN);
        for ticks in 1..10 {
            ages.tick_by_time(second_began + ticks * TICK_S);
        }
        assert_eq!(ages.idle_s(first, second_began + 10 * TICK_S), Some(10 * TICK_S));
    }

    #[test]
    fn times_of_other_servers_are_found() {
        let ages = begun(UseNotes::LastUse);
        assert_eq!(ages.stamp_of_idle(0, BEGAN), Some(ages.now()));
        for idle in [1, 600, TICK_S, 10_000, 86_400, 20 * 86_400] {
            let stamp = ages.stamp_of_idle(idle, BEGAN).expect("a stamp");
            let known = ages.idle_s(stamp, BEGAN).expect("a time");
            assert!(known <= idle && idle - known <= TICK_S, "{idle} {known}");
        }
        let oldest = ages.stamp_of_idle(u32::MAX, BEGAN).expect("a stamp");
        assert!(ages.idle_s(oldest, BEGAN).is_some_and(|idle| idle > 21 * 86_400));
        // After a whole cycle, too.
        for tick in 1..=STAMPS as u32 + 10 {
            ages.tick_by_time(BEGAN + tick * TICK_S);
        }
        let now = BEGAN + (STAMPS as u32 + 10) * TICK_S;
        let stamp = ages.stamp_of_idle(30 * 86_400, now).expect("a stamp");
        assert!(ages.idle_s(stamp, now).is_some_and(|idle| idle.abs_diff(30 * 86_400) <= TICK_S));
        assert_ne!(ages.stamp_of_idle(u32::MAX, now), Some(ages.now()));
    }

    #[test]
    fn frequencies_have_a_clock_of_their_own() {
        let ages = begun(UseNotes::Frequency);
        let new = ages.first_stamp();
        assert_eq!((ages.frequency(new), ages.rank(new)), (Some(5), 250));
        assert_eq!((ages.idle_s(new, BEGAN), ages.stamp_of_idle(1, BEGAN)), (None, None));
        ages.written(401, 6400, || BEGAN);
        assert_eq!(ages.frequency(new), Some(4));
        let used = (0..1000).fold(new, |stamp, _| stamp_after_use(ages.now(), stamp));
        assert!(ages.frequency(used).is_some_and(|count| count > 8) && ages.rank(used) < 248);
        ages.written(401, 6400, || BEGAN);
        let visited = stamp_after_visit(ages.now(), used);
        assert!(visited != used && ages.frequency(visited) == ages.frequency(used));
        let given = ages.stamp_of_frequency(200).expect("a stamp");
        assert_eq!(ages.frequency(given), Some(200));
        let now = ages.now();
        ages.tick_by_time(BEGAN + 10 * TICK_S);
        assert_eq!(ages.now(), now, "counts do not fall with the time");
        ages.note_use(UseNotes::LastUse, true, BEGAN);
        assert_eq!((ages.frequency(used), stamp_after_visit(ages.now(), used)), (None, used));
        assert_eq!(ages.stamp_of_frequency(200), None);
    }

    #[test]
    fn a_tick_after_a_change_is_lost() {
        let ages = begun(UseNotes::LastUse);
        let then = ages.now();
        ages.note_use(UseNotes::Frequency, true, BEGAN);
        let counting = ages.now();
        ages.tick(then, BEGAN);
        assert_eq!(ages.now(), counting);
        ages.note_use(UseNotes::LastUse, true, BEGAN);
        ages.tick(then, BEGAN);
        assert_eq!(ages.now() >> STAMP_SHIFT, following(then >> STAMP_SHIFT));
    }
}
