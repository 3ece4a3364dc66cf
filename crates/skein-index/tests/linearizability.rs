//! Linearizability of small histories: a few threads do a few operations each on two or three keys, and for the
//! answers they got there must be an order of all operations that explains them and respects real time.
//!
//! The order is searched for by brute force (Wing and Gong 1993): of the operations whose turn it can be,
//! those that nobody finished before, try each whose answer fits, and go on.
#![cfg(not(skein_loom))]

mod support;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use skein_index::{Change, Collector, Inline, Masstree, OrderedIndex, Wormhole};
use support::random::Random;

const THREADS: usize = 3;
const OPERATIONS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Get,
    Insert(u64),
    Remove,
    /// Adds one if the key is there.
    Increment,
}

/// A finished operation: what it was, what it answered, and when it began and ended.
#[derive(Clone, Copy, Debug)]
struct Done {
    key: usize,
    kind: Kind,
    answer: Option<u64>,
    began: u64,
    ended: u64,
}

/// What the index must hold; small, so that it can be remembered.
type State = BTreeMap<usize, u64>;

/// The answer an operation must give in this state, which it changes.
fn apply(state: &mut State, done: &Done) -> Option<u64> {
    match done.kind {
        Kind::Get => state.get(&done.key).copied(),
        Kind::Insert(value) => state.insert(done.key, value),
        Kind::Remove => state.remove(&done.key),
        Kind::Increment => {
            let before = state.get(&done.key).copied();
            state.entry(done.key).and_modify(|value| *value += 1);
            before
        }
    }
}

/// Whether some order of the operations not yet in `taken` explains their answers.
fn explains(history: &[Done], taken: u32, state: &State, seen: &mut HashSet<(u32, State)>) -> bool {
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
            && explains(history, taken | 1 << at, &after, seen)
    })
}

/// One thread's operations, with the times.
fn run<I: OrderedIndex<Inline<u64>>>(index: &I, keys: &[&[u8]], clock: &AtomicU64, seed: u64) -> Vec<Done> {
    let mut random = Random::new(seed);
    let operation = |_| {
        let (key, value) = (random.below(keys.len()), random.next() >> 1);
        let kind = [Kind::Get, Kind::Insert(value), Kind::Remove, Kind::Increment][random.below(4)];
        let guard = index.collector().enter();
        let began = clock.fetch_add(1, Ordering::SeqCst);
        let answer = match kind {
            Kind::Get => index.get(keys[key], &guard),
            Kind::Insert(value) => index.insert(keys[key], Inline(value), &guard).unwrap(),
            Kind::Remove => index.remove(keys[key], &guard),
            Kind::Increment => {
                let add =
                    |seen: Option<u64>| seen.map_or(Change::Keep, |value| Change::Put(Inline(value + 1)));
                index.compute(keys[key], add, &guard).unwrap().before
            }
        };
        Done { key, kind, answer, began, ended: clock.fetch_add(1, Ordering::SeqCst) }
    };
    (0..OPERATIONS).map(operation).collect()
}

fn masstree() -> Masstree<Inline<u64>, 3> {
    Masstree::with_width(Arc::new(Collector::new()))
}

fn wormhole() -> Wormhole<Inline<u64>, 4> {
    Wormhole::with_variant(Arc::new(Collector::new()))
}

fn check<I: OrderedIndex<Inline<u64>>>(make: fn() -> I, keys: &[&[u8]], others: &[&[u8]], rounds: u64) {
    for round in 0..rounds {
        let index = make();
        // Company, so that nodes are nearly full and the operations split, grow, shrink and unlink them.
        for key in &others[..round as usize % (others.len() + 1)] {
            index.insert(key, Inline(0), &index.collector().enter()).unwrap();
        }
        let (clock, barrier) = (AtomicU64::new(0), Barrier::new(THREADS));
        let history: Vec<Done> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS as u64)
                .map(|thread| {
                    let (index, clock, barrier) = (&index, &clock, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        run(index, keys, clock, round * THREADS as u64 + thread)
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert!(explains(&history, 0, &State::new(), &mut HashSet::new()), "no order explains {history:#?}");
    }
}

#[test]
fn histories_in_one_node() {
    check(masstree, &[b"b", b"d"], &[b"a", b"c", b"e"], 3000);
}

#[test]
fn histories_in_a_layer() {
    check(masstree, &[b"prefix-one", b"prefix-two", b"prefix-"], &[b"prefix-three", b"prefix-t", b"a"], 3000);
}

#[test]
fn histories_in_a_leaf_that_splits_and_merges() {
    check(wormhole, &[b"b", b"d"], &[b"a", b"c", b"e", b"f", b"g"], 3000);
}

#[test]
fn histories_in_leaves_with_a_common_prefix() {
    let others: [&[u8]; 5] = [b"prefix-three", b"prefix-t", b"a", b"prefix-\0", b"prefix-\0\0"];
    check(wormhole, &[b"prefix-one", b"prefix-two", b"prefix-"], &others, 3000);
}

/// The search itself: it must refuse a history that no order explains.
#[test]
fn a_wrong_history_is_refused() {
    let done = |kind, answer, began, ended| Done { key: 0, kind, answer, began, ended };
    let stale = [done(Kind::Insert(1), None, 0, 1), done(Kind::Get, None, 2, 3)];
    assert!(!explains(&stale, 0, &State::new(), &mut HashSet::new()));
    let overlapping = [done(Kind::Insert(1), None, 0, 2), done(Kind::Get, None, 1, 3)];
    assert!(explains(&overlapping, 0, &State::new(), &mut HashSet::new()));
}
