//! Streams: an append-only sequence of entries, with consumer groups.
//!
//! ```text
//!   members of the collection, in the order of their names (numbers are big-endian)
//!
//!   0 │ base, an id of 16 bytes │ 1          ─► a chunk of entries, with this id or greater ones
//!   1                                        ─► head: last id, numbers of entries; the tail
//!   2 │ group's name                         ─► group: number, last id, counts
//!   3 │ group's number, 4 │ consumer's name  ─► consumer: number, times, count
//!   4 │ group's number, 4 │ id, 16           ─► pending entry: consumer, delivery
//!   5 │ group's number, 4 │ consumer's number, 4 │ id, 16  ─► (nothing)
//! ```
//!
//! So each record is a member of its own. A write touches few of them, and both engines store and
//! log them as other members. A range of chunks, groups or pending entries is a range of names. The
//! counted order of names finds the first member of a range in O(log n). Groups and consumers have
//! numbers, so that long names are stored once. The idea of pending entries in two orders, by group
//! and by consumer, is that of Redis's radix trees.
//!
//! The *tail* is the chunk with the last entries. It lies in the head's member, so an addition
//! writes one member. A full tail becomes a chunk of its own, or is joined with the last one.
//!
//! # Invariants
//! 1. The head is there. `len` in it counts the entries, and no entry is behind its last id. Ids
//!    ascend through the chunks in the order of their names, and then through the tail. No chunk is
//!    empty.
//! 2. A pending entry names a consumer that its group has, and the member of tag 5 that belongs to
//!    it is there, and no other.
//! 3. `pending` of a group counts its members of tag 4, `pending` of a consumer its members of tag
//!    5, and `consumers` of a group its members of tag 3.
//!
//! `check` verifies them; tests call it.
//!
//! Read in this order: `fields`, `chunks`, `records` (names and values), `name_walks` (ranges of
//! them), `stream`, `entries` and `version` (reads), `additions`, `groups`, `pending`, `claims`
//! (writes), `steps` (reads in steps), `parts` (dumps and loads). Design:
//! `docs/design/data-model.md`.

mod additions;
mod check;
mod chunks;
mod claims;
mod entries;
mod fields;
mod groups;
mod name_walks;
mod parts;
mod pending;
mod records;
mod steps;
mod stream;
mod version;

pub use additions::{NewId, TrimRule, Trimming};
pub use chunks::ChunkEntries;
pub use claims::Claim;
pub use fields::{EntryFields, FieldsBuilder};
pub use groups::GroupStart;
pub use parts::{StreamPart, stream_entry, stream_parts};
pub use pending::Delivery;
pub use records::{Consumer, ENTRIES_READ_UNKNOWN, Group, PendingEntry, StreamHead, StreamRecord};
pub use skein_rdb::stream::StreamId;
pub use steps::EntrySteps;
pub use stream::{Stream, StreamWriter};
pub use version::EntriesVersion;

use crate::{Error, MemberWrites};

/// Changes the stream of these members, and writes its head at the end. Errors name `key`.
///
/// # Errors
/// Those of `change`, and those of the engine.
pub fn change_stream<R, E: From<Error>>(
    key: &[u8],
    members: &mut dyn MemberWrites,
    change: impl FnOnce(&mut StreamWriter<'_>) -> Result<R, E>,
) -> Result<R, E> {
    let mut stream = StreamWriter::open(key, members)?;
    let answer = change(&mut stream)?;
    stream.close()?;
    Ok(answer)
}
