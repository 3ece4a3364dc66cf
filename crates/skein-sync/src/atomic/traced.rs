//! `loom`'s `AtomicU64`, with loads that its scheduler does not overlook.
//!
//! To find earlier places for a store, `loom` 0.7 remembers for each object only the last access of
//! all threads. A thread that loads a word and then stores to it (like every lock holder) hides, by
//! its own load, the loads of other threads. So `loom` never runs the schedules in which the store
//! happens between those loads. Here every load first changes a second word. `loom` never overlooks
//! changes, so it runs those schedules. The change is relaxed, so it orders nothing else.

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
    /// Creates an atomic.
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
