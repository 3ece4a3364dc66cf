//! The smallest runs that use every operation of an index, in one thread and in several. Miri and
//! `ThreadSanitizer` have no time for more (`.ci/miri`, `.ci/tsan`). They are a program of their
//! own because those tools build nothing else.
//!
//! Values are on the heap, so that the tools see each being used and freed. Keys fill a few nodes
//! and empty them again: nodes are split, grown, merged and retired, and tables are rebuilt.

#![cfg(not(skein_loom))]

#[path = "support/numbers.rs"]
mod numbers;

use numbers::{EmbeddedNumber, NumberSlot};
use skein_index::cuckoo_trie::variant::{CuckooOfLeastBits, CuckooTrieVariant};
use skein_index::masstree::variant::{MasstreeOfWidth, MasstreeVariant};
use skein_index::page_tree::PackPass;
use skein_index::page_tree::variant::{PageTreeOfWidth, PageTreeVariant};
use skein_index::skip_list::variant::{BareSkipListOf, SkipListOf, SkipListVariant};
use skein_index::wormhole::variant::{WormholeOfWidth, WormholeVariant};
use skein_index::{Boxed, Collector, ComputeAction, Cursor, Guard, MlpIndex, OrderedIndex, Slot};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

/// Enough for several nodes of every index, and for batches of retired objects.
const KEYS: u16 = if cfg!(miri) { 32 } else { 80 };
/// The number of threads that change and read the same few keys.
const THREADS: u16 = 3;
const ROUNDS: u16 = if cfg!(miri) { 10 } else { 2_000 };

/// Returns a key that all indexes accept. Some of these keys are prefixes of others.
fn key(number: u16) -> Vec<u8> {
    let mut key = number.to_be_bytes().to_vec();
    key.resize(2 + usize::from(number % 5), b'k');
    key
}

/// Walks all keys with a cursor, in both directions, and returns their values.
fn walked(index: &impl OrderedIndex<Boxed<u16>>, guard: &impl Guard) -> Vec<u16> {
    let mut cursor = index.cursor(guard);
    let mut forward = Vec::new();
    while cursor.next() {
        forward.push(*cursor.value().unwrap());
    }
    let mut backward = Vec::new();
    while cursor.prev() {
        backward.push(*cursor.value().unwrap());
    }
    backward.reverse();
    assert_eq!(forward, backward);
    forward
}

fn life_of_keys(index: &impl OrderedIndex<Boxed<u16>>) {
    for number in 0..KEYS {
        let guard = index.collector().enter();
        assert!(index.insert(&key(number), Boxed::new(number + 1), &guard).unwrap().is_none());
        assert_eq!(index.insert(&key(number), Boxed::new(number), &guard).unwrap(), Some(&(number + 1)));
    }
    let keys: Vec<_> = (0..KEYS).map(key).collect();
    let guard = index.collector().enter();
    index.get_many(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>(), &guard, |at, value| {
        assert_eq!(value.copied().map(usize::from), Some(at));
    });
    assert_eq!(walked(index, &guard), (0..KEYS).collect::<Vec<_>>());
    let tripled =
        |old: Option<&u16>| old.map_or(ComputeAction::Keep, |old| ComputeAction::Put(Boxed::new(old * 3)));
    assert!(index.compute(&keys[7], tripled, &guard).unwrap().changed);
    assert_eq!(index.get(&keys[7], &guard), Some(&21));
    drop(guard);
    for number in (0..KEYS).filter(|number| number % 8 != 0) {
        assert!(index.remove(&key(number), &index.collector().enter()).is_some());
    }
    let guard = index.collector().enter();
    assert_eq!(walked(index, &guard), (0..KEYS).step_by(8).collect::<Vec<_>>());
    let all = (Bound::Unbounded, Bound::Unbounded);
    assert_eq!(index.remove_range(all, |_| (), &guard), usize::from(KEYS / 8));
    guard.flush();
    drop(guard);
    assert!(index.is_empty());
}

