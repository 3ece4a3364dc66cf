//! Helpers of the tests of all indexes: a model, and operations to run on the index and the model.

#![allow(dead_code, reason = "each test uses its part")]

pub mod checked;
pub mod conformance;
pub mod history;
pub mod numbers;
pub mod planted;
pub mod random;
pub mod shared_keys;

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::panic::resume_unwind;

use numbers::NumberSlot;
use proptest::prelude::*;
use skein_index::{ComputeAction, Cursor, Guard, OrderedIndex, ScanDirection, range, walk};

/// Returns a number of operations, multiplied by the factor in the environment (`SKEIN_STRESS`).
pub fn times(operations: usize) -> usize {
    let factor = std::env::var("SKEIN_STRESS").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1);
    if cfg!(miri) { operations / 200 } else { operations * factor }
}

/// Returns the results of threads. If a thread panicked, panics with the same payload, so that its
/// message is not lost.
pub fn returned<T>(results: impl IntoIterator<Item = std::thread::Result<T>>) -> Vec<T> {
    results.into_iter().map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}

/// A key.
pub type TestKey = Vec<u8>;

/// A strategy for keys.
pub type TestKeyStrategy = BoxedStrategy<TestKey>;

/// One operation on an index.
#[derive(Clone, Debug)]
pub enum IndexOperation {
    Insert(TestKey, u64),
    InsertIfAbsent(TestKey, u64),
    Add(TestKey, u64),
    Remove(TestKey),
    Get(TestKey),
    GetMany(Vec<TestKey>),
    Seek(TestKey, usize),
    SeekBack(TestKey, usize),
    Range(Bound<TestKey>, Bound<TestKey>),
    RemoveRange(Bound<TestKey>, Bound<TestKey>),
}

/// Returns keys that repeat often and are hard for a tree of slices: shared prefixes, zero bytes,
/// lengths around multiples of 8, keys and their extensions.
pub fn any_key() -> TestKeyStrategy {
    let byte = prop_oneof![4 => Just(0_u8), 2 => Just(b'a'), 1 => Just(0xff), 1 => any::<u8>()];
    let prefix = prop_oneof![
        Just(0_usize),
        Just(6),
        Just(7),
        Just(8),
        Just(9),
        Just(15),
        Just(16),
        Just(17),
        Just(24),
        Just(40)
    ];
    (prefix, any::<bool>(), prop::collection::vec(byte, 0..5))
        .prop_map(|(length, zeros, tail)| {
            let mut key: TestKey = if zeros {
                vec![0; length]
            } else {
                b"shared/prefix/of/many/keys/and/more/of/it".iter().copied().cycle().take(length).collect()
            };
            key.extend(tail);
            key
        })
        .boxed()
}

/// Returns keys that differ in the number of zeros, or of other bytes, at their ends: anchors are
/// long prefixes of each other.
pub fn zero_tails() -> TestKeyStrategy {
    let tail = prop_oneof![4 => Just(0_u8), 1 => Just(1_u8), 1 => Just(0xff)];
    (0_usize..3, 0_usize..150, tail, prop::collection::vec(0_u8..2, 0..3))
        .prop_map(|(prefix, length, byte, end)| {
            let mut key = vec![b'k'; prefix];
            key.extend(std::iter::repeat_n(byte, length));
            key.extend(end);
            key
        })
        .boxed()
}

/// Returns keys with at most three lengths per slice, for trees of small nodes.
pub fn spread_key() -> TestKeyStrategy {
    (0_usize..5, prop::collection::vec(0_u8..4, 1..9))
        .prop_map(|(prefix, digits)| {
            let mut key = vec![7; 8 * prefix];
            let padded = digits.iter().copied().chain(std::iter::repeat(9)).take(8);
            key.extend(padded);
            if digits.len() > 6 {
                key.extend_from_slice(&digits);
            }
            key
        })
        .boxed()
}

/// Returns keys of up to eight bytes: byte strings, and integers that are dense, neighbours, powers
/// of two, at the ends, or that use one byte only.
pub fn short_key() -> TestKeyStrategy {
    let near = |number: u64| (0_u64..3).prop_map(move |off| number.wrapping_add(off).wrapping_sub(1));
    let integer = prop_oneof![
        4 => 0_u64..300,
        2 => (0_u32..64).prop_flat_map(move |bit| near(1 << bit)),
        1 => near(0),
        2 => (0_u32..8, 0_u64..256).prop_map(|(byte, value)| value << (8 * byte)),
        2 => (0_u64..40).prop_map(|number| number << 11),
        2 => (0_u64..4, 0_u64..20).prop_map(|(high, low)| high << 40 | low),
        1 => any::<u64>(),
    ];
    let byte = prop_oneof![4 => Just(0_u8), 2 => Just(b'a'), 1 => any::<u8>()];
    prop_oneof![
        2 => integer.prop_map(|number| number.to_be_bytes().to_vec()),
        1 => prop::collection::vec(byte, 0..9),
    ]
    .boxed()
}

