//! A reply that is collected first and sent to the client later.
//!
//! A module cannot withdraw a part of a reply that the server already has. So the module collects
//! the whole reply first: if the reply exceeds its limit, the module sends an error instead. The
//! reply is sent in portions, and each portion is freed as soon as it is sent.

use std::collections::VecDeque;
use std::ffi::c_long;

use valkey_module::raw;

use crate::api::{Ctx, server};

/// Approximate size of a portion in bytes.
const PORTION: usize = 64 << 10;

/// One part of a reply. `T` is the part's text, or the length of that text. An aggregate carries
/// the number of parts that follow it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReplyPart<T> {
    Bulk(T),
    /// A simple string: one line of text.
    Status(T),
    Error(T),
    Integer(i64),
    Double(f64),
    Null,
    NullArray,
    Array(usize),
    /// The number of pairs that follow.
    Map(usize),
    Set(usize),
}

impl<T> ReplyPart<T> {
    fn map<U>(self, text: impl FnOnce(T) -> U) -> ReplyPart<U> {
        match self {
            Self::Bulk(bytes) => ReplyPart::Bulk(text(bytes)),
            Self::Status(line) => ReplyPart::Status(text(line)),
            Self::Error(line) => ReplyPart::Error(text(line)),
            Self::Integer(number) => ReplyPart::Integer(number),
            Self::Double(number) => ReplyPart::Double(number),
            Self::Null => ReplyPart::Null,
            Self::NullArray => ReplyPart::NullArray,
            Self::Array(len) => ReplyPart::Array(len),
            Self::Map(len) => ReplyPart::Map(len),
            Self::Set(len) => ReplyPart::Set(len),
        }
    }
}

#[derive(Debug, Default)]
struct ReplySlice {
    parts: Vec<ReplyPart<usize>>,
    /// The texts of all parts, one after the other.
    bytes: Vec<u8>,
}

/// A collected reply; see the module's head.
#[derive(Debug, Default)]
pub struct CollectedReply {
    portions: VecDeque<ReplySlice>,
    len: usize,
}

impl CollectedReply {
    /// Appends a part.
    pub fn push(&mut self, part: ReplyPart<&[u8]>) {
        if self
            .portions
            .back()
            .is_none_or(|last| last.bytes.len() + last.parts.len() * size_of::<ReplyPart<usize>>() > PORTION)
        {
            self.portions.push_back(ReplySlice::default());
        }
        let portion = self.portions.back_mut().expect("one was pushed if there was none");
        let begin = portion.bytes.len();
        portion.parts.push(part.map(|text| {
            portion.bytes.extend_from_slice(text);
            text.len()
        }));
        self.len += size_of::<ReplyPart<usize>>() + portion.bytes.len() - begin;
    }

    /// Inserts a part in front of all others.
    pub fn push_front(&mut self, part: ReplyPart<&[u8]>) {
        let mut front = CollectedReply::default();
        front.push(part);
        self.len += front.len;
        self.portions.extend(front.portions.drain(..));
        self.portions.rotate_right(1);
    }

    /// Returns the bytes of memory that the reply takes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the reply is short enough to be sent at once: one portion, and perhaps a
    /// header.
    pub fn is_short(&self) -> bool {
        self.portions.len() <= 2
    }

    /// Sends the next portion. Returns whether there are more.
    pub fn give(&mut self, ctx: Ctx<'_>) -> bool {
        if let Some(portion) = self.portions.pop_front() {
            portion.give(ctx);
        }
        !self.portions.is_empty()
    }
}

impl ReplySlice {
    fn give(self, ctx: Ctx<'_>) {
        let (to, mut rest) = (ctx.raw(), &self.bytes[..]);
        let mut take = |len: usize| {
            let (text, after) = rest.split_at(len);
            rest = after;
            text
        };
        for part in self.parts {
            // SAFETY: a live context; a text ends with a zero byte if the server needs one.
            unsafe {
                match part {
                    ReplyPart::Bulk(len) => {
                        server!(RedisModule_ReplyWithStringBuffer(to, take(len).as_ptr().cast(), len))
                    }
                    ReplyPart::Status(len) => {
                        server!(RedisModule_ReplyWithSimpleString(to, ended(take(len)).as_ptr().cast()))
                    }
                    ReplyPart::Error(len) => {
                        server!(RedisModule_ReplyWithError(to, ended(take(len)).as_ptr().cast()))
                    }
                    ReplyPart::Integer(number) => server!(RedisModule_ReplyWithLongLong(to, number)),
                    ReplyPart::Double(number) => server!(RedisModule_ReplyWithDouble(to, number)),
                    ReplyPart::Null => server!(RedisModule_ReplyWithNull(to)),
                    ReplyPart::NullArray => server!(RedisModule_ReplyWithNullArray(to)),
                    ReplyPart::Array(len) => server!(RedisModule_ReplyWithArray(to, count(len))),
                    ReplyPart::Map(len) => server!(RedisModule_ReplyWithMap(to, count(len))),
                    ReplyPart::Set(len) => server!(RedisModule_ReplyWithSet(to, count(len))),
                };
            }
        }
    }
}

/// Converts a length for the server. No reply has so many parts that the conversion would overflow.
fn count(len: usize) -> c_long {
    c_long::try_from(len).unwrap_or(c_long::MAX)
}

/// Returns the text without zero bytes inside it, and with one at its end.
fn ended(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| *byte != 0).chain([0]).collect()
}
