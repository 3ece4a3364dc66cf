//! Packing of the page tree: random operations against a `BTreeMap` with packing in between, threads
//! that write, read and scan while two others pack, and the memory after most keys were removed.
//!
//! `SKEIN_STRESS=30 cargo test --release -p skein-index --test indexes packing` makes the runs of the
//! threads 30 times as long.
#![cfg(not(feature = "planted-bugs"))]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::support::numbers::{EmbeddedNumber, NumberSlot};
use crate::support::random::TestRandom;
use crate::support::{
    IndexOperation, TestKeyStrategy, any_key, compare_all, operations, returned, run, shared_keys,
    spread_key, times,
};
use proptest::prelude::*;
use skein_index::page_tree::variant::{PageTreeOfWidth, PageTreeSettings, PageTreeStandard, PageTreeVariant};
use skein_index::page_tree::{PackPass, PageTree};
use skein_index::{Collector, Cursor, Guard, Inline, OrderedIndex};

type Tree<S, V> = PageTreeVariant<S, V>;

/// More passes than any index here needs until nothing is left to pack.
const PASSES_MAX: usize = 24;

fn tree<S: NumberSlot, V: PageTreeSettings>() -> Tree<S, V> {
    Tree::with_variant(Arc::new(Collector::new()))
}

/// Makes one pass with a guard for each `most` pages. Returns the number of pages that were replaced.
fn pack<S: NumberSlot, V: PageTreeSettings>(index: &Tree<S, V>, most: usize) -> usize {
    let mut pass = PackPass::default();
    while index.pack(&mut pass, most, &index.collector().enter()) {}
    pass.replaced()
}

/// Packs until a pass replaces nothing. The first pass only marks the pages.
fn pack_all<S: NumberSlot, V: PageTreeSettings>(index: &Tree<S, V>) {
    pack(index, 64);
    let mut replaced = Vec::new();
    while replaced.last() != Some(&0) {
        assert!(replaced.len() < PASSES_MAX, "packing does not end, it replaced {replaced:?} pages");
        replaced.push(pack(index, 64));
        // Memory of replaced pages is free for the next pass.
        index.collector().enter().flush();
    }
}

/// Some operations, then some passes of packing.
#[derive(Clone, Debug)]
struct PackStep {
    operations: Vec<IndexOperation>,
    passes: usize,
    most: usize,
}

fn steps(key: &TestKeyStrategy) -> impl Strategy<Value = Vec<PackStep>> {
    let step = (operations(key, 120), 0_usize..4, 1_usize..20);
    let step = step.prop_map(|(operations, passes, most)| PackStep { operations, passes, most });
    prop::collection::vec(step, 1..8)
}

/// Returns keys that are near or far in their page: up to a few hundred bytes behind prefixes of many
/// lengths, around the 126 bytes that lie in a page.
fn long_key() -> TestKeyStrategy {
    let prefix = prop::sample::select(vec![0_usize, 1, 60, 119, 125, 126, 127, 130, 250, 600]);
    let end = prop::sample::select(vec![0_usize, 1, 2, 123, 124, 125, 126, 127, 128, 200, 400]);
    (prefix, 0_u8..3, prop::collection::vec(0_u8..4, 0..4), end)
        .prop_map(|(prefix, fork, middle, end)| {
            [vec![b'p'; prefix], vec![fork; usize::from(fork)], middle, vec![b'e'; end]].concat()
        })
        .boxed()
}

/// Runs the steps, checks the structure after each pass, and compares with the model. In the end,
/// packs to the end, and removes all keys.
fn check<S: NumberSlot, V: PageTreeSettings>(steps: &[PackStep]) {
    let mut index = tree::<S, V>();
    let empty = index.memory().live();
    let mut model = BTreeMap::new();
    for step in steps {
        for operation in &step.operations {
            let guard = index.collector().enter();
            run(&index, &mut model, operation, &guard);
        }
        for _ in 0..step.passes {
            pack(&index, step.most);
            index.check().unwrap();
        }
        compare_all(&index, &model, &index.collector().enter());
    }
    // Separators may become longer, which do not count.
    let bytes = |index: &mut Tree<S, V>| index.check().unwrap().page_bytes + index.memory().keys;
    index.collector().enter().flush();
    let before = bytes(&mut index);
    pack_all(&index);
    let after = bytes(&mut index);
    assert!(after <= before, "packing took memory: {before} bytes, then {after}");
    compare_all(&index, &model, &index.collector().enter());
    for (key, value) in &model {
        assert_eq!(index.remove(key, &index.collector().enter()), Some(*value));
    }
    index.check().unwrap();
    assert_eq!(index.memory().live(), empty, "memory was not returned");
}

