//! Reads and writes of lists, piece by piece.
//!
//! A list has no scan with a cursor, so LRANGE reads it from an index. A cluster's client repeats a
//! command if its connection broke before the reply. A repeated SET or SADD changes nothing, but a
//! repeated RPUSH appends its elements twice. [`ListAppend`] detects that and removes them.

use skeindb::client::Reply;

use super::peer::{CommandPeer, TOO_LONG};
use crate::exit::Failure;

/// The most elements of a piece.
const PIECE: u64 = 1000;
/// The start of the error for a key of another type.
const OTHER_KIND: &str = "WRONGTYPE";

/// The next part of a list.
#[derive(Debug, PartialEq, Eq)]
pub enum ListPiece {
    /// Elements, in their order. There is at least one.
    Elements(Vec<Vec<u8>>),
    /// The list has no more elements, or does not exist.
    End,
    /// The key holds a value of another type, as this error of the server says.
    OtherKind(String),
}

/// A read of a list, from its first element on.
pub struct ListRead<'k> {
    key: &'k [u8],
    /// The index of the next piece.
    next: u64,
    /// The number of elements to ask for.
    most: u64,
    at_end: bool,
}

impl<'k> ListRead<'k> {
    pub fn new(key: &'k [u8]) -> Self {
        Self { key, next: 0, most: PIECE, at_end: false }
    }

    /// Returns whether a piece was read.
    pub fn has_begun(&self) -> bool {
        self.next > 0
    }

    /// Reads the next piece. If it is longer than the server's limit of a reply, asks for half as
    /// many elements.
    pub fn next(&mut self, peer: &mut impl CommandPeer) -> Result<ListPiece, Failure> {
        while !self.at_end {
            let (first, last) = (self.next.to_string(), (self.next + self.most - 1).to_string());
            let items = match peer.call(&[b"LRANGE", self.key, first.as_bytes(), last.as_bytes()])? {
                Reply::Array(items) => items,
                Reply::Error(text) if text.starts_with(OTHER_KIND) => return Ok(ListPiece::OtherKind(text)),
                Reply::Error(text) if text.contains(TOO_LONG) && self.most > 1 => {
                    self.most /= 2;
                    continue;
                }
                other => return peer.checked(other).and_then(|other| Err(peer.unexpected(&other))),
            };
            self.next += items.len() as u64;
            self.at_end = (items.len() as u64) < self.most;
            if items.is_empty() {
                break;
            }
            let element =
                |item| if let Reply::Bulk(bytes) = item { Ok(bytes) } else { Err(peer.unexpected(&item)) };
            return items.into_iter().map(element).collect::<Result<_, _>>().map(ListPiece::Elements);
        }
        Ok(ListPiece::End)
    }
}

/// Appends pieces to one list of a server or a cluster, each of them once.
///
/// ```text
///   LLEN   ─► the length before, and the connection that answered
///   RPUSH  ─► the length after
///             another connection, and longer by twice the piece or more ─► LTRIM
/// ```
///
/// If other clients append to the same list in that moment, LTRIM may remove their elements.
#[derive(Debug, Default)]
pub struct ListAppend {
    /// The length of the list, and the connection that answered it.
    known: Option<(i64, u64)>,
}

impl ListAppend {
    /// Returns an append to a key that the last call to `peer` removed.
    pub fn to_removed(peer: &impl CommandPeer) -> Self {
        Self { known: Some((0, peer.connection())) }
    }

