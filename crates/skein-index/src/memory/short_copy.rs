//! Copies of a few bytes without a call.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Copies `len` bytes, in words while there are some. For keys and small values, this is faster
/// than a call of `memcpy`.
///
/// # Safety
/// There are `len` readable bytes at `from` and `len` writable ones at `to`, which do not overlap.
#[inline(always)]
pub unsafe fn copy_short(from: NonNull<u8>, to: NonNull<u8>, len: usize) {
    /// Copies one value of type `T` at an offset. Some of its bytes may be padding.
    #[inline(always)]
    unsafe fn copy<T>(from: NonNull<u8>, to: NonNull<u8>, at: usize) {
        // SAFETY: the caller has checked that the value lies within the bytes.
        unsafe {
            let value = from.add(at).cast::<MaybeUninit<T>>().read_unaligned();
            to.add(at).cast::<MaybeUninit<T>>().write_unaligned(value);
        }
    }
    // SAFETY: all offsets are such that the value ends within `len`.
    unsafe {
        if len >= 8 {
            // Unlike a `chunks` loop, the last word overlaps the one before.
            let mut at = 0;
            while at + 8 < len {
                copy::<u64>(from, to, at);
                at += 8;
            }
            copy::<u64>(from, to, len - 8);
        } else if len >= 4 {
            copy::<u32>(from, to, 0);
            copy::<u32>(from, to, len - 4);
        } else if len >= 2 {
            copy::<u16>(from, to, 0);
            copy::<u16>(from, to, len - 2);
        } else if len == 1 {
            copy::<u8>(from, to, 0);
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_are_copied_and_no_others() {
        let source: Vec<u8> = (1..=70).collect();
        for len in 0..=70 {
            let mut target = [0; 72];
            let (from, to) = (NonNull::from(&source[..]).cast(), NonNull::from(&mut target[1..]).cast());
            // SAFETY: both have so many bytes.
            unsafe { copy_short(from, to, len) };
            assert!(target[1..=len] == source[..len] && target[0] == 0, "{len} bytes");
            assert!(target[len + 1..].iter().all(|&byte| byte == 0), "{len} bytes");
        }
    }
}
