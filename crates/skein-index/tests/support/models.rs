//! Helpers of the `loom` models of all indexes.

use std::sync::Arc;

use skein_index::{Cursor, OrderedIndex};

use super::checked::CheckedIndex;
use super::numbers::NumberSlot;

/// The number of times that a thread may be interrupted in one run.
#[allow(dead_code, reason = "where operations are long, it is once")]
pub const PREEMPTIONS: usize = 2;

/// Runs two threads in every order, against an index that holds `keys` (each with its position as
/// value).
pub fn model<S: NumberSlot, I: CheckedIndex<S> + 'static>(
    make: fn() -> I,
    preemptions: usize,
    keys: &'static [&'static str],
    writer: impl Fn(&I) + Copy + Send + Sync + 'static,
    reader: impl Fn(&I) + Copy + Send + Sync + 'static,
) {
    explore(preemptions, move || {
        let index = Arc::new(make());
        fill(&*index, keys);
        let shared = Arc::clone(&index);
        let thread = loom::thread::spawn(move || writer(&shared));
        reader(&index);
        thread.join().unwrap();
        let mut index = Arc::into_inner(index).expect("the writer is done");
        index.verify();
    });
}

/// Runs `run` in every order.
pub fn explore(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(run);
}

/// Inserts keys, each with its position as value.
pub fn fill<S: NumberSlot>(index: &impl OrderedIndex<S>, keys: &[&str]) {
    for (value, key) in (0..).zip(keys) {
        put(index, key, value);
    }
}

pub fn put<S: NumberSlot>(index: &impl OrderedIndex<S>, key: &str, value: u64) -> Option<u64> {
    index.insert(key.as_bytes(), S::of(value), &index.collector().enter()).unwrap()
}

pub fn get<S: NumberSlot>(index: &impl OrderedIndex<S>, key: &str) -> Option<u64> {
    index.get(key.as_bytes(), &index.collector().enter())
}

pub fn remove<S: NumberSlot>(index: &impl OrderedIndex<S>, key: &str) -> Option<u64> {
    index.remove(key.as_bytes(), &index.collector().enter())
}

/// Returns all keys, in ascending or descending order.
pub fn scan<S: NumberSlot>(index: &impl OrderedIndex<S>, forward: bool) -> Vec<Vec<u8>> {
    let guard = index.collector().enter();
    let mut cursor = index.cursor(&guard);
    let mut met = Vec::new();
    while if forward { cursor.next() } else { cursor.prev() } {
        met.push(cursor.key().unwrap().to_vec());
    }
    met
}
