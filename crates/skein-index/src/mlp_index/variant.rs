//! Variants of the index for tests and measurements, as bits of its const parameter.

/// The variant to use.
pub const DEFAULT: usize = 0;
/// Allocates the table on pages of the common size.
pub const WITHOUT_HUGE_PAGES: usize = 1;
/// Disables prefetching in searches.
pub const WITHOUT_PREFETCH: usize = 1 << 1;
/// Makes searches prefetch all levels, as in the paper, even those that do not matter.
pub const ALL_LEVELS: usize = 1 << 2;
/// Makes names with the same last bits share a bucket until the table is large: for tests of
/// crowded tables.
pub const CROWDED: usize = 1 << 3;
/// Keeps the table at its least size: for tests of full tables.
pub const FIXED: usize = 1 << 4;
/// Gives the table one bucket per key beyond its least size: every insert splits a bucket, and
/// every removal merges one. For tests of resizing.
pub const BUCKET_PER_KEY: usize = 1 << 5;

pub(super) const fn has(variant: usize, flag: usize) -> bool {
    variant & flag != 0
}
