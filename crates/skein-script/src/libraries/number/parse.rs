//! `strtod`: the longest prefix of a text that is a number.
//!
//! ```text
//! [+-] ( digits [. digits] [e [+-] digits]           decimal
//!      | 0x digits [. digits] [p [+-] digits]        hexadecimal
//!      | inf | infinity | nan | nan(characters) )    in any case
//! ```

/// Returns the number at the front of `text` and its length, or `None` if there is no number.
pub(crate) fn parse_prefix(text: &[u8]) -> Option<(f64, usize)> {
    let negative = text.first() == Some(&b'-');
    let sign = usize::from(negative || text.first() == Some(&b'+'));
    let rest = &text[sign..];
    let (magnitude, length) = match rest.first()? {
        b'i' | b'I' | b'n' | b'N' => parse_special(rest)?,
        b'0' => parse_hexadecimal(rest).or_else(|| parse_decimal(rest))?,
        _ => parse_decimal(rest)?,
    };
    Some((if negative { -magnitude } else { magnitude }, sign + length))
}

fn starts_with_word(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn parse_special(text: &[u8]) -> Option<(f64, usize)> {
    if starts_with_word(text, b"nan") {
        return Some((f64::NAN, 3 + length_of_nan_payload(&text[3..])));
    }
    let words: [&[u8]; 2] = [b"infinity", b"inf"];
    let word = words.iter().find(|word| starts_with_word(text, word))?;
    Some((f64::INFINITY, word.len()))
}

/// Returns the length of `(characters)` after `nan`, which say nothing to Lua.
fn length_of_nan_payload(text: &[u8]) -> usize {
    let Some(inner) = text.strip_prefix(b"(") else { return 0 };
    let characters = leading(inner, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if inner.get(characters) == Some(&b')') { characters + 2 } else { 0 }
}

/// Returns the number of leading bytes that `accepts`.
fn leading(text: &[u8], accepts: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&byte| !accepts(byte)).unwrap_or(text.len())
}

fn parse_decimal(text: &[u8]) -> Option<(f64, usize)> {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let whole = leading(text, is_digit);
    let mut length = whole;
    if text.get(whole) == Some(&b'.') {
        let fraction = leading(&text[whole + 1..], is_digit);
        if whole + fraction > 0 {
            length += 1 + fraction;
        }
    }
    if length == 0 {
        return None;
    }
    let length = length + parse_exponent(&text[length..], b'e').map_or(0, |(_, length)| length);
    let value = std::str::from_utf8(&text[..length]).ok()?.parse().ok()?;
    Some((value, length))
}

/// Returns an exponent, limited to the range of a double, and its length with the letter.
fn parse_exponent(text: &[u8], letter: u8) -> Option<(i64, usize)> {
    if !text.first()?.eq_ignore_ascii_case(&letter) {
        return None;
    }
    let negative = text.get(1) == Some(&b'-');
    let sign = usize::from(negative || text.get(1) == Some(&b'+'));
    let digits = &text[1 + sign..];
    let count = leading(digits, |byte| byte.is_ascii_digit());
    if count == 0 {
        return None;
    }
    let limit = i64::from(i32::MAX);
    let add = |value: i64, digit: &u8| (value * 10 + i64::from(digit - b'0')).min(limit);
    let magnitude = digits[..count].iter().fold(0, add);
    Some((if negative { -magnitude } else { magnitude }, 1 + sign + count))
}

/// The leading bits of a hexadecimal number.
#[derive(Default)]
struct HexadecimalDigits {
    /// Up to 64 bits. The first bit is a one unless the number is zero.
    bits: u64,
    /// The power of two with which `bits` counts.
    exponent: i64,
    /// Whether one of the digits that do not fit `bits` is not zero.
    inexact: bool,
}

impl HexadecimalDigits {
    fn push(&mut self, digit: u8, of_fraction: bool) {
        if self.bits >> 60 == 0 {
            self.bits = self.bits << 4 | u64::from(digit);
            self.exponent -= if of_fraction { 4 } else { 0 };
        } else {
            self.inexact |= digit != 0;
            self.exponent += if of_fraction { 0 } else { 4 };
        }
    }

    /// Returns the nearest double, and the even one of two that are equally near.
    fn round(&self, exponent: i64) -> f64 {
        if self.bits == 0 {
            return 0.0;
        }
        let shift = i64::from(self.bits.leading_zeros());
        let bits = self.bits << shift;
        // The value is `bits * 2^(leading - 63)`.
        let leading = self.exponent + exponent - shift + 63;
        if leading > 1023 {
            return f64::INFINITY;
        }
        let dropped = 11 + (-1022 - leading).max(0);
        if dropped > 64 {
            return 0.0;
        }
        let wide = u128::from(bits);
        let (kept, rest) = ((wide >> dropped) as u64, wide & ((1 << dropped) - 1));
        let half = 1u128 << (dropped - 1);
        let up = rest > half || rest == half && (self.inexact || kept & 1 == 1);
        // A carry out of the mantissa increments the exponent, as the format intends.
        let exponent_field = (leading.max(-1023) + 1023) as u64;
        let implicit = if exponent_field > 0 { 1 << 52 } else { 0 };
        f64::from_bits((exponent_field << 52) + (kept - implicit) + u64::from(up))
    }
}

fn parse_hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"))?;
    let is_digit = |byte: u8| byte.is_ascii_hexdigit();
    let whole = leading(digits, is_digit);
    let has_point = digits.get(whole) == Some(&b'.');
    let fraction = if has_point { leading(&digits[whole + 1..], is_digit) } else { 0 };
    if whole + fraction == 0 {
        return None;
    }
    let length = whole + fraction + usize::from(has_point);
    let mut number = HexadecimalDigits::default();
    for (at, &byte) in digits[..length].iter().enumerate().filter(|&(at, _)| at != whole) {
        number.push(hexadecimal_digit(byte), at > whole);
    }
    let (exponent, exponent_length) = parse_exponent(&digits[length..], b'p').unwrap_or_default();
    Some((number.round(exponent), 2 + length + exponent_length))
}

