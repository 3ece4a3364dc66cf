//! The records of a stream: their names and their values. `docs/format.md` draws the bytes.

use super::StreamId;
use super::chunks::{ChunkEntries, EntryChunk};

/// The count of a group that does not know how many entries were delivered.
pub const ENTRIES_READ_UNKNOWN: i64 = -1;

const ENTRY: u8 = 0;
const HEAD: u8 = 1;
const GROUP: u8 = 2;
const CONSUMER: u8 = 3;
const PENDING: u8 = 4;
const OWNED: u8 = 5;

/// The last byte of the name of a chunk.
const CHUNK: u8 = 1;
/// The length of the name of a chunk.
const CHUNK_NAME: usize = 18;

/// The name of the head.
pub(super) const HEAD_NAME: &[u8] = &[HEAD];

/// The head of a stream: its last id and its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamHead {
    /// The last id that was given away.
    pub last_id: StreamId,
    /// The greatest id that was removed by name.
    pub max_deleted_id: StreamId,
    /// The number of entries that were ever added.
    pub added: u64,
    /// The number of entries.
    pub len: u64,
    /// The number of the next group.
    pub next_group: u32,
}

/// A consumer group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its number within the stream.
    pub number: u32,
    /// The last id that was delivered.
    pub last_id: StreamId,
    /// The number of entries up to `last_id`, or [`ENTRIES_READ_UNKNOWN`].
    pub entries_read: i64,
    /// The number of pending entries.
    pub pending: u64,
    /// The number of consumers.
    pub consumers: u64,
    /// The number of the next consumer.
    pub next_consumer: u32,
}

/// A consumer of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// Its number within the group.
    pub number: u32,
    /// When it last asked for entries, in milliseconds since 1970.
    pub seen: u64,
    /// The number of its pending entries.
    pub pending: u64,
}

/// An entry that was delivered to a consumer and is not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEntry {
    /// When it was last delivered, in milliseconds since 1970.
    pub delivered: u64,
    /// How often it was delivered.
    pub deliveries: u64,
    /// The name of the consumer.
    pub consumer: Vec<u8>,
}

/// A record of a stream, as a member of its collection shows it.
#[derive(Debug)]
pub enum StreamRecord<'r> {
    /// Entries.
    Entries(ChunkEntries<'r>),
    /// The head of the stream, and its last entries.
    Head(StreamHead, ChunkEntries<'r>),
    /// A group and its name.
    Group(&'r [u8], Group),
    /// The number of a group, and the name of a consumer.
    Consumer(u32, &'r [u8], Consumer),
    /// The number of a group, and an entry that is pending in it.
    Pending(u32, StreamId, PendingEntry),
    /// A pending entry again, in the order of consumers.
    Owned,
}

impl<'r> StreamRecord<'r> {
    /// Returns the record of a member, or `None` if the member does not belong to a stream.
    pub fn of(name: &'r [u8], value: &'r [u8]) -> Option<Self> {
        let (&tag, mut rest) = name.split_first()?;
        let mut value = Fields(value);
        match tag {
            ENTRY => entries_in(name, value.0).map(Self::Entries),
            HEAD => {
                let head = value.head()?;
                let (base, chunk) =
                    if value.0.is_empty() { (StreamId::MIN, value.0) } else { (value.id()?, value.0) };
                Some(Self::Head(head, ChunkEntries::packed(base, chunk)))
            }
            GROUP => Some(Self::Group(rest, value.group()?)),
            CONSUMER => Some(Self::Consumer(split_number(&mut rest)?, rest, value.consumer()?)),
            PENDING => Some(Self::Pending(split_number(&mut rest)?, id_at_end(rest)?, value.pending()?)),
            OWNED => Some(Self::Owned),
            _ => None,
        }
    }
}

/// The bytes of a value that are not read yet.
struct Fields<'v>(&'v [u8]);

impl Fields<'_> {
    fn u64(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn id(&mut self) -> Option<StreamId> {
        Some(StreamId { ms: self.u64()?, seq: self.u64()? })
    }

    fn head(&mut self) -> Option<StreamHead> {
        Some(StreamHead {
            last_id: self.id()?,
            max_deleted_id: self.id()?,
            added: self.u64()?,
            len: self.u64()?,
            next_group: self.u32()?,
        })
    }

    fn group(&mut self) -> Option<Group> {
        Some(Group {
            number: self.u32()?,
            last_id: self.id()?,
            entries_read: self.u64()?.cast_signed(),
            pending: self.u64()?,
            consumers: self.u64()?,
            next_consumer: self.u32()?,
        })
    }

    fn consumer(&mut self) -> Option<Consumer> {
        Some(Consumer { number: self.u32()?, seen: self.u64()?, pending: self.u64()? })
    }

    fn pending(&mut self) -> Option<PendingEntry> {
        let (delivered, deliveries) = (self.u64()?, self.u64()?);
        Some(PendingEntry { delivered, deliveries, consumer: self.0.to_vec() })
    }
}

/// Reads the head and the tail, which is the chunk with the last entries.
pub(super) fn read_head(value: &[u8]) -> Option<(StreamHead, Option<EntryChunk>)> {
    let mut value = Fields(value);
    let head = value.head()?;
    Some((head, value.id().map(|base| EntryChunk::of(base, value.0))))
}

/// Returns the entries in a member; `None` if it is no chunk.
pub(super) fn entries_in<'v>(name: &[u8], value: &'v [u8]) -> Option<ChunkEntries<'v>> {
    base_in(name).map(|base| ChunkEntries::packed(base, value))
}

