//! The timed loops. Each answers in millions of operations per second, and counts wrong answers.

use std::hint::black_box;
use std::time::Duration;

use crate::keyset::{KeySet, Keys, SCAN, value_of};
use crate::rival::Contender;
use crate::sys::Clock;

/// Operations under one pin: long enough to make its cost small, short enough to let memory come back.
const PINNED: usize = 1024;

/// What a loop found.
pub struct Outcome {
    /// Millions of operations per second.
    pub rate: f64,
    /// How many answers were not what the key set says.
    pub wrong: usize,
}

#[allow(clippy::cast_precision_loss)] // Counts are far below 2^52.
fn rate(operations: usize, spent: Duration) -> f64 {
    operations as f64 / spent.as_secs_f64() / 1e6
}

/// Inserts every `step`-th key from `first` on.
pub fn fill<C: Contender>(index: &C, keys: &Keys, first: usize, step: usize, clock: Clock) -> f64 {
    let start = clock.now();
    let mut n = first;
    let mut done = 0;
    while n < keys.len() {
        let pin = index.pin();
        let mut left = PINNED;
        while n < keys.len() && left > 0 {
            index.insert(&pin, keys.get(n), value_of(n));
            n += step;
            left -= 1;
            done += 1;
        }
    }
    rate(done, clock.since(start))
}

/// Lookups that do not depend on each other: the processor may overlap one with the next. The `number`-th
/// thread begins in another place.
pub fn independent<C: Contender>(index: &C, set: &KeySet, number: usize, clock: Clock) -> Outcome {
    let queries = set.queries.len();
    let shift = number * (queries / 2);
    let mut wrong = 0;
    let start = clock.now();
    for chunk in (0..queries).step_by(PINNED) {
        let pin = index.pin();
        for n in chunk..(chunk + PINNED).min(queries) {
            let n = if n + shift < queries { n + shift } else { n + shift - queries };
            wrong += usize::from(index.get(&pin, set.queries.get(n)) != Some(set.answers[n]));
        }
    }
    Outcome { rate: rate(queries, clock.since(start)), wrong }
}

/// Lookups in which the next key depends on the last answer: what a single query feels.
pub fn dependent<C: Contender>(index: &C, set: &KeySet, clock: Clock) -> Outcome {
    let queries = set.queries.len();
    let mut wrong = 0;
    // Values are below 2^63, so this stays 0; but only the answer can tell.
    let mut carry = 0;
    let start = clock.now();
    for chunk in (0..queries).step_by(PINNED) {
        let pin = index.pin();
        for n in chunk..(chunk + PINNED).min(queries) {
            let n = n + carry;
            let answer = index.get(&pin, set.queries.get(n));
            wrong += usize::from(answer != Some(set.answers[n]));
            carry = (black_box(answer.unwrap_or(0)) >> 63) as usize;
        }
    }
    Outcome { rate: rate(queries, clock.since(start)), wrong }
}

/// Lookups in batches of 32.
pub fn many<C: Contender>(index: &C, set: &KeySet, clock: Clock) -> Outcome {
    const BATCH: usize = 32;
    let batches = set.queries.len() / BATCH;
    let mut wrong = 0;
    let start = clock.now();
    for chunk in (0..batches).step_by(PINNED / BATCH) {
        let pin = index.pin();
        for batch in chunk..(chunk + PINNED / BATCH).min(batches) {
            let keys: [&[u8]; BATCH] = std::array::from_fn(|n| set.queries.get(batch * BATCH + n));
            let mut right = 0;
            index.get_many(&pin, &keys, |position, answer| {
                right += usize::from(answer == Some(set.answers[batch * BATCH + position]));
            });
            wrong += BATCH - right;
        }
    }
    Outcome { rate: rate(batches * BATCH, clock.since(start)), wrong }
}

/// Scans of 100 keys, every key read to its last byte; millions of keys per second.
pub fn scans<C: Contender>(index: &C, set: &KeySet, clock: Clock) -> Outcome {
    let count = (set.queries.len() / 20).max(1);
    let (mut wrong, mut read) = (0, 0);
    let mut last_bytes = 0u64;
    let start = clock.now();
    for chunk in (0..count).step_by(16) {
        let pin = index.pin();
        for n in chunk..(chunk + 16).min(count) {
            let (mut sum, mut keys) = (0u64, 0);
            index.scan(&pin, set.queries.get(n), SCAN, |key, value| {
                sum = sum.wrapping_add(value);
                last_bytes += key.last().map_or(0, |&byte| u64::from(byte));
                keys += 1;
            });
            wrong += usize::from((sum, keys) != set.scans[n]);
            read += keys as usize;
        }
    }
    black_box(last_bytes);
    Outcome { rate: rate(read, clock.since(start)), wrong }
}

#[cfg(test)]
mod tests {
    use skein_index::{Inline, Masstree};

    use super::*;
    use crate::rival::{LockedBTree, Ours};

    fn wrong_answers<C: Contender>(set: &KeySet) -> usize {
        let index = C::new();
        fill(&index, &set.keys, 1, 2, Clock::Wall);
        fill(&index, &set.keys, 0, 2, Clock::Cpu);
        independent(&index, set, 0, Clock::Wall).wrong
            + independent(&index, set, 1, Clock::Wall).wrong
            + dependent(&index, set, Clock::Wall).wrong
            + many(&index, set, Clock::Wall).wrong
            + scans(&index, set, Clock::Wall).wrong
    }

    /// A map that forgets one key in a thousand.
    struct Forgetful(LockedBTree);

    impl Contender for Forgetful {
        const NAME: &'static str = "forgetful";
        type Pin<'a> = ();

        fn new() -> Self {
            Self(LockedBTree::new())
        }

        fn pin(&self) {}

        fn insert(&self, pin: &(), key: &[u8], value: u64) {
            if !(value >> 1).is_multiple_of(1000) {
                self.0.insert(pin, key, value);
            }
        }

        fn get(&self, pin: &(), key: &[u8]) -> Option<u64> {
            self.0.get(pin, key)
        }

        fn scan(&self, pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
            self.0.scan(pin, from, count, each);
        }
    }

    #[test]
    fn right_answers_pass_and_wrong_ones_do_not() {
        let set = KeySet::make("rand-8", 4000, 6000, 8).expect("a good name");
        assert_eq!(wrong_answers::<Ours<Masstree<Inline<u64>>>>(&set), 0);
        assert_eq!(wrong_answers::<LockedBTree>(&set), 0);
        assert_ne!(wrong_answers::<Forgetful>(&set), 0);
    }
}
