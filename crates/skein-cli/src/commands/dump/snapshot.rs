//! Dumps a server as of one moment: pages of a snapshot that the server holds for this connection.

use std::ops::{Bound, ControlFlow};

use skeindb::client::{Reply, bound};

use super::DumpOutput;
use super::rows::{self, CollectionType};
use super::server::{NO_ORDER, NO_SUCH_COMMAND, PAGE};
use crate::bounds::OwnedBounds;
use crate::console;
use crate::exit::Failure;
use crate::remote::{CommandPeer, ServerPeer, TOO_LONG};
use crate::stream_payload;

/// A page should not have many more bytes than this.
const PAGE_BYTES: usize = 4 << 20;
/// The number of keys in the first page, when their lengths are still unknown.
const FIRST_PAGE: u64 = 64;
/// A part of the error of a Redis with the module, which has no snapshots.
const NO_SNAPSHOTS: &str = "there are no snapshots here";

/// The end of a dump of a snapshot.
pub enum SnapshotDump {
    Done,
    /// The server has no snapshots that a client holds, or no order of keys. Nothing is written.
    Impossible,
}

/// Writes the rows within `range` as of one moment.
pub fn dump(
    peer: &mut ServerPeer,
    range: &OwnedBounds,
    output: &mut DumpOutput,
) -> Result<SnapshotDump, Failure> {
    match peer.call(&[b"SK.SNAPSHOT", b"BEGIN"])? {
        Reply::Error(text) if text.starts_with(NO_SUCH_COMMAND) || text.contains(NO_SNAPSHOTS) => {
            return Ok(SnapshotDump::Impossible);
        }
        reply => peer.checked(reply)?,
    };
    let (mut min, max) = range.clone();
    let mut most = FIRST_PAGE;
    loop {
        let count = most.min(output.left);
        let Some(page) = page(peer, (&min, &max), count, output.keys_only)? else {
            peer.one(&[b"SK.SNAPSHOT", b"END"])?;
            return Ok(SnapshotDump::Impossible);
        };
        let items = match page {
            Reply::Array(items) => items,
            Reply::Error(text) if text.contains(TOO_LONG) && count > 1 => {
                most = count / 2;
                continue;
            }
            Reply::Error(text) if text.contains(TOO_LONG) => {
                let Some(key) = dump_long_key(peer, (&min, &max), output)? else { break };
                min = Bound::Excluded(key);
                continue;
            }
            other => return Err(peer.unexpected(&other)),
        };
        let bytes = items.iter().map(bytes_of).sum::<usize>();
        let (last, written) = write_page(peer, items, output)?;
        let Some(last) = last else { break };
        if written.is_break() {
            break;
        }
        min = Bound::Excluded(last);
        most = next_count(count, bytes);
    }
    peer.one(&[b"SK.SNAPSHOT", b"END"])?;
    Ok(SnapshotDump::Done)
}

/// Returns the number of keys for the next page, after a page of `count` keys and `bytes` bytes.
fn next_count(count: u64, bytes: usize) -> u64 {
    let fits = count.saturating_mul(PAGE_BYTES as u64) / bytes.max(1) as u64;
    fits.min(2 * count).clamp(1, PAGE)
}

/// Returns a page, or the error for one that is too long. Returns `None` if keys have no order.
fn page(
    peer: &mut ServerPeer,
    (min, max): (&Bound<Vec<u8>>, &Bound<Vec<u8>>),
    count: u64,
    keys_only: bool,
) -> Result<Option<Reply>, Failure> {
    let (from, to, count) = (bound(min, b"-"), bound(max, b"+"), count.to_string());
    let shown = if keys_only { b"NOVALUES".as_slice() } else { b"DETAILS" };
    match peer.call(&[b"SK.RANGE", &from, &to, b"LIMIT", count.as_bytes(), shown, b"HELD"])? {
        Reply::Error(text) if text.contains(NO_ORDER) => Ok(None),
        Reply::Error(text) if text.contains(TOO_LONG) => Ok(Some(Reply::Error(text))),
        reply => super::server::checked_page(peer, reply).map(Some),
    }
}