fn check_both<V: PageTreeSettings>(steps: &[PackStep]) {
    check::<Inline<u64>, V>(steps);
    check::<EmbeddedNumber, V>(steps);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn pages_of_4(steps in steps(&any_key())) {
        check_both::<PageTreeOfWidth<4>>(&steps);
    }

    #[test]
    fn pages_of_4_with_long_keys(steps in steps(&long_key())) {
        check_both::<PageTreeOfWidth<4>>(&steps);
    }

    #[test]
    fn pages_of_8(steps in steps(&spread_key())) {
        check_both::<PageTreeOfWidth<8>>(&steps);
    }

    #[test]
    fn pages_of_64(steps in steps(&spread_key())) {
        check_both::<PageTreeStandard>(&steps);
    }

    #[test]
    fn pages_of_64_with_long_keys(steps in steps(&long_key())) {
        check_both::<PageTreeStandard>(&steps);
    }
}

/// The state that the threads of one run share. The value of a key only grows.
struct PackingRun<'r, S: NumberSlot, V: PageTreeSettings> {
    index: &'r Tree<S, V>,
    keys: &'r [Vec<u8>],
    /// By key: a value that the key has had, or 0.
    written: Vec<AtomicU64>,
    /// The number of pages that packers have replaced.
    replaced: AtomicUsize,
    stop: AtomicBool,
}

const WRITERS: usize = 2;
/// Writers go on until packers have replaced so many pages, up to a hundred times the usual number of
/// writes.
const REPLACED_MIN: usize = 100;

impl<S: NumberSlot, V: PageTreeSettings> PackingRun<'_, S, V> {
    /// Every fourth key stays; the others come and go.
    fn stays(key: usize) -> bool {
        key.is_multiple_of(4)
    }

    /// Returns a value that names its key, and is larger than those before.
    fn value_of(&self, key: usize, round: usize) -> u64 {
        (round * self.keys.len() + key) as u64
    }

    fn put(&self, key: usize, round: usize) -> Option<u64> {
        let value = self.value_of(key, round);
        let guard = self.index.collector().enter();
        let before = self.index.insert(&self.keys[key], S::of(value), &guard).unwrap();
        self.written[key].store(value, Ordering::Release);
        before
    }

    /// Writes the keys of one writer in places that it leaves alone later: packers find quiet pages.
    fn write(&self, writer: usize, operations: usize) {
        let mut random = TestRandom::new(writer as u64 + 1);
        let first = |key| Self::stays(key).then(|| self.value_of(key, 0));
        let mut present: Vec<Option<u64>> = (0..self.keys.len()).map(first).collect();
        let mut start = 0;
        for round in 1..100 * operations {
            if round >= operations && self.replaced.load(Ordering::Relaxed) >= REPLACED_MIN {
                break;
            }
            if round.is_multiple_of(2_000) {
                start = random.below(self.keys.len());
            }
            let near = (start + random.below(self.keys.len() / 8)) % self.keys.len();
            let key = near / WRITERS * WRITERS + writer;
            let Some(value) = present.get_mut(key) else { continue };
            if Self::stays(key) || random.below(5) < 2 {
                assert_eq!(self.put(key, round), *value, "key {key}");
                *value = Some(self.value_of(key, round));
            } else {
                let guard = self.index.collector().enter();
                assert_eq!(self.index.remove(&self.keys[key], &guard), value.take(), "key {key}");
            }
        }
    }

    /// Checks what a reader found, which began when the key had had this value.
    fn check(&self, key: usize, least: u64, found: Option<u64>) {
        assert!(found.is_some() || !Self::stays(key), "key {key} is missing");
        if let Some(found) = found {
            assert_eq!(found as usize % self.keys.len(), key, "the value of another key");
            assert!(found >= least, "key {key} had {least} and has {found}");
        }
    }

    fn read(&self) {
        let mut random = TestRandom::new(99);
        while !self.stop.load(Ordering::Relaxed) {
            let numbers: Vec<usize> = (0..40).map(|_| random.below(self.keys.len())).collect();
            let least: Vec<u64> =
                numbers.iter().map(|&key| self.written[key].load(Ordering::Acquire)).collect();
            let guard = self.index.collector().enter();
            let batch: Vec<&[u8]> = numbers.iter().map(|&key| &*self.keys[key]).collect();
            self.index.get_many(&batch, &guard, |at, found| self.check(numbers[at], least[at], found));
            for (&key, &least) in numbers.iter().zip(&least) {
                self.check(key, least, self.index.get(&self.keys[key], &guard));
            }
            self.index.locate_many(&batch, &guard, |at, found, _| self.check(numbers[at], least[at], found));
        }
    }

    fn scan(&self, forward: bool) {
        while !self.stop.load(Ordering::Relaxed) {
            let least: Vec<u64> = self.written.iter().map(|value| value.load(Ordering::Acquire)).collect();
            let guard = self.index.collector().enter();
            let mut cursor = self.index.cursor(&guard);
            let mut met = Vec::new();
            while if forward { cursor.next() } else { cursor.prev() } {
                let value = cursor.value().unwrap();
                let key = value as usize % self.keys.len();
                assert_eq!(cursor.key(), Some(&*self.keys[key]), "the value of another key");
                self.check(key, least[key], Some(value));
                met.push(key);
            }
            let in_order = |a: &usize, b: &usize| if forward { a < b } else { a > b };
            assert!(met.is_sorted_by(in_order), "out of order, or twice, forward {forward}");
            let stay = met.iter().filter(|&&key| Self::stays(key)).count();
            assert_eq!(stay, self.keys.len().div_ceil(4), "a key is missing, forward {forward}");
        }
    }

    fn pack(&self, most: usize) {
        while !self.stop.load(Ordering::Relaxed) {
            self.replaced.fetch_add(pack(self.index, most), Ordering::Relaxed);
            std::thread::yield_now();
        }
    }
}

