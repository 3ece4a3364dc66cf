//! `printf("%.*g")`.

use std::io::Write;

/// Integers of less magnitude print exactly at any precision that holds their digits.
const EXACT_INTEGERS: f64 = 1e15;

/// Returns `value` as C prints it with `%.{digits}g`.
///
/// C prints infinities as `inf` and `-inf`, and NaN as `nan` or `-nan`, depending on its sign bit.
///
/// ```
/// use skein_script::libraries::number::format_g;
///
/// assert_eq!(format_g(0.1, 14), "0.1");
/// assert_eq!(format_g(0.1, 17), "0.10000000000000001");
/// assert_eq!(format_g(1e15, 14), "1e+15");
/// assert_eq!(format_g(-f64::INFINITY, 14), "-inf");
/// ```
pub fn format_g(value: f64, digits: usize) -> String {
    let mut text = Vec::new();
    write_g(&mut text, value, digits);
    text.into_iter().map(char::from).collect()
}

/// Appends `value` as C prints it with `%.{digits}g`.
pub(crate) fn write_g(out: &mut Vec<u8>, value: f64, digits: usize) {
    // C's precision of zero means one.
    let digits = digits.max(1);
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let magnitude = value.abs();
    if magnitude.is_nan() {
        out.extend_from_slice(b"nan");
    } else if magnitude.is_infinite() {
        out.extend_from_slice(b"inf");
    } else if magnitude < EXACT_INTEGERS.min(power_of_ten(digits)) && magnitude.fract() == 0.0 {
        write_integer(out, magnitude as u64);
    } else {
        write_rounded(out, magnitude, digits);
    }
}

/// Returns a power of ten, which is exact up to 10²².
fn power_of_ten(exponent: usize) -> f64 {
    10f64.powi(i32::try_from(exponent).unwrap_or(i32::MAX))
}

fn write_integer(out: &mut Vec<u8>, mut value: u64) {
    let start = out.len();
    loop {
        out.push(b'0' + (value % 10) as u8);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out[start..].reverse();
}

/// Appends a finite value rounded to `digits` digits.
///
/// The digits are those of Rust's exact conversion. They are appended in scientific notation, and
/// rearranged where they are.
fn write_rounded(out: &mut Vec<u8>, magnitude: f64, digits: usize) {
    let start = out.len();
    // Writing to a vector cannot fail.
    let _ = write!(out, "{magnitude:.*e}", digits - 1);
    let exponent = take_exponent(out, start);
    if digits > 1 {
        out.remove(start + 1);
    }
    while out.len() > start + 1 && out.ends_with(b"0") {
        out.pop();
    }
    match usize::try_from(exponent) {
        Ok(exponent) if exponent < digits => place_point(out, start, exponent),
        Err(_) if exponent >= -4 => {
            let zeros = exponent.unsigned_abs() as usize;
            out.splice(start..start, std::iter::repeat_n(b'0', zeros));
            out.insert(start + 1, b'.');
        }
        _ => {
            if out.len() > start + 1 {
                out.insert(start + 1, b'.');
            }
            let sign = if exponent < 0 { '-' } else { '+' };
            let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
        }
    }
}

/// Removes the exponent from the number at `start`, and returns it.
fn take_exponent(out: &mut Vec<u8>, start: usize) -> i32 {
    let Some(at) = out[start..].iter().position(|&byte| byte == b'e') else { return 0 };
    let text = out.split_off(start + at);
    let digits = text.iter().filter(|byte| byte.is_ascii_digit());
    let magnitude = digits.fold(0, |value, digit| value * 10 + i32::from(digit - b'0'));
    if text.get(1) == Some(&b'-') { -magnitude } else { magnitude }
}

/// Places the point after `exponent + 1` of the digits from `start` on. Missing digits are zeros.
fn place_point(out: &mut Vec<u8>, start: usize, exponent: usize) {
    let point = start + exponent + 1;
    if out.len() > point {
        out.insert(point, b'.');
    } else {
        out.resize(point, b'0');
    }
}

#[cfg(test)]
mod tests {
    use super::format_g;

    #[test]
    fn numbers_print_as_in_c() {
        let cases: [(f64, usize, &str); 18] = [
            (0.0, 14, "0"),
            (-0.0, 14, "-0"),
            (100.0, 14, "100"),
            (100.0, 2, "1e+02"),
            (100.0, 3, "100"),
            (1e14, 14, "1e+14"),
            (1e14, 17, "100000000000000"),
            (123_456_789_012_345.0, 14, "1.2345678901234e+14"),
            (1.0 / 3.0, 14, "0.33333333333333"),
            (1500.5, 3, "1.5e+03"),
            (1500.5, 17, "1500.5"),
            (0.0001, 14, "0.0001"),
            (0.00001, 14, "1e-05"),
            (9.6, 1, "1e+01"),
            (9.6, 0, "1e+01"),
            (5e-324, 14, "4.9406564584125e-324"),
            (f64::MAX, 14, "1.7976931348623e+308"),
            (f64::INFINITY, 17, "inf"),
        ];
        for (value, digits, expected) in cases {
            assert_eq!(format_g(value, digits), expected, "{value:e} with {digits} digits");
        }
        assert_eq!(format_g(f64::NAN.copysign(-1.0), 17), "-nan");
        assert_eq!(format_g(f64::NAN.copysign(1.0), 17), "nan");
    }
}
