//! Reads and writes doubles like Redis: reads as C's `strtod`, writes 17 significant digits as
//! `%.17g`.

use super::number::Decimal;

/// The result of `strtod` for the start of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
struct StrtodPrefix {
    value: f64,
    /// The number of bytes read; 0 if the text is not a number.
    len: usize,
    /// Whether the number is too large, or so small that it became 0.
    out_of_range: bool,
}

const NOTHING: StrtodPrefix = StrtodPrefix { value: 0.0, len: 0, out_of_range: false };

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Returns the number of digits at the start of a text.
fn digits(text: &[u8], is_digit: impl Fn(&u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_digit(byte)).count()
}

/// Returns the length of digits with an optional point; 0 if there is no digit.
fn mantissa(text: &[u8], is_digit: impl Fn(&u8) -> bool) -> usize {
    let whole = digits(text, &is_digit);
    if text.get(whole) != Some(&b'.') {
        return whole;
    }
    let fraction = digits(&text[whole + 1..], &is_digit);
    if whole + fraction == 0 { 0 } else { whole + 1 + fraction }
}

/// Returns the length of an exponent that begins with this letter; 0 if there is no exponent.
fn exponent(text: &[u8], letter: u8) -> usize {
    if text.first().is_none_or(|first| first.to_ascii_lowercase() != letter) {
        return 0;
    }
    let sign = usize::from(matches!(text.get(1), Some(b'+' | b'-')));
    match digits(&text[1 + sign..], u8::is_ascii_digit) {
        0 => 0,
        count => 1 + sign + count,
    }
}

fn begins(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

fn strtod(text: &[u8]) -> StrtodPrefix {
    let spaces = digits(text, |byte| is_space(*byte));
    let sign = usize::from(matches!(text.get(spaces), Some(b'+' | b'-')));
    let negative = text.get(spaces) == Some(&b'-');
    let rest = &text[spaces + sign..];
    let magnitude = unsigned(rest);
    if magnitude.len == 0 {
        return NOTHING;
    }
    let value = if negative { -magnitude.value } else { magnitude.value };
    StrtodPrefix { value, len: spaces + sign + magnitude.len, ..magnitude }
}

fn unsigned(text: &[u8]) -> StrtodPrefix {
    for (word, value) in [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)] {
        if begins(text, word) {
            return StrtodPrefix { value, len: word.len(), out_of_range: false };
        }
    }
    if begins(text, "0x") && mantissa(&text[2..], u8::is_ascii_hexdigit) > 0 {
        return hexadecimal(text);
    }
    let digits = mantissa(text, u8::is_ascii_digit);
    if digits == 0 {
        return NOTHING;
    }
    let len = digits + exponent(&text[digits..], b'e');
    let value: f64 = std::str::from_utf8(&text[..len]).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let lost = value == 0.0 && text[..digits].iter().any(|digit| (b'1'..=b'9').contains(digit));
    StrtodPrefix { value, len, out_of_range: lost || value.is_infinite() }
}

/// Reads a number that begins with 0x and has digits.
fn hexadecimal(text: &[u8]) -> StrtodPrefix {
    let digits = mantissa(&text[2..], u8::is_ascii_hexdigit);
    let power = exponent(&text[2 + digits..], b'p');
    let (mut bits, mut scale, mut fraction) = (0_u64, 0_i64, false);
    for byte in &text[2..2 + digits] {
        let Some(digit) = char::from(*byte).to_digit(16) else {
            fraction = true;
            continue;
        };
        // Digits that do not fit can only affect how the last bit is rounded.
        if bits >> 59 == 0 {
            bits = bits << 4 | u64::from(digit);
            scale -= if fraction { 4 } else { 0 };
        } else {
            bits |= u64::from(digit > 0);
            scale += if fraction { 0 } else { 4 };
        }
    }
    let written = &text[2 + digits..2 + digits + power];
    let written = std::str::from_utf8(written.get(1..).unwrap_or_default()).unwrap_or_default();
    let negative = written.starts_with('-');
    let written: i64 = match written {
        "" => 0,
        _ => written.parse().unwrap_or(if negative { -1_000_000 } else { 1_000_000 }),
    };
    let value = scaled(bits, scale.saturating_add(written.clamp(-1_000_000, 1_000_000)));
    let out_of_range = value.is_infinite() || (value == 0.0 && bits > 0);
    StrtodPrefix { value, len: 2 + digits + power, out_of_range }
}

/// Returns `bits` times two to a power.
#[expect(clippy::cast_precision_loss, reason = "the cast rounds to nearest, as strtod does")]
fn scaled(bits: u64, power: i64) -> f64 {
    let mut value = bits as f64;
    let mut left = power.clamp(-2_400, 2_400);
    while left != 0 {
        // Scales in steps, because their powers of two are exact.
        let step = left.clamp(-1_000, 1_000);
        value *= 2_f64.powi(step as i32);
        left -= step;
    }
    value
}

