//! Replies of RESP2 and RESP3, read from any buffered input.

use std::fmt;
use std::io::{self, BufRead, Read};

/// The deepest nesting that is accepted. No server exceeds it, and the reader is recursive.
const MAX_DEPTH: usize = 32;
/// The longest line of a reply, in bytes: an error text or a number.
const MAX_LINE: u64 = 64 << 10;
/// The longest string of a reply, in bytes.
const MAX_BULK: usize = 1 << 30;
/// The first bytes of a TLS alert: a TLS port sends it to a client that does not speak TLS.
const TLS_ALERT: &[u8] = &[0x15, 0x03];

/// A server's reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A short text, such as `OK`.
    Simple(String),
    /// An error, with its code word: `ERR …`.
    Error(String),
    /// A number.
    Integer(i64),
    /// A byte string.
    Bulk(Vec<u8>),
    /// RESP2's null string or null array, or RESP3's null.
    Null,
    /// A list; also RESP3's pushes.
    Array(Vec<Reply>),
    /// RESP3's set.
    Set(Vec<Reply>),
    /// RESP3's map.
    Map(Vec<(Reply, Reply)>),
    /// RESP3's boolean.
    Boolean(bool),
    /// RESP3's double or big number, as text.
    Number(String),
}

impl Reply {
    /// Returns the reply `OK`.
    pub fn ok() -> Self {
        Self::Simple("OK".to_owned())
    }

    /// Returns the bytes of a string.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bulk(bytes) => Some(bytes),
            Self::Simple(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// Returns the items of a list or a set.
    pub fn into_array(self) -> Option<Vec<Reply>> {
        match self {
            Self::Array(items) | Self::Set(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the cursor and the strings of a page, the reply form of `SCAN` and its relatives.
    ///
    /// # Errors
    /// If the reply has another form, returns the reply, or the part of it that differs.
    pub fn into_page(self) -> Result<(Vec<u8>, Vec<Vec<u8>>), Reply> {
        let Self::Array(items) = self else { return Err(self) };
        match <[Self; 2]>::try_from(items).map_err(Self::Array)? {
            [Self::Bulk(cursor), Self::Array(items)] => {
                let bytes = |item| if let Self::Bulk(bytes) = item { Ok(bytes) } else { Err(item) };
                Ok((cursor, items.into_iter().map(bytes).collect::<Result<_, _>>()?))
            }
            parts => Err(Self::Array(parts.into())),
        }
    }
}

/// Shows the reply as `redis-cli` does.
impl fmt::Display for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self, 0, out)
    }
}

fn show(reply: &Reply, indent: usize, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    match reply {
        Reply::Simple(text) => write!(out, "{text}"),
        Reply::Error(text) => write!(out, "(error) {text}"),
        Reply::Integer(number) => write!(out, "(integer) {number}"),
        Reply::Bulk(bytes) => write!(out, "\"{}\"", escape(bytes)),
        Reply::Null => write!(out, "(nil)"),
        Reply::Boolean(value) => write!(out, "({value})"),
        Reply::Number(text) => write!(out, "(double) {text}"),
        Reply::Array(items) if items.is_empty() => write!(out, "(empty array)"),
        Reply::Set(items) if items.is_empty() => write!(out, "(empty set)"),
        Reply::Map(pairs) if pairs.is_empty() => write!(out, "(empty hash)"),
        Reply::Array(items) => show_items(items, ')', indent, out),
        Reply::Set(items) => show_items(items, '~', indent, out),
        Reply::Map(pairs) => {
            let width = pairs.len().to_string().len();
            pairs.iter().enumerate().try_for_each(|(at, (name, value))| {
                line_start(at, indent, out)?;
                write!(out, "{:>width$}# ", at + 1)?;
                show(name, indent + width + 2, out)?;
                write!(out, " => ")?;
                show(value, indent + width + 2, out)
            })
        }
    }
}

/// Writes numbered items, with `mark` behind each number.
fn show_items(items: &[Reply], mark: char, indent: usize, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let width = items.len().to_string().len();
    items.iter().enumerate().try_for_each(|(at, item)| {
        line_start(at, indent, out)?;
        write!(out, "{:>width$}{mark} ", at + 1)?;
        show(item, indent + width + 2, out)
    })
}

/// Indents an item, unless it is the first: that one is on the line where the list began.
fn line_start(at: usize, indent: usize, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    if at == 0 { Ok(()) } else { write!(out, "\n{:indent$}", "") }
}

/// Returns printable ASCII unchanged, and escapes quotes, backslashes and other bytes as
/// `redis-cli` does.
fn escape(bytes: &[u8]) -> String {
    use fmt::Write;

    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        let done = match byte {
            b'"' => text.write_str("\\\""),
            b'\\' => text.write_str("\\\\"),
            b'\n' => text.write_str("\\n"),
            b'\r' => text.write_str("\\r"),
            b'\t' => text.write_str("\\t"),
            7 => text.write_str("\\a"),
            8 => text.write_str("\\b"),
            b' '..=b'~' => text.write_char(char::from(byte)),
            _ => write!(text, "\\x{byte:02x}"),
        };
        debug_assert!(done.is_ok(), "writing to a string cannot fail");
    }
    text
}

