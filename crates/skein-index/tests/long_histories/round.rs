//! Rounds. In a round, threads work on one index; then each key's history is explained.

use std::fmt::Write;
use std::sync::Barrier;

use skein_index::range;

use crate::keys::HistoryKeySet;
use crate::random::TestRandom;
use crate::record::{HistoryIndex, HistoryRecorder, ThreadNotes, fill, number_of};
use crate::search::{HistoryVerdict, KeyEffect, KeyEvent, ValueNumber, explain};
use crate::worker::HistoryWorker;

/// The counts of a test.
#[derive(Debug, Default)]
pub struct HistoryTally {
    pub rounds: u64,
    /// One for each key of a round.
    pub histories: u64,
    /// The operations of the threads.
    pub operations: u64,
    /// The events in the histories: an operation on many keys is in the history of each.
    pub events: u64,
}

/// One round on an empty index.
struct HistoryRound<'r, I> {
    index: &'r I,
    keys: &'r HistoryKeySet,
    shared: &'r HistoryRecorder,
    threads: usize,
    operations: usize,
}

impl<I: HistoryIndex> HistoryRound<'_, I> {
    /// Runs the threads and returns their events, in no order.
    fn run(&self, seeds: &mut TestRandom) -> Vec<(usize, KeyEvent)> {
        let barrier = Barrier::new(self.threads);
        std::thread::scope(|scope| {
            let start = |thread| {
                let (barrier, random) = (&barrier, TestRandom::new(seeds.next()));
                let notes = ThreadNotes { shared: self.shared, thread, events: Vec::new() };
                let mut worker = HistoryWorker { index: self.index, keys: self.keys, random, notes };
                scope.spawn(move || {
                    barrier.wait();
                    worker.work(self.operations);
                    worker.notes.events
                })
            };
            let threads: Vec<_> = (0..self.threads).map(start).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("a thread's own checks")).collect()
        })
    }

    /// Adds the final values of all keys as lookups. Scans in both directions must find the same
    /// number of keys.
    fn look(&self, events: &mut Vec<(usize, KeyEvent)>) {
        let mut notes = ThreadNotes { shared: self.shared, thread: self.threads, events: Vec::new() };
        let guard = self.index.collector().enter();
        for (key, bytes) in self.keys.iter().enumerate() {
            let (seen, when) = notes.timed(|| number_of(self.index, bytes, &guard));
            notes.note("get at last", key, KeyEffect::Saw(seen), when);
        }
        let there = notes.events.iter().filter(|(_, event)| event.effect != KeyEffect::Saw(None)).count();
        let (up, down) = (range(self.index, .., &guard).count(), range(self.index, .., &guard).rev().count());
        assert_eq!((up, down, self.index.len()), (there, there, there), "keys up, down, and counted");
        events.append(&mut notes.events);
    }

    fn check(&self, key: usize, events: &[KeyEvent], held: ValueNumber) {
        match explain(events, held) {
            HistoryVerdict::Explained => {}
            verdict => {
                let mut told = format!("{verdict:?}: key {:?}, which held {held:?}\n", self.keys[key]);
                let mut events = events.to_vec();
                events.sort_unstable_by_key(|event| event.began);
                for KeyEvent { name, thread, effect, began, ended } in events {
                    writeln!(told, "  {began:6} to {ended:6}, thread {thread}: {name}, {effect:?}")
                        .expect("a string takes all");
                }
                panic!("no order explains this history\n{told}");
            }
        }
    }
}

/// Runs one round: fills the index, lets threads work on it, explains their answers, and empties
/// the index.
pub fn round<I: HistoryIndex>(
    index: &I,
    keys: &HistoryKeySet,
    shared: &HistoryRecorder,
    random: &mut TestRandom,
    tally: &mut HistoryTally,
) {
    let before = fill(index, keys, shared, || random.below(2) == 0);
    let (threads, operations) = (2 + random.below(3), 40 + 20 * random.below(5));
    let round = HistoryRound { index, keys, shared, threads, operations };
    let mut events = round.run(random);
    round.look(&mut events);
    tally.rounds += 1;
    tally.operations += (threads * operations) as u64;
    tally.histories += keys.len() as u64;
    tally.events += events.len() as u64;
    for (key, &held) in before.iter().enumerate() {
        let own: Vec<KeyEvent> =
            events.iter().filter(|(of, _)| *of == key).map(|(_, event)| *event).collect();
        round.check(key, &own, held);
    }
    let guard = index.collector().enter();
    for key in keys {
        index.remove(key, &guard);
    }
    assert!(index.is_empty(), "{} keys are left", index.len());
}
