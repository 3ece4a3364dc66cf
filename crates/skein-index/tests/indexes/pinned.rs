//! Pinned indexes behave like a `BTreeMap`, over every index, and hold memory only as long as their
//! documentation says.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use proptest::prelude::*;
use skein_index::{
    Boxed, ComputeAction, CuckooTrie, IndexError, Inline, KEYS_PER_GUARD, KeyBounds, Masstree, MlpIndex,
    OrderedIndex, Pinned, SkipList, Wormhole,
};

use crate::support::{TestKey, TestKeyStrategy, any_key, bound, short_key, within};

type KeyBound = Bound<TestKey>;
type TestEntry = (TestKey, u64);

/// The methods that each index has by itself, for generic tests.
trait PinnedIndex: OrderedIndex<Inline<u64>> + FromIterator<TestEntry> + Sized {
    fn pinned(&self) -> Pinned<'_, Inline<u64>, Self>;
    fn scanned(&self, bounds: impl KeyBounds) -> Box<dyn DoubleEndedIterator<Item = TestEntry> + '_>;
    fn extended(&self, entries: Vec<TestEntry>) -> Result<(), IndexError>;
    fn budgeted(self, bytes: usize) -> Self;
}

macro_rules! pinned_indexes {
    ($($index:ident),*) => {$(
        impl PinnedIndex for $index<Inline<u64>> {
            fn pinned(&self) -> Pinned<'_, Inline<u64>, Self> {
                self.pin()
            }
            fn scanned(&self, bounds: impl KeyBounds) -> Box<dyn DoubleEndedIterator<Item = TestEntry> + '_> {
                Box::new(self.scan_range(bounds, |key, value| (key.to_vec(), value)))
            }
            fn extended(&self, entries: Vec<TestEntry>) -> Result<(), IndexError> {
                self.try_extend(entries)
            }
            fn budgeted(self, bytes: usize) -> Self {
                self.with_budget(bytes)
            }
        }
    )*};
}
pinned_indexes!(Masstree, Wormhole, CuckooTrie, SkipList, MlpIndex);

/// Runs a generic test over every index.
macro_rules! over_every_index {
    ($($test:ident),*) => {$(
        mod $test {
            use super::*;

            #[test]
            fn masstree() {
                super::$test::<Masstree<Inline<u64>>>();
            }

            #[test]
            fn wormhole() {
                super::$test::<Wormhole<Inline<u64>>>();
            }

            #[test]
            fn cuckoo_trie() {
                super::$test::<CuckooTrie<Inline<u64>>>();
            }

            #[test]
            fn skip_list() {
                super::$test::<SkipList<Inline<u64>>>();
            }

            #[test]
            fn mlp_index() {
                super::$test::<MlpIndex<Inline<u64>>>();
            }
        }
    )*};
}
over_every_index!(
    pops_share_the_entries,
    remove_if_decides_about_the_present_value,
    an_index_over_its_budget_can_be_thinned
);

/// One operation on a pinned index.
#[derive(Clone, Debug)]
enum PinnedOperation {
    Insert(TestKey, u64),
    InsertIfAbsent(TestKey, u64),
    Add(TestKey, u64),
    Remove(TestKey),
    RemoveIfEven(TestKey),
    GetMany(Vec<TestKey>),
    Range(KeyBound, KeyBound, Vec<bool>),
    Prefix(TestKey),
    PopFirst,
    PopLast,
    Extend(Vec<TestEntry>),
    RetainFrom(u64),
    Clear,
}

fn pinned_operations(key: &TestKeyStrategy) -> impl Strategy<Value = Vec<PinnedOperation>> {
    use PinnedOperation as Op;
    let k = || TestKeyStrategy::clone(key);
    let entry = || (k(), any::<u64>());
    let one = prop_oneof![
        10 => entry().prop_map(|(key, value)| Op::Insert(key, value)),
        2 => entry().prop_map(|(key, value)| Op::InsertIfAbsent(key, value)),
        2 => entry().prop_map(|(key, value)| Op::Add(key, value)),
        4 => k().prop_map(Op::Remove),
        3 => k().prop_map(Op::RemoveIfEven),
        2 => prop::collection::vec(k(), 0..40).prop_map(Op::GetMany),
        3 => (bound(k()), bound(k()), prop::collection::vec(any::<bool>(), 0..60))
            .prop_map(|(start, end, ends)| Op::Range(start, end, ends)),
        2 => k().prop_map(Op::Prefix),
        2 => Just(Op::PopFirst),
        2 => Just(Op::PopLast),
        3 => prop::collection::vec(entry(), 0..40).prop_map(Op::Extend),
        1 => any::<u64>().prop_map(|least| Op::RetainFrom(least / 4)),
        1 => Just(Op::Clear),
    ];
    prop::collection::vec(one, 1..120)
}

