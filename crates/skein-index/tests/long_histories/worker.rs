//! The work of threads: random operations of all kinds. A few keys are drawn most often.

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use skein_index::{ComputeAction, Cursor, Guard, range};

use crate::random::TestRandom;
use crate::record::{HistoryIndex, ThreadNotes, UniqueValue, number_of};
use crate::search::KeyEffect;

/// The number of keys that are drawn most often.
const HOT: usize = 4;

/// One thread of a round.
pub struct HistoryWorker<'r, I> {
    pub index: &'r I,
    /// In order.
    pub keys: &'r [Vec<u8>],
    pub random: TestRandom,
    pub notes: ThreadNotes<'r>,
}

/// The decision of a closure of `compute`.
#[derive(Clone, Copy, Debug)]
enum ComputeDecision {
    Keep,
    Put,
    PutIfThere,
    Remove,
    Panic,
}

/// The payload of a closure's planned panic. The macro is not used because its message would
/// clutter the output.
struct PlannedPanic;

impl<I: HistoryIndex> HistoryWorker<'_, I> {
    /// Runs `operations` operations and takes a new guard from time to time.
    pub fn work(&mut self, operations: usize) {
        let collector = self.index.collector();
        let mut done = 0;
        while done < operations {
            let run = 1 + self.random.below(10).min(operations - done - 1);
            // Owned guards use another code path of the collector.
            if self.random.below(8) == 0 {
                let guard = collector.enter_owned();
                (0..run).for_each(|_| self.operate(&guard));
            } else {
                let guard = collector.enter();
                (0..run).for_each(|_| self.operate(&guard));
            }
            done += run;
        }
    }

    fn operate(&mut self, guard: &impl Guard) {
        let hot = self.random.below(3) != 0;
        let key = self.random.below(if hot { self.keys.len().min(HOT) } else { self.keys.len() });
        match self.random.below(100) {
            0..19 => self.get(key, guard),
            19..37 => self.insert(key, guard),
            37..55 => self.remove(key, guard),
            55..61 => self.insert_if_absent(key, guard),
            61..77 => self.compute(key, guard),
            77..84 => self.get_many(guard),
            84..92 => self.scan(guard),
            92..95 => self.scan_from_both_ends(guard),
            95..98 => self.remove_range(guard),
            _ => self.split(guard),
        }
    }

    fn get(&mut self, key: usize, guard: &impl Guard) {
        let (seen, when) = self.notes.timed(|| number_of(self.index, &self.keys[key], guard));
        self.notes.note("get", key, KeyEffect::Saw(seen), when);
    }

    fn insert(&mut self, key: usize, guard: &impl Guard) {
        let (number, value) = self.notes.shared.value();
        let (before, when) = self
            .notes
            .timed(|| self.index.insert(&self.keys[key], value, guard).unwrap().map(UniqueValue::number));
        self.notes.note("insert", key, KeyEffect::Changed(before, Some(number)), when);
    }

    fn insert_if_absent(&mut self, key: usize, guard: &impl Guard) {
        let (number, value) = self.notes.shared.value();
        let (before, when) = self.notes.timed(|| {
            self.index.insert_if_absent(&self.keys[key], value, guard).unwrap().map(UniqueValue::number)
        });
        let effect =
            if before.is_none() { KeyEffect::Changed(None, Some(number)) } else { KeyEffect::Saw(before) };
        self.notes.note("insert_if_absent", key, effect, when);
    }

    fn remove(&mut self, key: usize, guard: &impl Guard) {
        let (before, when) =
            self.notes.timed(|| self.index.remove(&self.keys[key], guard).map(UniqueValue::number));
        self.notes.note("remove", key, KeyEffect::Changed(before, None), when);
    }

    /// A read-modify-write. Its effect follows from the value and the decision of its closure; the
    /// answer must agree.
    fn compute(&mut self, key: usize, guard: &impl Guard) {
        let decisions = [
            ComputeDecision::Keep,
            ComputeDecision::Put,
            ComputeDecision::PutIfThere,
            ComputeDecision::Remove,
            ComputeDecision::Panic,
        ];
        let decision = decisions[self.random.below(decisions.len())];
        let waits = self.random.below(3) == 0;
        let (number, value) = self.notes.shared.value();
        let mut told = None;
        let decide = |seen: Option<&UniqueValue>| {
            let seen = seen.map(UniqueValue::number);
            if waits {
                std::thread::yield_now();
            }
            let (effect, change) = match decision {
                ComputeDecision::Panic => {
                    told = Some(KeyEffect::Saw(seen));
                    resume_unwind(Box::new(PlannedPanic));
                }
                ComputeDecision::Remove => (KeyEffect::Changed(seen, None), ComputeAction::Remove),
                ComputeDecision::Put => (KeyEffect::Changed(seen, Some(number)), ComputeAction::Put(value)),
                ComputeDecision::PutIfThere if seen.is_some() => {
                    (KeyEffect::Changed(seen, Some(number)), ComputeAction::Put(value))
                }
                ComputeDecision::Keep | ComputeDecision::PutIfThere => {
                    (KeyEffect::Saw(seen), ComputeAction::Keep)
                }
            };
            told = Some(effect);
            change
        };
        let (done, when) = self.notes.timed(|| {
            catch_unwind(AssertUnwindSafe(|| {
                let done = self.index.compute(&self.keys[key], decide, guard).unwrap();
                (done.before.map(UniqueValue::number), done.changed)
            }))
        });
        let effect = told.expect("the closure is called");
        match done {
            Ok(answer) => {
                let expected = match effect {
                    KeyEffect::Changed(before, now) => (before, before.is_some() || now.is_some()),
                    KeyEffect::Saw(seen) => (seen, false),
                    KeyEffect::Removed => unreachable!("no closure returns this decision"),
                };
                assert_eq!(answer, expected, "the answer of compute does not match its closure");
            }
            Err(panic) => assert!(panic.is::<PlannedPanic>(), "another panic than the planned one"),
        }
        self.notes.note("compute", key, effect, when);
    }

    /// Looks up some keys at once, sometimes the same key twice.
    fn get_many(&mut self, guard: &impl Guard) {
        let numbers: Vec<usize> =
            (0..=self.random.below(40)).map(|_| self.random.below(self.keys.len())).collect();
        let keys: Vec<&[u8]> = numbers.iter().map(|&key| &self.keys[key][..]).collect();
        let mut found = vec![None; keys.len()];
        let ((), when) = self.notes.timed(|| {
            self.index.get_many(&keys, guard, |at, value| {
                let before = found[at].replace(value.map(UniqueValue::number));
                assert_eq!(before, None, "one answer for each key");
            });
        });
        for (&key, found) in numbers.iter().zip(found) {
            self.notes.note("get_many", key, KeyEffect::Saw(found.expect("an answer for each key")), when);
        }
    }

    /// Records the result of a scan for all keys in a range: a key that the scan did not return was
    /// absent at some moment.
    fn note_scan(
        &mut self,
        name: &'static str,
        bounds: std::ops::Range<usize>,
        met: &[(Vec<u8>, u64)],
        when: (u64, u64),
    ) {
        let number = |key: &[u8]| self.keys.binary_search_by(|own| own[..].cmp(key)).expect("a known key");
        let mut seen = vec![None; self.keys.len()];
        for (key, value) in met {
            let key = number(key);
            assert!(bounds.contains(&key), "key {key} is outside of {bounds:?}");
            assert_eq!(seen[key].replace(*value), None, "key {key} was met twice");
        }
        for key in bounds {
            self.notes.note(name, key, KeyEffect::Saw(seen[key]), when);
        }
    }

    /// Scans from a key, in either direction, to the end or for some steps.
    fn scan(&mut self, guard: &impl Guard) {
        let (from, forward) = (self.random.below(self.keys.len()), self.random.below(2) == 0);
        let limit = if self.random.below(4) == 0 { 1 + self.random.below(5) } else { usize::MAX };
        let mut met: Vec<(Vec<u8>, u64)> = Vec::new();
        let (random, index, keys) = (&mut self.random, self.index, self.keys);
        let (ended, when) = self.notes.timed(|| {
            let mut cursor = index.cursor(guard);
            let mut on = if forward { cursor.seek(&keys[from]) } else { cursor.seek_back(&keys[from]) };
            while on && met.len() < limit {
                let (key, value) = (cursor.key().unwrap().to_vec(), cursor.value().unwrap().number());
                let in_order = met.last().is_none_or(|(last, _)| (*last < key) == forward && *last != key);
                assert!(in_order, "{key:?} after {met:?}, forward: {forward}");
                met.push((key, value));
                if random.below(8) == 0 {
                    std::thread::yield_now();
                }
                on = if forward { cursor.next() } else { cursor.prev() };
            }
            !on
        });
        // A scan that was stopped early says nothing about keys behind the last one that it
        // returned.
        let last = met.last().filter(|_| !ended).map(|(last, _)| keys.partition_point(|key| key < last));
        let bounds = if forward {
            from..last.map_or(keys.len(), |last| last + 1)
        } else {
            last.unwrap_or(0)..from + 1
        };
        self.note_scan("scan", bounds, &met, when);
    }

    fn scan_from_both_ends(&mut self, guard: &impl Guard) {
        let mut met: Vec<(Vec<u8>, u64)> = Vec::new();
        let (random, index) = (&mut self.random, self.index);
        let ((), when) = self.notes.timed(|| {
            let mut both = range(index, .., guard);
            let (mut low, mut high): (Option<Vec<u8>>, Option<Vec<u8>>) = (None, None);
            loop {
                let forward = random.below(2) == 0;
                let Some((key, value)) = (if forward { both.next() } else { both.next_back() }) else {
                    return;
                };
                let above = low.as_ref().is_none_or(|low| *low < key);
                let below = high.as_ref().is_none_or(|high| key < *high);
                assert!(above && below, "{key:?} is not between {low:?} and {high:?}");
                *(if forward { &mut low } else { &mut high }) = Some(key.clone());
                met.push((key, value.number()));
            }
        });
        self.note_scan("range", 0..self.keys.len(), &met, when);
    }

    /// Removes a range: each key of it at some moment of the call.
    fn remove_range(&mut self, guard: &impl Guard) {
        let ends = [self.random.below(self.keys.len()), self.random.below(self.keys.len())];
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let bounds = (Bound::Included(&self.keys[from][..]), Bound::Excluded(&self.keys[to][..]));
        let mut gone: Vec<Vec<u8>> = Vec::new();
        let (count, when) =
            self.notes.timed(|| self.index.remove_range(bounds, |key| gone.push(key.to_vec()), guard));
        assert!(count == gone.len() && gone.is_sorted_by(|a, b| a < b), "{count} of {gone:?}");
        for key in from..to {
            let found = gone.binary_search(&self.keys[key]).is_ok();
            let effect = if found { KeyEffect::Removed } else { KeyEffect::Saw(None) };
            self.notes.note("remove_range", key, effect, when);
        }
    }

    fn split(&mut self, guard: &impl Guard) {
        let parts = 1 + self.random.below(8);
        let points = self.index.split_points(parts, guard);
        assert!(points.len() < parts && points.is_sorted_by(|a, b| a < b), "{parts} parts: {points:?}");
    }
}
