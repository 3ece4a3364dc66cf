//! How often a row is used: the meaning of a stamp while keys are evicted by frequency.
//!
//! ```text
//!   63    60 59       52 51                0
//!   tick     count       version               tick 1 to 14: never the stamps 0 and REMOVED
//! ```
//!
//! The count grows with the logarithm of the uses: a use raises it with a chance that falls with
//! the count. It falls by one with each tick of the clock (`age_clock`). So a stamp has the tick
//! for which its count holds. The next use subtracts the ticks since then, and so does the clock
//! hand when it visits the row. If neither happens for 14 ticks, the row keeps too high a count.
//!
//! Source: Redis's documentation of
//! [eviction by frequency](https://redis.io/docs/latest/develop/reference/eviction/); chances and
//! the first count are those of its defaults.

use std::cell::Cell;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

const TICK_AT: u32 = 60;
const COUNT_AT: u32 = 52;
const TICKS: u64 = 14;

/// The count of a new row, so that it is not the first to be evicted.
const FIRST: u8 = 5;
/// Of this many uses one raises the count, for each step above `FIRST`.
const USES_PER_STEP: u64 = 10;

fn stamp(tick: u64, count: u8) -> u64 {
    tick << TICK_AT | u64::from(count) << COUNT_AT
}

/// Returns the clock's first value.
pub(super) fn first_tick() -> u64 {
    1 << TICK_AT
}

/// Returns the clock's next value.
pub(super) fn next_tick(now: u64) -> u64 {
    ((now >> TICK_AT) % TICKS + 1) << TICK_AT
}

/// Returns the stamp of a new row.
pub(super) fn first(now: u64) -> u64 {
    stamp(now >> TICK_AT, FIRST)
}

/// Returns the stamp of a row with this count.
pub(super) fn counted(now: u64, count: u8) -> u64 {
    stamp(now >> TICK_AT, count)
}

/// Returns the count of a stamp now.
pub(super) fn count(now: u64, of: u64) -> u8 {
    let (now, then) = (now >> TICK_AT, of >> TICK_AT);
    if then == 0 || then > TICKS {
        return 0;
    }
    let gone = (now + TICKS - then) % TICKS;
    ((of >> COUNT_AT) as u8).saturating_sub(gone as u8)
}

/// Returns the stamp with the count of now.
pub(super) fn settled(now: u64, of: u64) -> u64 {
    stamp(now >> TICK_AT, count(now, of))
}

/// Returns the stamp after one use.
pub(super) fn used(now: u64, of: u64) -> u64 {
    let count = count(now, of);
    let steps = u64::from(count.saturating_sub(FIRST));
    let raises = count < u8::MAX && random().is_multiple_of(steps * USES_PER_STEP + 1);
    stamp(now >> TICK_AT, count + u8::from(raises))
}

thread_local! {
    static RANDOM: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish() | 1);
}

/// Returns a number of a sequence of its own on each thread (xorshift64*).
pub fn random() -> u64 {
    RANDOM.with(|state| {
        let mut bits = state.get();
        bits ^= bits >> 12;
        bits ^= bits << 25;
        bits ^= bits >> 27;
        state.set(bits);
        bits.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::age_clock::REMOVED;

    #[test]
    fn counts_grow_slowly_and_fall_with_the_clock() {
        let mut now = first_tick();
        let new = first(now);
        assert_eq!(count(now, new), FIRST);
        let after = |uses: usize| (0..uses).fold(new, |stamp, _| used(now, stamp));
        let few = count(now, after(100));
        let mut stamp = after(100_000);
        let many = count(now, stamp);
        assert!((6..20).contains(&few) && (60..220).contains(&many), "{few} {many}");
        for tick in 1..40 {
            now = next_tick(now);
            assert!((1..=TICKS).contains(&(now >> TICK_AT)));
            stamp = settled(now, stamp);
            assert_eq!(count(now, stamp), many.saturating_sub(tick));
        }
        assert_eq!(count(now, 0), 0, "use was not noted");
        assert!(stamp != 0 && stamp != REMOVED);
    }

    #[test]
    fn the_greatest_count_stays() {
        let now = first_tick();
        assert_eq!(count(now, used(now, stamp(1, u8::MAX))), u8::MAX);
    }
}
