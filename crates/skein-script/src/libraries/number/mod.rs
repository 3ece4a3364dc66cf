//! Numbers as C converts them.
//!
//! | file | C |
//! | --- | --- |
//! | `format.rs` | `printf("%.*g")` |
//! | `parse.rs` | `strtod` |
//! | here | casts, as x86-64 executes them |
//!
//! Redis's libraries cast doubles outside the range of the integer type, which C leaves undefined.
//! Scripts see the results of x86-64, so the casts here have the same on every machine.

mod format;
mod parse;

pub use format::format_g;
pub(super) use format::write_g;
pub(super) use parse::parse_prefix;

/// The first value beyond `i64`.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// Converts as `(int64_t)value` does. Values out of range, and NaN, give the smallest integer.
pub(super) fn truncate_to_i64(value: f64) -> i64 {
    if (-TWO_TO_63..TWO_TO_63).contains(&value) { value as i64 } else { i64::MIN }
}

/// Converts as `(uint64_t)value` does, through the signed conversion of the distance from 2⁶³.
pub(super) fn truncate_to_u64(value: f64) -> u64 {
    if value >= TWO_TO_63 {
        truncate_to_i64(value - TWO_TO_63) as u64 ^ (1 << 63)
    } else {
        truncate_to_i64(value) as u64
    }
}

/// Converts as `(int)value` does. Values out of range, and NaN, give the smallest integer.
pub(super) fn truncate_to_i32(value: f64) -> i32 {
    i32::try_from(truncate_to_i64(value)).unwrap_or(i32::MIN)
}

#[cfg(test)]
mod tests {
    use super::{truncate_to_i32, truncate_to_i64, truncate_to_u64};

    #[test]
    fn casts_are_those_of_x86_64() {
        assert_eq!(truncate_to_i64(-1.9), -1);
        assert_eq!(truncate_to_i64(f64::NAN), i64::MIN);
        assert_eq!(truncate_to_i64(9.3e18), i64::MIN);
        assert_eq!(truncate_to_u64(-1.0), u64::MAX);
        assert_eq!(truncate_to_u64(9_223_372_036_854_775_808.0), 1 << 63);
        assert_eq!(truncate_to_u64(1e300), 0);
        assert_eq!(truncate_to_i32(2_147_483_647.5), i32::MAX);
        assert_eq!(truncate_to_i32(2_147_483_648.0), i32::MIN);
    }
}
