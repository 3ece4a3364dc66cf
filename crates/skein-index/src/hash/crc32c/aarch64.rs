//! `crc32c` of Armv8.

use std::arch::asm;

pub(in crate::hash) fn has_it() -> bool {
    std::arch::is_aarch64_feature_detected!("crc")
}

macro_rules! step {
    ($name:ident, $type:ty, $instruction:literal) => {
        #[inline(always)]
        pub(in crate::hash) fn $name(register: u64, bytes: $type) -> u64 {
            let mut register = register as u32;
            // SAFETY: computes on registers alone; callers have asked `has_it`.
            unsafe {
                asm!(".arch_extension crc", $instruction, register = inout(reg) register,
                    bytes = in(reg) bytes, options(pure, nomem, nostack, preserves_flags));
            }
            register.into()
        }
    };
}

step!(by_8, u64, "crc32cx {register:w}, {register:w}, {bytes:x}");
step!(by_4, u32, "crc32cw {register:w}, {register:w}, {bytes:w}");
step!(by_1, u8, "crc32cb {register:w}, {register:w}, {bytes:w}");
