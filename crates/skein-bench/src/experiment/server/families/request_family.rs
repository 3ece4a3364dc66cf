//! The families of requests: each with its request and its reply.
//!
//! Each member of the set belongs to one connection, so the client knows whether it is there. All
//! connections share one list and one stream. There the client cannot know lengths, identifiers
//! and the number of a removed element. It accepts any digits, and
//! [`check_lengths`](RequestFamily::check_lengths) compares the lengths at the end of a round.

use crate::Result;
use crate::keyset::SeededRandom;
use crate::rival::server::{ANY_DIGITS, BenchClient, resp_any_id, resp_bulk, resp_command, resp_number};

/// A family of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestFamily {
    Set,
    ListPush,
    ListPop,
    SetAdd,
    SetContains,
    StreamAdd,
    StreamRead,
    Script,
    /// A message to this many subscribers.
    Publish(usize),
    HashSet,
    SortedSetAdd,
}

/// A request of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyRequest {
    /// The number of its key or element.
    pub number: u32,
    /// Whether the set has the element before this request.
    pub present: bool,
}

/// The channel of the messages.
pub const CHANNEL: &[u8] = b"channel";
/// Every message.
pub const MESSAGE: &[u8] = b"message:00000000";

const LIST: &[u8] = b"list";
const SET: &[u8] = b"set";
const STREAM: &[u8] = b"stream";
const GROUP: &[u8] = b"group";

const SCRIPT: &str = "redis.call('SET', KEYS[1], ARGV[1]) redis.call('GET', KEYS[1]) \
                      return redis.call('INCRBY', KEYS[1], 1)";
/// The script's SHA-1, which `SCRIPT LOAD` must return.
const SCRIPT_SHA1: &[u8] = b"ec85bccc2993b97dd747299b397837e52ca8483f";

impl RequestFamily {
    /// The measured families, in the order of their loops: elements are added before they are read
    /// or removed.
    pub const MEASURED: [Self; 10] = [
        Self::Set,
        Self::ListPush,
        Self::ListPop,
        Self::SetAdd,
        Self::SetContains,
        Self::StreamAdd,
        Self::StreamRead,
        Self::Script,
        Self::Publish(1),
        Self::Publish(100),
    ];

    /// Returns its name in reports.
    pub fn name(self) -> String {
        match self {
            Self::Set => "SET".to_owned(),
            Self::ListPush => "LPUSH".to_owned(),
            Self::ListPop => "LPOP".to_owned(),
            Self::SetAdd => "SADD".to_owned(),
            Self::SetContains => "SISMEMBER".to_owned(),
            Self::StreamAdd => "XADD".to_owned(),
            Self::StreamRead => "XREADGROUP COUNT 1".to_owned(),
            Self::Script => "EVALSHA of SET, GET, INCRBY".to_owned(),
            Self::Publish(subscribers) => format!("PUBLISH to {subscribers}"),
            Self::HashSet => "HSET".to_owned(),
            Self::SortedSetAdd => "ZADD".to_owned(),
        }
    }

    /// Returns the number of subscribers that receive each message.
    pub fn subscribers(self) -> usize {
        if let Self::Publish(subscribers) = self { subscribers } else { 0 }
    }

    /// Returns `count` requests for keys or elements below `members.len()`. Marks the elements that
    /// they add to the set.
    pub fn requests(
        self,
        count: usize,
        members: &mut [bool],
        random: &mut SeededRandom,
    ) -> Vec<FamilyRequest> {
        let one = |_| {
            let number = random.below(members.len());
            let present = members[number];
            members[number] |= self == Self::SetAdd;
            FamilyRequest { number: number as u32, present }
        };
        (0..count).map(one).collect()
    }