/// Runs an operation on the index and on the model, and compares their answers.
fn run(index: &impl PinnedIndex, model: &mut BTreeMap<TestKey, u64>, operation: PinnedOperation) {
    let mut map = index.pinned();
    match operation {
        PinnedOperation::Insert(key, value) => {
            assert_eq!(map.insert(&key, value).unwrap(), model.insert(key, value));
        }
        PinnedOperation::InsertIfAbsent(key, value) => {
            assert_eq!(map.insert_if_absent(&key, value).unwrap(), model.get(&key).copied());
            model.entry(key).or_insert(value);
        }
        PinnedOperation::Add(key, delta) => {
            let add = |value: Option<u64>| {
                ComputeAction::Put(Inline(value.map_or(delta, |value| value.wrapping_add(delta))))
            };
            let before = map.compute(&key, add).unwrap().before;
            assert_eq!(before, model.get(&key).copied());
            assert!(map.contains_key(&key));
            let value = model.entry(key).or_insert(0);
            *value = value.wrapping_add(delta);
        }
        PinnedOperation::Remove(key) => assert_eq!(map.remove(&key), model.remove(&key)),
        PinnedOperation::RemoveIfEven(key) => {
            let removed = map.remove_if(&key, |value| value % 2 == 0);
            let is_even = model.get(&key).is_some_and(|value| value % 2 == 0);
            assert_eq!(removed, if is_even { model.remove(&key) } else { None });
        }
        PinnedOperation::GetMany(keys) => {
            let expected: Vec<_> = keys.iter().map(|key| model.get(key).copied()).collect();
            assert_eq!(map.get_many(&keys), expected);
            assert!(keys.iter().map(|key| map.get(key)).eq(expected));
        }
        PinnedOperation::Range(start, end, ends) => {
            let expected = within(model, &start, &end);
            let bounds = (start, end);
            check_ends(map.range(bounds.clone()), &expected, &ends);
            check_ends(index.scanned(bounds), &expected, &ends);
        }
        PinnedOperation::Prefix(prefix) => {
            let expected = model.iter().filter(|(key, _)| key.starts_with(&prefix));
            assert!(map.prefix(&prefix).eq(expected.map(|(key, value)| (key.clone(), *value))));
        }
        PinnedOperation::PopFirst => assert_eq!(map.pop_first(), model.pop_first()),
        PinnedOperation::PopLast => assert_eq!(map.pop_last(), model.pop_last()),
        PinnedOperation::Extend(entries) => {
            model.extend(entries.clone());
            index.extended(entries).unwrap();
        }
        PinnedOperation::RetainFrom(least) => {
            map.retain(|key, value| {
                assert!(model.contains_key(key));
                value >= least
            });
            model.retain(|_, value| *value >= least);
        }
        PinnedOperation::Clear => {
            map.clear();
            model.clear();
        }
    }
}

/// Takes items from both ends, from the front if the next of `ends` says so.
fn check_ends(
    mut items: impl DoubleEndedIterator<Item = TestEntry>,
    mut expected: &[TestEntry],
    ends: &[bool],
) {
    for &front in ends.iter().chain(std::iter::repeat(&true)) {
        let split = if front { expected.split_first() } else { expected.split_last() };
        assert_eq!(if front { items.next() } else { items.next_back() }, split.map(|(item, _)| item.clone()));
        let Some((_, rest)) = split else { break };
        expected = rest;
    }
    assert!(items.next().is_none() && items.next_back().is_none());
}

