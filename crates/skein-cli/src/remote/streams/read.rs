//! Reads of streams.
//!
//! `XINFO STREAM FULL` shows all consumers, and as many entries and pending entries as it is asked
//! for. So it shows few pending entries whole. `XPENDING` pages many of them, but with their idle
//! times. Each page begins with the last entry of the page before: its delivery time is known, so
//! its idle time tells the source's clock, and the clock tells the times of the others.

use std::collections::HashMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use skein_data::StreamPart;
use skein_rdb::stream::{PendingEntry, StreamConsumer, StreamEntry, StreamGroup, StreamId, StreamPosition};
use skeindb::client::Reply;

use crate::exit::Failure;
use crate::format::parse_id;
use crate::remote::peer::{CommandPeer, TOO_LONG};

/// The entries of the first page.
const FIRST_PAGE: u64 = 100;
/// The most entries, or pending entries, of a page.
const PAGE: u64 = 1000;
/// A page should not have many more bytes than this.
const PAGE_BYTES: usize = 1 << 20;
/// The pending entries of each group that are asked for first.
const FEW_PENDING: u64 = 10;

/// The next part of a stream.
#[derive(Debug, PartialEq)]
pub enum StreamPiece {
    /// A part. The first one has the groups, the last one the counters.
    Part(StreamPart),
    /// The stream is read.
    End,
    /// The server rejected a read, with this error: the key is absent or has another type, or the
    /// server is too old.
    Refused(String),
}

/// Returns whether the error of a [`StreamPiece::Refused`] says that the key is absent, or has
/// another type now.
pub fn is_changed(error: &str) -> bool {
    error.starts_with("WRONGTYPE") || error.starts_with("ERR no such key")
}

/// The part that is read next.
enum NextPart {
    Groups,
    /// Entries from this id on.
    Entries(StreamId),
    Position,
    End,
}

/// A read of a stream. It has all entries up to the id that was last when the read began.
pub struct StreamRead<'k> {
    key: &'k [u8],
    next: NextPart,
    position: StreamPosition,
    /// The number of entries to ask for.
    most: u64,
}

impl<'k> StreamRead<'k> {
    pub fn new(key: &'k [u8]) -> Self {
        Self { key, next: NextPart::Groups, position: StreamPosition::default(), most: FIRST_PAGE }
    }

    /// Reads the next part.
    pub fn next(&mut self, peer: &mut impl CommandPeer) -> Result<StreamPiece, Failure> {
        loop {
            match self.next {
                NextPart::Groups => {
                    let info = match StreamInfo::read(peer, self.key)? {
                        Ok(info) => info,
                        Err(text) => return Ok(StreamPiece::Refused(text)),
                    };
                    self.position = info.position;
                    self.next = NextPart::Entries(StreamId::default());
                    return Ok(StreamPiece::Part(StreamPart::Groups(info.groups)));
                }
                NextPart::Entries(first) if first <= self.position.last_id => {
                    match self.read_entries(peer, first)? {
                        Ok(entries) if entries.is_empty() => {}
                        Ok(entries) => return Ok(StreamPiece::Part(StreamPart::Entries(entries))),
                        Err(text) => return Ok(StreamPiece::Refused(text)),
                    }
                }
                NextPart::Entries(_) => self.next = NextPart::Position,
                NextPart::Position => {
                    self.next = NextPart::End;
                    return Ok(StreamPiece::Part(StreamPart::Position(self.position)));
                }
                NextPart::End => return Ok(StreamPiece::End),
            }
        }
    }

    /// Reads the next page of entries. If it is longer than the server's limit of a reply, asks for
    /// half as many.
    fn read_entries(
        &mut self,
        peer: &mut impl CommandPeer,
        first: StreamId,
    ) -> Result<Result<Vec<StreamEntry>, String>, Failure> {
        let (start, end) = (first.to_string(), self.position.last_id.to_string());
        loop {
            let count = self.most.to_string();
            let range: [&[u8]; 6] =
                [b"XRANGE", self.key, start.as_bytes(), end.as_bytes(), b"COUNT", count.as_bytes()];
            let items = match peer.call(&range)? {
                Reply::Array(items) => items,
                Reply::Error(text) if text.contains(TOO_LONG) && self.most > 1 => {
                    self.most /= 2;
                    continue;
                }
                Reply::Error(text) => return Ok(Err(text)),
                other => return Err(peer.unexpected(&other)),
            };
            let is_last = (items.len() as u64) < self.most;
            let entries = items.into_iter().map(|item| entry_of(item).map_err(|item| peer.unexpected(&item)));
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            let behind = entries.last().and_then(|last| last.id.next());
            self.next = match behind {
                Some(next) if !is_last => NextPart::Entries(next),
                _ => NextPart::Position,
            };
            let bytes: usize = entries.iter().map(StreamEntry::memory).sum();
            let fits = self.most.saturating_mul(PAGE_BYTES as u64) / bytes.max(1) as u64;
            self.most = fits.min(2 * self.most).clamp(1, PAGE);
            return Ok(Ok(entries));
        }
    }
}

