//! Patterns against texts, and against a matcher that tries everything.

use proptest::prelude::*;

use super::*;

fn matches(pattern: &[u8], text: &[u8]) -> bool {
    Glob::new(pattern).matches(text, &mut 0)
}

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

/// Returns whether `text` matches `pattern`, in time proportional at most to the product of their
/// lengths.
fn plainly_matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Only the last star needs another attempt: a longer match of an earlier star could not help.
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

/// Returns whether `byte` matches the first element of `pattern`, and the element's length.
/// `pattern` must not be empty or begin with a star.
fn one(pattern: &[u8], byte: u8) -> (bool, usize) {
    match pattern {
        [b'?', ..] => (true, 1),
        [b'[', rest @ ..] => {
            let (found, len) = plain_class(rest, byte);
            (found, len + 1)
        }
        [b'\\', literal, ..] => (*literal == byte, 2),
        [literal, ..] => (*literal == byte, 1),
        [] => (false, 0),
    }
}

/// Does the same for a class, after its `[`. An unclosed class ends with the pattern.
fn plain_class(pattern: &[u8], byte: u8) -> (bool, usize) {
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

/// Incident: a class of 200 KB was parsed again for each byte of a key of 60 KB. Consequence: one
/// MATCH blocked its worker, and all its clients, for 25 s. Fix: a class becomes a set once, and a
/// segment between stars is found in one pass. Each of these patterns took at least 10^9 steps.
#[test]
fn no_match_takes_longer_than_a_few_passes() {
    let text = vec![b'a'; 60_000];
    let long_class = [b"*[".as_slice(), &b"bcdefgh".repeat(30_000), b"]"].concat();
    let long_literal = [b"*".as_slice(), &b"a".repeat(30_000), b"b*"].concat();
    let long_classes = [b"*".as_slice(), &b"[ac]".repeat(30_000), b"[bd]*"].concat();
    for pattern in [long_class, long_literal, long_classes] {
        let (glob, mut steps) = (Glob::new(&pattern), 0);
        assert!(!glob.matches(&text, &mut steps));
        assert!(steps <= 60_000 * 470, "{steps}");
    }
}

#[test]
fn more_than_can_be_matched_is_known_beforehand() {
    let glob = Glob::new(&b"a*".repeat(ELEMENTS_MAX + 1));
    assert!(glob.is_cut && glob.memory() < 64 << 20);
    assert!(!glob.is_too_long_for(60_000) && !glob.matches(&vec![b'a'; 60_000], &mut 0));
    assert!(glob.is_too_long_for(ELEMENTS_MAX + 1));
    assert!(!Glob::new(b"*a*").is_too_long_for(ONE_MATCH_STEPS_MAX));
    let long = [b"*".as_slice(), &*vec![b'a'; 65_000], b"*"].concat();
    assert!(Glob::new(&long).is_too_long_for(ONE_MATCH_STEPS_MAX / 64));
}

/// Parts of patterns. They use few letters, so that many texts nearly match.
fn parts() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => "[ab]{1,3}",
        2 => Just("*".to_owned()),
        1 => Just("?".to_owned()),
        1 => prop::sample::select(vec!["[ab]", "[^a]", "[b-a]", "[]", "[^]", "\\*", "[\\]a]", "[a", "\\", "[a-", "[-b]"])
            .prop_map(ToOwned::to_owned),
        1 => "[ab]{60,70}",
        1 => "a{120,200}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat().into_bytes())
}

proptest! {
    #[test]
    fn patterns_match_what_they_matched(
        pattern in parts(),
        text in "[ab]{0,12}|a{100,400}b?|(a{50,140}b){1,4}",
    ) {
        let text = text.as_bytes();
        prop_assert_eq!(matches(&pattern, text), plainly_matches(&pattern, text));
        // A text that matches, or nearly.
        let like: Vec<u8> = pattern.iter().map(|byte| if b"ab".contains(byte) { *byte } else { b'a' }).collect();
        prop_assert_eq!(matches(&pattern, &like), plainly_matches(&pattern, &like));
    }

    #[test]
    fn a_long_segment_is_found_wherever_it_lies(
        at in 0_usize..300, len in 1_usize..300, rest in 0_usize..300, wrong in any::<prop::sample::Index>(),
    ) {
        let word: Vec<u8> = (0..len).map(|i| b"abc"[i * i % 7 % 3]).collect();
        let text = [vec![b'a'; at], word.clone(), vec![b'c'; rest]].concat();
        let pattern = [b"*", &word[..], b"*"].concat();
        prop_assert!(matches(&pattern, &text));
        let mut other = text;
        let place = at + wrong.index(len);
        other[place] = b'd';
        prop_assert_eq!(matches(&pattern, &other), plainly_matches(&pattern, &other));
    }
}
