//! Parses the numbers of CONFIG SET, with Redis's units and error texts.

use skein_syntax::number::parse_i64;

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberUnit {
    /// Things or seconds: a plain number.
    Count,
    /// Bytes: a number, optionally followed by `b`, `k` (1,000), `kb` (1,024), `m`, `mb`, `g` or
    /// `gb`, in any case.
    Bytes,
}

/// Parses a number between the bounds, both included. Returns the error text if it is wrong.
pub(super) fn parse(text: &[u8], unit: NumberUnit, (min, max): (usize, usize)) -> Result<usize, String> {
    let out_of_bounds = || format!("argument must be between {min} and {max} inclusive");
    let value = match unit {
        NumberUnit::Count => {
            let value = parse_i64(text).ok_or("argument couldn't be parsed into an integer")?;
            usize::try_from(value).map_err(|_| out_of_bounds())?
        }
        NumberUnit::Bytes => bytes(text).ok_or("argument must be a memory value")?,
    };
    if (min..=max).contains(&value) { Ok(value) } else { Err(out_of_bounds()) }
}

/// Parses a number that may be negative, between the bounds, both included.
pub(super) fn parse_signed(text: &[u8], (min, max): (i64, i64)) -> Result<i64, String> {
    let value = parse_i64(text).ok_or("argument couldn't be parsed into an integer")?;
    let fits = (min..=max).contains(&value);
    if fits { Ok(value) } else { Err(format!("argument must be between {min} and {max} inclusive")) }
}

/// Parses a number of bytes with its unit. Returns `None` if the text is malformed.
pub(super) fn bytes(text: &[u8]) -> Option<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = text.split_at(digits);
    let factor: usize = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1000 * 1000,
        b"mb" => 1 << 20,
        b"g" => 1000 * 1000 * 1000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    // As in Redis, no digits mean 0, and a number beyond the address space becomes the largest one.
    let digit = |total: usize, digit: &u8| total.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
    Some(number.iter().fold(0, digit).saturating_mul(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_as_in_redis() {
        for (text, value) in [
            ("0", Some(0)),
            ("512", Some(512)),
            ("2b", Some(2)),
            ("2k", Some(2000)),
            ("2KB", Some(2048)),
            ("3m", Some(3_000_000)),
            ("3mB", Some(3 << 20)),
            ("1g", Some(1_000_000_000)),
            ("1gb", Some(1 << 30)),
            ("", Some(0)),
            ("k", Some(0)),
            ("-1", None),
            ("1.5mb", None),
            ("1 kb", None),
            ("1tb", None),
            ("99999999999999999999", Some(usize::MAX)),
            ("99999999999999999gb", Some(usize::MAX)),
        ] {
            assert_eq!(bytes(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn bounds_and_words() {
        let counted = |text: &str| parse(text.as_bytes(), NumberUnit::Count, (2, 9));
        assert_eq!((counted("2"), counted("9")), (Ok(2), Ok(9)));
        for text in ["1", "10", "-1"] {
            assert_eq!(counted(text), Err("argument must be between 2 and 9 inclusive".to_owned()));
        }
        for text in ["", "x", "2k", " 2", "99999999999999999999"] {
            assert_eq!(counted(text), Err("argument couldn't be parsed into an integer".to_owned()));
        }
        assert_eq!(parse(b"x", NumberUnit::Bytes, (2, 9)), Err("argument must be a memory value".to_owned()));
        assert_eq!(
            parse(b"1kb", NumberUnit::Bytes, (2, 9)),
            Err("argument must be between 2 and 9 inclusive".to_owned())
        );
    }
}
