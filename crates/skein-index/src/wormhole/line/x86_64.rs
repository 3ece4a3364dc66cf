//! The search by SSE2, which every `x86_64` processor has.
//!
//! It is in assembly because other threads may write the words at the same time: it reads as eight
//! relaxed loads would, and the compiler must not assume anything else.

use std::arch::asm;

use skein_sync::atomic::AtomicU64;

use super::LINE;

/// Returns a bit for each word that has the tag.
#[inline(always)]
pub(super) fn places(line: &[AtomicU64; LINE], tag: u16) -> u32 {
    let bits: u32;
    // SAFETY: reads the line's 64 bytes, which are valid and aligned to 64 (as all callers' lines
    // are); each aligned word is read whole.
    unsafe {
        asm!(
            // The upper halves of words 0 to 3, then those of words 4 to 7.
            "movaps {low}, [{line}]",
            "shufps {low}, [{line} + 16], 0xdd",
            "movaps {high}, [{line} + 32]",
            "shufps {high}, [{line} + 48], 0xdd",
            // The upper halves of these, as eight numbers of 16 bits.
            "psrad {low}, 16",
            "psrad {high}, 16",
            "packssdw {low}, {high}",
            "movd {tags}, {tag:e}",
            "pshuflw {tags}, {tags}, 0",
            "pshufd {tags}, {tags}, 0",
            "pcmpeqw {low}, {tags}",
            "packsswb {low}, {low}",
            "pmovmskb {bits:e}, {low}",
            line = in(reg) line.as_ptr(),
            tag = in(reg) u32::from(tag),
            low = out(xmm_reg) _,
            high = out(xmm_reg) _,
            tags = out(xmm_reg) _,
            bits = lateout(reg) bits,
            options(readonly, nostack, preserves_flags),
        );
    }
    bits & 0xff
}
