//! An incremental parser of requests over a connection's input buffer, without copies.
//!
//! ```text
//!   buffer   *2␍␊$3␍␊GET␍␊$1␍␊k␍␊*2␍␊$3␍␊GET␍␊$5␍␊hel          ← end of the input so far
//!            ├──── request 0 ────┤├─ begun: one argument, 3 of 5 bytes of the next ─┤
//!   spans             GET      k           GET
//! ```
//!
//! [`RequestBuffer::parse`] makes a [`ParsedRequest`] of every complete request: a run of spans,
//! which are the positions of the arguments in the buffer. An incomplete request keeps its spans
//! and the parser's position, so that no byte is read twice, however small the pieces are.
//!
//! # Invariants
//! 1. `start <= parsed <= end <= buffer.len()`; bytes in `parsed..end` have not been parsed.
//! 2. While requests are queued, the buffer does not move: it is filled and compacted only when all
//!    requests were taken.

use skein_syntax::number::parse_i64;

use super::inline;
use super::limits::{ProtocolError, RequestLimits};

/// The longest line of an inline request or a count. Redis has the same limit.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The most spans for which an idle connection keeps memory.
const SPANS_KEPT: usize = 256;

/// The smallest size of an input buffer.
pub(crate) const INPUT_BYTES_MIN: usize = 16 << 10;

/// The most arguments of a request before the client has authenticated.
const UNAUTHENTICATED_ARGS_MAX: i64 = 10;
const UNAUTHENTICATED_ARG_BYTES_MAX: i64 = 16 << 10;

/// The position of an argument in the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArgSpan {
    pub(super) start: u32,
    pub(super) len: u32,
}

/// A complete request: a run of spans, and the tag that the caller gave it.
#[derive(Debug, Clone, Copy)]
struct ParsedRequest {
    first: u32,
    count: u32,
    tag: u16,
}

/// The arguments of a request. The first one is the command's name.
#[derive(Clone, Copy)]
pub(crate) struct Args<'a> {
    buffer: &'a [u8],
    spans: &'a [ArgSpan],
}

impl<'a> Args<'a> {
    /// Creates the arguments from their spans. `REQUIRES:` all spans are within the buffer, and
    /// there is at least one.
    pub(super) fn new(buffer: &'a [u8], spans: &'a [ArgSpan]) -> Self {
        Self { buffer, spans }
    }

    /// Returns the number of arguments, the name included; at least 1.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns argument `i`. `REQUIRES: i < len()`, which the arity in the command table
    /// guarantees.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> &'a [u8] {
        let ArgSpan { start, len } = self.spans[i];
        &self.buffer[start as usize..start as usize + len as usize]
    }

    /// Returns the request that begins at argument `first`. `REQUIRES: first < len()`
    pub(crate) fn rest(&self, first: usize) -> Self {
        Self { spans: &self.spans[first..], ..*self }
    }

    /// Returns the arguments from `first` on.
    pub(crate) fn from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let args = *self;
        (first.min(args.len())..args.len()).map(move |i| args.get(i))
    }
}

/// The bytes received from a client, and the requests parsed from them.
#[derive(Debug)]
pub(crate) struct RequestBuffer {
    /// All bytes are initialized; `..end` is received input.
    buffer: Vec<u8>,
    /// Bytes below this position belong to complete requests.
    start: usize,
    /// The position at which the first request of `requests` begins.
    requests_start: usize,
    parsed: usize,
    end: usize,
    spans: Vec<ArgSpan>,
    requests: Vec<ParsedRequest>,
    /// The first queued request that was not taken.
    next: usize,
    /// The incomplete request: its first span, and the number of missing arguments (0 if no request
    /// is begun).
    begun_first: u32,
    begun_missing: u32,
    /// The length of the next argument, if its length line was received.
    arg_len: Option<u32>,
    /// The last parse ended because bytes were missing, and not because the pipeline was full.
    wants_bytes: bool,
}

