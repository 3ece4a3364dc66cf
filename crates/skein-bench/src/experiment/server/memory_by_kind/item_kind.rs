//! The kinds of items: each with the request that adds one, and its reply.

use crate::rival::server::{resp_any_id, resp_command, resp_number};

/// A kind of items: keys of their own, or the elements of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// A key with a value of this many bytes.
    String(usize),
    /// A key with a value of 8 digits, which Redis and Valkey store as a number.
    Number,
    /// A key with a value of 8 bytes that expires.
    ExpiringString,
    /// A key with a hash of five fields.
    SmallHash,
    /// A key with a list of ten elements.
    SmallList,
    /// A key with a set of ten members.
    SmallSet,
    /// A key with a sorted set of ten members.
    SmallSortedSet,
    /// A member of one set.
    Member,
    /// A member of one sorted set, with a score of its own.
    ScoredMember,
    /// A field of one hash, with a value of 8 bytes.
    Field,
    /// An element of one list.
    Element,
    /// An entry of one stream, with one field.
    Entry,
}

/// The elements of a small list, set or sorted set.
const SMALL: usize = 10;
/// The fields and values of a small hash.
const FIELDS: [&str; 10] = ["name", "Ada Lovelace", "age", "36", "city", "London", "id", "12345", "ok", "1"];
/// The value of a key or field.
const VALUE: [u8; 64] = [b'v'; 64];
/// The key of all elements.
const WHOLE: &[u8] = b"whole";

impl ItemKind {
    /// The measured kinds.
    pub const MEASURED: [Self; 13] = [
        Self::String(8),
        Self::Number,
        Self::String(64),
        Self::ExpiringString,
        Self::SmallHash,
        Self::SmallList,
        Self::SmallSet,
        Self::SmallSortedSet,
        Self::Member,
        Self::ScoredMember,
        Self::Field,
        Self::Element,
        Self::Entry,
    ];

    /// Returns its name in reports.
    pub fn name(self) -> String {
        match self {
            Self::String(bytes) => return format!("string of {bytes} B"),
            Self::Number => "number of 8 digits",
            Self::ExpiringString => "string of 8 B that expires",
            Self::SmallHash => "hash of 5 fields",
            Self::SmallList => "list of 10",
            Self::SmallSet => "set of 10",
            Self::SmallSortedSet => "sorted set of 10",
            Self::Member => "member of one set",
            Self::ScoredMember => "member of one sorted set",
            Self::Field => "field of one hash",
            Self::Element => "element of one list",
            Self::Entry => "entry of one stream",
        }
        .to_owned()
    }

    /// Appends the request that adds an item, and its reply as a pattern. `number` is the number of
    /// items before this one, and `key` the item's own key or element.
    pub fn add(self, number: usize, key: &[u8], out: &mut Vec<u8>, expected: &mut Vec<u8>) {
        let small = |command: &'static str| -> Vec<Vec<u8>> {
            let elements = (0..SMALL).map(|n| format!("item{n}").into_bytes());
            [command.as_bytes().to_vec(), key.to_vec()].into_iter().chain(elements).collect()
        };
        let (request, reply): (Vec<Vec<u8>>, Reply) = match self {
            Self::String(bytes) => (words(&[b"SET", key, &VALUE[..bytes]]), Reply::Ok),
            Self::Number => (words(&[b"SET", key, b"12345678"]), Reply::Ok),
            Self::ExpiringString => (words(&[b"SET", key, &VALUE[..8], b"EX", b"100000"]), Reply::Ok),
            Self::SmallHash => {
                let fields = FIELDS.map(str::as_bytes);
                (words(&[&[b"HSET", key], &fields[..]].concat()), Reply::Number(FIELDS.len() / 2))
            }
            Self::SmallList => (small("RPUSH"), Reply::Number(SMALL)),
            Self::SmallSet => (small("SADD"), Reply::Number(SMALL)),
            Self::SmallSortedSet => {
                let scored = (0..SMALL).flat_map(|n| [n.to_string(), format!("item{n}")]);
                let scored = scored.map(String::into_bytes);
                (words(&[b"ZADD", key]).into_iter().chain(scored).collect(), Reply::Number(SMALL))
            }
            Self::Member => (words(&[b"SADD", WHOLE, key]), Reply::Number(1)),
            Self::ScoredMember => {
                (words(&[b"ZADD", WHOLE, number.to_string().as_bytes(), key]), Reply::Number(1))
            }
            Self::Field => (words(&[b"HSET", WHOLE, key, &VALUE[..8]]), Reply::Number(1)),
            Self::Element => (words(&[b"RPUSH", WHOLE, key]), Reply::Number(number + 1)),
            Self::Entry => (words(&[b"XADD", WHOLE, b"*", b"f", key]), Reply::Id),
        };
        let request: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
        resp_command(out, &request);
        reply.append(expected);
    }

    /// Returns the request for the number of items, and the reply that it must get.
    pub fn count(self, items: usize) -> (Vec<u8>, Vec<u8>) {
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        match self {
            Self::Member => resp_command(&mut request, &[b"SCARD", WHOLE]),
            Self::ScoredMember => resp_command(&mut request, &[b"ZCARD", WHOLE]),
            Self::Field => resp_command(&mut request, &[b"HLEN", WHOLE]),
            Self::Element => resp_command(&mut request, &[b"LLEN", WHOLE]),
            Self::Entry => resp_command(&mut request, &[b"XLEN", WHOLE]),
            _ => resp_command(&mut request, &[b"DBSIZE"]),
        }
        Reply::Number(items).append(&mut reply);
        (request, reply)
    }
}

fn words(words: &[&[u8]]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.to_vec()).collect()
}

/// The reply to a request.
#[derive(Debug, Clone, Copy)]
enum Reply {
    Ok,
    Number(usize),
    /// Any identifier of a stream's entry.
    Id,
}

impl Reply {
    fn append(self, expected: &mut Vec<u8>) {
        match self {
            Self::Ok => expected.extend_from_slice(b"+OK\r\n"),
            Self::Number(number) => resp_number(expected, number),
            Self::Id => resp_any_id(expected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_added_by_requests_that_servers_understand() {
        let said = |kind: ItemKind| {
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            kind.add(6, b"0123456789abcdef", &mut out, &mut expected);
            (out.escape_ascii().to_string(), expected.escape_ascii().to_string())
        };
        let key = r"$16\r\n0123456789abcdef\r\n";
        let set = [r"*3\r\n$3\r\nSET\r\n", key, r"$8\r\nvvvvvvvv\r\n"].concat();
        assert_eq!(said(ItemKind::String(8)), (set, r"+OK\r\n".to_owned()));
        let push = [r"*3\r\n$5\r\nRPUSH\r\n$5\r\nwhole\r\n", key].concat();
        assert_eq!(said(ItemKind::Element), (push, r":7\r\n".to_owned()));
        assert!(said(ItemKind::SmallHash).0.starts_with(&[r"*12\r\n$4\r\nHSET\r\n", key].concat()));
        assert_eq!(said(ItemKind::SmallHash).1, r":5\r\n");
        assert!(said(ItemKind::SmallSortedSet).0.starts_with(r"*22\r\n$4\r\nZADD\r\n"));
    }
}