/// Returns keys whose prefixes of all lengths have few different endings, so that the nodes of a
/// crowded table share few buckets.
pub fn crowded_key() -> TestKeyStrategy {
    let byte = prop_oneof![3 => Just(0_u8), 1 => Just(16_u8), 1 => Just(8_u8)];
    let tail = prop::collection::vec(byte, 8);
    (tail, 0_u8..20)
        .prop_map(|(mut key, number)| {
            key[usize::from(number % 7)] = number << 3;
            key
        })
        .boxed()
}

/// Returns bounds of ranges of these keys.
pub fn bound(key: TestKeyStrategy) -> impl Strategy<Value = Bound<TestKey>> {
    prop_oneof![
        4 => key.clone().prop_map(Bound::Included),
        4 => key.prop_map(Bound::Excluded),
        1 => Just(Bound::Unbounded),
    ]
}

/// Returns a sequence of operations on the given keys.
pub fn operations(key: &TestKeyStrategy, count: usize) -> impl Strategy<Value = Vec<IndexOperation>> {
    let k = || TestKeyStrategy::clone(key);
    let one = prop_oneof![
        10 => (k(), any::<u64>()).prop_map(|(key, value)| IndexOperation::Insert(key, value)),
        3 => (k(), any::<u64>()).prop_map(|(key, value)| IndexOperation::InsertIfAbsent(key, value)),
        3 => (k(), any::<u64>()).prop_map(|(key, value)| IndexOperation::Add(key, value)),
        8 => k().prop_map(IndexOperation::Remove),
        3 => k().prop_map(IndexOperation::Get),
        1 => prop::collection::vec(k(), 0..70).prop_map(IndexOperation::GetMany),
        2 => (k(), 0_usize..6).prop_map(|(key, steps)| IndexOperation::Seek(key, steps)),
        2 => (k(), 0_usize..6).prop_map(|(key, steps)| IndexOperation::SeekBack(key, steps)),
        1 => (bound(k()), bound(k())).prop_map(|(start, end)| IndexOperation::Range(start, end)),
        1 => (bound(k()), bound(k())).prop_map(|(start, end)| IndexOperation::RemoveRange(start, end)),
    ];
    prop::collection::vec(one, 1..count)
}

fn as_slices<'k>(start: &'k Bound<TestKey>, end: &'k Bound<TestKey>) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice))
}

/// Returns the model's entries within bounds, which may cross.
pub fn within(
    model: &BTreeMap<TestKey, u64>,
    start: &Bound<TestKey>,
    end: &Bound<TestKey>,
) -> Vec<(TestKey, u64)> {
    let above = |key: &TestKey| match start {
        Bound::Unbounded => true,
        Bound::Included(start) => key >= start,
        Bound::Excluded(start) => key > start,
    };
    let below = |key: &TestKey| match end {
        Bound::Unbounded => true,
        Bound::Included(end) => key <= end,
        Bound::Excluded(end) => key < end,
    };
    model
        .iter()
        .filter(|(key, _)| above(key) && below(key))
        .map(|(key, value)| (key.clone(), *value))
        .collect()
}

/// Returns the entries that a walk visits.
fn walked<S: NumberSlot, I: OrderedIndex<S>, G: Guard>(
    index: &I,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    direction: ScanDirection,
    guard: &G,
) -> Vec<(TestKey, u64)> {
    let (near, far) = direction.near_and_far(bounds);
    let mut found = Vec::new();
    walk(&mut index.cursor(guard), near, far, direction, |key, value| {
        found.push((key.to_vec(), value));
        ControlFlow::Continue(())
    });
    found
}

