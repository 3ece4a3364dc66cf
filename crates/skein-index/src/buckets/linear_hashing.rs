//! Linear hashing: a table that grows and shrinks by single buckets (Litwin, VLDB 1980).
//!
//! ```text
//!   0 ········ split ········ 2^level ········ size     the bucket at `split` is split next,
//!   │ two each │ one for each │ the other halves │     into itself and the one at `size`
//! ```

use skein_sync::atomic::{AtomicU64, Ordering};

/// The number of buckets of a table that many threads use.
///
/// Only the holder of the right to resize the table changes it, up or down by one, while the two
/// buckets that exchange entries are locked.
#[derive(Debug)]
pub(crate) struct TableSize(AtomicU64);

impl TableSize {
    pub(crate) fn new(buckets: u32) -> Self {
        Self(AtomicU64::new(buckets.into()))
    }

    #[inline(always)]
    pub(crate) fn buckets(&self) -> u32 {
        // Acquire: pairs with the Release in `set`. The memory of all these buckets is ready.
        self.0.load(Ordering::Acquire) as u32
    }

    /// Returns the size in a form that maps many hashes to buckets quickly.
    #[inline(always)]
    pub(crate) fn present(&self) -> LinearHashSize {
        LinearHashSize::of(self.buckets())
    }

    /// Sets the size. The caller must have the right to change it.
    pub(crate) fn set(&self, buckets: u32) {
        // Release: pairs with the Acquire in `buckets`.
        self.0.store(buckets.into(), Ordering::Release);
    }
}

/// The number of buckets, and the mask that maps hashes to buckets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinearHashSize {
    buckets: u32,
    mask: u32,
}

impl LinearHashSize {
    #[inline(always)]
    pub(crate) fn of(buckets: u32) -> Self {
        Self { buckets, mask: u32::MAX >> buckets.leading_zeros() }
    }

    /// Returns the number of buckets.
    #[inline(always)]
    pub(crate) fn buckets(self) -> u32 {
        self.buckets
    }

    /// Returns the bucket for these bits of a hash.
    #[inline(always)]
    pub(crate) fn bucket_of(self, bits: u32) -> u32 {
        let bucket = bits & self.mask;
        if bucket < self.buckets { bucket } else { bucket & (self.mask >> 1) }
    }
}

/// Returns the bucket that this one is split from.
pub(crate) fn split_from(bucket: u32) -> u32 {
    bucket ^ (1 << bucket.ilog2())
}