/// Returns the id in the name of a chunk: none of its entries is less.
pub(super) fn base_in(name: &[u8]) -> Option<StreamId> {
    match name {
        [ENTRY, base @ .., CHUNK] => base.try_into().ok().map(StreamId::from_bytes),
        _ => None,
    }
}

pub(super) fn read_group(value: &[u8]) -> Option<Group> {
    Fields(value).group()
}

pub(super) fn read_consumer(value: &[u8]) -> Option<Consumer> {
    Fields(value).consumer()
}

pub(super) fn read_pending(value: &[u8]) -> Option<PendingEntry> {
    Fields(value).pending()
}

fn put_id(out: &mut Vec<u8>, id: StreamId) {
    out.extend_from_slice(&id.ms.to_le_bytes());
    out.extend_from_slice(&id.seq.to_le_bytes());
}

impl StreamHead {
    /// Returns the value of the member, with the tail.
    pub(super) fn to_bytes(self, tail: Option<&EntryChunk>) -> Vec<u8> {
        let mut out = Vec::with_capacity(68 + tail.map_or(0, |tail| tail.as_bytes().len()));
        put_id(&mut out, self.last_id);
        put_id(&mut out, self.max_deleted_id);
        out.extend_from_slice(&self.added.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.next_group.to_le_bytes());
        if let Some(tail) = tail {
            put_id(&mut out, tail.base);
            out.extend_from_slice(tail.as_bytes());
        }
        out
    }
}

impl Group {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        out.extend_from_slice(&self.number.to_le_bytes());
        put_id(&mut out, self.last_id);
        out.extend_from_slice(&self.entries_read.to_le_bytes());
        out.extend_from_slice(&self.pending.to_le_bytes());
        out.extend_from_slice(&self.consumers.to_le_bytes());
        out.extend_from_slice(&self.next_consumer.to_le_bytes());
        out
    }
}

impl Consumer {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(20);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.seen.to_le_bytes());
        out.extend_from_slice(&self.pending.to_le_bytes());
        out
    }
}

impl PendingEntry {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + self.consumer.len());
        out.extend_from_slice(&self.delivered.to_le_bytes());
        out.extend_from_slice(&self.deliveries.to_le_bytes());
        out.extend_from_slice(&self.consumer);
        out
    }
}