/// Compares the whole index with the model, by every method that shows all of it.
fn compare(index: &impl PinnedIndex, model: &BTreeMap<TestKey, u64>) {
    let map = index.pinned();
    let entry = |(key, value): (&TestKey, &u64)| (key.clone(), *value);
    assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
    assert!(map.iter().eq(model.iter().map(entry)));
    assert!((&map).into_iter().rev().eq(model.iter().rev().map(entry)));
    assert!(map.keys().eq(model.keys().cloned()) && map.keys().rev().eq(model.keys().rev().cloned()));
    assert!(map.values().eq(model.values().copied()) && map.values().rev().eq(model.values().rev().copied()));
    assert_eq!(map.first_key_value(), model.first_key_value().map(entry));
    assert_eq!(map.last_key_value(), model.last_key_value().map(entry));
}

fn behaves_like_a_map<I: PinnedIndex>(first: &[TestEntry], operations: Vec<PinnedOperation>) {
    let index: I = first.iter().cloned().collect();
    let mut model: BTreeMap<_, _> = first.iter().cloned().collect();
    for operation in operations {
        run(&index, &mut model, operation);
    }
    compare(&index, &model);
}

fn entries(key: &TestKeyStrategy) -> impl Strategy<Value = Vec<TestEntry>> {
    prop::collection::vec((key.clone(), any::<u64>()), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn masstree(first in entries(&any_key()), operations in pinned_operations(&any_key())) {
        behaves_like_a_map::<Masstree<_>>(&first, operations);
    }

    #[test]
    fn wormhole(first in entries(&any_key()), operations in pinned_operations(&any_key())) {
        behaves_like_a_map::<Wormhole<_>>(&first, operations);
    }

    #[test]
    fn cuckoo_trie(first in entries(&any_key()), operations in pinned_operations(&any_key())) {
        behaves_like_a_map::<CuckooTrie<_>>(&first, operations);
    }

    #[test]
    fn skip_list(first in entries(&any_key()), operations in pinned_operations(&any_key())) {
        behaves_like_a_map::<SkipList<_>>(&first, operations);
    }

    #[test]
    fn mlp_index(first in entries(&short_key()), operations in pinned_operations(&short_key())) {
        behaves_like_a_map::<MlpIndex<_>>(&first, operations);
    }
}

/// Threads pop from both ends: each entry is returned once, and each thread sees its end's order.
fn pops_share_the_entries<I: PinnedIndex>() {
    const ENTRIES: u64 = 3_000;
    let index: I = (0..ENTRIES).map(|n| (n.to_be_bytes().to_vec(), n)).collect();
    let start = Barrier::new(3);
    let pop_all = |from_front: bool| {
        start.wait();
        let pop = || {
            let map = index.pinned();
            let (key, value) = if from_front { map.pop_first() } else { map.pop_last() }?;
            assert_eq!(key, value.to_be_bytes());
            Some(value)
        };
        std::iter::from_fn(pop).collect::<Vec<u64>>()
    };
    let mut popped = std::thread::scope(|scope| {
        let threads = [true, true, false].map(|front| scope.spawn(move || (front, pop_all(front))));
        let lists = threads.map(|thread| thread.join().unwrap());
        for (front, list) in &lists {
            let in_order = if *front { list.is_sorted() } else { list.is_sorted_by(|a, b| a > b) };
            assert!(in_order, "a pop returned an entry before one that it should have returned");
        }
        lists.map(|(_, list)| list).concat()
    });
    popped.sort_unstable();
    assert!(popped.into_iter().eq(0..ENTRIES) && index.is_empty());
}

/// One thread puts even and odd values in turn, another removes odd ones: no even one is removed.
fn remove_if_decides_about_the_present_value<I: PinnedIndex>() {
    const ROUNDS: u64 = 10_000;
    let index: I = [(b"k".to_vec(), 0)].into_iter().collect();
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            for n in (1..ROUNDS).step_by(2) {
                assert_eq!(index.pinned().insert("k", n).unwrap(), Some(n - 1));
                let odd = index.pinned().insert("k", n + 1).unwrap();
                assert!(odd.is_none_or(|odd| odd == n));
            }
        });
        start.wait();
        while index.pinned().get("k") != Some(ROUNDS) {
            let removed = index.pinned().remove_if("k", |value| value % 2 == 1);
            assert!(removed.is_none_or(|value| value % 2 == 1));
        }
    });
}

