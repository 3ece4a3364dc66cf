//! CRC-32C by the processor's instruction, where it has one; one file per architecture.
//!
//! Written in assembly: as intrinsics the instructions could only be used in functions that are compiled for processors
//! which have them, and such functions are never inlined into others.

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod aarch64;
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod other;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64;

#[cfg(all(target_arch = "aarch64", not(miri)))]
use aarch64 as processor;
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use other as processor;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use x86_64 as processor;

/// Whether the processor has the instruction.
pub(super) fn in_hardware() -> bool {
    processor::has_it()
}

/// The register after some more bytes. REQUIRES: [`in_hardware`].
#[inline(always)]
pub(super) fn extend(mut register: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        register = processor::by_8(register, u64::from_le_bytes(*word));
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        register = processor::by_4(register, u32::from_le_bytes(*half));
    }
    for &byte in rest {
        register = processor::by_1(register, byte);
    }
    register
}
