//! Inline requests: a line of words, as a person types it into a terminal.
//!
//! Words are separated by white space and may be quoted: `"..."` with the escapes `\n \r \t \b \a
//! \xHH`, or `'...'` with only `\'`. A word is never longer than its quoted form, so words are
//! unquoted in place.

/// Splits `line` into words and unquotes them in place. Calls `word` with the start and the length
/// of each. Returns `false` if quotes do not match, or a closing quote is not followed by white
/// space; then the contents of the line are undefined.
pub(crate) fn split(line: &mut [u8], mut word: impl FnMut(usize, usize)) -> bool {
    let mut read = 0;
    loop {
        while read < line.len() && is_space(line[read]) {
            read += 1;
        }
        if read == line.len() {
            return true;
        }
        let start = read;
        let Some((len, next)) = unquote(line, start) else { return false };
        word(start, len);
        read = next;
    }
}

/// Unquotes the word at `start`. Returns its new length, and the start of the rest of the line.
fn unquote(line: &mut [u8], start: usize) -> Option<(usize, usize)> {
    let (mut read, mut write) = (start, start);
    let mut put = |line: &mut [u8], byte| {
        line[write] = byte;
        write += 1;
    };
    while read < line.len() && !is_space(line[read]) {
        match line[read] {
            quote @ (b'"' | b'\'') => {
                read += 1;
                loop {
                    match *line.get(read)? {
                        byte if byte == quote => break,
                        b'\\' if quote == b'"' && read + 1 < line.len() => {
                            let (byte, len) = escape(&line[read + 1..]);
                            put(line, byte);
                            read += 1 + len;
                        }
                        b'\\' if line.get(read + 1) == Some(&b'\'') => {
                            put(line, b'\'');
                            read += 2;
                        }
                        byte => {
                            put(line, byte);
                            read += 1;
                        }
                    }
                }
                read += 1;
                if read < line.len() && !is_space(line[read]) {
                    return None;
                }
            }
            byte => {
                put(line, byte);
                read += 1;
            }
        }
    }
    Some((write - start, read))
}

/// Reads the escape after a backslash within double quotes. Returns the byte and the escape's
/// length.
fn escape(rest: &[u8]) -> (u8, usize) {
    match rest {
        [b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            (hex(*high) << 4 | hex(*low), 3)
        }
        [b'n', ..] => (b'\n', 1),
        [b'r', ..] => (b'\r', 1),
        [b't', ..] => (b'\t', 1),
        [b'b', ..] => (8, 1),
        [b'a', ..] => (7, 1),
        [byte, ..] => (*byte, 1),
        [] => (b'\\', 0),
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<Vec<u8>>> {
        let mut line = line.as_bytes().to_vec();
        let mut spans = Vec::new();
        split(&mut line, |start, len| spans.push(start..start + len))
            .then(|| spans.into_iter().map(|span| line[span].to_vec()).collect())
    }

    #[test]
    fn unquotes() {
        let some = |words: &[&[u8]]| Some(words.iter().map(|word| word.to_vec()).collect::<Vec<_>>());
        assert_eq!(words(""), some(&[]));
        assert_eq!(words("  SET  a\tb "), some(&[b"SET", b"a", b"b"]));
        assert_eq!(words(r#"a "b c" 'd "e'"#), some(&[b"a", b"b c", b"d \"e"]));
        assert_eq!(words(r#""\x00\xfF\n\q\"""#), some(&[b"\x00\xff\nq\""]));
        assert_eq!(words(r"'it\'s' x\n"), some(&[b"it's", br"x\n"]));
        assert_eq!(words(r#"ab"cd" """#), some(&[b"abcd", b""]));
        assert_eq!(words(r#"a "b"#), None);
        assert_eq!(words(r#"a "b\"#), None);
        assert_eq!(words(r#"a "b"c"#), None);
        assert_eq!(words("'"), None);
    }
}
