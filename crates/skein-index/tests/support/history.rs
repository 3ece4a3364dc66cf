//! Histories: the calls of threads, their answers and their times, and a search for an order of all
//! calls that explains the answers.
//!
//! The search is brute force (Wing and Gong 1993). A call may be next if no other remaining call
//! had ended before it began. The search tries each such call whose answer fits, and continues with
//! the rest.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use skein_index::{ComputeAction, Inline, OrderedIndex};

use super::random::TestRandom;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryCall {
    Get,
    Insert(u64),
    Remove,
    /// Adds one if the key is present.
    Increment,
}

impl HistoryCall {
    /// Returns one of the calls at random.
    pub fn any(random: &mut TestRandom) -> Self {
        let value = random.next() >> 1;
        [Self::Get, Self::Insert(value), Self::Remove, Self::Increment][random.below(4)]
    }
}

/// A finished call: its kind, its answer, and when it began and ended.
#[derive(Clone, Copy, Debug)]
pub struct FinishedCall {
    pub key: usize,
    pub kind: HistoryCall,
    pub answer: Option<u64>,
    pub began: u64,
    pub ended: u64,
}

/// A clock whose moments are all different.
#[derive(Debug, Default)]
pub struct HistoryClock(AtomicU64);

impl HistoryClock {
    pub fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Makes a call and returns it with its answer and times.
pub fn perform<I: OrderedIndex<Inline<u64>>>(
    index: &I,
    keys: &[&[u8]],
    (key, kind): (usize, HistoryCall),
    clock: &HistoryClock,
) -> FinishedCall {
    let guard = index.collector().enter();
    let began = clock.now();
    let answer = match kind {
        HistoryCall::Get => index.get(keys[key], &guard),
        HistoryCall::Insert(value) => index.insert(keys[key], Inline(value), &guard).unwrap(),
        HistoryCall::Remove => index.remove(keys[key], &guard),
        HistoryCall::Increment => {
            let add = |seen: Option<u64>| {
                seen.map_or(ComputeAction::Keep, |value| ComputeAction::Put(Inline(value + 1)))
            };
            index.compute(keys[key], add, &guard).unwrap().before
        }
    };
    FinishedCall { key, kind, answer, began, ended: clock.now() }
}

/// The contents that the index must have. It is small, so that the search can remember it.
type HistoryState = BTreeMap<usize, u64>;

/// Returns the answer that a call must give in this state, and changes the state.
fn apply(state: &mut HistoryState, done: &FinishedCall) -> Option<u64> {
    match done.kind {
        HistoryCall::Get => state.get(&done.key).copied(),
        HistoryCall::Insert(value) => state.insert(done.key, value),
        HistoryCall::Remove => state.remove(&done.key),
        HistoryCall::Increment => {
            let before = state.get(&done.key).copied();
            state.entry(done.key).and_modify(|value| *value += 1);
            before
        }
    }
}

/// Returns true if some order of the calls explains their answers, starting with an empty index.
pub fn explains(history: &[FinishedCall]) -> bool {
    explains_rest(history, 0, &HistoryState::new(), &mut HashSet::new())
}

/// Returns true if some order of the calls that are not in `taken` does.
fn explains_rest(
    history: &[FinishedCall],
    taken: u32,
    state: &HistoryState,
    seen: &mut HashSet<(u32, HistoryState)>,
) -> bool {
    if taken.count_ones() as usize == history.len() {
        return true;
    }
    if !seen.insert((taken, state.clone())) {
        return false;
    }
    let left = || (0..history.len()).filter(|at| taken & 1 << at == 0);
    let first_end = left().map(|at| history[at].ended).min().expect("some are left");
    left().filter(|&at| history[at].began < first_end).any(|at| {
        let mut after = state.clone();
        apply(&mut after, &history[at]) == history[at].answer
            && explains_rest(history, taken | 1 << at, &after, seen)
    })
}
