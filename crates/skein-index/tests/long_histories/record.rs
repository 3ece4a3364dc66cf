//! The records of threads: values that detect a use after their drop, a clock, and the events of
//! each key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use skein_index::{Boxed, Guard, OrderedIndex};

use crate::search::{KeyEffect, KeyEvent};

/// Tells a live value from freed memory.
const ALIVE: u64 = 0x5eed_0fa1_1ea5_e000;

/// A value that is written only once.
#[derive(Debug)]
pub struct UniqueValue {
    number: u64,
    alive: AtomicU64,
    /// The number of live values.
    living: Arc<AtomicUsize>,
}

impl UniqueValue {
    /// Returns its number. Panics if the value was dropped.
    pub fn number(&self) -> u64 {
        let alive = self.alive.load(Ordering::Relaxed);
        assert_eq!(alive, ALIVE ^ self.number, "a dropped value was read");
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

/// The state that all threads of a run share.
#[derive(Debug, Default)]
pub struct HistoryRecorder {
    clock: AtomicU64,
    numbers: AtomicU64,
    living: Arc<AtomicUsize>,
}

impl HistoryRecorder {
    /// Returns a moment that differs from all others.
    pub fn now(&self) -> u64 {
        // SeqCst, so that the moments are in the order in which the threads take them.
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Returns a value with a new number.
    pub fn value(&self) -> (u64, Boxed<UniqueValue>) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.living.fetch_add(1, Ordering::Relaxed);
        let alive = AtomicU64::new(ALIVE ^ number);
        (number, Boxed::new(UniqueValue { number, alive, living: Arc::clone(&self.living) }))
    }

    /// Returns the number of values that have not been dropped.
    pub fn living(&self) -> usize {
        self.living.load(Ordering::Relaxed)
    }
}

/// An index under test.
pub trait HistoryIndex: OrderedIndex<Boxed<UniqueValue>> {}

impl<I: OrderedIndex<Boxed<UniqueValue>>> HistoryIndex for I {}

/// The events of one thread, by the number of the key.
#[derive(Debug)]
pub struct ThreadNotes<'r> {
    pub shared: &'r HistoryRecorder,
    pub thread: usize,
    pub events: Vec<(usize, KeyEvent)>,
}

impl ThreadNotes<'_> {
    /// Calls `act` between two moments. Returns its result and both moments.
    pub fn timed<R>(&self, act: impl FnOnce() -> R) -> (R, (u64, u64)) {
        let began = self.shared.now();
        let answer = act();
        (answer, (began, self.shared.now()))
    }

    pub fn note(&mut self, name: &'static str, key: usize, effect: KeyEffect, (began, ended): (u64, u64)) {
        self.events.push((key, KeyEvent { name, thread: self.thread, effect, began, ended }));
    }
}

/// Inserts new values for some keys. Returns the value of every key.
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

/// Returns the number of a key's value.
pub fn number_of<G: Guard>(index: &impl HistoryIndex, key: &[u8], guard: &G) -> Option<u64> {
    index.get(key, guard).map(UniqueValue::number)
}