/// Runs `step` in several threads, with the numbers of thread and round.
fn crowd(step: impl Fn(u16, u16) + Sync) {
    let (step, barrier) = (&step, &Barrier::new(usize::from(THREADS)));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                barrier.wait();
                (0..ROUNDS).for_each(|round| step(thread, round));
            });
        }
    });
}

fn crowd_of_threads(index: &impl OrderedIndex<Boxed<u16>>) {
    crowd(|thread, round| {
        let guard = index.collector().enter();
        let number = (round * 7 + thread * 5) % 24;
        let is_own = |value: &u16| *value == number;
        match (round + thread) % 3 {
            0 => assert!(index.remove(&key(number), &guard).is_none_or(is_own)),
            1 => assert!(walked_once(index, &guard).is_sorted()),
            _ => {
                let before = index.insert(&key(number), Boxed::new(number), &guard).unwrap();
                assert!(before.is_none_or(is_own));
            }
        }
    });
}

/// Returns the values that one walk sees while other threads write.
fn walked_once(index: &impl OrderedIndex<Boxed<u16>>, guard: &impl Guard) -> Vec<u16> {
    let mut cursor = index.cursor(guard);
    let mut values = Vec::new();
    while cursor.next() {
        values.push(*cursor.value().unwrap());
    }
    values
}

/// A value that calls a function when it is dropped.
struct DropCall(Box<dyn Fn() + Send + Sync>);

impl Drop for DropCall {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Returns a value that adds 1 to `drops` when it is dropped.
fn counted(drops: &Arc<AtomicUsize>) -> Boxed<DropCall> {
    let drops = drops.clone();
    Boxed::new(DropCall(Box::new(move || _ = drops.fetch_add(1, Ordering::Relaxed))))
}

/// Values whose drop reads and writes the index that is about to free them.
fn drops_use_the_index<I: OrderedIndex<Boxed<DropCall>> + 'static>(index: I) {
    let index = Arc::new(index);
    let (drops, later) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let uses_index = |number: u16| {
        let (index, drops, later) = (Arc::downgrade(&index), drops.clone(), later.clone());
        let on_drop = move || {
            drops.fetch_add(1, Ordering::Relaxed);
            let Some(index) = index.upgrade() else { return };
            let guard = index.collector().enter();
            let own = index.get(&key(number), &guard).is_some();
            index.insert(&key(KEYS + number), counted(&later), &guard).unwrap();
            assert!(own && index.get(&key(KEYS + number), &guard).is_some());
        };
        Boxed::new(DropCall(Box::new(on_drop)))
    };
    for round in 0..2 {
        for number in 0..KEYS {
            let guard = index.collector().enter();
            let before = index.insert(&key(number), uses_index(number), &guard).unwrap();
            assert_eq!(before.is_some(), round == 1);
        }
    }
    index.collector().enter().flush();
    let added = later.load(Ordering::Relaxed);
    assert!(drops.load(Ordering::Relaxed) > 0 && index.len() > usize::from(KEYS));
    drop(index);
    assert_eq!(drops.load(Ordering::Relaxed), 2 * usize::from(KEYS));
    assert!(later.load(Ordering::Relaxed) >= added);
}

/// A value with a drop that panics. Values may leak, but no value is dropped twice, and the index
/// still works.
fn a_drop_that_panics<I: OrderedIndex<Boxed<DropCall>>>(index: I) {
    let drops = Arc::new(AtomicUsize::new(0));
    let panics = || Boxed::new(DropCall(Box::new(|| panic!("a value's drop fails"))));
    let insert = |number: u16, value| {
        index.insert(&key(number), value, &index.collector().enter()).unwrap();
    };
    for number in 0..KEYS {
        insert(number, if number == 7 { panics() } else { counted(&drops) });
    }
    let replace_all = || {
        for number in 0..KEYS {
            insert(number, counted(&drops));
        }
        index.collector().enter().flush();
    };
    assert!(catch_unwind(AssertUnwindSafe(replace_all)).is_err());
    replace_all();
    let guard = index.collector().enter();
    assert!((0..KEYS).all(|number| index.get(&key(number), &guard).is_some()));
    drop(guard);
    insert(7, panics());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(index))).is_err());
    assert!(drops.load(Ordering::Relaxed) < 3 * usize::from(KEYS));
}

