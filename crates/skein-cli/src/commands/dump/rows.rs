//! Writes the rows of a page of keys. Pipelines read values and expiry times; collections are read
//! piece by piece.

use std::ops::ControlFlow;

use skein_server::parse_double;
use skeindb::client::Reply;

use super::DumpOutput;
use super::output::DumpPieces;
use crate::exit::Failure;
use crate::format::RecordBody;
use crate::remote::{CommandPeer, ListPiece, ListRead, StreamPiece, StreamRead, is_changed};

/// Columns or members per step of a scan.
const PIECE: &[u8] = b"1000";
/// The start of the error for a key of another type.
const OTHER_KIND: &str = "WRONGTYPE";
/// PEXPIRETIME's answer for a missing key.
const GONE: i64 = -2;
/// A pipeline ends at this many bytes of commands. It fits into the connection's buffers, so
/// sending one never waits for its own replies.
const PIPELINE_BYTES: usize = 16 << 10;

/// Writes the values of these keys. Returns a break if the caller should send no more keys.
pub fn write(
    peer: &mut impl CommandPeer,
    keys: &[Vec<u8>],
    output: &mut DumpOutput,
) -> Result<ControlFlow<()>, Failure> {
    if output.keys_only {
        return Ok(keys.iter().try_for_each(|key| output.key(key)));
    }
    let mut rest = keys;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take_while(|key| {
            bytes += 2 * key.len() + 64;
            bytes <= PIPELINE_BYTES
        });
        let (part, after) = rest.split_at(fits.count().max(1));
        rest = after;
        if dump_part(peer, part, output)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn dump_part(
    peer: &mut impl CommandPeer,
    keys: &[Vec<u8>],
    output: &mut DumpOutput,
) -> Result<ControlFlow<()>, Failure> {
    let commands: Vec<[&[u8]; 2]> =
        keys.iter().flat_map(|key| [[b"GET".as_slice(), key], [b"PEXPIRETIME", key]]).collect();
    let mut replies = peer.pipeline(&commands)?.into_iter();
    for (key, reply) in keys.iter().zip(std::iter::from_fn(|| Some((replies.next()?, replies.next()?)))) {
        let expires = match reply.1 {
            // It was removed after the page was read, perhaps just after its value was.
            Reply::Integer(GONE) => continue,
            // Negative if it does not expire.
            Reply::Integer(at) => u64::try_from(at).ok(),
            other => return peer.checked(other).and_then(|other| Err(peer.unexpected(&other))),
        };
        let go_on = match reply.0 {
            Reply::Bulk(value) => output.value(key, value, expires),
            // It was removed, and inserted again.
            Reply::Null => ControlFlow::Continue(()),
            Reply::Error(text) if text.starts_with(OTHER_KIND) => dump_pieces(peer, key, expires, output)?,
            other => return peer.checked(other).and_then(|other| Err(peer.unexpected(&other))),
        };
        if go_on.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The type of a collection, which tells the meaning of a reply's items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CollectionType {
    Hash,
    SortedSet,
    Set,
    List,
}

impl CollectionType {
    /// The types with a scan, and its command.
    const SCANNED: [(Self, &[u8]); 3] =
        [(Self::Hash, b"HSCAN"), (Self::SortedSet, b"ZSCAN"), (Self::Set, b"SSCAN")];

    /// Returns the type that TYPE names so, if it is that of a collection.
    pub fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"hash" => Some(Self::Hash),
            b"zset" => Some(Self::SortedSet),
            b"set" => Some(Self::Set),
            b"list" => Some(Self::List),
            _ => None,
        }
    }
}