/// The answer of `XINFO STREAM FULL`.
struct StreamInfo {
    position: StreamPosition,
    groups: Vec<StreamGroup>,
    /// The number of pending entries of each group, which may have more than were shown.
    pending: Vec<u64>,
}

impl StreamInfo {
    /// Reads the counters and all groups. Returns the error of a server that rejects the read.
    fn read(peer: &mut impl CommandPeer, key: &[u8]) -> Result<Result<Self, String>, Failure> {
        let mut most = FEW_PENDING;
        loop {
            let mut info = match Self::shown(peer, key, most)? {
                Ok(info) => info,
                // Its entries are long.
                Err(text) if text.contains(TOO_LONG) && most > 1 => {
                    most = 1;
                    match Self::shown(peer, key, most)? {
                        Ok(info) => info,
                        Err(text) => return Ok(Err(text)),
                    }
                }
                Err(text) => return Ok(Err(text)),
            };
            let longest = info.pending.iter().copied().max().unwrap_or(0);
            if longest <= most {
                return Ok(Ok(info));
            }
            if most == FEW_PENDING && longest <= PAGE {
                most = longest;
                continue;
            }
            for (group, pending) in info.groups.iter_mut().zip(info.pending.iter()) {
                if *pending > group.pending.len() as u64
                    && let Err(text) = read_pending(peer, key, group)?
                {
                    return Ok(Err(text));
                }
            }
            return Ok(Ok(info));
        }
    }

    /// Returns the server's view of the stream with this number of entries.
    fn shown(peer: &mut impl CommandPeer, key: &[u8], most: u64) -> Result<Result<Self, String>, Failure> {
        let count = most.to_string();
        let command: [&[u8]; 6] = [b"XINFO", b"STREAM", key, b"FULL", b"COUNT", count.as_bytes()];
        match peer.call_of_key(key, &command)? {
            Reply::Error(text) => Ok(Err(text)),
            reply => {
                let info = Self::of(reply.clone()).ok_or_else(|| peer.unexpected(&reply))?;
                Ok(Ok(info))
            }
        }
    }

    /// Returns `None` if the reply has another form.
    fn of(reply: Reply) -> Option<Self> {
        let mut fields = NamedReplies::of(reply)?;
        let len = fields.number("length")?;
        let position = StreamPosition {
            len,
            last_id: fields.id("last-generated-id")?,
            // Redis has both since version 7.
            max_deleted_id: fields.id("max-deleted-entry-id").unwrap_or_default(),
            entries_added: fields.number("entries-added").unwrap_or(len),
        };
        let (mut groups, mut pending) = (Vec::new(), Vec::new());
        for group in fields.list("groups")? {
            let mut fields = NamedReplies::of(group)?;
            pending.push(fields.number("pel-count")?);
            groups.push(group_of(&mut fields)?);
        }
        Some(Self { position, groups, pending })
    }
}

fn group_of(fields: &mut NamedReplies) -> Option<StreamGroup> {
    let mut consumers = Vec::new();
    for consumer in fields.list("consumers")? {
        let mut fields = NamedReplies::of(consumer)?;
        let seen_at = fields.number("seen-time")?;
        consumers.push(StreamConsumer { name: fields.text("name")?, seen_at, active_at: Some(seen_at) });
    }
    let mut group = StreamGroup {
        name: fields.text("name")?,
        last_id: fields.id("last-delivered-id")?,
        entries_read: fields.number("entries-read"),
        pending: Vec::new(),
        consumers,
    };
    let indexes = indexes_of(&group);
    // Redis 7 calls it `pel`, its documentation `pending`.
    for item in match fields.list("pending") {
        Some(items) => items,
        None => fields.list("pel")?,
    } {
        let (id, owner, delivered_at, deliveries) = four_of(item)?;
        if let Some(consumer) = indexes.get(&owner) {
            group.pending.push(PendingEntry { id, consumer: *consumer, delivered_at, deliveries });
        }
    }
    Some(group)
}

/// Returns the consumers of a group by name.
fn indexes_of(group: &StreamGroup) -> HashMap<Vec<u8>, usize> {
    group.consumers.iter().enumerate().map(|(at, consumer)| (consumer.name.clone(), at)).collect()
}

/// Returns an id, a consumer, and two numbers.
fn four_of(item: Reply) -> Option<(StreamId, Vec<u8>, u64, u64)> {
    let Reply::Array(items) = item else { return None };
    let [Reply::Bulk(id), Reply::Bulk(owner), Reply::Integer(third), Reply::Integer(fourth)] =
        <[Reply; 4]>::try_from(items).ok()?
    else {
        return None;
    };
    Some((parse_id(&id)?, owner, u64::try_from(third).ok()?, u64::try_from(fourth).ok()?))
}

