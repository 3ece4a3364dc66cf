//! Variants of the index, for tests and measurements: bits of its const parameter.

/// The variant to use.
pub const DEFAULT: usize = 0;
/// On pages of the common size.
pub const WITHOUT_HUGE_PAGES: usize = 1;
/// Searches ask for no bucket before they need it.
pub const WITHOUT_PREFETCH: usize = 1 << 1;
/// Searches ask for all levels, as in the paper, whether they matter or not.
pub const ALL_LEVELS: usize = 1 << 2;
/// Names whose last bits are the same meet in one bucket until the table is large: for tests of crowded tables.
pub const CROWDED: usize = 1 << 3;
/// The table keeps its least size: for tests of full tables.
pub const FIXED: usize = 1 << 4;
/// The table has a bucket for each key beyond its least size: every insert splits one, and every removal merges one. For tests of resizing.
pub const BUCKET_PER_KEY: usize = 1 << 5;

/// Whether a variant has a flag.
pub(super) const fn has(variant: usize, flag: usize) -> bool {
    variant & flag != 0
}
