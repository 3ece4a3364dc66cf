//! Floating-point numbers by the total order of IEEE 754, as [`f64::total_cmp`].
//!
//! -NaN < -∞ < … < -0.0 < +0.0 < … < +∞ < +NaN. NaNs are ordered by their bits, and every bit is
//! kept.

use super::{AsKey, DecodeError, EncodeKey, Key, KeyReader};

/// Implements the traits for a float, with the unsigned integer of its width: the bits of a
/// negative number are inverted, and only the sign bit of another number.
macro_rules! float_keys {
    ($($t:ty, $bits:ty, $sign:expr);*) => {$(
        impl EncodeKey for $t {
            fn encode_part(&self, out: &mut Vec<u8>) {
                let bits = self.to_bits();
                let ordered = if bits & $sign == 0 { bits ^ $sign } else { !bits };
                ordered.encode_part(out);
            }
        }

        impl AsKey<$t> for $t {}

        impl Key for $t {
            fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
                let ordered = <$bits>::from_be_bytes(reader.take::<Self, { size_of::<$t>() }>()?);
                Ok(Self::from_bits(if ordered & $sign == 0 { !ordered } else { ordered ^ $sign }))
            }
        }
    )*};
}
float_keys!(f32, u32, 1 << 31; f64, u64, 1 << 63);