impl RequestBuffer {
    pub(crate) fn new() -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            requests_start: 0,
            parsed: 0,
            end: 0,
            spans: Vec::new(),
            requests: Vec::new(),
            next: 0,
            begun_first: 0,
            begun_missing: 0,
            arg_len: None,
            wants_bytes: false,
        }
    }

    /// Takes the buffer away if it is empty, so that an idle connection holds no memory.
    /// [`room`](Self::room) takes another one.
    pub(crate) fn release(&mut self) -> Option<Vec<u8>> {
        let idle = self.start == self.end && self.begun_missing == 0 && self.queued() == 0;
        if !idle || self.buffer.is_empty() {
            return None;
        }
        (self.start, self.parsed, self.end) = (0, 0, 0);
        self.spans.shrink_to(SPANS_KEPT);
        Some(std::mem::take(&mut self.buffer))
    }

    /// Returns whether [`parse`](Self::parse) may find more requests without further input.
    pub(crate) fn may_parse(&self) -> bool {
        self.parsed < self.end && !self.wants_bytes
    }

    /// Returns free space for input, at least a few KiB. If there is no buffer, takes one from
    /// `spare`. `REQUIRES:` no request is queued (invariant 2).
    pub(crate) fn room(&mut self, spare: &mut Vec<Vec<u8>>) -> &mut [u8] {
        debug_assert_eq!(self.queued(), 0);
        if self.buffer.is_empty() {
            self.buffer = spare.pop().unwrap_or_else(|| vec![0; INPUT_BYTES_MIN]);
        }
        self.compact();
        // The buffer grows with the bytes received, not with the length that a client announces.
        if self.buffer.len() - self.end < INPUT_BYTES_MIN / 4 {
            let wanted = self.arg_len.map_or(0, |len| self.parsed + len as usize + INPUT_BYTES_MIN);
            let doubled = self.buffer.len() * 2;
            self.buffer.resize(doubled.min(wanted.max(self.end + INPUT_BYTES_MIN)), 0);
        }
        &mut self.buffer[self.end..]
    }

    /// Marks `count` bytes of the free space as received.
    pub(crate) fn filled(&mut self, count: usize) {
        self.wants_bytes = false;
        self.end += count;
        debug_assert!(self.end <= self.buffer.len());
    }

    /// Moves the incomplete request to the start of the buffer and removes finished bytes.
    fn compact(&mut self) {
        let shift = self.start;
        if shift > 0 {
            self.buffer.copy_within(shift..self.end, 0);
            (self.start, self.parsed, self.end) = (0, self.parsed - shift, self.end - shift);
        }
        if self.begun_first > 0 {
            self.spans.drain(..self.begun_first as usize);
            self.begun_first = 0;
        }
        if shift > 0 {
            for span in &mut self.spans {
                span.start -= shift as u32;
            }
        }
    }

    /// Parses the complete requests in the buffer. Calls `resolve` for the tag of each while its
    /// bytes are in the CPU cache. Requests before an error are queued.
    ///
    /// # Errors
    /// If the bytes are not a request. The client must receive the error and be disconnected.
    pub(crate) fn parse(
        &mut self,
        limits: &RequestLimits,
        authenticated: bool,
        resolve: impl Fn(&Args) -> u16,
    ) -> Result<(), ProtocolError> {
        // A request that may be AUTH runs before the next one is parsed, because the limits before
        // the login must not apply to later requests.
        let pipeline = if authenticated { limits.pipeline } else { 1 };
        while self.queued() < pipeline && self.parsed < self.end {
            let complete = if self.begun_missing > 0 || self.buffer[self.parsed] == b'*' {
                self.parse_multibulk(limits, authenticated)?
            } else {
                self.parse_inline()?
            };
            let bytes = if complete { self.parsed } else { self.end } - self.start;
            if bytes > limits.request_bytes {
                return Err(ProtocolError::RequestTooLong { limit: limits.request_bytes });
            }
            if !complete {
                self.wants_bytes = true;
                break;
            }
            let first = self.begun_first;
            let count = self.spans.len() as u32 - first;
            if count > 0 {
                let args = Args { buffer: &self.buffer, spans: &self.spans[first as usize..] };
                if self.requests.is_empty() {
                    self.requests_start = self.start;
                }
                self.requests.push(ParsedRequest { first, count, tag: resolve(&args) });
            }
            self.begun_first = self.spans.len() as u32;
            self.start = self.parsed;
        }
        Ok(())
    }

    /// Continues with a request of the form `*2␍␊$3␍␊GET␍␊$1␍␊k␍␊`. Returns whether it is complete.
    fn parse_multibulk(
        &mut self,
        limits: &RequestLimits,
        authenticated: bool,
    ) -> Result<bool, ProtocolError> {
        if self.begun_missing == 0 {
            let Some((count, next)) = self.number_line(ProtocolError::CountLineTooLong)? else {
                return Ok(false);
            };
            let count = count
                .filter(|count| *count <= limits.args.cast_signed() as i64)
                .ok_or(ProtocolError::BadCount)?;
            if !authenticated && count > UNAUTHENTICATED_ARGS_MAX {
                return Err(ProtocolError::CountBeforePassword);
            }
            self.parsed = next;
            // As in Redis, a count of 0 or less is not a request and is ignored.
            if count <= 0 {
                return Ok(true);
            }
            self.begun_missing = count.cast_unsigned() as u32;
        }
        while self.begun_missing > 0 {
            if !self.parse_arg(limits, authenticated)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Continues with one argument. Returns whether it is complete.
    #[inline]
    fn parse_arg(&mut self, limits: &RequestLimits, authenticated: bool) -> Result<bool, ProtocolError> {
        let len = match self.arg_len {
            Some(len) => len,
            None => match self.parse_length(limits, authenticated)? {
                Some(len) => len,
                None => return Ok(false),
            },
        };
        // Like Redis, this does not check the two bytes that end an argument.
        let after = self.parsed + len as usize + 2;
        if after > self.end {
            self.arg_len = Some(len);
            return Ok(false);
        }
        self.spans.push(ArgSpan { start: self.parsed as u32, len });
        self.parsed = after;
        self.arg_len = None;
        self.begun_missing -= 1;
        Ok(true)
    }

    fn parse_length(
        &mut self,
        limits: &RequestLimits,
        authenticated: bool,
    ) -> Result<Option<u32>, ProtocolError> {
        match self.buffer[self.parsed..self.end].first() {
            None => return Ok(None),
            Some(b'$') => {}
            // Redis reads to the end of the line before it checks the first byte.
            Some(&other) => {
                let line = self.number_line(ProtocolError::LengthLineTooLong)?;
                return if line.is_some() { Err(ProtocolError::NoDollar(other)) } else { Ok(None) };
            }
        }
        let Some((len, next)) = self.number_line(ProtocolError::LengthLineTooLong)? else {
            return Ok(None);
        };
        let len = len
            .filter(|len| (0..=limits.arg_bytes.cast_signed() as i64).contains(len))
            .ok_or(ProtocolError::BadLength)?;
        if !authenticated && len > UNAUTHENTICATED_ARG_BYTES_MAX {
            return Err(ProtocolError::LengthBeforePassword);
        }
        self.parsed = next;
        Ok(Some(len.cast_unsigned() as u32))
    }

    /// Returns the number in the line at `parsed`, after its first byte, and the start of the next
    /// line. The result is `None` if the line is incomplete. The number is `None` if the line is
    /// not a number.
    #[inline(always)]
    fn number_line(&self, too_long: ProtocolError) -> Result<Option<(Option<i64>, usize)>, ProtocolError> {
        let line = &self.buffer[self.parsed + 1..self.end];
        // Nearly every line has one or two digits. These are read without a search for the line's
        // end.
        let number = match line {
            [a @ b'0'..=b'9', b'\r', _, ..] => (i64::from(a - b'0'), 1),
            [a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', _, ..] => (i64::from((a - b'0') * 10 + (b - b'0')), 2),
            _ => return self.long_number_line(line, too_long),
        };
        Ok(Some((Some(number.0), self.parsed + 1 + number.1 + 2)))
    }

    fn long_number_line(
        &self,
        line: &[u8],
        too_long: ProtocolError,
    ) -> Result<Option<(Option<i64>, usize)>, ProtocolError> {
        let searched = &line[..line.len().min(LINE_BYTES_MAX)];
        match line_end(searched, b'\r') {
            None if line.len() > LINE_BYTES_MAX => Err(too_long),
            None => Ok(None),
            Some(len) if len + 2 > line.len() => Ok(None),
            Some(len) => Ok(Some((parse_i64(&line[..len]), self.parsed + 1 + len + 2))),
        }
    }

    fn parse_inline(&mut self) -> Result<bool, ProtocolError> {
        let line = &self.buffer[self.parsed..self.end];
        let searched = &line[..line.len().min(LINE_BYTES_MAX)];
        let Some(len) = line_end(searched, b'\n') else {
            return if line.len() > LINE_BYTES_MAX { Err(ProtocolError::InlineTooLong) } else { Ok(false) };
        };
        let from = self.parsed;
        let text = &mut self.buffer[from..from + len];
        let spans = &mut self.spans;
        let split = inline::split(text, |start, len| {
            spans.push(ArgSpan { start: (from + start) as u32, len: len as u32 });
        });
        if !split {
            self.spans.truncate(self.begun_first as usize);
            return Err(ProtocolError::UnbalancedQuotes);
        }
        self.parsed = from + len + 1;
        Ok(true)
    }

    /// Returns the bytes of the buffer.
    pub(crate) fn memory(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the received bytes that are not done yet, and the room for more. As in Redis,
    /// requests that were parsed together are done together.
    #[inline]
    pub(crate) fn held_and_free(&self) -> (usize, usize) {
        let from = if self.queued() > 0 { self.requests_start } else { self.start };
        (self.end - from, self.buffer.len() - self.end)
    }

    /// Returns the number of queued requests.
    #[inline]
    pub(crate) fn queued(&self) -> usize {
        self.requests.len() - self.next
    }

    /// Returns the tag of queued request `i`.
    #[inline]
    pub(crate) fn tag(&self, i: usize) -> Option<u16> {
        self.requests.get(self.next + i).map(|request| request.tag)
    }

    /// Returns the tag of the last queued request.
    pub(crate) fn last_tag(&self) -> Option<u16> {
        self.queued().checked_sub(1).and_then(|last| self.tag(last))
    }

    /// Returns the arguments of queued request `i`.
    #[inline]
    pub(crate) fn args(&self, i: usize) -> Args<'_> {
        let ParsedRequest { first, count, .. } = self.requests[self.next + i];
        Args { buffer: &self.buffer, spans: &self.spans[first as usize..(first + count) as usize] }
    }

    /// Removes the first `count` queued requests.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) {
        self.next += count;
        debug_assert!(self.next <= self.requests.len());
        if self.next == self.requests.len() {
            self.requests.clear();
            self.next = 0;
            if self.begun_missing == 0 {
                self.spans.clear();
                self.begun_first = 0;
                if self.start == self.end {
                    (self.start, self.parsed, self.end) = (0, 0, 0);
                }
            }
        }
    }
}

/// Returns the end of a line. Redis uses C's `strchr`, so a line with a zero byte has no end. The
/// client is disconnected when such a line is too long.
fn line_end(line: &[u8], end: u8) -> Option<usize> {
    line.iter().position(|byte| *byte == end || *byte == 0).filter(|at| line[*at] == end)
}

#[cfg(test)]
mod tests;
