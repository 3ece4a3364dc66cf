//! CRC-32C by the processor's instruction, if it has one. One file per architecture: `x86_64`,
//! `aarch64`, and `other` for the rest and for Miri.
//!
//! The code is assembly. Intrinsics could be used only in functions that are compiled for
//! processors with the instruction, and such functions are never inlined into others.

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

/// Returns true if the processor has the instruction.
pub(super) fn in_hardware() -> bool {
    processor::is_available()
}

/// Returns the register after eight more bytes. REQUIRES: [`in_hardware`].
#[inline(always)]
pub(super) fn step(register: u64, word: u64) -> u64 {
    processor::by_8(register, word)
}
