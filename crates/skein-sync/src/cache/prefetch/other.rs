//! No prefetch: on other processors, and under Miri, the hint is ignored.

#[inline(always)]
pub(super) fn fetch(_address: *const u8) {}