/// Reads one reply.
///
/// # Errors
/// Errors if the input failed, ended, or is not RESP. The kind is `Unsupported` if the input is
/// TLS.
pub fn read(input: &mut impl BufRead) -> io::Result<Reply> {
    read_nested(input, 0)
}

fn read_nested(input: &mut impl BufRead, depth: usize) -> io::Result<Reply> {
    if depth > MAX_DEPTH {
        return Err(malformed(format!("a reply nested deeper than {MAX_DEPTH}")));
    }
    let line = read_line(input)?;
    let Some((&kind, text)) = line.split_first() else {
        return Err(malformed("an empty line"));
    };
    let text = std::str::from_utf8(text).map_err(|_| malformed("a line that is not UTF-8"))?;
    Ok(match kind {
        b'+' => Reply::Simple(text.to_owned()),
        b'-' => Reply::Error(text.to_owned()),
        b':' => Reply::Integer(number(text)?),
        b'_' => Reply::Null,
        b'#' => Reply::Boolean(text == "t"),
        b',' | b'(' => Reply::Number(text.to_owned()),
        b'$' | b'=' | b'!' => match length(text)? {
            None => Reply::Null,
            Some(len) => bulk(kind, read_bulk(input, len)?),
        },
        b'*' | b'~' | b'>' => match length(text)? {
            None => Reply::Null,
            Some(count) => {
                let items = read_items(input, count, depth)?;
                if kind == b'~' { Reply::Set(items) } else { Reply::Array(items) }
            }
        },
        b'%' => {
            let count = length(text)?.unwrap_or(0);
            let mut pairs = Vec::new();
            for _ in 0..count {
                pairs.push((read_nested(input, depth + 1)?, read_nested(input, depth + 1)?));
            }
            Reply::Map(pairs)
        }
        other => return Err(malformed(format!("a reply that begins with '{}'", other.escape_ascii()))),
    })
}

fn read_items(input: &mut impl BufRead, count: usize, depth: usize) -> io::Result<Vec<Reply>> {
    // The count is not trusted for the reservation: a false one must not allocate memory.
    let mut items = Vec::with_capacity(count.min(1 << 12));
    for _ in 0..count {
        items.push(read_nested(input, depth + 1)?);
    }
    Ok(items)
}

/// Returns the reply for a string: `!` is an error of any length, `=` is a text that begins with
/// its kind, such as `txt:`.
fn bulk(kind: u8, bytes: Vec<u8>) -> Reply {
    match kind {
        b'!' => Reply::Error(String::from_utf8_lossy(&bytes).into_owned()),
        b'=' => Reply::Bulk(bytes.get(4..).unwrap_or_default().to_vec()),
        _ => Reply::Bulk(bytes),
    }
}

fn read_bulk(input: &mut impl BufRead, len: usize) -> io::Result<Vec<u8>> {
    if len > MAX_BULK {
        return Err(malformed(format!("a string of {len} bytes; the limit is {MAX_BULK}")));
    }
    let mut bytes = Vec::with_capacity(len.min(1 << 20));
    input.take(len as u64 + 2).read_to_end(&mut bytes)?;
    if bytes.len() < len + 2 {
        return Err(ended());
    }
    if &bytes[len..] != b"\r\n" {
        return Err(malformed("a string without its line end"));
    }
    bytes.truncate(len);
    Ok(bytes)
}

