//! Variants of the trie for tests and measurements, as bits of its const parameter.

/// The variant to use: tables from 2^11 buckets (128 KiB) to 2^28 (16 GiB).
pub const DEFAULT: usize = 11;

/// Allocates the table on pages of the common size.
pub const WITHOUT_HUGE_PAGES: usize = 1 << 8;
/// Disables prefetching in lookups.
pub const WITHOUT_PREFETCH: usize = 1 << 9;

pub(super) const fn has(variant: usize, flag: usize) -> bool {
    variant & flag != 0
}

/// Returns the logarithm of the least number of buckets.
pub(super) const fn least_bits(variant: usize) -> u32 {
    (variant & 0xff) as u32
}