/// Reads a score or an increment as ZADD does. The whole text must be a number in range, without
/// space before it. Takes time linear in the length of the text.
pub fn parse_double(text: &[u8]) -> Option<f64> {
    if is_space(*text.first()?) {
        return None;
    }
    let parsed = strtod(text);
    (parsed.len == text.len() && !parsed.out_of_range && !parsed.value.is_nan()).then_some(parsed.value)
}

/// Reads the bound of a range as Redis does: up to a zero byte, with spaces before it allowed. An
/// empty text is 0.
pub(crate) fn parse_bound(text: &[u8]) -> Option<f64> {
    parse_c_string(text).map(|parsed| parsed.value)
}

/// Reads the weight of an element as SORT does: as a bound, and it must be in range.
pub(crate) fn parse_weight(text: &[u8]) -> Option<f64> {
    parse_c_string(text).filter(|parsed| !parsed.out_of_range).map(|parsed| parsed.value)
}

/// Reads a text up to its first zero byte. Returns `None` if that is no number.
fn parse_c_string(text: &[u8]) -> Option<StrtodPrefix> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let parsed = strtod(text);
    (parsed.len == text.len() && !parsed.value.is_nan()).then_some(parsed)
}

/// Larger integers have 18 digits.
const INTEGER_MAX: f64 = 1e17;

/// Appends a score as ZSCORE writes it: 17 significant digits without trailing zeros.
/// [`parse_double`] reads the same number back, if it is a number.
pub fn write_double(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    } else if value == 0.0 {
        out.extend_from_slice(if value.is_sign_negative() { b"-0" } else { b"0" });
    } else if value.abs() < INTEGER_MAX && value.fract() == 0.0 {
        out.extend_from_slice(Decimal::signed(value as i64).as_bytes());
    } else {
        write_digits(out, value);
    }
}

fn write_digits(out: &mut Vec<u8>, value: f64) {
    // One digit, a point, 16 digits, an exponent.
    let text = format!("{:.16e}", value.abs());
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_digit).collect();
    let last = digits.iter().rposition(|digit| *digit != b'0').unwrap_or(0);
    let digits = &digits[..=last];
    if value < 0.0 {
        out.push(b'-');
    }
    match exponent {
        0..17 => {
            let whole = exponent.unsigned_abs() as usize + 1;
            for at in 0..whole.max(digits.len()) {
                if at == whole {
                    out.push(b'.');
                }
                out.push(digits.get(at).copied().unwrap_or(b'0'));
            }
        }
        -4..0 => {
            out.extend_from_slice(b"0.");
            out.extend((exponent..-1).map(|_| b'0'));
            out.extend_from_slice(digits);
        }
        _ => {
            out.push(digits[0]);
            if digits.len() > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            let sign = if exponent < 0 { '-' } else { '+' };
            out.extend_from_slice(format!("e{sign}{:02}", exponent.unsigned_abs()).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: f64) -> String {
        let mut out = Vec::new();
        write_double(&mut out, value);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn seventeen_digits_as_c_writes_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (-17.0, "-17"),
            (0.1, "0.10000000000000001"),
            (2.5, "2.5"),
            (1e-4, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (1.1e-5, "1.1e-05"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e300, "1.0000000000000001e+300"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (-f64::NAN, "nan"),
            (1234.5678, "1234.5678"),
            (99_999_999_999_999_984.0, "99999999999999984"),
        ] {
            assert_eq!(written(value), text);
        }
    }

    #[test]
    fn reads_what_strtod_reads() {
        for (text, value) in [
            ("1", 1.0),
            ("+1.5", 1.5),
            ("-.5", -0.5),
            ("1.", 1.0),
            ("1e3", 1000.0),
            ("1E-2", 0.01),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("0x10", 16.0),
            ("0x1.8p1", 3.0),
            ("-0x.8", -0.5),
            ("0x1p-3", 0.125),
            ("4.9e-324", 5e-324),
        ] {
            assert_eq!(parse_double(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "", " 1", "1 ", "a", "nan", "1e", "1e+", "--1", ".", "0x", "1e400", "1e-400", "1\0", "0x1p5000",
            "infx",
        ] {
            assert_eq!(parse_double(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn bounds_are_parsed_more_leniently() {
        for (text, value) in
            [("", 0.0), (" 1", 1.0), ("1\0x", 1.0), ("1e400", f64::INFINITY), ("1e-400", 0.0)]
        {
            assert_eq!(parse_bound(text.as_bytes()), Some(value), "{text:?}");
        }
        for text in ["nan", "x", "1 ", " ", "1x"] {
            assert_eq!(parse_bound(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_back(bits: u64) {
            let value = f64::from_bits(bits);
            if !value.is_nan() {
                proptest::prop_assert_eq!(strtod(written(value).as_bytes()).value.to_bits(), value.to_bits());
            }
        }
    }
}
