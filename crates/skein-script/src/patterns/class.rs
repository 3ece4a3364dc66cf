//! Single items of patterns: characters, classes as `%a`, and sets as `[a-z]`.
//!
//! Classes are those of C's locale "C", which SkeinDB never leaves.

use super::matcher::PatternFault;

/// Returns the end of the item that begins at `item`.
///
/// # Errors
/// If the pattern ends within the item.
#[inline]
pub(super) fn class_end(pattern: &[u8], item: usize) -> Result<usize, PatternFault> {
    match pattern[item] {
        b'%' if item + 1 == pattern.len() => Err(PatternFault::EndsWithEscape),
        b'%' => Ok(item + 2),
        b'[' => set_end(pattern, item + 1),
        _ => Ok(item + 1),
    }
}

/// Returns the end of the set that begins at `at`. Its first character may be `]`.
fn set_end(pattern: &[u8], mut at: usize) -> Result<usize, PatternFault> {
    if pattern.get(at) == Some(&b'^') {
        at += 1;
    }
    loop {
        let byte = *pattern.get(at).ok_or(PatternFault::MissingBracket)?;
        at += 1;
        if byte == b'%' && at < pattern.len() {
            at += 1;
        }
        if pattern.get(at) == Some(&b']') {
            return Ok(at + 1);
        }
    }
}

/// Returns whether a byte is one of a whole item's.
#[inline]
pub(super) fn matches_single(byte: u8, item: &[u8]) -> bool {
    match item[0] {
        b'.' => true,
        b'%' => is_in_class(byte, item[1]),
        b'[' => is_in_set(byte, item),
        other => byte == other,
    }
}

/// Returns whether a byte is in a class. A capital letter is the complement of the class, and any
/// other character stands for itself.
#[inline]
fn is_in_class(byte: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        // C's vertical tab is not among Rust's.
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return byte == class,
    };
    is_in != class.is_ascii_uppercase()
}

/// Returns whether a byte is in a set, which is given with its brackets.
pub(super) fn is_in_set(byte: u8, set: &[u8]) -> bool {
    let members = &set[1..set.len() - 1];
    let (members, is_complement) = match members.split_first() {
        Some((b'^', rest)) => (rest, true),
        _ => (members, false),
    };
    is_member(byte, members) != is_complement
}

fn is_member(byte: u8, mut members: &[u8]) -> bool {
    loop {
        let is_in;
        (is_in, members) = match *members {
            [] => return false,
            [b'%', class, ref rest @ ..] => (is_in_class(byte, class), rest),
            [low, b'-', high, ref rest @ ..] => ((low..=high).contains(&byte), rest),
            [other, ref rest @ ..] => (byte == other, rest),
        };
        if is_in {
            return true;
        }
    }
}