    /// Appends a request, and its reply as a pattern.
    pub fn ask(self, request: FamilyRequest, out: &mut Vec<u8>, expected: &mut Vec<u8>) {
        let FamilyRequest { number, present } = request;
        let element = format!("element:{number:08}").into_bytes();
        match self {
            Self::Set => {
                resp_command(out, &[b"SET", &key(number), &element]);
                expected.extend_from_slice(b"+OK\r\n");
            }
            Self::ListPush => {
                resp_command(out, &[b"LPUSH", LIST, &element]);
                expected.extend_from_slice(&[b':', ANY_DIGITS, b'\r', b'\n']);
            }
            Self::ListPop => {
                resp_command(out, &[b"LPOP", LIST]);
                expect_element(expected);
            }
            Self::SetAdd => {
                resp_command(out, &[b"SADD", SET, &element]);
                resp_number(expected, usize::from(!present));
            }
            Self::SetContains => {
                resp_command(out, &[b"SISMEMBER", SET, &element]);
                resp_number(expected, usize::from(present));
            }
            Self::StreamAdd => {
                resp_command(out, &[b"XADD", STREAM, b"*", b"field", &element]);
                resp_any_id(expected);
            }
            Self::StreamRead => {
                let group: [&[u8]; 3] = [b"GROUP", GROUP, b"consumer"];
                let rest: [&[u8]; 5] = [b"COUNT", b"1", b"STREAMS", STREAM, b">"];
                resp_command(out, &[&[&b"XREADGROUP"[..]], &group[..], &rest[..]].concat());
                expected.extend_from_slice(b"*1\r\n*2\r\n");
                resp_bulk(expected, STREAM);
                expected.extend_from_slice(b"*1\r\n*2\r\n");
                resp_any_id(expected);
                expected.extend_from_slice(b"*2\r\n$5\r\nfield\r\n");
                expect_element(expected);
            }
            Self::Script => {
                resp_command(out, &[b"EVALSHA", SCRIPT_SHA1, b"1", &key(number), b"5"]);
                resp_number(expected, 6);
            }
            Self::Publish(subscribers) => {
                resp_command(out, &[b"PUBLISH", CHANNEL, MESSAGE]);
                resp_number(expected, subscribers);
            }
            Self::HashSet => {
                resp_command(out, &[b"HSET", b"hash", format!("field:{number:010}").as_bytes(), &element]);
                resp_number(expected, 1);
            }
            Self::SortedSetAdd => {
                resp_command(out, &[b"ZADD", b"sorted set", number.to_string().as_bytes(), &element]);
                resp_number(expected, 1);
            }
        }
    }

    /// Creates the consumer group and loads the script, before the first loop of a server.
    ///
    /// # Errors
    /// If the server fails or answers wrongly.
    pub fn prepare(client: &mut BenchClient) -> Result<()> {
        client.begin("preparing", 1);
        client.ask_pattern(0, |out, expected| {
            resp_command(out, &[b"XGROUP", b"CREATE", STREAM, GROUP, b"0", b"MKSTREAM"]);
            expected.extend_from_slice(b"+OK\r\n");
        })?;
        client.ask_pattern(0, |out, expected| {
            resp_command(out, &[b"SCRIPT", b"LOAD", SCRIPT.as_bytes()]);
            resp_bulk(expected, SCRIPT_SHA1);
        })?;
        client.finish()
    }

    /// Checks the lengths of list, set and stream after all loops.
    ///
    /// # Errors
    /// If the server has more or fewer elements.
    pub fn check_lengths(client: &mut BenchClient, lengths: [usize; 3]) -> Result<()> {
        client.begin("checking lengths", 1);
        let requests: [[&[u8]; 2]; 3] = [[b"LLEN", LIST], [b"SCARD", SET], [b"XLEN", STREAM]];
        for (request, length) in requests.iter().zip(lengths) {
            client.ask_pattern(0, |out, expected| {
                resp_command(out, request);
                resp_number(expected, length);
            })?;
        }
        client.finish()
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("key:{number:012}").into_bytes()
}

/// Appends an element with any number.
fn expect_element(expected: &mut Vec<u8>) {
    expected.extend_from_slice(b"$16\r\nelement:");
    expected.extend_from_slice(&[ANY_DIGITS, b'\r', b'\n']);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_set_is_known_at_each_request() {
        let (mut members, mut random) = (vec![false; 100], SeededRandom::new(7));
        let mut model = BTreeSet::new();
        for family in [RequestFamily::SetContains, RequestFamily::SetAdd, RequestFamily::SetContains] {
            for request in family.requests(200, &mut members, &mut random) {
                assert_eq!(request.present, model.contains(&request.number), "{request:?}");
                if family == RequestFamily::SetAdd {
                    model.insert(request.number);
                }
            }
        }
        assert!((80..100).contains(&model.len()), "{} members", model.len());
        assert_eq!(members.iter().filter(|&&there| there).count(), model.len());
    }

    #[test]
    fn requests_are_what_the_servers_understand() {
        let said = |family: RequestFamily, present| {
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            family.ask(FamilyRequest { number: 42, present }, &mut out, &mut expected);
            (out.escape_ascii().to_string(), expected.escape_ascii().to_string())
        };
        let add = r"*3\r\n$4\r\nSADD\r\n$3\r\nset\r\n$16\r\nelement:00000042\r\n".to_owned();
        assert_eq!(said(RequestFamily::SetAdd, false), (add.clone(), r":1\r\n".to_owned()));
        assert_eq!(said(RequestFamily::SetAdd, true), (add, r":0\r\n".to_owned()));
        let (out, expected) = said(RequestFamily::StreamRead, false);
        assert!(out.starts_with(r"*9\r\n$10\r\nXREADGROUP\r\n$5\r\nGROUP\r\n$5\r\ngroup"), "{out}");
        let entry = r"*1\r\n*2\r\n$\xff\r\n\xff-\xff\r\n*2\r\n$5\r\nfield\r\n$16\r\nelement:\xff\r\n";
        assert_eq!(expected, [r"*1\r\n*2\r\n$6\r\nstream\r\n", entry].concat());
        assert_eq!(said(RequestFamily::Publish(100), false).1, r":100\r\n");
    }
}
