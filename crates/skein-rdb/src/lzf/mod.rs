//! LZF, with which Redis compresses the strings of a dump.
//!
//! ```text
//!   000lllll                    l + 1 bytes follow as they are
//!   LLLooooo oooooooo           L + 2 bytes from o + 1 bytes back, 1 ≤ L ≤ 6
//!   111ooooo LLLLLLLL oooooooo  L + 9 bytes from o + 1 bytes back
//! ```
//!
//! This file decompresses; `compress` finds the repetitions.

mod compress;

pub use compress::compress;

/// Returns the `len` bytes that were compressed, or `None` if the input is damaged. It allocates in
/// proportion to the bytes that are there: up to 88 times the input.
pub fn decompress(mut input: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    while !input.is_empty() {
        let control = usize::from(take(&mut input)?);
        if control < 32 {
            let (literal, rest) = input.split_at_checked(control + 1)?;
            out.extend_from_slice(literal);
            input = rest;
        } else {
            let mut count = (control >> 5) + 2;
            if count == 9 {
                count += usize::from(take(&mut input)?);
            }
            let back = ((control & 31) << 8 | usize::from(take(&mut input)?)) + 1;
            let start = out.len().checked_sub(back)?;
            // The copy may overlap its own output.
            for at in start..start + count {
                out.push(out[at]);
            }
        }
        if out.len() > len {
            return None;
        }
    }
    (out.len() == len).then_some(out)
}

fn take(input: &mut &[u8]) -> Option<u8> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn copies_and_literals_are_read() {
        assert_eq!(decompress(b"\x02abc", 3).unwrap(), b"abc");
        // `abc`, then 9 bytes from 3 back.
        assert_eq!(decompress(b"\x02abc\xe0\x00\x02", 12).unwrap(), b"abcabcabcabc");
        assert_eq!(decompress(b"\x00a\x20\x00", 4).unwrap(), b"aaaa");
        for damaged in [&b"\x02ab"[..], b"\x20\x00", b"\x00a\x20\x01", b"\xe0\x00", b"\x02abc\xe0\x00\x02"] {
            assert!(decompress(damaged, 4).is_none(), "{damaged:?}");
        }
    }

    proptest! {
        #[test]
        fn no_input_panics_or_takes_more_than_its_length(input: Vec<u8>, len in 0_usize..2000) {
            prop_assert!(decompress(&input, len).is_none_or(|out| out.len() == len));
        }
    }
}