    /// Runs a command RPUSH, with its key and elements. Returns its reply, or the error of a
    /// command that failed.
    pub fn push(&mut self, peer: &mut impl CommandPeer, command: &[&[u8]]) -> Result<Reply, Failure> {
        let [_, key, elements @ ..] = command else { return peer.call(command) };
        if !peer.repeats() {
            return peer.call(command);
        }
        let (before, connection) = match self.known.take() {
            Some(known) => known,
            None => match peer.call(&[b"LLEN", key])? {
                Reply::Integer(len) => (len, peer.connection()),
                other => return Ok(other),
            },
        };
        let reply = peer.call(command)?;
        let Reply::Integer(len) = reply else { return Ok(reply) };
        let pushed = i64::try_from(elements.len()).unwrap_or(i64::MAX);
        let wanted = before.saturating_add(pushed);
        if peer.connection() == connection || len < wanted.saturating_add(pushed) {
            self.known = Some((len, peer.connection()));
            return Ok(reply);
        }
        let last = (wanted - 1).to_string();
        let trimmed = peer.call(&[b"LTRIM", key, b"0", last.as_bytes()])?;
        if let Reply::Error(_) = trimmed {
            return Ok(trimmed);
        }
        self.known = Some((wanted, peer.connection()));
        Ok(Reply::Integer(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::peer::FakeServer;

    /// A server with one list. It may lose its connection before a reply, or limit its replies.
    #[derive(Default)]
    struct FakePeer {
        list: Vec<Vec<u8>>,
        /// How often the next RPUSH loses its reply, and is sent again.
        losses: u32,
        connection: u64,
        /// The most elements of a reply.
        limit: usize,
        asked: Vec<String>,
    }

    impl FakePeer {
        fn len(&self) -> Reply {
            Reply::Integer(i64::try_from(self.list.len()).unwrap())
        }
    }

    impl FakeServer for FakePeer {
        const REPEATS: bool = true;

        fn answer(&mut self, command: &[&[u8]]) -> Reply {
            let number = |at: usize| -> usize { String::from_utf8_lossy(command[at]).parse().unwrap() };
            let name = String::from_utf8_lossy(command[0]).into_owned();
            self.asked.push(name.clone());
            if command[1] != b"list" {
                return Reply::Error("WRONGTYPE Operation".to_owned());
            }
            match &*name {
                "LLEN" => self.len(),
                "RPUSH" => {
                    for _ in 0..=std::mem::take(&mut self.losses) {
                        self.list.extend(command[2..].iter().map(|element| element.to_vec()));
                        self.connection += 1;
                    }
                    self.connection -= 1;
                    self.len()
                }
                "LTRIM" => {
                    self.list.truncate(number(3) + 1);
                    Reply::ok()
                }
                "LRANGE" => {
                    let rest = self.list.iter().skip(number(2));
                    let found: Vec<_> = rest.take(number(3) + 1 - number(2)).cloned().collect();
                    if found.len() > self.limit {
                        return Reply::Error(format!("ERR {TOO_LONG} of 9 bytes"));
                    }
                    Reply::Array(found.into_iter().map(Reply::Bulk).collect())
                }
                _ => Reply::Error(format!("ERR unknown command {name}")),
            }
        }

        fn answered_by(&self) -> u64 {
            self.connection
        }
    }

    fn elements(numbers: std::ops::Range<u32>) -> Vec<Vec<u8>> {
        numbers.map(|number| number.to_string().into_bytes()).collect()
    }

    #[test]
    fn a_piece_that_came_twice_is_removed() {
        let mut peer = FakePeer { list: elements(0..2), ..FakePeer::default() };
        let mut append = ListAppend::default();
        for (losses, first) in [(0, 2), (1, 5), (0, 8), (2, 11)] {
            peer.losses = losses;
            let piece = elements(first..first + 3);
            let words: Vec<&[u8]> =
                [b"RPUSH".as_slice(), b"list"].into_iter().chain(piece.iter().map(Vec::as_slice)).collect();
            let reply = append.push(&mut peer, &words).map_err(|failure| failure.message).unwrap();
            assert_eq!(reply, Reply::Integer(i64::from(first) + 3));
            assert_eq!(peer.list, elements(0..first + 3));
        }
        assert_eq!(peer.asked.iter().filter(|name| *name == "LLEN").count(), 1, "the length stays known");
        let refused = ListAppend::default().push(&mut peer, &[b"RPUSH", b"hash", b"x"]);
        assert!(matches!(refused, Ok(Reply::Error(text)) if text.starts_with("WRONGTYPE")));
    }

    #[test]
    fn a_list_is_read_in_shorter_pieces_if_its_replies_are_too_long() {
        let mut peer = FakePeer { list: elements(0..2500), limit: 600, ..FakePeer::default() };
        let mut read = ListRead::new(b"list");
        let mut found = Vec::new();
        loop {
            match read.next(&mut peer).map_err(|failure| failure.message).unwrap() {
                ListPiece::Elements(piece) => {
                    assert!(piece.len() <= 500);
                    found.extend(piece);
                }
                ListPiece::End => break,
                ListPiece::OtherKind(text) => panic!("{text}"),
            }
        }
        assert_eq!(found, peer.list);
        assert!(read.has_begun());
        let mut other = ListRead::new(b"hash");
        assert!(matches!(other.next(&mut peer), Ok(ListPiece::OtherKind(_))) && !other.has_begun());
    }
}
