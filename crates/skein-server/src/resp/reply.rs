//! Writes replies directly into a connection's reply buffer, in either version of the protocol.
//!
//! | value      | RESP2                      | RESP3                |
//! | ---------- | -------------------------- | -------------------- |
//! | null       | `$-1`, for an array `*-1`  | `_`                  |
//! | map        | array of keys and values   | `%`                  |
//! | set        | array                      | `~`                  |
//! | text       | bulk string                | verbatim string, `=` |
//!
//! All other replies are the same in both versions.

use super::double::write_double;
use super::number::Decimal;

/// The version of the protocol that a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Protocol {
    /// The version of every new connection.
    #[default]
    Resp2,
    /// After `HELLO 3`.
    Resp3,
}

/// The bytes that [`Reply::begin_open_array`] reserves for the array's head.
const OPEN_HEAD: usize = 24;

/// Writes replies of one connection.
pub(crate) struct Reply<'o> {
    out: &'o mut Vec<u8>,
    protocol: Protocol,
    /// See [`put_off`](Self::put_off).
    put_off: bool,
}

impl<'o> Reply<'o> {
    #[inline]
    pub(crate) fn new(out: &'o mut Vec<u8>, protocol: Protocol) -> Self {
        Self { out, protocol, put_off: false }
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Changes the version for the following replies, after HELLO.
    pub(crate) fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// Returns the position of the next byte, for [`truncate`](Self::truncate).
    pub(crate) fn position(&self) -> usize {
        self.out.len()
    }

    /// Returns the bytes from `position` on.
    pub(crate) fn written(&self, position: usize) -> &[u8] {
        &self.out[position..]
    }

    /// Removes all bytes from `position` on.
    pub(crate) fn truncate(&mut self, position: usize) {
        self.out.truncate(position);
    }

    /// Marks the answer as put off: it would take long and must run in slices.
    pub(crate) fn put_off(&mut self) {
        self.put_off = true;
    }

    /// Returns whether the answer was put off.
    #[inline]
    pub(crate) fn is_put_off(&self) -> bool {
        self.put_off
    }

    #[inline]
    fn head(&mut self, kind: u8, number: u64) {
        self.out.push(kind);
        if number < 10 {
            self.out.extend_from_slice(&[b'0' + number as u8, b'\r', b'\n']);
        } else {
            self.out.extend_from_slice(Decimal::unsigned(number).as_bytes());
            self.out.extend_from_slice(b"\r\n");
        }
    }

    /// Appends bytes that are encoded already.
    #[inline]
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    #[inline]
    pub(crate) fn ok(&mut self) {
        self.raw(b"+OK\r\n");
    }

    pub(crate) fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// Writes a status. Line breaks become spaces.
    pub(crate) fn simple_bytes(&mut self, text: &[u8]) {
        self.line(b'+', text);
    }

    /// Writes an error. `text` begins with its code. Line breaks become spaces.
    pub(crate) fn error(&mut self, text: &str) {
        self.error_bytes(text.as_bytes());
    }

    /// Writes an error with a text that may quote the client. As in Redis, line breaks at the end
    /// are removed and other line breaks become spaces.
    pub(crate) fn error_bytes(&mut self, text: &[u8]) {
        let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
        self.line(b'-', &text[..end]);
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.push(kind);
        self.in_one_line(text);
    }

    fn in_one_line(&mut self, text: &[u8]) {
        self.out.extend(text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
        self.raw(b"\r\n");
    }

    #[inline]
    pub(crate) fn int(&mut self, value: i64) {
        if (0..10).contains(&value) {
            self.out.extend_from_slice(&[b':', b'0' + value.cast_unsigned() as u8, b'\r', b'\n']);
        } else {
            self.out.push(b':');
            self.out.extend_from_slice(Decimal::signed(value).as_bytes());
            self.raw(b"\r\n");
        }
    }

    /// Writes a count. Counts never reach 2^63.
    #[inline]
    pub(crate) fn count(&mut self, value: usize) {
        self.int(i64::try_from(value).unwrap_or(i64::MAX));
    }

    #[inline]
    pub(crate) fn bulk(&mut self, bytes: &[u8]) {
        self.out.reserve(bytes.len() + 32);
        self.head(b'$', bytes.len() as u64);
        self.out.extend_from_slice(bytes);
        self.raw(b"\r\n");
    }

    /// Writes the name of a field as a bulk string. Its value must follow.
    pub(crate) fn named(&mut self, name: &str) -> &mut Self {
        self.bulk(name.as_bytes());
        self
    }

    /// Writes a bulk string that is stored in two parts.
    #[inline]
    pub(crate) fn bulk_parts(&mut self, [head, tail]: [&[u8]; 2]) {
        let len = head.len() + tail.len();
        self.out.reserve(len + 32);
        self.head(b'$', len as u64);
        self.out.extend_from_slice(head);
        self.out.extend_from_slice(tail);
        self.raw(b"\r\n");
    }

    /// Writes a rank or a count of a collection.
    #[inline]
    pub(crate) fn places(&mut self, value: u64) {
        self.int(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// Writes a double with 17 significant digits; in RESP2 as a bulk string.
    pub(crate) fn double(&mut self, value: f64) {
        match self.protocol {
            Protocol::Resp2 => {
                // The length before the digits has one or two digits.
                let start = self.out.len();
                self.raw(b"$0\r\n");
                write_double(self.out, value);
                let len = self.out.len() - start - 4;
                self.out[start + 1] = b'0' + (len % 10) as u8;
                if len >= 10 {
                    self.out.insert(start + 1, b'0' + (len / 10) as u8);
                }
                self.raw(b"\r\n");
            }
            Protocol::Resp3 => {
                self.out.push(b',');
                write_double(self.out, value);
                self.raw(b"\r\n");
            }
        }
    }

    pub(crate) fn double_or_null(&mut self, value: Option<f64>) {
        match value {
            Some(value) => self.double(value),
            None => self.null(),
        }
    }

    /// Writes a bulk string with the digits of a number.
    pub(crate) fn bulk_number(&mut self, value: u64) {
        self.bulk(Decimal::unsigned(value).as_bytes());
    }

    #[inline]
    pub(crate) fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// Writes the absent value.
    #[inline]
    pub(crate) fn null(&mut self) {
        self.raw(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// Writes the absent value in place of an array.
    pub(crate) fn null_array(&mut self) {
        self.raw(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    pub(crate) fn array(&mut self, len: usize) {
        self.head(b'*', len as u64);
    }

    /// Writes an array with an element for each item, which `write` writes.
    #[inline]
    pub(crate) fn array_of<I>(&mut self, items: I, mut write: impl FnMut(&mut Self, I::Item))
    where
        I: IntoIterator<IntoIter: ExactSizeIterator>,
    {
        let items = items.into_iter();
        self.array(items.len());
        items.for_each(|item| write(self, item));
    }

    /// Writes an array of bulk strings.
    pub(crate) fn bulks<I>(&mut self, texts: I)
    where
        I: IntoIterator<IntoIter: ExactSizeIterator, Item: AsRef<[u8]>>,
    {
        self.array_of(texts, |reply, text| reply.bulk(text.as_ref()));
    }

    /// Writes a set of words.
    pub(crate) fn words<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        let words: Vec<&str> = words.into_iter().collect();
        self.set(words.len());
        for word in words {
            self.simple(word);
        }
    }

    /// Begins a message of this many elements: a push in RESP3.
    pub(crate) fn push(&mut self, len: usize) {
        self.head(if self.protocol == Protocol::Resp3 { b'>' } else { b'*' }, len as u64);
    }

    /// Begins attributes of the next reply, as a map. REQUIRES: the protocol is RESP3.
    pub(crate) fn attributes(&mut self, len: usize) {
        self.head(b'|', len as u64);
    }

    /// Writes the head of a map of `len` pairs. Its keys and values must follow alternately.
    pub(crate) fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(len * 2),
            Protocol::Resp3 => self.head(b'%', len as u64),
        }
    }

    pub(crate) fn set(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(len),
            Protocol::Resp3 => self.head(b'~', len as u64),
        }
    }

    /// Writes a text for people.
    pub(crate) fn text(&mut self, text: &str) {
        self.verbatim(b"txt", text.as_bytes());
    }

    /// Writes a text with its format. Only the first three bytes of the format count; spaces fill
    /// up a shorter one.
    pub(crate) fn verbatim(&mut self, format: &[u8], text: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => {
                self.head(b'=', text.len() as u64 + 4);
                let letter = |at: usize| format.get(at).copied().unwrap_or(b' ');
                self.raw(&[letter(0), letter(1), letter(2), b':']);
                self.raw(text);
                self.raw(b"\r\n");
            }
        }
    }

    /// Writes an integer of any length; in RESP2 as a bulk string. Line breaks become spaces.
    pub(crate) fn big_number(&mut self, digits: &[u8]) {
        if self.protocol == Protocol::Resp2 {
            self.head(b'$', digits.len() as u64);
            self.in_one_line(digits);
        } else {
            self.line(b'(', digits);
        }
    }

    /// Writes a number with up to 17 digits after the point and no exponent; in RESP2 as a bulk
    /// string. REQUIRES: it is finite.
    pub(crate) fn decimal(&mut self, value: f64) {
        let digits = format!("{value:.17}");
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        let digits = if digits == "-0" { "0" } else { digits };
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits.as_bytes()),
            Protocol::Resp3 => self.line(b',', digits.as_bytes()),
        }
    }

    /// Writes a boolean; in RESP2 as an integer.
    pub(crate) fn boolean(&mut self, value: bool) {
        match self.protocol {
            Protocol::Resp2 => self.int(i64::from(value)),
            Protocol::Resp3 => self.raw(if value { b"#t\r\n" } else { b"#f\r\n" }),
        }
    }

    /// Begins an array with a length that is known only after its elements are written. Returns its
    /// start, for [`end_open_array`](Self::end_open_array).
    pub(crate) fn begin_open_array(&mut self) -> usize {
        let start = self.position();
        self.raw(&[0; OPEN_HEAD]);
        start
    }

    /// Ends an open array: writes the head just before the elements. Returns the number of unused
    /// bytes at `start`, which the caller must remove.
    #[must_use]
    pub(crate) fn end_open_array(&mut self, start: usize, len: usize) -> usize {
        let digits = Decimal::unsigned(len as u64);
        let unused = OPEN_HEAD - digits.as_bytes().len() - 3;
        let head = &mut self.out[start + unused..start + OPEN_HEAD];
        head[0] = b'*';
        head[1..=digits.as_bytes().len()].copy_from_slice(digits.as_bytes());
        head[digits.as_bytes().len() + 1..].copy_from_slice(b"\r\n");
        unused
    }

    /// Ends an open array and moves the elements to remove the unused bytes.
    pub(crate) fn close_open_array(&mut self, start: usize, len: usize) {
        let unused = self.end_open_array(start, len);
        self.out.drain(start..start + unused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol, write: impl FnOnce(&mut Reply)) -> String {
        let mut out = Vec::new();
        write(&mut Reply::new(&mut out, protocol));
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn replies_in_both_protocol_versions() {
        for (write, resp2, resp3) in [
            ((|reply| reply.null()) as fn(&mut Reply), "$-1\r\n", "_\r\n"),
            (|reply| reply.null_array(), "*-1\r\n", "_\r\n"),
            (|reply| reply.map(2), "*4\r\n", "%2\r\n"),
            (|reply| reply.set(12), "*12\r\n", "~12\r\n"),
            (|reply| reply.text("a\r\n"), "$3\r\na\r\n\r\n", "=7\r\ntxt:a\r\n\r\n"),
            (|reply| reply.verbatim(b"m", b"a"), "$1\r\na\r\n", "=5\r\nm  :a\r\n"),
            (|reply| reply.big_number(b"12\n"), "$3\r\n12 \r\n", "(12 \r\n"),
            (|reply| reply.boolean(true), ":1\r\n", "#t\r\n"),
            (|reply| reply.boolean(false), ":0\r\n", "#f\r\n"),
            (|reply| reply.decimal(2.5), "$3\r\n2.5\r\n", ",2.5\r\n"),
            (|reply| reply.decimal(-180.0), "$4\r\n-180\r\n", ",-180\r\n"),
            (|reply| reply.decimal(-1e-18), "$1\r\n0\r\n", ",0\r\n"),
            (|reply| reply.int(-12), ":-12\r\n", ":-12\r\n"),
            (|reply| reply.int(7), ":7\r\n", ":7\r\n"),
            (|reply| reply.bulk(b"0123456789"), "$10\r\n0123456789\r\n", "$10\r\n0123456789\r\n"),
            (
                |reply| reply.bulk_number(u64::MAX),
                "$20\r\n18446744073709551615\r\n",
                "$20\r\n18446744073709551615\r\n",
            ),
            (|reply| reply.error("ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n"),
        ] {
            assert_eq!(written(Protocol::Resp2, write), resp2);
            assert_eq!(written(Protocol::Resp3, write), resp3);
        }
    }

    #[test]
    fn array_of_unknown_length() {
        for len in [0, 9, 10, 12345] {
            let mut out = b"before".to_vec();
            let mut reply = Reply::new(&mut out, Protocol::Resp2);
            let start = reply.begin_open_array();
            reply.int(1);
            reply.close_open_array(start, len);
            assert_eq!(out, format!("before*{len}\r\n:1\r\n").as_bytes());
        }
    }
}