/// Writes the keys of a page. Returns the last one, and a break if no more are wanted.
fn write_page(
    peer: &ServerPeer,
    items: Vec<Reply>,
    output: &mut DumpOutput,
) -> Result<(Option<Vec<u8>>, ControlFlow<()>), Failure> {
    let (mut items, mut last) = (items.into_iter(), None);
    while let Some(item) = items.next() {
        let Reply::Bulk(key) = item else { return Err(peer.unexpected(&item)) };
        let written = if output.keys_only {
            output.key(&key)
        } else {
            let details = items.next().unwrap_or(Reply::Null);
            write_key(peer, &key, details, output)?
        };
        last = Some(key);
        if written.is_break() {
            return Ok((last, written));
        }
    }
    Ok((last, ControlFlow::Continue(())))
}

/// Writes a key with its details: type, expiry time, version and contents.
fn write_key(
    peer: &ServerPeer,
    key: &[u8],
    details: Reply,
    output: &mut DumpOutput,
) -> Result<ControlFlow<()>, Failure> {
    let details = match details {
        Reply::Array(details) => <[Reply; 4]>::try_from(details).map_err(Reply::Array),
        other => Err(other),
    };
    let [kind, expires, _, contents] = details.map_err(|other| peer.unexpected(&other))?;
    let (Reply::Bulk(kind), Reply::Integer(expires)) = (&kind, &expires) else {
        return Err(peer.unexpected(&kind));
    };
    // Negative if it does not expire.
    let expires = u64::try_from(*expires).ok();
    if kind == b"stream" {
        return match contents {
            Reply::Bulk(payload) => write_stream(key, &payload, expires, output),
            // It was removed since its row was read.
            Reply::Null => Ok(ControlFlow::Continue(())),
            other => Err(peer.unexpected(&other)),
        };
    }
    match (CollectionType::of(kind), contents) {
        (None, Reply::Bulk(value)) => Ok(output.value(key, value, expires)),
        (Some(kind), Reply::Array(items)) => {
            let items = items.into_iter().map(|item| match item {
                Reply::Bulk(bytes) => Ok(bytes),
                other => Err(peer.unexpected(&other)),
            });
            let items = items.collect::<Result<Vec<_>, _>>()?;
            let mut pieces = output.pieces(key, expires);
            let added = rows::add_items(peer, items, kind, &mut pieces)?;
            Ok(if added.is_break() { added } else { pieces.finish() })
        }
        (None, Reply::Array(_)) => Ok(output.refuse(&String::from_utf8_lossy(kind))),
        (_, other) => Err(peer.unexpected(&other)),
    }
}

/// Writes a stream from the reply of `DUMP`.
fn write_stream(
    key: &[u8],
    payload: &[u8],
    expires: Option<u64>,
    output: &mut DumpOutput,
) -> Result<ControlFlow<()>, Failure> {
    let mut pieces = output.pieces(key, expires);
    let read = stream_payload::parts(payload, |part| pieces.stream_part(part));
    let read = read.map_err(|why| {
        Failure::new(format!("the stream of the key \"{}\" cannot be read: {why}", key.escape_ascii()))
    })?;
    Ok(if read.is_break() { read } else { pieces.finish() })
}

/// Writes the first key of a range in pieces, as it is now, because its contents are too long for
/// one reply. Returns the key, or `None` if no more are wanted.
fn dump_long_key(
    peer: &mut ServerPeer,
    range: (&Bound<Vec<u8>>, &Bound<Vec<u8>>),
    output: &mut DumpOutput,
) -> Result<Option<Vec<u8>>, Failure> {
    let Some(Reply::Array(items)) = page(peer, range, 1, true)? else { return Ok(None) };
    let Some(Reply::Bulk(key)) = items.into_iter().next() else { return Ok(None) };
    console::note(format_args!(
        "skein: {} is too long for one reply, so it is written as it is now, not as of the dump's moment; for the \
         moment, raise --max-reply of the server",
        String::from_utf8_lossy(&key)
    ));
    let go_on = rows::write(peer, std::slice::from_ref(&key), output)?.is_continue();
    Ok(go_on.then_some(key))
}

fn bytes_of(reply: &Reply) -> usize {
    match reply {
        Reply::Bulk(bytes) => bytes.len(),
        Reply::Array(items) => items.iter().map(bytes_of).sum(),
        _ => size_of::<Reply>(),
    }
}
