//! The conformance suite for every byte-string index, with one test per promise of the contract.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skein_index::index::MAX_KEY_LEN;
use skein_index::{
    Boxed, ComputeAction, Cursor, Guard, IndexError, Inline, OrderedIndex, OwnedGuard, Slot, prefix, range,
};

use super::random::TestRandom;
use super::shared_keys;

/// An index under test, for any kind of slot.
pub trait IndexFamily {
    type Index<S: Slot>: OrderedIndex<S>;
    /// The length of the longest key that it accepts.
    const LONGEST: usize = MAX_KEY_LEN;
    /// Returns an empty index with a collector of its own.
    fn index<S: Slot>() -> Self::Index<S>;
    /// Returns an empty index that rejects writes over a budget.
    fn with_budget<S: Slot>(bytes: usize) -> Self::Index<S>;
}

/// Defines the suite's tests for a family.
macro_rules! conformance {
    ($module:ident, $family:ty) => {
        mod $module {
            use super::*;
            $crate::support::conformance::conformance!(@tests $family,
                starts_empty, returns_inserted_values, any_bytes_are_a_key, trailing_zeros_count, the_longest_key,
                compute_sees_and_decides, a_panic_in_compute_changes_nothing, insert_if_absent_keeps_the_first,
                get_many_reports_each_key_once, cursor_moves_both_ways, cursor_changes_direction, cursor_outlives_changes, cursor_moves_between_threads,
                ranges_from_both_ends, prefixes, remove_range_reports_removed_keys, writes_over_the_budget_fail,
                a_foreign_guard_is_rejected, memory_is_returned, values_are_dropped_once, split_points_divide_evenly);
        }
    };
    (@tests $family:ty, $($name:ident),*) => {
        $(#[test] fn $name() { $crate::support::conformance::$name::<$family>(); })*
    };
}

pub(crate) use conformance;

/// Returns keys that share long parts, as long as the index accepts them.
fn paths<F: IndexFamily>(count: usize) -> Vec<Vec<u8>> {
    if F::LONGEST < MAX_KEY_LEN { shared_keys::short(count) } else { shared_keys::paths(count) }
}

type NumberIndex<F> = <F as IndexFamily>::Index<Inline<u64>>;

fn filled<F: IndexFamily>(keys: &[&[u8]]) -> NumberIndex<F> {
    let index = F::index();
    let guard = index.collector().enter();
    for (key, value) in keys.iter().zip(0..) {
        assert_eq!(index.insert(key, Inline(value), &guard).unwrap(), None);
    }
    drop(guard);
    index
}

fn keys_of<I: OrderedIndex<Inline<u64>>>(index: &I) -> Vec<Vec<u8>> {
    let guard = index.collector().enter();
    range(index, .., &guard).map(|(key, _)| key).collect()
}

pub fn starts_empty<F: IndexFamily>() {
    let index: NumberIndex<F> = F::index();
    let guard = index.collector().enter();
    assert!(index.is_empty());
    assert_eq!(index.get(b"", &guard), None);
    assert_eq!(index.remove(b"a", &guard), None);
    let mut cursor = index.cursor(&guard);
    assert_eq!((cursor.key(), cursor.value()), (None, None));
    assert!(!cursor.next() && !cursor.prev() && !cursor.first() && !cursor.last());
    assert!(!cursor.seek(b"a") && !cursor.seek_back(b"a"));
    assert!(index.split_points(4, &guard).is_empty());
}

pub fn returns_inserted_values<F: IndexFamily>() {
    let index: NumberIndex<F> = F::index();
    let guard = index.collector().enter();
    assert_eq!(index.insert(b"key", Inline(1), &guard).unwrap(), None);
    assert_eq!(index.insert(b"key", Inline(2), &guard).unwrap(), Some(1));
    assert_eq!((index.get(b"key", &guard), index.len()), (Some(2), 1));
    assert_eq!(index.remove(b"key", &guard), Some(2));
    assert_eq!((index.get(b"key", &guard), index.len()), (None, 0));
}

pub fn any_bytes_are_a_key<F: IndexFamily>() {
    let mut keys: Vec<Vec<u8>> =
        (0..40).flat_map(|length| [vec![0; length], vec![0xff; length + 1]]).collect();
    keys.extend((1..30).map(|length| (0..length).collect()));
    keys.retain(|key| key.len() <= F::LONGEST);
    keys.sort();
    keys.dedup();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    assert_eq!(keys_of(&filled::<F>(&slices)), keys);
}

pub fn trailing_zeros_count<F: IndexFamily>() {
    let keys: Vec<Vec<u8>> =
        (0..F::LONGEST.min(20)).map(|zeros| [b"k".as_slice(), &vec![0; zeros]].concat()).collect();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let index = filled::<F>(&slices);
    let guard = index.collector().enter();
    for (key, value) in keys.iter().zip(0..) {
        assert_eq!(index.get(key, &guard), Some(value));
    }
    assert_eq!(index.remove(&keys[3], &guard), Some(3));
    assert_eq!((index.get(&keys[2], &guard), index.get(&keys[4], &guard)), (Some(2), Some(4)));
}

pub fn the_longest_key<F: IndexFamily>() {
    let index: NumberIndex<F> = F::index();
    let guard = index.collector().enter();
    let mut longest = vec![7; F::LONGEST];
    index.insert(&longest, Inline(1), &guard).unwrap();
    *longest.last_mut().unwrap() = 8;
    // Two keys that differ in the last byte only: as many layers as there can be.
    index.insert(&longest, Inline(2), &guard).unwrap();
    assert_eq!(index.get(&longest, &guard), Some(2));
    assert!(range(&index, .., &guard).map(|(_, value)| value).eq([1, 2]));
    assert!(range(&index, .., &guard).rev().map(|(_, value)| value).eq([2, 1]));
    longest.push(0);
    let refused = IndexError::KeyTooLong { len: F::LONGEST + 1, limit: F::LONGEST };
    assert_eq!(index.insert(&longest, Inline(3), &guard), Err(refused));
    assert_eq!(index.compute(&longest, |_| ComputeAction::Put(Inline(3)), &guard).unwrap_err(), refused);
    assert_eq!((index.get(&longest, &guard), index.remove(&longest, &guard)), (None, None));
    assert!(!index.cursor(&guard).seek(&longest));
    longest.pop();
    assert_eq!(index.remove(&longest, &guard), Some(2));
    assert_eq!(index.len(), 1);
}

pub fn compute_sees_and_decides<F: IndexFamily>() {
    let index: NumberIndex<F> = F::index();
    let guard = index.collector().enter();
    for key in [b"short".as_slice(), b"a key that is longer than a slice"] {
        let key = &key[..key.len().min(F::LONGEST)];
        let done =
            index.compute(key, |seen| ComputeAction::Put(Inline(seen.map_or(1, |n| n + 1))), &guard).unwrap();
        assert_eq!((done.before, done.changed), (None, true));
        let done =
            index.compute(key, |seen| ComputeAction::Put(Inline(seen.map_or(1, |n| n + 1))), &guard).unwrap();
        assert_eq!((done.before, done.changed, index.get(key, &guard)), (Some(1), true, Some(2)));
        let done = index.compute(key, |_| ComputeAction::Keep, &guard).unwrap();
        assert_eq!((done.before, done.changed, index.get(key, &guard)), (Some(2), false, Some(2)));
        let done = index.compute(key, |_| ComputeAction::Remove, &guard).unwrap();
        assert_eq!((done.before, done.changed, index.get(key, &guard)), (Some(2), true, None));
        let done = index.compute(key, |_| ComputeAction::Remove, &guard).unwrap();
        assert_eq!((done.before, done.changed), (None, false));
    }
    assert!(index.is_empty());
}

pub fn a_panic_in_compute_changes_nothing<F: IndexFamily>() {
    let keys = paths::<F>(60);
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let index = filled::<F>(&slices[..50]);
    let guard = index.collector().enter();
    for key in &keys {
        let before = index.get(key, &guard);
        let panics = || index.compute(key, |_| panic!("the caller's closure fails"), &guard).map(|_| ());
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(index.get(key, &guard), before);
    }
    for key in &keys {
        index.insert(key, Inline(0), &guard).unwrap();
    }
    assert_eq!(index.len(), keys.len());
}

pub fn insert_if_absent_keeps_the_first<F: IndexFamily>() {
    let index: NumberIndex<F> = F::index();
    let guard = index.collector().enter();
    assert_eq!(index.insert_if_absent(b"key", Inline(1), &guard).unwrap(), None);
    assert_eq!(index.insert_if_absent(b"key", Inline(2), &guard).unwrap(), Some(1));
    assert_eq!(index.get(b"key", &guard), Some(1));
}

pub fn get_many_reports_each_key_once<F: IndexFamily>() {
    let keys = paths::<F>(300);
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let index = filled::<F>(&slices[..200]);
    let guard = index.collector().enter();
    for count in [0, 1, 31, 32, 33, 64, 300] {
        let mut answers = vec![0; count];
        index.get_many(&slices[..count], &guard, |at, found| {
            answers[at] += 1;
            assert_eq!(found, (at < 200).then_some(at as u64));
        });
        assert!(answers.iter().all(|&answers| answers == 1));
    }
}

pub fn cursor_moves_both_ways<F: IndexFamily>() {
    let index = filled::<F>(&[b"b", b"d", b"dd", b"f"]);
    let guard = index.collector().enter();
    let mut cursor = index.cursor(&guard);
    assert!(cursor.seek(b"c") && cursor.key() == Some(b"d"));
    assert!(cursor.seek(b"d") && cursor.key() == Some(b"d"));
    assert!(cursor.seek_back(b"e") && cursor.key() == Some(b"dd"));
    assert!(cursor.seek_back(b"dd") && cursor.key() == Some(b"dd"));
    assert!(!cursor.seek(b"g") && cursor.key().is_none());
    assert!(!cursor.seek_back(b"a") && cursor.key().is_none());
    assert!(cursor.first() && cursor.key() == Some(b"b"));
    assert!(cursor.last() && cursor.key() == Some(b"f") && cursor.value() == Some(3));
    assert!(!cursor.next() && cursor.key().is_none() && !cursor.next());
    assert!(cursor.prev() && cursor.key() == Some(b"f"));
    assert!(cursor.first() && !cursor.prev() && cursor.key().is_none() && !cursor.prev());
    assert!(cursor.next() && cursor.key() == Some(b"b"));
}

/// Random walks: after any number of steps in both directions, the cursor is at the expected key.
pub fn cursor_changes_direction<F: IndexFamily>() {
    for mut keys in [shared_keys::numbers(200), paths::<F>(200)] {
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let index = filled::<F>(&slices);
        keys.sort();
        let guard = index.collector().enter();
        let mut random = TestRandom::new(8);
        let mut cursor = index.cursor(&guard);
        let mut at = random.below(keys.len());
        assert!(cursor.seek(&keys[at]));
        for _ in 0..5000 {
            if at > 0 && (at == keys.len() - 1 || random.below(2) == 0) {
                assert!(cursor.prev());
                at -= 1;
            } else {
                assert!(cursor.next());
                at += 1;
            }
            assert_eq!(cursor.key(), Some(&*keys[at]));
        }
    }
}

/// A cursor under a guard that may move between threads can move along with it.
pub fn cursor_moves_between_threads<F: IndexFamily>()
where
    for<'g> <NumberIndex<F> as OrderedIndex<Inline<u64>>>::IndexCursor<'g, OwnedGuard<'g>>: Send,
{
    let index = filled::<F>(&[b"a", b"b", b"c"]);
    let guard = index.collector().enter_owned();
    let mut cursor = index.cursor(&guard);
    assert!(cursor.next());
    let mut cursor = std::thread::scope(|scope| {
        let there = scope.spawn(move || {
            assert!(cursor.next() && cursor.key() == Some(b"b"));
            cursor
        });
        there.join().unwrap()
    });
    assert!(cursor.next() && cursor.key() == Some(b"c"));
}

/// Keys are removed and inserted around a cursor. The cursor must continue in order and return
/// every key that stays.
pub fn cursor_outlives_changes<F: IndexFamily>() {
    for keys in [shared_keys::numbers(400), paths::<F>(400)] {
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let index = filled::<F>(&slices[..200]);
        let guard = index.collector().enter();
        for forward in [true, false] {
            let mut random = TestRandom::new(9);
            let mut cursor = index.cursor(&guard);
            let mut met = Vec::new();
            while if forward { cursor.next() } else { cursor.prev() } {
                met.push(cursor.key().unwrap().to_vec());
                // Every fourth key of the first half stays. The others are removed and inserted,
                // the cursor's own key too.
                for _ in 0..6 {
                    let key = random.below(keys.len());
                    if key >= 200 || !key.is_multiple_of(4) {
                        if random.below(2) == 0 {
                            index.remove(&keys[key], &guard);
                        } else {
                            index.insert(&keys[key], Inline(key as u64), &guard).unwrap();
                        }
                    }
                }
                let own = met.last().unwrap();
                let number = keys.iter().position(|key| key == own).unwrap();
                if !number.is_multiple_of(4) || number >= 200 {
                    index.remove(own, &guard);
                    assert_eq!(cursor.key(), Some(&**own));
                }
            }
            if !forward {
                met.reverse();
            }
            assert!(met.is_sorted_by(|a, b| a < b));
            for key in keys[..200].iter().step_by(4) {
                assert!(met.binary_search(key).is_ok(), "the cursor missed a key that stayed");
            }
        }
    }
}

pub fn ranges_from_both_ends<F: IndexFamily>() {
    let index = filled::<F>(&[b"a", b"b", b"c", b"d"]);
    let guard = index.collector().enter();
    let between = |start: Bound<&[u8]>, end: Bound<&[u8]>| -> Vec<u64> {
        let forward: Vec<u64> = range(&index, (start, end), &guard).map(|(_, value)| value).collect();
        let mut back: Vec<u64> = range(&index, (start, end), &guard).rev().map(|(_, value)| value).collect();
        back.reverse();
        assert_eq!(forward, back);
        forward
    };
    let (b, c) = (b"b".as_slice(), b"c".as_slice());
    assert_eq!(between(Bound::Unbounded, Bound::Unbounded), [0, 1, 2, 3]);
    assert_eq!(between(Bound::Included(b), Bound::Included(c)), [1, 2]);
    assert_eq!(between(Bound::Excluded(b), Bound::Unbounded), [2, 3]);
    assert_eq!(between(Bound::Unbounded, Bound::Excluded(c)), [0, 1]);
    assert!(between(Bound::Excluded(b), Bound::Excluded(c)).is_empty());
    assert!(between(Bound::Included(c), Bound::Included(b)).is_empty());
    let mut both = range(&index, .., &guard);
    assert_eq!(both.next().map(|(_, value)| value), Some(0));
    assert_eq!(both.next_back().map(|(_, value)| value), Some(3));
    assert_eq!(both.next_back().map(|(_, value)| value), Some(2));
    assert_eq!(both.next().map(|(_, value)| value), Some(1));
    assert!(both.next().is_none() && both.next_back().is_none());
}

pub fn prefixes<F: IndexFamily>() {
    let index = filled::<F>(&[b"", b"a", b"a\xff", b"a\xff\xff", b"b", b"\xff", b"\xff\xff"]);
    let guard = index.collector().enter();
    let values =
        |start: &[u8]| -> Vec<u64> { prefix(&index, start, &guard).map(|(_, value)| value).collect() };
    assert_eq!(values(b""), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(values(b"a"), [1, 2, 3]);
    assert_eq!(values(b"a\xff"), [2, 3]);
    assert_eq!(values(b"\xff"), [5, 6]);
    assert!(values(b"c").is_empty());
}

pub fn remove_range_reports_removed_keys<F: IndexFamily>() {
    let mut keys = paths::<F>(500);
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let index = filled::<F>(&slices);
    keys.sort();
    let guard = index.collector().enter();
    let mut removed = Vec::new();
    let bounds = (Bound::Included(&*keys[100]), Bound::Excluded(&*keys[400]));
    let count = index.remove_range(bounds, |key| removed.push(key.to_vec()), &guard);
    assert_eq!((count, index.len()), (300, 200));
    assert_eq!(removed, keys[100..400]);
    keys.drain(100..400);
    assert_eq!(keys_of(&index), keys);
}

pub fn writes_over_the_budget_fail<F: IndexFamily>() {
    let empty: NumberIndex<F> = F::index();
    let index: NumberIndex<F> = F::with_budget(empty.memory().live() + (2 << 20));
    let guard = index.collector().enter();
    let refused = (0..10_000_000_u64).find_map(|n| index.insert(&n.to_be_bytes(), Inline(n), &guard).err());
    let Some(IndexError::OverBudget { used, budget }) = refused else {
        panic!("no write failed: {refused:?}")
    };
    assert!(used >= budget && index.memory().live() <= budget + (64 << 10));
    let len = index.len() as u64;
    assert!(len > 10_000 && index.get(&(len - 1).to_be_bytes(), &guard).is_some());
    assert_eq!(index.get(&len.to_be_bytes(), &guard), None, "the rejected write left a key");
    // Removals make room for inserts again.
    for n in 0..len {
        index.remove(&n.to_be_bytes(), &guard);
    }
    guard.flush();
    drop(guard);
    let guard = index.collector().enter();
    index.insert(b"key", Inline(1), &guard).unwrap();
}

pub fn a_foreign_guard_is_rejected<F: IndexFamily>() {
    let (index, other): (NumberIndex<F>, NumberIndex<F>) = (F::index(), F::index());
    let guard = other.collector().enter();
    let uses: [&dyn Fn(); 4] = [
        &|| assert!(index.get(b"key", &guard).is_none()),
        &|| assert!(index.insert(b"key", Inline(1), &guard).is_ok()),
        &|| assert!(index.remove(b"key", &guard).is_none()),
        &|| drop(index.cursor(&guard)),
    ];
    for attempt in uses {
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).is_err());
    }
}