fn split_number(name: &mut &[u8]) -> Option<u32> {
    let (number, rest) = name.split_first_chunk()?;
    *name = rest;
    Some(u32::from_be_bytes(*number))
}

/// Returns the id that a name ends with.
pub(super) fn id_at_end(name: &[u8]) -> Option<StreamId> {
    name.last_chunk().map(|bytes| StreamId::from_bytes(*bytes))
}

/// Returns the name of the chunk with this base.
pub(super) fn chunk_name(base: StreamId) -> [u8; CHUNK_NAME] {
    entry_name(base, CHUNK)
}

/// Returns a name greater than that of the chunk with the base `id`, and less than those of greater
/// bases.
pub(super) fn behind_base(id: StreamId) -> [u8; CHUNK_NAME] {
    entry_name(id, u8::MAX)
}

fn entry_name(id: StreamId, last: u8) -> [u8; CHUNK_NAME] {
    let mut name = [last; CHUNK_NAME];
    name[0] = ENTRY;
    name[1..=size_of::<StreamId>()].copy_from_slice(&id.to_bytes());
    name
}

fn name_of<const N: usize>(tag: u8, parts: [&[u8]; N]) -> Vec<u8> {
    let mut name = vec![tag];
    for part in parts {
        name.extend_from_slice(part);
    }
    name
}

pub(super) fn group_name(name: &[u8]) -> Vec<u8> {
    name_of(GROUP, [name])
}

pub(super) fn consumer_name(group: u32, name: &[u8]) -> Vec<u8> {
    name_of(CONSUMER, [&group.to_be_bytes(), name])
}

pub(super) fn pending_name(group: u32, id: StreamId) -> Vec<u8> {
    name_of(PENDING, [&group.to_be_bytes(), &id.to_bytes()])
}

pub(super) fn owned_name(group: u32, consumer: u32, id: StreamId) -> Vec<u8> {
    name_of(OWNED, [&group.to_be_bytes(), &consumer.to_be_bytes(), &id.to_bytes()])
}

/// A range of names: the first one, and the first one behind it.
#[derive(Clone, Debug)]
pub(super) struct NameRange {
    pub start: Vec<u8>,
    pub end: Vec<u8>,
}

/// Returns the least bytes behind all that begin with these.
fn behind(mut prefix: Vec<u8>) -> Vec<u8> {
    while let Some(last) = prefix.pop() {
        if let Some(next) = last.checked_add(1) {
            prefix.push(next);
            break;
        }
    }
    prefix
}

impl NameRange {
    fn prefixed(prefix: Vec<u8>) -> Self {
        Self { end: behind(prefix.clone()), start: prefix }
    }

    /// Returns the chunks from a name on, up to the one with this base.
    pub(super) fn entries(start: Vec<u8>, last: StreamId) -> Self {
        Self { start, end: behind_base(last).to_vec() }
    }

    pub(super) fn groups() -> Self {
        Self::prefixed(vec![GROUP])
    }

    pub(super) fn consumers(group: u32) -> Self {
        Self::prefixed(consumer_name(group, &[]))
    }

    /// Returns the pending entries of a group, from an id on.
    pub(super) fn pending(group: u32, first: StreamId) -> Self {
        let all = Self::prefixed(name_of(PENDING, [&group.to_be_bytes()]));
        Self { start: pending_name(group, first), ..all }
    }

    /// Returns the pending entries of a consumer, from an id on.
    pub(super) fn owned(group: u32, consumer: u32, first: StreamId) -> Self {
        let all = Self::prefixed(name_of(OWNED, [&group.to_be_bytes(), &consumer.to_be_bytes()]));
        Self { start: owned_name(group, consumer, first), ..all }
    }

    /// Returns the pending entries of a group in the order of its consumers.
    pub(super) fn owned_in(group: u32) -> Self {
        Self::prefixed(name_of(OWNED, [&group.to_be_bytes()]))
    }
}
