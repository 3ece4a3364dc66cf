//! Decimal integers as Redis reads and writes them.

/// Reads a signed integer: an optional minus and digits; no plus, no spaces, no leading zeros, no "-0".
pub(crate) fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        _ => (false, text),
    };
    let magnitude = parse_u64(digits)?;
    match (negative, magnitude) {
        (false, _) => i64::try_from(magnitude).ok(),
        (true, 0) => None,
        (true, _) => 0i64.checked_sub_unsigned(magnitude),
    }
}

/// Reads an unsigned integer: digits without leading zeros.
pub(crate) fn parse_u64(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    let mut value = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

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
    /// The digits of an unsigned integer.
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

    /// The digits of a signed integer, with its minus.
    pub(crate) fn signed(value: i64) -> Self {
        let mut decimal = Self::unsigned(value.unsigned_abs());
        if value < 0 {
            // 2^63 has 19 digits, so there is always room for the sign.
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
    fn reads_what_redis_reads() {
        for (text, value) in [
            (&b"0"[..], Some(0)),
            (b"7", Some(7)),
            (b"-7", Some(-7)),
            (b"9223372036854775807", Some(i64::MAX)),
            (b"-9223372036854775808", Some(i64::MIN)),
            (b"9223372036854775808", None),
            (b"-9223372036854775809", None),
            (b"", None),
            (b"-", None),
            (b"-0", None),
            (b"+1", None),
            (b"01", None),
            (b" 1", None),
            (b"1 ", None),
            (b"1a", None),
            (b"99999999999999999999999", None),
        ] {
            assert_eq!(parse_i64(text), value, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"18446744073709551616"), None);
    }

    #[test]
    fn writes_what_the_standard_library_writes() {
        for value in [0, 1, 9, 10, 99, 100, 101, 12345, 1 << 40, u64::MAX] {
            assert_eq!(Decimal::unsigned(value).as_bytes(), value.to_string().as_bytes());
        }
        for value in [0, -1, -10, i64::MIN, i64::MAX] {
            assert_eq!(Decimal::signed(value).as_bytes(), value.to_string().as_bytes());
        }
    }
}
