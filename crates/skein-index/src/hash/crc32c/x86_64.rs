//! The `crc32` instruction of SSE 4.2.

use std::arch::asm;

pub(in crate::hash) fn is_available() -> bool {
    std::arch::is_x86_feature_detected!("sse4.2")
}

#[inline(always)]
pub(in crate::hash) fn by_8(mut register: u64, bytes: u64) -> u64 {
    // SAFETY: uses registers only; the caller has checked `is_available`.
    unsafe {
        asm!("crc32 {register}, {bytes}", register = inout(reg) register, bytes = in(reg) bytes,
            options(pure, nomem, nostack, preserves_flags));
    }
    register
}
