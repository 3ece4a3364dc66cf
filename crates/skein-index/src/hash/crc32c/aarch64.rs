//! The `crc32cx` instruction of Armv8.

use std::arch::asm;

pub(in crate::hash) fn is_available() -> bool {
    std::arch::is_aarch64_feature_detected!("crc")
}

#[inline(always)]
pub(in crate::hash) fn by_8(register: u64, bytes: u64) -> u64 {
    let mut register = register as u32;
    // SAFETY: uses registers only; the caller has checked `is_available`.
    unsafe {
        asm!(".arch_extension crc", "crc32cx {register:w}, {register:w}, {bytes:x}", register = inout(reg) register,
            bytes = in(reg) bytes, options(pure, nomem, nostack, preserves_flags));
    }
    register.into()
}
