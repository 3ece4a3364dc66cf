//! A byte of the order in one instruction.
//!
//! It is in assembly because the words are atomic: it reads as a relaxed load of the word would,
//! and the compiler must not assume that no other thread writes the word's other bytes.

use std::arch::asm;

use super::{LeafOrder, SLOTS};

/// Returns the byte of a rank.
#[inline(always)]
pub(super) fn byte_at(order: &LeafOrder, rank: usize) -> usize {
    let byte: usize;
    // SAFETY: reads one of the order's `SLOTS` bytes, and a byte is read whole.
    unsafe {
        asm!(
            "movzx {byte:e}, byte ptr [{order} + {rank}]",
            order = in(reg) order.0.as_ptr(),
            rank = in(reg) rank % SLOTS,
            byte = lateout(reg) byte,
            options(readonly, nostack, preserves_flags),
        );
    }
    byte
}
