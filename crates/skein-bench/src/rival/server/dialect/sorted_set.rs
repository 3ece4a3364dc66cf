//! A sorted set in Redis and SkeinDB: all keys are members of one set.
//!
//! Either all members have the same score: then they are in byte order and have no values. Or each
//! member's score is computed from its value.

use super::resp::{bounds, bulk, command, expect_keys};
use super::{Dialect, DialectRequest};

/// All members have the same score.
pub static SORTED: SortedSetDialect = SortedSetDialect { by_value: false };

/// Each member has its own score.
pub static SCORED: SortedSetDialect = SortedSetDialect { by_value: true };

/// The protocol, with a choice of scores.
#[derive(Debug)]
pub struct SortedSetDialect {
    by_value: bool,
}

/// The set's name.
const SET: &[u8] = b"s";

/// Returns the score of a value, from its first eight bytes: an integer that a score can hold
/// exactly and that is very unlikely to be another value's.
///
/// REQUIRES: the value has eight bytes or more.
pub fn score(value: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&value[..8]);
    u64::from_le_bytes(word) >> 12
}

impl SortedSetDialect {
    fn score(&self, value: &[u8]) -> Vec<u8> {
        if self.by_value { score(value).to_string().into_bytes() } else { b"0".to_vec() }
    }
}

impl Dialect for SortedSetDialect {
    fn ask(&self, request: DialectRequest<'_>, out: &mut Vec<u8>, expected: &mut Vec<u8>) {
        match request {
            DialectRequest::Add(key, value) => {
                command(out, &[b"ZADD", SET, &self.score(value), key]);
                expected.extend_from_slice(b":1\r\n");
            }
            DialectRequest::Set(key, value) => {
                command(out, &[b"ZADD", SET, &self.score(value), key]);
                expected.extend_from_slice(b":0\r\n");
            }
            DialectRequest::Get(key, value) => {
                command(out, &[b"ZSCORE", SET, key]);
                bulk(expected, &self.score(value));
            }
            DialectRequest::Keys(mut range) => {
                let (from, count) = bounds(&range);
                let words: &[&[u8]] = if self.by_value {
                    &[
                        b"ZRANGE",
                        SET,
                        &self.score(range.value),
                        b"+inf",
                        b"BYSCORE",
                        b"LIMIT",
                        b"0",
                        count.as_bytes(),
                    ]
                } else {
                    &[b"ZRANGEBYLEX", SET, &from, b"+", b"LIMIT", b"0", count.as_bytes()]
                };
                command(out, words);
                expect_keys(&mut range, expected);
            }
            DialectRequest::Ping
            | DialectRequest::GetMany(_)
            | DialectRequest::SetMany(_)
            | DialectRequest::AddRow(..)
            | DialectRequest::GetRow(..)
            | DialectRequest::SetColumn(..)
            | DialectRequest::Range(_) => {
                unreachable!("a sorted set does not support this request; see its entry")
            }
        }
    }
}
