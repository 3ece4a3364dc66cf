//! Floats as `INCRBYFLOAT` computes them: the `long double` of x86, with 64 bits of mantissa.
//!
//! ```text
//!   text ──► mantissa × 2^exponent ──► sum ──► text with 17 digits after the point,
//!            64 bits, rounded half to even     without trailing zeros
//! ```
//!
//! `natural` has the numbers of any size that exact conversions need.
//!
//! Clients see the digits of this arithmetic: 3.0 + 1.1 is 4.1, and 0.1 + 0.2 is 0.3, where an
//! `f64` prints 0.30000000000000004. So every conversion and sum is computed exactly and then
//! rounded once, as on x86.
//!
//! # Invariants
//! 1. A finite number is 0 × 2^0, or has the highest bit of its mantissa set.
//! 2. Infinity is mantissa 0 with the exponent `INFINITE`.
//!
//! One difference: numbers below 2^-16382 keep all bits of their mantissa. No reply shows a digit
//! of them.

mod natural;

use natural::Natural;

/// The most bytes of a number's text. A longer text is not a number.
const TEXT_MAX: usize = 5 * 1024 - 1;

/// The number of digits written after the point.
const FRACTION_DIGITS: usize = 17;

const INFINITE: i32 = i32::MAX;

/// The greatest exponent of a number's highest bit.
const TOP_MAX: i32 = 16_383;

/// The exponent of half the smallest number. Numbers up to that half are rounded to 0.
const TOP_MIN: i32 = -16_446;

/// Beyond this many digits before the point, or zeros after it, a number is out of range.
const DECIMAL_PLACES: i64 = 4_960;

/// A float with 64 bits of mantissa.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongDouble {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

impl LongDouble {
    pub(crate) const ZERO: Self = Self { negative: false, mantissa: 0, exponent: 0 };

