//! Whether bytes are whole replies: a check of the code that writes them.

/// Returns whether bytes are replies from the first byte to the last: each array has as many
/// elements as its head says, and each string as many bytes.
pub(crate) fn are_whole_replies(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some(rest) = after_reply(bytes) else { return false };
        bytes = rest;
    }
    true
}

/// Returns the bytes behind the first reply.
fn after_reply(mut bytes: &[u8]) -> Option<&[u8]> {
    let mut left = 1_usize;
    while left > 0 {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = bytes.split_at(end + 1);
        let (kind, text) = line.strip_suffix(b"\r\n")?.split_first()?;
        let number = || std::str::from_utf8(text).ok()?.parse::<i64>().ok();
        let count = |each: usize| Some(usize::try_from(number()?).unwrap_or(0) * each);
        left -= 1;
        bytes = rest;
        match kind {
            b'$' | b'=' | b'!' if text != b"-1" => {
                let (_, rest) = bytes.split_at_checked(count(1)?)?;
                bytes = rest.strip_prefix(b"\r\n")?;
            }
            b'*' | b'~' | b'>' => left += count(1)?,
            // A map, and attributes, which stand before a reply.
            b'%' => left += count(2)?,
            b'|' => left += count(2)? + 1,
            b'$' | b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => {}
            _ => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_whole_or_not() {
        let whole: [&[u8]; 6] = [
            b"",
            b"+OK\r\n:1\r\n",
            b"*2\r\n$1\r\na\r\n*-1\r\n",
            b"%1\r\n+k\r\n*0\r\n$-1\r\n",
            b"|1\r\n+a\r\n+b\r\n_\r\n",
            b"$4\r\n\r\n\r\n\r\n",
        ];
        assert!(whole.into_iter().all(are_whole_replies));
        let others: [&[u8]; 6] =
            [b"+OK", b"*2\r\n:1\r\n", b"*1\r\n:1\r\n:", b"$2\r\na\r\n", b"$1\r\nab\r\n", b"%1\r\n:1\r\n"];
        for bytes in others {
            assert!(!are_whole_replies(bytes), "{}", bytes.escape_ascii());
        }
    }
}
