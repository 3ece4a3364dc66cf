//! Key types, and their conversion to byte strings in the same order.
//!
//! ```text
//!   u64, u32        big-endian                        0, 1, ...               00000000 .. ffffffff
//!   i64, i32        sign bit flipped, then the same   MIN, ..., -1, 0, ...    00000000 .. 7fffffff
//!                                                                             80000000 ..
//!   f64             its bits as an i64; if negative,  -inf, ..., -0.0, 0.0, ..., inf
//!                   with all bits but the sign flipped
//!   (u32, u32)      one u64, the first half on top
//! ```
//!
//! All codes of one type have the same length, so the bytes alone decide the order.

use super::ShortBytes;
use crate::index::IndexError;

/// A type of keys for an [`MlpMap`](super::MlpMap).
///
/// An implementation must satisfy a law, for all keys that have a code: `a < b` if and only if the
/// code of `a` is before that of `b`, and decoding a key's code returns the key. If a type breaks
/// the law, its maps return wrong answers, but there is no undefined behavior.
///
/// The simplest way to support your own type is to convert it to one of the types here:
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
    /// Returns the key as bytes.
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

    /// Returns the key of these bytes. A map passes only results of [`encode`](Self::encode), but
    /// the method must not panic on other bytes.
    ///
    /// ```
    /// use skein_index::MlpKey;
    /// assert_eq!(i64::decode((-7_i64).encode()?), -7);
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    fn decode(code: ShortBytes) -> Self;
}

/// The error of an [`MlpMap`](super::MlpMap). The failed call has not changed the map.
///
/// ```
/// use skein_index::{Inline, MlpError, MlpMap};
///
/// let map = MlpMap::new();
/// let guard = map.collector().enter();
/// let refused = map.insert(f64::NAN, Inline(1_u64), &guard).unwrap_err();
/// assert_eq!(refused, MlpError::NotANumber { bits: f64::NAN.to_bits() });
/// assert!(refused.to_string().starts_with("NaN (bits 0x7ff8000000000000) cannot be a key"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MlpError {
    /// The key is NaN, which has no place in the order of floats.
    #[error(
        "NaN (bits {bits:#018x}) cannot be a key, because it has no place in the order of floats; leave it out or use an infinity"
    )]
    NotANumber {
        /// The float's bits.
        bits: u64,
    },
    /// The index refused the write.
    #[error(transparent)]
    Refused(#[from] IndexError),
}

// The least integer of a type is its sign bit, or 0 if it has no sign.
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

/// Pairs are ordered by the first number, then by the second.
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

/// Floats are ordered by [`f64::total_cmp`]: -0.0 is just before 0.0 and another key. NaN is
/// refused.
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

/// Converts a float's bits to an integer in the order of floats, and back. The bits of negative
/// floats increase as the floats decrease, so all of them but the sign are flipped.
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
    fn nan_is_refused_with_any_bits() {
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
