//! Redis' sorted set: all keys are members of one, of one score, so that they lie in the order of their bytes. A member has no value but
//! its score, which stands for one.

use super::resp::{bounds, bulk, command, expect_keys};
use super::{Dialect, Request};

/// The protocol.
pub static SORTED: Sorted = Sorted;

/// The protocol.
#[derive(Debug)]
pub struct Sorted;

/// The set's name.
const SET: &[u8] = b"s";
/// The score of all members.
const SCORE: &[u8] = b"0";

impl Dialect for Sorted {
    fn ask(&self, request: Request<'_>, out: &mut Vec<u8>, expected: &mut Vec<u8>) {
        match request {
            Request::Add(key, _) => {
                command(out, &[b"ZADD", SET, SCORE, key]);
                expected.extend_from_slice(b":1\r\n");
            }
            Request::Set(key, _) => {
                command(out, &[b"ZADD", SET, SCORE, key]);
                expected.extend_from_slice(b":0\r\n");
            }
            Request::Get(key, _) => {
                command(out, &[b"ZSCORE", SET, key]);
                bulk(expected, SCORE);
            }
            Request::Keys(mut range) => {
                let (from, count) = bounds(&range);
                command(out, &[b"ZRANGEBYLEX", SET, &from, b"+", b"LIMIT", b"0", count.as_bytes()]);
                expect_keys(&mut range, expected);
            }
            Request::Ping
            | Request::AddRow(..)
            | Request::GetRow(..)
            | Request::SetColumn(..)
            | Request::Range(_) => unreachable!("a sorted set cannot do this, says its entry"),
        }
    }
}