    /// Reads the texts that C's `strtold` reads, without leading spaces and without NaN: decimal
    /// with optional point and exponent, hexadecimal (`0x1.8p3`), infinity. Returns `None` for
    /// other texts, and for numbers that are too large or would be rounded to 0.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let (negative, magnitude) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let number = match magnitude {
            [b'0', b'x' | b'X', hex @ ..] => ScaledDigits::parse(hex, 16)?.read_hex(),
            _ if ["inf", "infinity"].iter().any(|word| magnitude.eq_ignore_ascii_case(word.as_bytes())) => {
                Some(Self { exponent: INFINITE, ..Self::ZERO })
            }
            _ => ScaledDigits::parse(magnitude, 10)?.read_decimal(),
        };
        number.map(|number| Self { negative, ..number })
    }

    pub(crate) fn is_finite(self) -> bool {
        self.exponent != INFINITE
    }

    /// Returns the nearest `f64`, about.
    pub(crate) fn to_f64(self) -> f64 {
        let magnitude = match self.exponent {
            INFINITE => f64::INFINITY,
            exponent => {
                let [high, low] = [self.mantissa >> 32, self.mantissa & u64::from(u32::MAX)];
                let half = |half: u64| u32::try_from(half).map_or(0.0, f64::from);
                (half(high) * 2f64.powi(32) + half(low)) * 2f64.powi(exponent)
            }
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// Returns the sum, or `None` if it is infinite or undefined.
    pub(crate) fn sum(self, other: Self) -> Option<Self> {
        if !self.is_finite() || !other.is_finite() {
            return None;
        }
        if self.mantissa == 0 || other.mantissa == 0 {
            return Some(if self.mantissa == 0 { other } else { self });
        }
        let order = |number: Self| (number.exponent, number.mantissa);
        let (large, small) = if order(self) < order(other) { (other, self) } else { (self, other) };
        // The highest bit is left free for a carry. The 63 bits below the larger mantissa, and
        // whether any bit below them was set, decide how the sum is rounded.
        let wide = |number: Self| u128::from(number.mantissa) << 63;
        let distance = large.exponent.abs_diff(small.exponent);
        let shifted = wide(small).checked_shr(distance).unwrap_or(0);
        let lost = shifted.checked_shl(distance) != Some(wide(small));
        let small_bits = shifted | u128::from(lost);
        let sum = if large.negative == small.negative {
            wide(large) + small_bits
        } else {
            wide(large) - small_bits
        };
        let rounded = Self::rounded(sum, large.exponent - 63, false).unwrap_or(Self::ZERO);
        rounded.is_finite().then_some(Self { negative: large.negative, ..rounded })
    }

    /// Returns `bits` × 2^`exponent`, rounded half to even. `rest` tells that the exact number is a
    /// little greater; then `bits` must have at least 66 bits. Returns infinity if the number is
    /// too large, and `None` if it would be rounded to 0 without being 0.
    fn rounded(bits: u128, exponent: i32, rest: bool) -> Option<Self> {
        if bits == 0 {
            return Some(Self::ZERO);
        }
        let zeros = bits.leading_zeros();
        let bits = bits << zeros;
        let (mut mantissa, below) = ((bits >> 64) as u64, bits as u64);
        let mut exponent = exponent - zeros.cast_signed() + 64;
        let half = 1 << 63;
        if below > half || (below == half && (rest || mantissa % 2 == 1)) {
            (mantissa, exponent) = match mantissa.checked_add(1) {
                Some(mantissa) => (mantissa, exponent),
                None => (1 << 63, exponent + 1),
            };
        }
        match exponent + 63 {
            top if top > TOP_MAX => Some(Self { exponent: INFINITE, ..Self::ZERO }),
            top if top < TOP_MIN || (top == TOP_MIN && mantissa == half) => None,
            _ => Some(Self { negative: false, mantissa, exponent }),
        }
    }

    /// Returns the number with 17 digits after the point, rounded half to even, without trailing
    /// zeros. REQUIRES: it is finite.
    pub(crate) fn to_text(self) -> String {
        let mut text = self.magnitude();
        if self.negative && text != "0" {
            text.insert(0, '-');
        }
        text
    }

    fn magnitude(self) -> String {
        if self.exponent >= 0 {
            let mut whole = Natural::new(self.mantissa);
            whole.shift_left(self.exponent.unsigned_abs() as usize);
            return whole.into_decimal();
        }
        let places = 10_u128.pow(FRACTION_DIGITS as u32);
        // Less than 2^121, so a greater shift leaves less than half.
        let scaled = u128::from(self.mantissa) * places;
        let shift = self.exponent.unsigned_abs();
        let units = if shift > 121 { 0 } else { half_even(scaled, shift) };
        let fraction = format!("{:017}", units % places);
        let text = format!("{}.{}", units / places, fraction.trim_end_matches('0'));
        text.trim_end_matches('.').to_owned()
    }
}

/// Returns `bits` ÷ 2^`shift`, rounded half to even. REQUIRES: 1 ≤ `shift` < 128.
fn half_even(bits: u128, shift: u32) -> u128 {
    let (whole, rest, half) = (bits >> shift, bits & ((1 << shift) - 1), 1 << (shift - 1));
    whole + u128::from(rest > half || (rest == half && whole % 2 == 1))
}

/// A number as it is written: `digits` × base^`exponent`, or in hexadecimal × 2^`exponent`.
struct ScaledDigits {
    /// The values of the digits, without zeros at either end.
    digits: Vec<u8>,
    exponent: i64,
}

impl ScaledDigits {
    /// Parses digits with at most one point, and an exponent.
    fn parse(text: &[u8], base: u32) -> Option<Self> {
        let (mark, per_digit) = if base == 16 { (b'p', 4) } else { (b'e', 1) };
        let at = text.iter().position(|byte| byte.eq_ignore_ascii_case(&mark)).unwrap_or(text.len());
        let mut exponent = if at < text.len() { parse_exponent(&text[at + 1..])? } else { 0 };
        let mut digits = Vec::with_capacity(at);
        let (mut point, mut any) = (false, false);
        for &byte in &text[..at] {
            if byte == b'.' && !std::mem::replace(&mut point, true) {
                continue;
            }
            let digit = char::from(byte).to_digit(base)? as u8;
            any = true;
            if point {
                exponent -= per_digit;
            }
            if digit > 0 || !digits.is_empty() {
                digits.push(digit);
            }
        }
        while digits.last() == Some(&0) {
            digits.pop();
            exponent += per_digit;
        }
        any.then_some(Self { digits, exponent })
    }

    fn read_decimal(self) -> Option<LongDouble> {
        let Self { digits, exponent } = self;
        if digits.is_empty() {
            return Some(LongDouble::ZERO);
        }
        let places = exponent + digits.len().cast_signed() as i64;
        if places.abs() > DECIMAL_PLACES {
            return None;
        }
        let mut number = Natural::from_digits(&digits, 10);
        let tens = exponent.unsigned_abs() as usize;
        let rounded = if exponent >= 0 {
            number.scale(tens);
            let (bits, down, rest) = number.top();
            LongDouble::rounded(bits, i32::try_from(down).ok()?, rest)
        } else {
            let mut by = Natural::new(1);
            by.scale(tens);
            let (bits, up, rest) = number.divide(by, 68);
            LongDouble::rounded(bits, up as i32, rest)
        };
        rounded.filter(|number| number.is_finite())
    }

    fn read_hex(self) -> Option<LongDouble> {
        let Self { digits, exponent } = self;
        if digits.is_empty() {
            return Some(LongDouble::ZERO);
        }
        let (bits, down, rest) = Natural::from_digits(&digits, 16).top();
        let exponent = i32::try_from(exponent + i64::try_from(down).ok()?).ok()?;
        LongDouble::rounded(bits, exponent, rest).filter(|number| number.is_finite())
    }
}

/// Parses an exponent. An exponent far out of range may be replaced by another one.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| (value * 10 + i64::from(digit - b'0')).min(1_000_000));
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::LongDouble;

    fn sum(a: &str, b: &str) -> String {
        let read = |text: &str| LongDouble::parse(text.as_bytes()).expect("a number");
        read(a).sum(read(b)).expect("a finite sum").to_text()
    }

    /// The results of `redis-server`.
    #[test]
    fn sums() {
        for (a, b, expected) in [
            ("0", "0", "0"),
            ("3.0", "1.1", "4.1"),
            ("0.1", "0.2", "0.3"),
            ("10.5", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("-5", "5", "0"),
            ("-1", "0.5", "-0.5"),
            ("1e-18", "0", "0"),
            ("-1e-18", "0", "0"),
            ("9223372036854775807", "1", "9223372036854775808"),
            ("18446744073709551615", "1", "18446744073709551616"),
            ("18446744073709551616", "1", "18446744073709551616"),
            ("18446744073709551616", "2", "18446744073709551618"),
            ("1e30", "-1", "1000000000000000000024696061952"),
            ("0x10", "0x.8p0", "16.5"),
            ("+1.", ".5", "1.5"),
            ("0.00000000000000001", "0", "0.00000000000000001"),
        ] {
            assert_eq!(sum(a, b), expected, "{a} + {b}");
        }
    }

    #[test]
    fn texts_that_are_not_numbers() {
        for text in [
            "", "-", "+", ".", "e5", "1e", "1e+", "1 ", " 1", "1.2.3", "--1", "0x", "nan", "infinit",
            "1e5000", "1e-5000", "1\0",
        ] {
            assert_eq!(LongDouble::parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(LongDouble::parse(&[b'1'; 5120]), None);
    }

    #[test]
    fn infinity_is_parsed_but_not_added() {
        let infinite = LongDouble::parse(b"-Infinity").expect("infinity");
        assert!(!infinite.is_finite());
        assert_eq!(infinite.sum(LongDouble::ZERO), None);
        let large = LongDouble::parse(b"1e4932").expect("a number");
        assert_eq!(large.sum(large).and_then(|sum| sum.sum(sum)), None);
    }
}
