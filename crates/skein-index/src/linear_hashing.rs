//! Linear hashing: places in a table that grows and shrinks by single buckets (Litwin, VLDB 1980).
//!
//! ```text
//!   0 ········ split ········ 2^level ········ size         the bucket at `split` is the next to be split,
//!   │ two each │ one for each │ the other halves │         into itself and the one at `size`
//! ```

/// A number of buckets, with what places are computed by.
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

    /// How many buckets there are.
    #[inline(always)]
    pub(crate) fn buckets(self) -> u32 {
        self.buckets
    }

    /// The bucket for these bits.
    #[inline(always)]
    pub(crate) fn bucket_of(self, bits: u32) -> u32 {
        let bucket = bits & self.mask;
        if bucket < self.buckets { bucket } else { bucket & (self.mask >> 1) }
    }
}

/// The bucket that this one is split from.
pub(crate) fn split_from(bucket: u32) -> u32 {
    bucket ^ (1 << bucket.ilog2())
}
