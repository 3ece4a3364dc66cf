//! What threads note: values that tell a use after their end, a clock, and the events of each key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use skein_index::{Boxed, Guard, OrderedIndex};

use crate::search::{KeyEffect, KeyEvent};

/// Tells a value that is alive from memory that was one.
const ALIVE: u64 = 0x5eed_0fa1_1ea5_e000;

/// A value that nobody else writes.
#[derive(Debug)]
pub struct UniqueValue {
    number: u64,
    alive: AtomicU64,
    /// How many values there are.
    living: Arc<AtomicUsize>,
}

impl UniqueValue {
    /// Its number. Panics if its life is over.
    pub fn number(&self) -> u64 {
        let alive = self.alive.load(Ordering::Relaxed);
        assert_eq!(alive, ALIVE ^ self.number, "a value was read that is no more");
        self.number
    }
}

impl Drop for UniqueValue {
    fn drop(&mut self) {
        let alive = self.alive.swap(0, Ordering::Relaxed);
        assert_eq!(alive, ALIVE ^ self.number, "a value was dropped twice");
        self.living.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What all threads of a run share.
#[derive(Debug, Default)]
pub struct HistoryRecorder {
    clock: AtomicU64,
    numbers: AtomicU64,
    living: Arc<AtomicUsize>,
}

impl HistoryRecorder {
    /// A moment, unlike all others.
    pub fn now(&self) -> u64 {
        // Sequentially consistent, so that the moments are in the order in which threads have them.
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// A value with a number of its own.
    pub fn value(&self) -> (u64, Boxed<UniqueValue>) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.living.fetch_add(1, Ordering::Relaxed);
        let alive = AtomicU64::new(ALIVE ^ number);
        (number, Boxed::new(UniqueValue { number, alive, living: Arc::clone(&self.living) }))
    }

    /// How many values have not been dropped.
    pub fn living(&self) -> usize {
        self.living.load(Ordering::Relaxed)
    }
}

/// An index under test.
pub trait HistoryIndex: OrderedIndex<Boxed<UniqueValue>> {}

impl<I: OrderedIndex<Boxed<UniqueValue>>> HistoryIndex for I {}

/// What one thread was told, by the number of the key.
#[derive(Debug)]
pub struct ThreadNotes<'r> {
    pub shared: &'r HistoryRecorder,
    pub thread: usize,
    pub events: Vec<(usize, KeyEvent)>,
}

impl ThreadNotes<'_> {
    /// Does something between two moments, which it returns with the answer.
    pub fn timed<R>(&self, act: impl FnOnce() -> R) -> (R, (u64, u64)) {
        let began = self.shared.now();
        let answer = act();
        (answer, (began, self.shared.now()))
    }

    pub fn note(&mut self, name: &'static str, key: usize, effect: KeyEffect, (began, ended): (u64, u64)) {
        self.events.push((key, KeyEvent { name, thread: self.thread, effect, began, ended }));
    }
}

/// Puts new values for some keys; returns what all hold.
pub fn fill(
    index: &impl HistoryIndex,
    keys: &[Vec<u8>],
    shared: &HistoryRecorder,
    mut puts: impl FnMut() -> bool,
) -> Vec<Option<u64>> {
    let guard = index.collector().enter();
    let put = |key: &Vec<u8>| {
        puts().then(|| {
            let (number, value) = shared.value();
            assert!(index.insert(key, value, &guard).unwrap().is_none());
            number
        })
    };
    keys.iter().map(put).collect()
}

/// The number of a key's value.
pub fn number_of<G: Guard>(index: &impl HistoryIndex, key: &[u8], guard: &G) -> Option<u64> {
    index.get(key, guard).map(UniqueValue::number)
}
