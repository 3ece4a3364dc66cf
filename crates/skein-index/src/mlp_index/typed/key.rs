//! Key types, and how they become byte strings in the same order.
//!
//! ```text
//!   u64, u32        big-endian                                0, 1, ...                        00000000 .. ffffffff
//!   i64, i32        the sign turned, then the same            MIN, ..., -1, 0, ...             00000000 .. 7fffffff 80000000 ..
//!   f64             its bits as an i64, of a negative one     -inf, ..., -0.0, 0.0, ..., inf
//!                   all but the sign turned
//!   (u32, u32)      one u64, the first half on top
//! ```
//!
//! Codes of one type are of one length, so their bytes alone decide.

use super::ShortBytes;
use crate::index::IndexError;

/// A type of keys that an [`MlpMap`](super::MlpMap) takes.
///
/// The law, of all keys that have a code: `a < b` if and only if the code of `a` is before that of `b`, and decoding gives back what was
/// encoded. A type that breaks it gets wrong answers, and no undefined behaviour.
///
/// A type of your own is best made of one that is here:
///
/// ```
/// use skein_index::{Inline, MlpError, MlpKey, MlpMap, ShortBytes};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Seat { row: u32, number: u32 }
///
/// impl MlpKey for Seat {
///     fn encode(self) -> Result<ShortBytes, MlpError> {
///         (self.row, self.number).encode()
///     }
///     fn decode(code: ShortBytes) -> Self {
///         let (row, number) = MlpKey::decode(code);
///         Self { row, number }
///     }
/// }
///
/// let seats = MlpMap::new();
/// let guard = seats.collector().enter();
/// seats.insert(Seat { row: 3, number: 14 }, Inline(1_u64), &guard)?;
/// assert_eq!(seats.last(&guard), Some((Seat { row: 3, number: 14 }, 1)));
/// # Ok::<(), MlpError>(())
/// ```
pub trait MlpKey: Copy {
    /// The key as bytes.
    ///
    /// # Errors
    /// [`MlpError`] if the key has no place in the order.
    ///
    /// ```
    /// use skein_index::MlpKey;
    /// assert_eq!(&*258_u32.encode()?, [0, 0, 1, 2]);
    /// assert!((-1_i64).encode()? < 0_i64.encode()?);
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    fn encode(self) -> Result<ShortBytes, MlpError>;

    /// The key whose bytes these are. It gets what [`encode`](Self::encode) gave, but must not panic on anything else.
    ///
    /// ```
    /// use skein_index::MlpKey;
    /// assert_eq!(i64::decode((-7_i64).encode()?), -7);
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    fn decode(code: ShortBytes) -> Self;
}

/// Why an [`MlpMap`](super::MlpMap) has not done what it was asked for. It is as it was before the call.
///
/// ```
/// use skein_index::{Inline, MlpError, MlpMap};
///
/// let map = MlpMap::new();
/// let guard = map.collector().enter();
/// let refused = map.insert(f64::NAN, Inline(1_u64), &guard).unwrap_err();
/// assert_eq!(refused, MlpError::NotANumber { bits: f64::NAN.to_bits() });
/// assert!(refused.to_string().starts_with("the key NaN (bits 0x7ff8000000000000) is before, at or after no other float"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MlpError {
    /// A float that is not a number was to be put in order.
    #[error(
        "the key NaN (bits {bits:#018x}) is before, at or after no other float; leave it out, or put an infinity in its place"
    )]
    NotANumber {
        /// The float's bits.
        bits: u64,
    },
    /// What the index refuses.
    #[error(transparent)]
    Refused(#[from] IndexError),
}

// The least integer of a type is its sign bit, or 0 if it has none.
macro_rules! integers {
    ($($t:ty),*) => {$(
        impl MlpKey for $t {
            #[inline(always)]
            fn encode(self) -> Result<ShortBytes, MlpError> {
                Ok(ShortBytes::of((self ^ <$t>::MIN).to_be_bytes()))
            }
            #[inline(always)]
            fn decode(code: ShortBytes) -> Self {
                <$t>::from_be_bytes(code.leading()) ^ <$t>::MIN
            }
        }
    )*};
}
integers!(u32, u64, i32, i64);

/// Pairs in the order of the first, and then of the second.
impl MlpKey for (u32, u32) {
    #[inline(always)]
    fn encode(self) -> Result<ShortBytes, MlpError> {
        (u64::from(self.0) << 32 | u64::from(self.1)).encode()
    }
    #[inline(always)]
    fn decode(code: ShortBytes) -> Self {
        let both = u64::decode(code);
        ((both >> 32) as u32, both as u32)
    }
}

/// Floats in the order of [`f64::total_cmp`]: -0.0 is another key than 0.0, and just before it. What is not a number is refused.
impl MlpKey for f64 {
    #[inline(always)]
    fn encode(self) -> Result<ShortBytes, MlpError> {
        let bits = self.to_bits();
        if self.is_nan() { Err(MlpError::NotANumber { bits }) } else { ordered(bits.cast_signed()).encode() }
    }
    #[inline(always)]
    fn decode(code: ShortBytes) -> Self {
        Self::from_bits(ordered(i64::decode(code)).cast_unsigned())
    }
}

/// A float's bits as an integer in the order of floats, and back: the greater a negative float's bits, the less it is, so all but the sign are
/// turned.
#[inline(always)]
fn ordered(bits: i64) -> i64 {
    bits ^ (bits >> 63) & i64::MAX
}

impl MlpKey for ShortBytes {
    #[inline(always)]
    fn encode(self) -> Result<ShortBytes, MlpError> {
        Ok(self)
    }
    #[inline(always)]
    fn decode(code: ShortBytes) -> Self {
        code
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    fn code(key: impl MlpKey) -> Vec<u8> {
        key.encode().unwrap().to_vec()
    }

    #[test]
    fn codes_are_as_the_head_says() {
        assert_eq!(code(0x0102_u32), [0, 0, 1, 2]);
        assert_eq!(code(0x0102_u64), [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(
            (code(i32::MIN), code(-1_i32), code(0_i32)),
            (vec![0; 4], vec![0x7f, 255, 255, 255], vec![0x80, 0, 0, 0])
        );
        assert_eq!(code((1_u32, 2_u32)), [0, 0, 0, 1, 0, 0, 0, 2]);
        assert_eq!(code(0.0), [0x80, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(code(-0.0), [0x7f, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(code(f64::NEG_INFINITY)[..2], [0x00, 0x0f]);
        assert_eq!(code(ShortBytes::of(*b"ant")), b"ant");
    }

    #[test]
    fn what_is_not_a_number_is_refused_whatever_its_bits() {
        for bits in [0x7ff0_0000_0000_0001, 0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0000, u64::MAX] {
            let key = f64::from_bits(bits);
            assert_eq!(key.encode(), Err(MlpError::NotANumber { bits: key.to_bits() }));
        }
    }

    #[test]
    fn any_bytes_decode_to_something() {
        for len in 0..=8 {
            let bytes = ShortBytes::new(&[0xff; 8][..len]).unwrap();
            let _ = (u32::decode(bytes), u64::decode(bytes), i32::decode(bytes), i64::decode(bytes));
            let _ = (f64::decode(bytes), <(u32, u32)>::decode(bytes));
        }
    }
}
