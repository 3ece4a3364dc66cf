//! Variants of the list, for tests and measurements: bits of its const parameter.

/// The variant to use: towers of up to 32 levels, cursors that read ahead through the lowest levels up to 3.
pub const DEFAULT: usize = 32 | AHEAD_3;

/// Cursors read ahead through level 3 and those below: about eight nodes at a time.
pub const AHEAD_3: usize = 3 << 8;
/// The same through level 4: about sixteen nodes at a time.
pub const AHEAD_4: usize = 4 << 8;
/// Cursors follow the bottom level and read nothing ahead.
pub const PLAIN: usize = 0;
/// On pages of the common size.
pub const WITHOUT_HUGE_PAGES: usize = 1 << 12;
/// Searches ask for no node before they need it.
pub const WITHOUT_PREFETCH: usize = 1 << 13;

/// A bare list, as the paper's section 3.1 has it: nodes have no versions, their value is written in place, and there are no snapshots.
pub const BARE: usize = 1 << 14;

/// Whether a variant has a flag.
pub(super) const fn has(variant: usize, flag: usize) -> bool {
    variant & flag != 0
}

/// The most levels that a tower has.
pub(super) const fn levels(variant: usize) -> usize {
    variant & 0xff
}

/// The level through which cursors read ahead; 0 if they do not.
pub(super) const fn ahead(variant: usize) -> usize {
    variant >> 8 & 0xf
}
