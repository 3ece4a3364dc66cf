//! Decimal integers in the form that Redis accepts.

/// Parses a signed integer: an optional minus and digits. Returns `None` for a plus, spaces,
/// leading zeros, or "-0".
pub fn parse_i64(text: &[u8]) -> Option<i64> {
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

/// Parses an unsigned integer: digits without leading zeros. Returns `None` for any other text.
pub fn parse_u64(text: &[u8]) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_integers_as_redis_does() {
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
}
