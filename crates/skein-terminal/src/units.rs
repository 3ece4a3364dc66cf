//! Sizes and durations on the command line: `64mb`, `10m`.

use std::time::Duration;

/// Parses a size in bytes with an optional unit: `512`, `64k`, `64kb`, `64KiB`, `1g`. Units are
/// powers of 1024.
///
/// # Errors
/// Returns a text that lists the accepted forms.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return Err(format!("unknown unit {unit:?}; use b, k, m, g or t, as in 64m")),
    };
    let number: u64 =
        number.parse().map_err(|_| "not a size; use a number and a unit, as in 64m".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "larger than 2^64 bytes".to_owned())
}

/// Parses a duration: `50us`, `200ms`, `30s`, `10m`, `1h`. A bare number is seconds.
///
/// # Errors
/// Returns a text that lists the accepted forms.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let number: u64 =
        number.parse().map_err(|_| "not a duration; use a number and a unit, as in 10m".to_owned())?;
    let seconds = |factor: u64| number.checked_mul(factor).map(Duration::from_secs);
    match unit {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "" | "s" => seconds(1),
        "m" => seconds(60),
        "h" => seconds(3600),
        _ => return Err(format!("unknown unit {unit:?}; use us, ms, s, m or h, as in 10m")),
    }
    .ok_or_else(|| "too long".to_owned())
}

/// Parses a file's permissions in octal: `700`.
///
/// # Errors
/// Returns a text that lists the accepted forms.
pub fn parse_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777 && !text.starts_with('+'));
    mode.ok_or_else(|| "no permissions of a file; use 0 to 777 in octal, as in 770".to_owned())
}

/// Formats bytes for people: `1.5 MiB`.
pub fn show_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit after the point")]
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("64k"), Ok(64 << 10));
        assert_eq!(parse_size("64KB"), Ok(64 << 10));
        assert_eq!(parse_size("2g"), Ok(2 << 30));
        assert_eq!(parse_size("16MiB"), Ok(16 << 20));
        for bad in ["", "k", "-1", "1.5m", "3 apples", "99999999999999999999", "99999999999t"] {
            assert!(parse_size(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse_duration("50us"), Ok(Duration::from_micros(50)));
        assert_eq!(parse_duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
        for bad in ["", "ms", "1d", "9999999999999999999h"] {
            assert!(parse_duration(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn modes() {
        assert_eq!((parse_mode("700"), parse_mode("0660"), parse_mode("0")), (Ok(0o700), Ok(0o660), Ok(0)));
        for bad in ["", "8", "1000", "+7", "-1", "rwx"] {
            assert!(parse_mode(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn sizes_are_shown_for_people() {
        assert_eq!(show_size(7), "7 bytes");
        assert_eq!(show_size(1536), "1.5 KiB");
        assert_eq!(show_size(3 << 30), "3.0 GiB");
    }
}