/// Writes a collection, or counts it if it is a hash with expiring fields. If the key receives a
/// value of another type meanwhile, the part that was read so far is written.
fn dump_pieces(
    peer: &mut impl CommandPeer,
    key: &[u8],
    expires: Option<u64>,
    output: &mut DumpOutput,
) -> Result<ControlFlow<()>, Failure> {
    if output.field_times.in_hash(peer, key)? {
        return Ok(output.refuse("hash"));
    }
    let mut pieces = output.pieces(key, expires);
    for (kind, scan) in CollectionType::SCANNED {
        let (mut cursor, mut connection) = (b"0".to_vec(), 0);
        loop {
            let page = peer.call(&[scan, key, &cursor, b"COUNT", PIECE])?;
            let is_first = cursor == b"0";
            if matches!(&page, Reply::Error(text) if text.starts_with(OTHER_KIND)) {
                if is_first {
                    break;
                }
                return Ok(pieces.finish());
            }
            if !is_first && peer.connection() != connection {
                // The key is at another node, which does not know the cursor: restart. If a piece
                // is written twice, loading it twice changes nothing.
                cursor = b"0".to_vec();
                continue;
            }
            connection = peer.connection();
            let (next, items) = peer.page(page)?;
            if add_items(peer, items, kind, &mut pieces)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if next == b"0" {
                return Ok(pieces.finish());
            }
            cursor = next;
        }
    }
    let mut list = ListRead::new(key);
    loop {
        match list.next(peer)? {
            ListPiece::Elements(items) => {
                if add_items(peer, items, CollectionType::List, &mut pieces)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            ListPiece::OtherKind(_) if !list.has_begun() => break,
            ListPiece::End | ListPiece::OtherKind(_) => return Ok(pieces.finish()),
        }
    }
    drop(pieces);
    dump_other(peer, key, expires, output)
}

/// Adds the columns or members that a reply has, in the order of their bytes, or the elements of a
/// list in their own order.
pub fn add_items(
    peer: &impl CommandPeer,
    mut items: Vec<Vec<u8>>,
    kind: CollectionType,
    pieces: &mut DumpPieces<'_>,
) -> Result<ControlFlow<()>, Failure> {
    if kind == CollectionType::List {
        let add = |element: Vec<u8>| pieces.add(element.len(), RecordBody::List(vec![element]));
        return Ok(items.into_iter().try_for_each(add));
    }
    if kind == CollectionType::Set {
        items.sort_unstable();
        let add = |member: Vec<u8>| pieces.add(member.len(), RecordBody::Set(vec![member]));
        return Ok(items.into_iter().try_for_each(add));
    }
    let mut items = items.into_iter();
    let mut found: Vec<_> = std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect();
    // The scan of a large sorted set returns members in this sequence, that of a small one by
    // score.
    found.sort_unstable();
    for (name, text) in found {
        let added = if kind == CollectionType::SortedSet {
            let score = parse_double(&text).ok_or_else(|| peer.unexpected(&Reply::Bulk(text)))?;
            pieces.add(name.len(), RecordBody::Members(vec![(name, score)]))
        } else {
            pieces.add(name.len() + text.len(), RecordBody::Columns(vec![(name, text)]))
        };
        if added.is_break() {
            return Ok(added);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Writes a stream, or counts a key of a type that no format can hold.
fn dump_other(
    peer: &mut impl CommandPeer,
    key: &[u8],
    expires: Option<u64>,
    output: &mut DumpOutput,
) -> Result<ControlFlow<()>, Failure> {
    match peer.one(&[b"TYPE", key])? {
        // It changed after it was read, so it did not have its present type all the time.
        Reply::Simple(kind) if matches!(&*kind, "none" | "string" | "hash" | "zset" | "set" | "list") => {
            Ok(ControlFlow::Continue(()))
        }
        Reply::Simple(kind) if kind == "stream" => dump_stream(peer, key, expires, output),
        Reply::Simple(kind) => Ok(output.refuse(&kind)),
        other => Err(peer.unexpected(&other)),
    }
}

/// Writes a stream. As with other collections, the part that was read is written if the key changes
/// meanwhile.
fn dump_stream(
    peer: &mut impl CommandPeer,
    key: &[u8],
    expires: Option<u64>,
    output: &mut DumpOutput,
) -> Result<ControlFlow<()>, Failure> {
    let mut pieces = output.pieces(key, expires);
    let mut stream = StreamRead::new(key);
    loop {
        match stream.next(peer)? {
            StreamPiece::Part(part) => {
                if pieces.stream_part(part).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            StreamPiece::Refused(text) if !is_changed(&text) => return Err(peer.refused(&text)),
            StreamPiece::End | StreamPiece::Refused(_) => return Ok(pieces.finish()),
        }
    }
}