fn hexadecimal_digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        _ => (byte | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_prefix;

    #[test]
    fn prefixes_are_parsed_as_in_c() {
        let cases: [(&str, Option<(f64, usize)>); 22] = [
            ("", None),
            ("-", None),
            (".", None),
            ("x", None),
            ("1", Some((1.0, 1))),
            ("+1.5e3x", Some((1500.0, 6))),
            ("1.", Some((1.0, 2))),
            (".5", Some((0.5, 2))),
            ("1e", Some((1.0, 1))),
            ("1e+", Some((1.0, 1))),
            ("1e99999999999999999999", Some((f64::INFINITY, 22))),
            ("-Infinityx", Some((f64::NEG_INFINITY, 9))),
            ("infinit", Some((f64::INFINITY, 3))),
            ("0x", Some((0.0, 1))),
            ("0x.", Some((0.0, 1))),
            ("0x1F", Some((31.0, 4))),
            ("0x.8", Some((0.5, 4))),
            ("0x1p", Some((1.0, 3))),
            ("0x1.8p-1075", Some((5e-324, 11))),
            ("0x1p-1075", Some((0.0, 9))),
            ("0x1.fffffffffffff8p1023", Some((f64::INFINITY, 23))),
            ("0x0.fffffffffffffcp-1022", Some((2.225_073_858_507_201_4e-308, 24))),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_prefix(text.as_bytes()), expected, "{text:?}");
        }
        for (text, length) in [("nan", 3), ("-NaN(x_1)", 9), ("nan(x", 3), ("nan()", 5)] {
            let (value, found) = parse_prefix(text.as_bytes()).expect("a number");
            assert!(value.is_nan() && found == length, "{text:?}");
        }
    }

    #[test]
    fn hexadecimal_digits_round_to_even() {
        for (text, expected) in [
            ("0x1fffffffffffff8", 0x0200_0000_0000_0000_u64 as f64),
            ("0x20000000000001", 9_007_199_254_740_992.0),
            ("0x20000000000003", 9_007_199_254_740_996.0),
            ("0x200000000000010000000000001", 4.056_481_920_730_335e31),
            ("0x20000000000001.0000000001", 9_007_199_254_740_994.0),
        ] {
            assert_eq!(parse_prefix(text.as_bytes()).map(|(value, _)| value), Some(expected), "{text}");
        }
    }
}
