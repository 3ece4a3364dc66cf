//! Patterns of MATCH, as Redis has them: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before a byte that stands for itself.

/// Whether `text` matches `pattern`, in time proportional to the product of their lengths at most.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // After a star only the last one needs to be tried again: an earlier one could gain nothing by taking more.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if p < pattern.len() && pattern[p] == b'*' {
            p += 1;
            retry = Some((p, t));
            continue;
        }
        if t == text.len() {
            return p == pattern.len();
        }
        match (p < pattern.len()).then(|| one(&pattern[p..], text[t])) {
            Some((true, len)) => (p, t) = (p + len, t + 1),
            _ => match &mut retry {
                Some((after_star, taken)) => {
                    *taken += 1;
                    (p, t) = (*after_star, *taken);
                }
                None => return false,
            },
        }
    }
}

/// Whether `byte` matches what `pattern` (not empty, not a star) begins with, and how long that is.
fn one(pattern: &[u8], byte: u8) -> (bool, usize) {
    match pattern {
        [b'?', ..] => (true, 1),
        [b'[', rest @ ..] => {
            let (found, len) = class(rest, byte);
            (found, len + 1)
        }
        [b'\\', literal, ..] => (*literal == byte, 2),
        [literal, ..] => (*literal == byte, 1),
        [] => (false, 0),
    }
}

/// The same for what follows a `[`. A class that is not closed ends with the pattern.
fn class(pattern: &[u8], byte: u8) -> (bool, usize) {
    let negated = pattern.first() == Some(&b'^');
    let mut at = usize::from(negated);
    let mut found = false;
    while at < pattern.len() && pattern[at] != b']' {
        match &pattern[at..] {
            [b'\\', literal, ..] => {
                found |= *literal == byte;
                at += 2;
            }
            [from, b'-', to, ..] => {
                found |= (*from.min(to)..=*from.max(to)).contains(&byte);
                at += 3;
            }
            [literal, ..] => {
                found |= *literal == byte;
                at += 1;
            }
            [] => {}
        }
    }
    (found != negated, (at + 1).min(pattern.len()))
}

/// The bytes with which every match begins, and whether they are all of it.
pub(crate) fn literal_prefix(pattern: &[u8]) -> (Vec<u8>, bool) {
    let mut prefix = Vec::new();
    let mut rest = pattern;
    loop {
        match rest {
            [] => return (prefix, true),
            [b'*' | b'?' | b'[', ..] => return (prefix, false),
            [b'\\', literal, after @ ..] | [literal, after @ ..] => {
                prefix.push(*literal);
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[abc]x", "bx", true),
            ("[^abc]x", "bx", false),
            ("[^abc]x", "zx", true),
            ("[a-c]", "b", true),
            ("[c-a]", "b", true),
            ("[a-c]", "d", false),
            ("[\\]]", "]", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("[abc", "b", true),
            ("a\\", "a\\", true),
            ("**a", "ba", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_are_not_slow() {
        let pattern = "a*".repeat(200) + "b";
        assert!(!matches(pattern.as_bytes(), &[b'a'; 5000]));
    }

    #[test]
    fn prefixes() {
        for (pattern, prefix, whole) in [
            ("user:*", "user:", false),
            ("*", "", false),
            ("a\\*b?", "a*b", false),
            ("abc", "abc", true),
            ("a[b]", "a", false),
            ("", "", true),
            ("a\\", "a\\", true),
        ] {
            assert_eq!(literal_prefix(pattern.as_bytes()), (prefix.into(), whole), "{pattern}");
        }
    }
}
