//! Variants of the list, for tests and measurements: the bits of its const parameter.

/// The variant to use: towers of up to 32 levels, and cursors that prefetch through levels 3 to 0.
pub const DEFAULT: usize = 32 | AHEAD_3;

/// Cursors prefetch through level 3 and the levels below: about eight nodes at a time.
pub const AHEAD_3: usize = 3 << 8;
/// Cursors prefetch through level 4 and the levels below: about sixteen nodes at a time.
pub const AHEAD_4: usize = 4 << 8;
/// Cursors follow the bottom level and prefetch nothing.
pub const PLAIN: usize = 0;
/// Memory lies on small pages.
pub const WITHOUT_HUGE_PAGES: usize = 1 << 12;
/// Searches prefetch nothing.
pub const WITHOUT_PREFETCH: usize = 1 << 13;

/// A bare list as in section 3.1 of the paper: nodes have no versions, values are written in place,
/// and there are no snapshots.
pub const BARE: usize = 1 << 14;

/// Returns true if a variant has a flag.
pub(super) const fn has(variant: usize, flag: usize) -> bool {
    variant & flag != 0
}

/// Returns the maximum number of levels of a variant.
pub(super) const fn levels(variant: usize) -> usize {
    variant & 0xff
}

/// Returns the level through which cursors prefetch, or 0 if they do not.
pub(super) const fn ahead(variant: usize) -> usize {
    variant >> 8 & 0xf
}