/// An index is dropped while a guard of its shared collector keeps the memory that it has retired.
fn a_collector_outlives_its_index<I: OrderedIndex<Boxed<DropCall>>>(new: fn(Arc<Collector>) -> I) {
    let (collector, drops) = (collector(), Arc::new(AtomicUsize::new(0)));
    let (index, other) = (new(collector.clone()), new(collector.clone()));
    let held = collector.enter();
    for round in 0..2 {
        for number in 0..KEYS {
            let guard = collector.enter();
            assert_eq!(index.insert(&key(number), counted(&drops), &guard).unwrap().is_some(), round == 1);
        }
    }
    for number in 0..KEYS / 2 {
        assert!(index.remove(&key(number), &collector.enter()).is_some());
    }
    drop(index);
    // Only the values that were still in the index.
    assert_eq!(drops.load(Ordering::Relaxed), usize::from(KEYS / 2));
    other.insert(&key(0), counted(&drops), &held).unwrap();
    held.flush();
    drop(held);
    drop((other, collector));
    assert_eq!(drops.load(Ordering::Relaxed), 2 * usize::from(KEYS) + 1);
}

/// The tests of one index.
macro_rules! small {
    ($name:ident, $new:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn life_of_keys() {
                super::life_of_keys(&$new(collector()));
            }

            #[test]
            fn crowd_of_threads() {
                super::crowd_of_threads(&$new(collector()));
            }

            #[test]
            fn drops_use_the_index() {
                super::drops_use_the_index($new(collector()));
            }

            #[test]
            fn a_drop_that_panics() {
                super::a_drop_that_panics($new(collector()));
            }

            #[test]
            fn a_collector_outlives_its_index() {
                super::a_collector_outlives_its_index($new);
            }
        }
    };
}

fn collector() -> Arc<Collector> {
    Arc::new(Collector::new())
}

// Narrow nodes if the index has a choice, so that few keys need many nodes.
small!(masstree, MasstreeVariant::<_, MasstreeOfWidth<3>>::with_variant);
small!(wormhole, WormholeVariant::<_, WormholeOfWidth<4>>::with_variant);
small!(page_tree, PageTreeVariant::<_, PageTreeOfWidth<4>>::with_variant);
small!(cuckoo_trie, CuckooTrieVariant::<_, CuckooOfLeastBits<1>>::with_variant);
small!(skip_list, SkipListVariant::<_, SkipListOf<2, 0>>::with_variant);
small!(bare_skip_list, SkipListVariant::<_, BareSkipListOf<2, 0>>::with_variant);
small!(mlp_index, MlpIndex::with_collector);

/// Threads that change, remove and read values which lie in the pages. A block that a reader sees
/// half written is noticed (`EmbeddedNumber`).
#[test]
fn embedded_values_are_whole() {
    let index = &PageTreeVariant::<EmbeddedNumber, PageTreeOfWidth<4>>::with_variant(collector());
    crowd(|thread, round| {
        let guard = index.collector().enter();
        let number = (round * 7 + thread * 5) % 24;
        let is_own = |value: u64| value / 1_000 == number.into();
        let value = u64::from(number) * 1_000 + u64::from(round % 1_000);
        let before = match (round + thread) % 4 {
            0 => index.remove(&key(number), &guard),
            1 => index.get(&key(number), &guard),
            _ => index.insert(&key(number), EmbeddedNumber::of(value), &guard).unwrap(),
        };
        assert!(before.is_none_or(is_own));
        let mut cursor = index.cursor(&guard);
        assert!(!cursor.seek(&key(number)) || cursor.value().is_some());
    });
}