fn threads<S: NumberSlot, V: PageTreeSettings>(mut keys: Vec<Vec<u8>>, operations: usize) {
    keys.sort();
    let mut index = tree::<S, V>();
    let run = PackingRun {
        index: &index,
        keys: &keys,
        written: keys.iter().map(|_| AtomicU64::new(0)).collect(),
        replaced: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
    };
    (0..keys.len()).step_by(4).for_each(|key| _ = run.put(key, 0));
    std::thread::scope(|scope| {
        let run = &run;
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || run.write(writer, times(operations)))).collect();
        let packers = [3, 50].map(|most| scope.spawn(move || run.pack(most)));
        let scanners = [true, false].map(|forward| scope.spawn(move || run.scan(forward)));
        let reader = scope.spawn(move || run.read());
        // The others stop even if a writer's check fails.
        let results: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        run.stop.store(true, Ordering::Relaxed);
        returned(results);
        returned(scanners.map(std::thread::ScopedJoinHandle::join));
        returned([reader.join()]);
        returned(packers.map(std::thread::ScopedJoinHandle::join));
    });
    let replaced = run.replaced.into_inner();
    assert!(replaced >= REPLACED_MIN, "packers have replaced only {replaced} pages");
    index.check().unwrap();
    pack_all(&index);
    index.check().unwrap();
}

/// Pages of four words are never worth packing: they have eight slots.
#[test]
fn threads_on_pages_of_8() {
    threads::<Inline<u64>, PageTreeOfWidth<8>>(shared_keys::numbers(800), 60_000);
}

#[test]
fn threads_on_pages_of_4_with_embedded_values() {
    threads::<EmbeddedNumber, PageTreeOfWidth<4>>(shared_keys::paths(400), 60_000);
}

#[test]
fn threads_on_pages_of_64_with_embedded_values() {
    threads::<EmbeddedNumber, PageTreeStandard>(shared_keys::paths(4_000), 100_000);
}

/// Keys that lie in their page or elsewhere, depending on the prefix that their neighbours share.
#[test]
fn threads_on_long_keys() {
    threads::<EmbeddedNumber, PageTreeOfWidth<4>>(shared_keys::long(400), 60_000);
}

/// The number of keys before the removals. One in ten stays.
const THINNED: usize = 200_000;

/// Returns the allocated bytes after nine in ten keys were removed and the index was packed, and those
/// of a packed index that never had other keys.
fn thinned_bytes<S: NumberSlot>(arrange: impl Fn(&mut Vec<usize>)) -> (usize, usize) {
    let mut keys = shared_keys::numbers(THINNED);
    keys.sort();
    let mut inserted: Vec<usize> = (0..THINNED).collect();
    TestRandom::new(1).shuffle(&mut inserted);
    let filled = |all: bool| {
        let index = PageTree::<S>::new();
        for &key in inserted.iter().filter(|&key| all || key % 10 == 3) {
            index.insert(&keys[key], S::of(key as u64), &index.collector().enter()).unwrap();
        }
        index
    };
    let (mut thinned, mut fresh) = (filled(true), filled(false));
    let mut removed: Vec<usize> = (0..THINNED).filter(|key| key % 10 != 3).collect();
    arrange(&mut removed);
    for key in removed {
        assert!(thinned.remove(&keys[key], &thinned.collector().enter()).is_some());
    }
    let bytes = [&mut thinned, &mut fresh].map(|index| {
        pack_all(index);
        index.check().unwrap();
        index.allocated_bytes()
    });
    (bytes[0], bytes[1])
}

#[track_caller]
fn gives_back<S: NumberSlot>(arrange: impl Fn(&mut Vec<usize>)) {
    let (thinned, fresh) = thinned_bytes::<S>(arrange);
    assert!(10 * thinned <= 13 * fresh, "{thinned} bytes, and a fresh index has {fresh}");
}

#[test]
fn memory_returns_after_ascending_removals() {
    gives_back::<Inline<u64>>(|_| ());
    gives_back::<EmbeddedNumber>(|_| ());
}

#[test]
fn memory_returns_after_descending_removals() {
    gives_back::<Inline<u64>>(|keys| keys.reverse());
    gives_back::<EmbeddedNumber>(|keys| keys.reverse());
}

#[test]
fn memory_returns_after_random_removals() {
    gives_back::<Inline<u64>>(|keys| TestRandom::new(2).shuffle(keys));
    gives_back::<EmbeddedNumber>(|keys| TestRandom::new(2).shuffle(keys));
}
