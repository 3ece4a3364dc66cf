//! Prefetch: asks the processor to fetch a line, and does not wait for it.
//!
//! If all lines of a node are prefetched before the first is used, they arrive in the time of one
//! (Masstree, section 4.2). An address need not be valid, because a prefetch never faults.
//!
//! One file for each processor: `x86_64`, `aarch64`, and `other` without an instruction.

use super::CACHE_LINE;

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod aarch64;
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod other;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64;

#[cfg(all(target_arch = "aarch64", not(miri)))]
use aarch64::fetch;
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use other::fetch;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use x86_64::fetch;

/// Asks for the cache line at `address`, for reading, into all cache levels.
///
/// ```
/// let value = 5u64;
/// skein_sync::cache::prefetch_read(&raw const value);
/// skein_sync::cache::prefetch_read(std::ptr::null::<u8>()); // any address will do
/// ```
#[inline(always)]
pub fn prefetch_read<T>(address: *const T) {
    fetch(address.cast());
}

/// Asks for `LINES` cache lines from `address` on, for reading.
///
/// ```
/// let node = [0u64; 32];
/// skein_sync::cache::prefetch_lines::<4, _>(&raw const node);
/// ```
#[inline(always)]
pub fn prefetch_lines<const LINES: usize, T>(address: *const T) {
    let mut line = 0;
    while line < LINES {
        fetch(address.cast::<u8>().wrapping_add(line * CACHE_LINE));
        line += 1;
    }
}
