//! Writes decimal integers as Redis does. (`skein_syntax::number` reads them.)

/// The digits of a number, without an allocation.
pub(crate) struct Decimal {
    bytes: [u8; 20],
    start: u8,
}

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

impl Decimal {
    /// Returns the digits of an unsigned integer.
    #[inline]
    pub(crate) fn unsigned(mut value: u64) -> Self {
        let mut bytes = [0; 20];
        let mut start = bytes.len();
        while value >= 100 {
            let pair = (value % 100) as usize * 2;
            value /= 100;
            start -= 2;
            bytes[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        if value >= 10 {
            let pair = value as usize * 2;
            start -= 2;
            bytes[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        } else {
            start -= 1;
            bytes[start] = b'0' + value as u8;
        }
        Self { bytes, start: start as u8 }
    }

    /// Returns the digits of a signed integer, with its minus sign.
    pub(crate) fn signed(value: i64) -> Self {
        let mut decimal = Self::unsigned(value.unsigned_abs());
        if value < 0 {
            // 2^63 has 19 digits, so the buffer always has room for the sign.
            decimal.start -= 1;
            decimal.bytes[decimal.start as usize] = b'-';
        }
        decimal
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start as usize..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_like_the_standard_library() {
        for value in [0, 1, 9, 10, 99, 100, 101, 12345, 1 << 40, u64::MAX] {
            assert_eq!(Decimal::unsigned(value).as_bytes(), value.to_string().as_bytes());
        }
        for value in [0, -1, -10, i64::MIN, i64::MAX] {
            assert_eq!(Decimal::signed(value).as_bytes(), value.to_string().as_bytes());
        }
    }
}