fn read_line(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    input.take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(ended());
    }
    if line.starts_with(TLS_ALERT) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the server speaks TLS on this port"));
    }
    if !line.ends_with(b"\n") && (line.len() as u64) < MAX_LINE {
        return Err(ended());
    }
    if !line.ends_with(b"\r\n") {
        return Err(malformed("a line that does not end"));
    }
    line.truncate(line.len() - 2);
    Ok(line)
}

fn number(text: &str) -> io::Result<i64> {
    text.parse().map_err(|_| malformed(format!("{text:?} in place of a number")))
}

/// Parses a length. -1 is RESP2's null, and returns `None`.
fn length(text: &str) -> io::Result<Option<usize>> {
    match number(text)? {
        -1 => Ok(None),
        len => usize::try_from(len).map(Some).map_err(|_| malformed(format!("the length {len}"))),
    }
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")
}

fn malformed(what: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server sent {what}; is it a SkeinDB server?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(mut text: &[u8]) -> io::Result<Reply> {
        read(&mut text)
    }

    #[test]
    fn resp2() {
        assert_eq!(parse(b"+OK\r\n").unwrap(), Reply::ok());
        assert_eq!(parse(b"-ERR no\r\n").unwrap(), Reply::Error("ERR no".to_owned()));
        assert_eq!(parse(b":-7\r\n").unwrap(), Reply::Integer(-7));
        assert_eq!(parse(b"$4\r\na\r\nb\r\n").unwrap(), Reply::Bulk(b"a\r\nb".to_vec()));
        assert_eq!(parse(b"$-1\r\n").unwrap(), Reply::Null);
        assert_eq!(parse(b"*-1\r\n").unwrap(), Reply::Null);
        let nested = Reply::Array(vec![Reply::Integer(1), Reply::Array(vec![Reply::Null])]);
        assert_eq!(parse(b"*2\r\n:1\r\n*1\r\n$-1\r\n").unwrap(), nested);
    }

    #[test]
    fn resp3() {
        assert_eq!(parse(b"_\r\n").unwrap(), Reply::Null);
        assert_eq!(parse(b"#t\r\n").unwrap(), Reply::Boolean(true));
        assert_eq!(parse(b",1.5\r\n").unwrap(), Reply::Number("1.5".to_owned()));
        assert_eq!(parse(b"=7\r\ntxt:abc\r\n").unwrap(), Reply::Bulk(b"abc".to_vec()));
        assert_eq!(parse(b"!5\r\nERR x\r\n").unwrap(), Reply::Error("ERR x".to_owned()));
        let map = Reply::Map(vec![(Reply::Simple("k".to_owned()), Reply::Integer(1))]);
        assert_eq!(parse(b"%1\r\n+k\r\n:1\r\n").unwrap(), map);
        assert_eq!(parse(b"~1\r\n:1\r\n").unwrap(), Reply::Set(vec![Reply::Integer(1)]));
    }

    #[test]
    fn bytes_that_are_not_resp_are_an_error() {
        let deep = b"*1\r\n".repeat(100);
        let cases: [&[u8]; 10] = [
            b"",
            b"+OK",
            b"HTTP/1.1 400\r\n",
            b"$x\r\n",
            b"$-2\r\n",
            b"$5\r\nab\r\n",
            b"$2\r\nabcd\r\n",
            b"$9999999999\r\n",
            b"*9999999999\r\n",
            &deep,
        ];
        for case in cases {
            assert!(parse(case).is_err(), "{:?} was taken", case.escape_ascii().to_string());
        }
    }

    /// Incident: a reply that was cut off within a line was called malformed. Consequence: a
    /// cluster's client did not wait for the node's failover. Fix: an unfinished line counts as the
    /// end of the connection.
    #[test]
    fn a_line_that_is_cut_off_is_the_end_of_the_connection() {
        for case in [&b""[..], b"+O", b"+OK\r", b"$4\r\nab", b"*2\r\n:1\r\n:"] {
            let error = parse(case).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{}", case.escape_ascii());
        }
    }

    #[test]
    fn a_tls_port_is_recognized() {
        let error = parse(b"\x15\x03\x03\x00\x02\x02\x32").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn shown_as_redis_cli_does() {
        let inner = Reply::Array(vec![Reply::Bulk(b"a\"\x01".to_vec()), Reply::Integer(1)]);
        let outer = Reply::Array(vec![inner, Reply::Null]);
        assert_eq!(outer.to_string(), "1) 1) \"a\\\"\\x01\"\n   2) (integer) 1\n2) (nil)");
    }
}