/// Runs an operation on the index and on the model, and compares their answers.
pub fn run<S: NumberSlot, I: OrderedIndex<S>, G: Guard>(
    index: &I,
    model: &mut BTreeMap<TestKey, u64>,
    operation: &IndexOperation,
    guard: &G,
) {
    match operation {
        IndexOperation::Insert(key, value) => {
            let before = index.insert(key, S::of(*value), guard).unwrap();
            assert_eq!(before, model.insert(key.clone(), *value));
        }
        IndexOperation::InsertIfAbsent(key, value) => {
            let before = index.insert_if_absent(key, S::of(*value), guard).unwrap();
            assert_eq!(before, model.get(key).copied());
            model.entry(key.clone()).or_insert(*value);
        }
        IndexOperation::Add(key, delta) => compute(index, model, key, *delta, guard),
        IndexOperation::Remove(key) => assert_eq!(index.remove(key, guard), model.remove(key)),
        IndexOperation::Get(key) => assert_eq!(index.get(key, guard), model.get(key).copied()),
        IndexOperation::GetMany(keys) => {
            let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let mut found = vec![None; keys.len()];
            index.get_many(&slices, guard, |at, value| {
                assert!(found[at].replace(value).is_none(), "key {at} was answered twice");
            });
            for (key, found) in keys.iter().zip(found) {
                assert_eq!(found, Some(model.get(key).copied()));
            }
        }
        IndexOperation::Seek(key, steps) => {
            let mut cursor = index.cursor(guard);
            let mut expected = model.range(key.clone()..);
            let mut found = cursor.seek(key);
            for _ in 0..=*steps {
                let expected = expected.next();
                assert_eq!(found, expected.is_some());
                assert_eq!(cursor.key().zip(cursor.value()), expected.map(|(key, value)| (&**key, *value)));
                found = cursor.next();
            }
        }
        IndexOperation::SeekBack(key, steps) => {
            let mut cursor = index.cursor(guard);
            let mut expected = model.range(..=key.clone());
            let mut found = cursor.seek_back(key);
            for _ in 0..=*steps {
                let expected = expected.next_back();
                assert_eq!(found, expected.is_some());
                assert_eq!(cursor.key().zip(cursor.value()), expected.map(|(key, value)| (&**key, *value)));
                found = cursor.prev();
            }
        }
        IndexOperation::Range(start, end) => check_range(index, model, start, end, guard),
        IndexOperation::RemoveRange(start, end) => {
            let expected = within(model, start, end);
            let mut removed = Vec::new();
            let count = index.remove_range(as_slices(start, end), |key| removed.push(key.to_vec()), guard);
            assert_eq!(count, expected.len());
            assert!(removed.iter().eq(expected.iter().map(|(key, _)| key)));
            model.retain(|key, _| !removed.contains(key));
        }
    }
}

/// Adds to a value by `compute`, and keeps or removes it for some sums.
fn compute<S: NumberSlot, I: OrderedIndex<S>, G: Guard>(
    index: &I,
    model: &mut BTreeMap<TestKey, u64>,
    key: &TestKey,
    delta: u64,
    guard: &G,
) {
    let add = |current: Option<u64>| match current {
        Some(current) if current % 5 == 0 => ComputeAction::Remove,
        Some(current) if current % 5 == 1 => ComputeAction::Keep,
        None if delta.is_multiple_of(5) => ComputeAction::Remove,
        None if delta % 5 == 1 => ComputeAction::Keep,
        current => ComputeAction::Put(current.unwrap_or(0).wrapping_add(delta)),
    };
    let put = |current| match add(current) {
        ComputeAction::Put(value) => ComputeAction::Put(S::of(value)),
        ComputeAction::Keep => ComputeAction::Keep,
        ComputeAction::Remove => ComputeAction::Remove,
    };
    let done = index.compute(key, put, guard).unwrap();
    let before = model.get(key).copied();
    assert_eq!(done.before, before);
    let change = add(before);
    let stays = matches!((&change, before), (ComputeAction::Keep, _) | (ComputeAction::Remove, None));
    assert_eq!(done.changed, !stays);
    match change {
        ComputeAction::Keep => {}
        ComputeAction::Put(value) => {
            model.insert(key.clone(), value);
        }
        ComputeAction::Remove => {
            model.remove(key);
        }
    }
}

/// Compares a range, in both directions, from both ends at once, and walked.
fn check_range<S: NumberSlot, I: OrderedIndex<S>, G: Guard>(
    index: &I,
    model: &BTreeMap<TestKey, u64>,
    start: &Bound<TestKey>,
    end: &Bound<TestKey>,
    guard: &G,
) {
    let expected = within(model, start, end);
    let found: Vec<_> = range(index, as_slices(start, end), guard).collect();
    assert_eq!(found, expected);
    let mut found: Vec<_> = range(index, as_slices(start, end), guard).rev().collect();
    found.reverse();
    assert_eq!(found, expected);
    let mut both = range(index, as_slices(start, end), guard);
    let (mut front, mut back) = (Vec::new(), Vec::new());
    while let Some(item) = both.next() {
        front.push(item);
        back.extend(both.next_back());
    }
    front.extend(back.into_iter().rev());
    assert_eq!(front, expected);
    let bounds = as_slices(start, end);
    assert_eq!(walked(index, bounds, ScanDirection::Forward, guard), expected);
    let mut found = walked(index, bounds, ScanDirection::Backward, guard);
    found.reverse();
    assert_eq!(found, expected);
}

/// Compares the whole index with the model, in both directions.
pub fn compare_all<S: NumberSlot, I: OrderedIndex<S>, G: Guard>(
    index: &I,
    model: &BTreeMap<TestKey, u64>,
    guard: &G,
) {
    assert_eq!(index.len(), model.len());
    assert!(range(index, .., guard).eq(model.iter().map(|(key, value)| (key.clone(), *value))));
    assert!(range(index, .., guard).rev().eq(model.iter().rev().map(|(key, value)| (key.clone(), *value))));
}