/// Incident: values that shrank left pages of few keys, because only removals merged pages.
/// Consequence: a key took 255 bytes after five rewrites, and 47 are enough. Fix: a page whose dead
/// part has grown looks for a neighbour.
#[test]
fn values_that_shrink_give_memory_back() {
    let mut index = PageTreeVariant::<EmbeddedNumber, PageTreeOfWidth<64>>::with_variant(collector());
    let keys: u64 = if cfg!(miri) { 100 } else { 4_000 };
    let key = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    // The length of a block is that of `number % 52` more.
    let long = |number: u64| 52 * number + 51;
    let short = |number: u64| 52 * number;
    for number in 0..keys {
        index.insert(&key(number), EmbeddedNumber::of(long(number)), &index.collector().enter()).unwrap();
    }
    let before = index.check().unwrap().page_bytes;
    for _ in 0..4 {
        for number in 0..keys {
            index
                .insert(&key(number), EmbeddedNumber::of(short(number)), &index.collector().enter())
                .unwrap();
        }
    }
    let after = index.check().unwrap();
    assert!(3 * after.page_bytes < 2 * before || keys < 4_000, "{before} bytes, then {after:?}");
}

/// A block whose reference is its bytes, so a test may read them again.
#[derive(Debug)]
struct HeldBlock(Box<[u8; 16]>);

impl HeldBlock {
    /// Returns a block with a number in all of its bytes.
    fn of(number: u8) -> Self {
        Self(Box::new([number; 16]))
    }
}

// SAFETY: the word is the address of the boxed bytes, which the slot owned. An embedded block is a
// copy.
unsafe impl Slot for HeldBlock {
    type Ref<'g> = &'g [u8; 16];
    const OWNS: bool = true;
    const EMBEDS: bool = true;

    fn into_word(self) -> u64 {
        Box::into_raw(self.0).expose_provenance() as u64
    }

    unsafe fn from_word(word: u64) -> Self {
        // SAFETY: `into_word` made the word.
        Self(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut(word as usize)) })
    }

    unsafe fn borrow<'g>(word: u64) -> Self::Ref<'g> {
        // SAFETY: the caller keeps the block.
        unsafe { &*std::ptr::with_exposed_provenance(word as usize) }
    }

    fn embedded_size(&self) -> Option<usize> {
        Some(16)
    }

    unsafe fn embed(self, to: NonNull<u8>) {
        // SAFETY: the caller gives room.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(&*self.0).cast(), 16) };
    }

    unsafe fn embedded_size_at(_: NonNull<u8>) -> usize {
        16
    }
}

/// Writers put new values where old ones were. Whoever holds an old one sees it unchanged.
#[test]
fn a_held_value_is_not_overwritten() {
    let index = &PageTreeVariant::<HeldBlock, PageTreeOfWidth<4>>::with_variant(collector());
    let number = AtomicUsize::new(0);
    crowd(|_, round| {
        let guard = index.collector().enter();
        let keys = (0..8).map(|at| key((round + at) % 12));
        let held: Vec<_> = keys.map(|key| index.get(&key, &guard)).collect();
        let seen: Vec<_> = held.iter().map(|block| block.copied()).collect();
        for at in 0..8 {
            let block = HeldBlock::of(number.fetch_add(1, Ordering::Relaxed) as u8);
            index.insert(&key((round + at) % 12), block, &guard).unwrap();
        }
        assert!(held.iter().zip(&seen).all(|(held, seen)| held.copied() == *seen));
        assert!(seen.iter().flatten().all(|block| *block == [block[0]; 16]), "a block was half written");
    });
}

