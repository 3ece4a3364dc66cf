//! Texts of words, which single spaces separate, for constants.

/// Returns whether a text has this word.
pub(crate) const fn has_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    let mut start = 0;
    while start + word.len() <= text.len() {
        let end = start + word.len();
        let is_whole = (start == 0 || text[start - 1] == b' ') && (end == text.len() || text[end] == b' ');
        if is_whole && is_at(text, start, word) {
            return true;
        }
        start += 1;
    }
    false
}

/// Returns the number of words in a text.
pub(crate) const fn count_words(text: &str) -> usize {
    let text = text.as_bytes();
    let (mut count, mut at) = (!text.is_empty() as usize, 0);
    while at < text.len() {
        count += (text[at] == b' ') as usize;
        at += 1;
    }
    count
}

/// Returns whether `word` is in `text` at this place. REQUIRES: the text is long enough.
const fn is_at(text: &[u8], start: usize, word: &[u8]) -> bool {
    let mut at = 0;
    while at < word.len() {
        if text[start + at] != word[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_found() {
        for word in ["no", "no_auth", "fast"] {
            assert!(has_word("no_auth no fast", word), "{word}");
        }
        for word in ["auth", "n", "fas", "no_auth no fast x"] {
            assert!(!has_word("no_auth no fast", word), "{word}");
        }
        assert!(!has_word("", "no"));
        assert_eq!(["", "a", "a b"].map(count_words), [0, 1, 2]);
    }
}
