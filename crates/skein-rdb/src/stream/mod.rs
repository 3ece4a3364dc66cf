//! Streams: entries with identifiers, and groups of consumers.
//!
//! ```text
//!   n │ node, node, …  │ counters │ g │ group: name, last id, entries read,
//!        └ 16 bytes of the first id │       pending entries, consumers with the ids that they have
//!          listpack of entries
//! ```
//!
//! A node's listpack begins with the fields of its first entry. An entry with the same fields has
//! only values, and identifiers are differences to that of the node:
//!
//! ```text
//!   count │ deleted │ fields │ name … │ 0                   the head
//!   flags │ ms │ seq │ value …                    │ count    an entry with the same fields
//!   flags │ ms │ seq │ fields │ name │ value │ …  │ count    another entry
//! ```
//!
//! `read` accepts three types of streams, and `write` makes type 19. Type 15 is that of Redis 5,
//! without the counters of added and read entries. Type 19 (Redis 7.0) has them, and type 21 (Redis
//! 7.2) has the time when a consumer last received an entry.

mod id;
mod read;
mod write;

pub use id::StreamId;
pub(crate) use read::StreamReader;
pub use write::{NODE_BYTES, StreamWriter, write_stream};

use crate::ValuePiece;
use crate::value::memory_of;

/// Marks of an entry.
const DELETED: i64 = 1;
const SAME_FIELDS: i64 = 2;

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEntry {
    /// Its identifier, which is greater than that of the entry before.
    pub id: StreamId,
    /// Names and values of its fields.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl StreamEntry {
    /// Returns the bytes of memory that it takes, about.
    pub fn memory(&self) -> usize {
        let fields = self.fields.iter().map(|(name, value)| memory_of(name) + memory_of(value));
        size_of::<Self>() + fields.sum::<usize>()
    }
}

/// The counters of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamPosition {
    /// The number of entries.
    pub len: u64,
    /// The identifier of the last entry that was added.
    pub last_id: StreamId,
    /// The greatest identifier of a deleted entry, or 0-0.
    pub max_deleted_id: StreamId,
    /// The number of entries that were ever added.
    pub entries_added: u64,
}

/// A group of consumers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamGroup {
    /// Its name.
    pub name: Vec<u8>,
    /// The last entry that was delivered.
    pub last_id: StreamId,
    /// The number of entries that were delivered, if it is known.
    pub entries_read: Option<u64>,
    /// The entries that were delivered and not acknowledged, by identifier.
    pub pending: Vec<PendingEntry>,
    /// Its consumers.
    pub consumers: Vec<StreamConsumer>,
}

impl StreamGroup {
    /// Returns the bytes of memory that it takes, about.
    pub fn memory(&self) -> usize {
        let consumers = self.consumers.iter();
        size_of::<Self>()
            + self.name.len()
            + self.pending.len() * size_of::<PendingEntry>()
            + consumers.map(|consumer| size_of::<StreamConsumer>() + consumer.name.len()).sum::<usize>()
    }
}

/// An entry that a consumer has received and not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingEntry {
    /// Its identifier. The entry itself may be deleted.
    pub id: StreamId,
    /// The index of its consumer in the group.
    pub consumer: usize,
    /// When it was last delivered, in milliseconds since 1970.
    pub delivered_at: u64,
    /// How often it was delivered.
    pub deliveries: u64,
}

/// A consumer of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamConsumer {
    /// Its name.
    pub name: Vec<u8>,
    /// When it last asked, in milliseconds since 1970.
    pub seen_at: u64,
    /// When it last received an entry, if ever. Before type 21 this is `seen_at`.
    pub active_at: Option<u64>,
}

/// A whole stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// Its entries, in their order.
    pub entries: Vec<StreamEntry>,
    /// Its counters.
    pub position: StreamPosition,
    /// Its groups.
    pub groups: Vec<StreamGroup>,
}

impl Stream {
    /// Adds the next piece of a stream. Returns false if it is a piece of another kind.
    pub fn add(&mut self, piece: ValuePiece) -> bool {
        match piece {
            ValuePiece::StreamEntries(entries) => self.entries.extend(entries),
            ValuePiece::StreamPosition(position) => self.position = position,
            ValuePiece::StreamGroup(group) => self.groups.push(group),
            _ => return false,
        }
        true
    }
}

/// The number that stands for an unknown one.
const UNKNOWN: u64 = u64::MAX;

/// Returns the number of entries that a group has read, as the format has it.
fn entries_read_of(number: u64) -> Option<u64> {
    (number != UNKNOWN).then_some(number)
}
