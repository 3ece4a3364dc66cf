//! Makes text of a results file safe for a terminal or a page; measures its width; formats dates.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Replaces the characters that control a terminal or change the direction of text. Newlines stay.
pub(super) fn sanitized(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if steers(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Does the same and joins the lines into one.
pub(super) fn one_line(text: &str) -> String {
    sanitized(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns the width in terminal columns.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// Cuts the text to `most` columns, with an ellipsis if it is longer.
pub(super) fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > most {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// Formats seconds since 1970 as a date and a time of day: `2025-11-21 10:10 UTC`.
pub(super) fn date(unix_s: u64) -> String {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (days, seconds) = (unix_s / 86_400, unix_s % 86_400);
    let mut year = 1970 + 400 * (days / DAYS_OF_400_YEARS);
    let mut day = days % DAYS_OF_400_YEARS;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{year}-{month:02}-{:02} {hours:02}:{minutes:02} UTC", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (unix_s, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_763_719_859, "2025-11-21 10:10 UTC"),
            (4_107_542_399, "2100-02-28 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(unix_s), text);
        }
        assert!(date(u64::MAX).ends_with(" UTC"));
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(sanitized("a\u{1b}[31m\nb\u{202e}"), "a\u{fffd}[31m\nb\u{fffd}");
        assert_eq!(one_line(" a\n\n b\u{7}"), "a b\u{fffd}");
    }

    #[test]
    fn cut_counts_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("測測測測", 6), "測測…");
        assert_eq!(cut("abc", 0), "…");
    }
}