/// Reads all pending entries of a group that has the first ones. Returns the error of a server that
/// rejects the read.
fn read_pending(
    peer: &mut impl CommandPeer,
    key: &[u8],
    group: &mut StreamGroup,
) -> Result<Result<(), String>, Failure> {
    let indexes = indexes_of(group);
    let mut most = PAGE;
    let mut clock = SourceClock::new(group.pending.first());
    group.pending.clear();
    let mut last = None;
    loop {
        let (start, count) = (last.unwrap_or(StreamId::MIN).to_string(), most.to_string());
        let command: [&[u8]; 6] = [b"XPENDING", key, &group.name, start.as_bytes(), b"+", count.as_bytes()];
        let items = match peer.call(&command)? {
            Reply::Array(items) => items,
            // Two at least, because the first one was in the page before.
            Reply::Error(text) if text.contains(TOO_LONG) && most > 3 => {
                most /= 2;
                continue;
            }
            Reply::Error(text) => return Ok(Err(text)),
            other => return Err(peer.unexpected(&other)),
        };
        let is_last = (items.len() as u64) < most;
        let mut now = clock.now();
        for item in items {
            let (id, owner, idle, deliveries) =
                four_of(item.clone()).ok_or_else(|| peer.unexpected(&item))?;
            if clock.known.id == id {
                now = clock.known.delivered_at.saturating_add(idle);
                clock.set(now);
            }
            let delivered_at = now.saturating_sub(idle);
            if last != Some(id) {
                // Without one, the consumer was made meanwhile.
                if let Some(consumer) = indexes.get(&owner) {
                    group.pending.push(PendingEntry { id, consumer: *consumer, delivered_at, deliveries });
                }
            }
            last = Some(id);
            clock.known = KnownDelivery { id, delivered_at };
        }
        if is_last {
            return Ok(Ok(()));
        }
    }
}

/// An entry with a known delivery time.
struct KnownDelivery {
    id: StreamId,
    delivered_at: u64,
}

/// The clock of the source. If the known entry was acknowledged since, the local clock tells how
/// much later it is.
struct SourceClock {
    known: KnownDelivery,
    millis: u64,
    at: Instant,
}

impl SourceClock {
    /// Returns a clock that will be set by this entry. Until then it is the local one.
    fn new(first: Option<&PendingEntry>) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (id, delivered_at) = first.map_or_else(Default::default, |first| (first.id, first.delivered_at));
        Self {
            known: KnownDelivery { id, delivered_at },
            millis: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            at: Instant::now(),
        }
    }

    fn set(&mut self, millis: u64) {
        (self.millis, self.at) = (millis, Instant::now());
    }

    fn now(&self) -> u64 {
        self.millis.saturating_add(u64::try_from(self.at.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// Returns an entry of `XRANGE`.
///
/// # Errors
/// Returns a reply of another form.
fn entry_of(item: Reply) -> Result<StreamEntry, Reply> {
    let parse = |item: &Reply| {
        let Reply::Array(pair) = item else { return None };
        let [Reply::Bulk(id), Reply::Array(texts)] = &pair[..] else { return None };
        let fields = texts.chunks(2).map(|pair| match pair {
            [Reply::Bulk(name), Reply::Bulk(value)] => Some((name.clone(), value.clone())),
            _ => None,
        });
        Some(StreamEntry { id: parse_id(id)?, fields: fields.collect::<Option<_>>()? })
    };
    parse(&item).ok_or(item)
}

/// A reply of names and values.
struct NamedReplies(HashMap<Vec<u8>, Reply>);

impl NamedReplies {
    fn of(reply: Reply) -> Option<Self> {
        let pairs = match reply {
            Reply::Map(pairs) => pairs,
            // In RESP2 it is flat.
            Reply::Array(items) => {
                let mut items = items.into_iter();
                std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect()
            }
            _ => return None,
        };
        let named = pairs.into_iter().map(|(name, value)| match name {
            Reply::Bulk(name) => Some((name, value)),
            Reply::Simple(name) => Some((name.into_bytes(), value)),
            _ => None,
        });
        named.collect::<Option<_>>().map(Self)
    }

    fn number(&self, name: &str) -> Option<u64> {
        if let Some(Reply::Integer(number)) = self.0.get(name.as_bytes()) {
            u64::try_from(*number).ok()
        } else {
            None
        }
    }

    fn id(&self, name: &str) -> Option<StreamId> {
        if let Some(Reply::Bulk(id)) = self.0.get(name.as_bytes()) { parse_id(id) } else { None }
    }

    fn text(&mut self, name: &str) -> Option<Vec<u8>> {
        if let Some(Reply::Bulk(text)) = self.0.remove(name.as_bytes()) { Some(text) } else { None }
    }

    fn list(&mut self, name: &str) -> Option<Vec<Reply>> {
        if let Some(Reply::Array(items)) = self.0.remove(name.as_bytes()) { Some(items) } else { None }
    }
}

#[cfg(test)]
mod tests;