pub fn memory_is_returned<F: IndexFamily>() {
    let sets = [shared_keys::numbers(20_000), paths::<F>(20_000)];
    let index: NumberIndex<F> = F::index();
    let empty = index.memory();
    for keys in sets {
        let guard = index.collector().enter();
        for key in &keys {
            index.insert(key, Inline(1), &guard).unwrap();
        }
        assert!(index.memory().live() > empty.live());
        for key in &keys {
            index.remove(key, &guard).unwrap();
        }
        guard.flush();
        drop(guard);
        let memory = index.memory();
        assert_eq!((memory.live(), memory.unreclaimed, index.len()), (empty.live(), 0, 0));
        assert!(memory.reserved <= empty.reserved + (4 << 20), "{memory:?}");
    }
}

/// Counts its drops.
struct DropTally(Arc<AtomicUsize>);

impl Drop for DropTally {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub fn values_are_dropped_once<F: IndexFamily>() {
    let drops = Arc::new(AtomicUsize::new(0));
    let index: F::Index<Boxed<DropTally>> = F::index();
    let noted = || Boxed::new(DropTally(Arc::clone(&drops)));
    let keys = paths::<F>(100);
    let guard = index.collector().enter();
    for key in &keys {
        index.insert(key, noted(), &guard).unwrap();
        // The key is present, so the value is rejected and dropped immediately.
        index.insert_if_absent(key, noted(), &guard).unwrap();
    }
    assert_eq!(drops.load(Ordering::Relaxed), 100);
    let replaced = index.insert(&keys[0], noted(), &guard).unwrap().unwrap();
    let removed = index.remove(&keys[1], &guard).unwrap();
    // Both values stay valid while a guard is held.
    assert!(Arc::ptr_eq(&replaced.0, &drops) && Arc::ptr_eq(&removed.0, &drops));
    guard.flush();
    drop(guard);
    assert_eq!(drops.load(Ordering::Relaxed), 102);
    drop(index);
    assert_eq!(drops.load(Ordering::Relaxed), 201);
}

pub fn split_points_divide_evenly<F: IndexFamily>() {
    for mut keys in [shared_keys::numbers(20_000), paths::<F>(20_000)] {
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let index = filled::<F>(&slices);
        keys.sort();
        let guard = index.collector().enter();
        let points = index.split_points(8, &guard);
        assert!(points.len() <= 7 && points.is_sorted_by(|a, b| a < b));
        let places: Vec<usize> = points.iter().map(|point| keys.partition_point(|key| key < point)).collect();
        let mut largest = 0;
        let mut last = 0;
        for place in places.into_iter().chain([keys.len()]) {
            largest = largest.max(place - last);
            last = place;
        }
        assert!(largest < keys.len() / 2, "a part of {largest} keys: {points:?}");
    }
}
