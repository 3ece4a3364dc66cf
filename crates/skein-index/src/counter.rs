//! A counter that many threads change at once without sharing a cache line.

use skein_sync::atomic::{AtomicU64, Ordering};

use crate::memory::CachePadded;

/// The number of stripes; a power of two.
const STRIPES: usize = if cfg!(skein_loom) { 1 } else { 16 };

/// A counter in several stripes. Each thread adds to one of them.
#[derive(Debug)]
pub(crate) struct Counter {
    stripes: [CachePadded<AtomicU64>; STRIPES],
}

impl Counter {
    /// Creates a counter at zero.
    pub(crate) fn new() -> Self {
        Self { stripes: std::array::from_fn(|_| CachePadded::new(AtomicU64::new(0))) }
    }

    /// Adds `delta` to the stripe of this thread.
    #[inline]
    pub(crate) fn add(&self, thread: usize, delta: i64) {
        // Relaxed: an independent sum that orders nothing else.
        self.stripes[thread % STRIPES].fetch_add(delta.cast_unsigned(), Ordering::Relaxed);
    }

    /// Returns the sum; exact while no thread adds.
    pub(crate) fn sum(&self) -> usize {
        let parts = self.stripes.iter().map(|stripe| stripe.load(Ordering::Relaxed));
        // A stripe may be negative, and so may the sum for a moment while other threads add.
        let sum = parts.fold(0_u64, u64::wrapping_add).cast_signed();
        usize::try_from(sum).unwrap_or(0)
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_may_be_negative() {
        let counter = Counter::new();
        counter.add(0, 5);
        counter.add(1, -3);
        assert_eq!(counter.sum(), 2);
        counter.add(17, -2);
        assert_eq!(counter.sum(), 0);
    }
}
