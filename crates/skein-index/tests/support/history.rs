//! Histories: what threads asked an index, what they were told and when, and whether some order of all operations explains it.
//!
//! The order is searched for by brute force (Wing and Gong 1993): of the operations whose turn it can be,
//! those that nobody finished before, try each whose answer fits, and go on.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use skein_index::{ComputeAction, Inline, OrderedIndex};

use super::random::TestRandom;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryCall {
    Get,
    Insert(u64),
    Remove,
    /// Adds one if the key is there.
    Increment,
}

impl HistoryCall {
    /// One of the four.
    pub fn any(random: &mut TestRandom) -> Self {
        let value = random.next() >> 1;
        [Self::Get, Self::Insert(value), Self::Remove, Self::Increment][random.below(4)]
    }
}

/// A finished operation: what it was, what it answered, and when it began and ended.
#[derive(Clone, Copy, Debug)]
pub struct FinishedCall {
    pub key: usize,
    pub kind: HistoryCall,
    pub answer: Option<u64>,
    pub began: u64,
    pub ended: u64,
}

/// Tells the moments of a history apart.
#[derive(Debug, Default)]
pub struct HistoryClock(AtomicU64);

impl HistoryClock {
    pub fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Does an operation, and notes it.
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

/// What the index must hold; small, so that it can be remembered.
type HistoryState = BTreeMap<usize, u64>;

/// The answer an operation must give in this state, which it changes.
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

/// Whether some order of the operations explains their answers, from an empty index on.
pub fn explains(history: &[FinishedCall]) -> bool {
    explains_rest(history, 0, &HistoryState::new(), &mut HashSet::new())
}

/// Whether some order of the operations not yet in `taken` does.
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