fn an_index_over_its_budget_can_be_thinned<I: PinnedIndex>() {
    let index: I = (0..2_000_u64).map(|n| (n.to_be_bytes().to_vec(), n)).collect();
    let index = index.budgeted(1);
    let mut map = index.pinned();
    assert!(matches!(map.insert("new", 1), Err(IndexError::OverBudget { .. })));
    map.retain(|_, value| value % 100 == 0);
    assert_eq!((map.len(), map.get(300_u64.to_be_bytes())), (20, Some(300)));
    map.clear();
    assert!(map.is_empty());
}

/// Counts its drops.
struct Tally(Arc<AtomicUsize>);

impl Drop for Tally {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// More than the chunks of a scan from both ends.
const MANY: usize = 4 * KEYS_PER_GUARD;
/// At most this many values wait for their batch.
const LATE: usize = 200;

/// Returns an index, and the number of its values that were dropped.
fn tallied() -> (Masstree<Boxed<Tally>>, Arc<AtomicUsize>) {
    let drops = Arc::new(AtomicUsize::new(0));
    let entries = (0..MANY as u64).map(|n| (n.to_be_bytes(), Tally(drops.clone())));
    (entries.collect(), drops)
}

#[test]
fn a_held_pin_keeps_removed_values() {
    let (index, drops) = tallied();
    let mut held = index.pin();
    let first = held.get(0_u64.to_be_bytes()).unwrap();
    index.pin().clear();
    assert_eq!((drops.load(Ordering::Relaxed), Arc::ptr_eq(&first.0, &drops)), (0, true));
    held.refresh();
    assert!(drops.load(Ordering::Relaxed) > MANY - LATE);
}

#[test]
fn a_scan_keeps_no_removed_values() {
    let (index, drops) = tallied();
    let mut scan = index.scan(|key, _| key.to_vec());
    assert!(scan.next().is_some() && scan.next_back().is_some());
    index.pin().clear();
    assert!(drops.load(Ordering::Relaxed) > MANY - LATE);
    // Only the entries that were read ahead are left.
    assert!(scan.count() < 2 * KEYS_PER_GUARD);
}

#[test]
fn clear_and_retain_free_memory_on_their_way() {
    let (index, drops) = tallied();
    let mut map = index.pin();
    let mut freed_meanwhile = 0;
    map.retain(|key, _| {
        freed_meanwhile = drops.load(Ordering::Relaxed);
        key[7] % 2 == 0
    });
    assert!(freed_meanwhile > MANY / 4);
    map.clear();
    assert!(drops.load(Ordering::Relaxed) > MANY - LATE);
}

#[test]
fn a_pin_that_may_move_moves_with_its_iterator() {
    let index = Masstree::<Inline<u64>>::from([("ant", 1), ("bee", 2), ("cat", 3)]);
    let map = index.pin_owned();
    let mut values = map.values();
    assert_eq!(values.next(), Some(1));
    std::thread::scope(|scope| scope.spawn(move || assert!(values.eq([2, 3]))).join().unwrap());
    std::thread::scope(|scope| scope.spawn(move || assert_eq!(map.remove("bee"), Some(2))).join().unwrap());
    assert_eq!(index.pin().len(), 2);
}

#[test]
fn debug_shows_the_entries() {
    let index = SkipList::<Boxed<String>>::from([
        (b"swan\xff".as_slice(), "Cygnus".to_owned()),
        (b"goose", "Anser".to_owned()),
    ]);
    assert_eq!(format!("{:?}", index.pin()), r#"{b"goose": "Anser", b"swan\xff": "Cygnus"}"#);
    assert_eq!(format!("{index:?}"), "SkipList { len: 2, .. }");
}

#[test]
fn extend_replaces_values() {
    let mut index = Wormhole::<Inline<u64>>::from([("ant", 1)]);
    index.extend([("ant", 2), ("bee", 3)]);
    (&index).extend([("bee", 4)]);
    assert!(index.pin().values().eq([2, 4]));
}

#[test]
#[should_panic(expected = "key of 9 bytes is longer than the limit of 8 bytes")]
fn collect_names_the_refused_key() {
    let _: MlpIndex<Inline<u64>> = [("goose", 1), ("nine byte", 2)].into_iter().collect();
}

#[test]
#[should_panic(expected = "the guard belongs to another collector")]
fn a_foreign_guard_makes_no_pin() {
    let (index, other) = (Masstree::<Inline<u64>>::new(), Masstree::<Inline<u64>>::new());
    let _ = Pinned::with_guard(&index, other.collector().enter_owned());
}
