//! `loom`'s `AtomicU64`, with loads that its scheduler does not overlook.
//!
//! For each object `loom` 0.7 remembers only the last access of all threads when it looks for the places where a
//! store could have come earlier. A thread that loads a word and then stores to it (as every lock holder does)
//! hides, by its own load, the loads of other threads: the schedules in which the store comes between them are
//! never run. Here every load first changes a second word. Changes are never overlooked, so those schedules
//! are run; and since the change is relaxed, it orders nothing else.

use std::ops::Deref;

use loom::sync::atomic;
use loom::sync::atomic::Ordering;

/// A 64-bit atomic; see the module's head.
#[derive(Debug)]
pub struct AtomicU64 {
    value: atomic::AtomicU64,
    loads: atomic::AtomicU64,
}

impl AtomicU64 {
    /// A new atomic.
    #[track_caller]
    pub fn new(value: u64) -> Self {
        Self { value: atomic::AtomicU64::new(value), loads: atomic::AtomicU64::new(0) }
    }

    /// Loads the value.
    #[track_caller]
    pub fn load(&self, order: Ordering) -> u64 {
        self.loads.fetch_add(0, Ordering::Relaxed);
        self.value.load(order)
    }
}

impl Default for AtomicU64 {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Deref for AtomicU64 {
    type Target = atomic::AtomicU64;

    fn deref(&self) -> &Self::Target {
        &self.value
    }
}
