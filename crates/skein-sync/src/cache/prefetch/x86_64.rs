//! The instruction `prefetcht0`, which every `x86_64` processor has.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

#[inline(always)]
pub(super) fn fetch(address: *const u8) {
    // SAFETY: a prefetch of any address is allowed; it reads nothing that the program can see. It
    // belongs to SSE, which is part of the base of x86_64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}