/// Makes a pass of packing. Returns the number of pages that were replaced.
fn pack(index: &PageTreeVariant<HeldBlock, PageTreeOfWidth<8>>) -> usize {
    let mut pass = PackPass::default();
    while index.pack(&mut pass, 3, &index.collector().enter()) {}
    pass.replaced()
}

/// Values move when their pages are packed. Whoever holds one sees it unchanged.
#[test]
fn a_held_value_stays_while_its_page_is_packed() {
    let index = &PageTreeVariant::<HeldBlock, PageTreeOfWidth<8>>::with_variant(collector());
    let keys = if cfg!(miri) { 96 } else { 200_u16 };
    for number in 0..keys {
        let block = HeldBlock::of(number as u8);
        index.insert(&key(number * 7 % keys), block, &index.collector().enter()).unwrap();
    }
    let held = index.collector().enter();
    let found: Vec<_> = (0..keys).filter_map(|number| index.get(&key(number), &held)).collect();
    let seen: Vec<_> = found.iter().map(|block| **block).collect();
    for number in (0..keys).filter(|number| number % 3 == 1) {
        assert!(index.remove(&key(number), &index.collector().enter()).is_some());
    }
    // The first pass only marks the pages.
    assert!((0..4).map(|_| pack(index)).sum::<usize>() > 0, "nothing was packed");
    for number in (0..keys).filter(|number| number % 3 != 1) {
        index.insert(&key(number), HeldBlock::of(255), &index.collector().enter()).unwrap();
    }
    assert!(found.iter().zip(&seen).all(|(found, seen)| *found == seen));
}

/// Threads write, hold and read values while each of them packs, too.
#[test]
fn held_values_are_whole_while_threads_pack() {
    let index = &PageTreeVariant::<HeldBlock, PageTreeOfWidth<8>>::with_variant(collector());
    let number = AtomicUsize::new(0);
    crowd(|thread, round| {
        let guard = index.collector().enter();
        let held: Vec<_> = (0..KEYS / 2).map(|at| index.get(&key(at), &guard)).collect();
        let seen: Vec<_> = held.iter().map(|block| block.copied()).collect();
        for at in 0..4 {
            let place = key((round * 5 + thread + at) % (KEYS / 2));
            let block = HeldBlock::of(number.fetch_add(1, Ordering::Relaxed) as u8);
            if (round + at) % 3 == 0 {
                index.remove(&place, &guard);
            } else {
                index.insert(&place, block, &guard).unwrap();
            }
        }
        if !cfg!(miri) || round % 4 == thread {
            pack(index);
        }
        assert!(held.iter().zip(&seen).all(|(held, seen)| held.copied() == *seen));
        assert!(seen.iter().flatten().all(|block| *block == [block[0]; 16]), "a block was half written");
    });
}

/// Values of the same length that are replaced again and again take no further memory: old values
/// give their bytes to new ones, and hardly a page is replaced.
#[test]
fn new_values_take_the_room_of_old_ones() {
    let mut index = PageTreeVariant::<HeldBlock, PageTreeOfWidth<64>>::with_variant(collector());
    let keys: u32 = if cfg!(miri) { 40 } else { 8_000 };
    let put_all = |index: &PageTreeVariant<HeldBlock, PageTreeOfWidth<64>>, round: u8| {
        for number in 0..keys {
            let place = (number * 7_919 % keys) as u16;
            index.insert(&key(place), HeldBlock::of(round), &index.collector().enter()).unwrap();
        }
    };
    (0..4).for_each(|round| put_all(&index, round));
    let before = index.check().unwrap();
    (4..40).for_each(|round| put_all(&index, round));
    let after = index.check().unwrap();
    assert!(after.page_bytes <= before.page_bytes, "{before:?}, then {after:?}");
    assert!(after.pages.abs_diff(before.pages) <= 2, "{before:?}, then {after:?}");
    let guard = index.collector().enter();
    assert!((0..keys).all(|number| index.get(&key(number as u16), &guard) == Some(&[39; 16])));
}
