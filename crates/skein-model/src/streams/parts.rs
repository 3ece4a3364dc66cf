//! Streams in parts, for dumps, loads, `DUMP` and `RESTORE`.
//!
//! ```text
//!   Groups    │ name, last id, consumers, pending entries     makes the stream anew
//!   Entries   │ id, fields │ id, fields │ …                   as often as needed
//!   Position  │ last id, greatest deleted id, entries added   completes it
//! ```
//!
//! Records name groups by numbers, which are valid in one stream only. Parts have names, as other
//! servers do, so a part can be a command, a line of text, or a piece of Redis's format. Groups are
//! first: Redis has no command that sets the times of a consumer, except `RESTORE` of a new stream.

use std::ops::{ControlFlow, Deref};

use skein_rdb::stream::{StreamConsumer, StreamEntry, StreamGroup, StreamPosition};

use super::StreamId;
use super::additions::NewId;
use super::fields::{EntryFields, FieldsBuilder};
use super::groups::GroupStart;
use super::records::{ENTRIES_READ_UNKNOWN, PendingEntry};
use super::stream::{Stream, StreamWriter};
use crate::{Members, Result, ScanDirection};

/// A part of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamPart {
    /// All groups. This part replaces the present contents of the key by a stream without entries.
    Groups(Vec<StreamGroup>),
    /// Entries behind those that are there.
    Entries(Vec<StreamEntry>),
    /// The counters. The number of entries in it is not used.
    Position(StreamPosition),
}

/// Returns an entry with fields of its own.
pub fn stream_entry(id: StreamId, mut fields: EntryFields<'_>) -> StreamEntry {
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        pairs.push((name.to_vec(), value.to_vec()));
    }
    StreamEntry { id, fields: pairs }
}

/// Calls `each` with all parts of a stream until it breaks.
///
/// # Errors
/// Those of the engine.
pub fn stream_parts<M: Deref<Target: Members>>(
    stream: &mut Stream<'_, M>,
    mut each: impl FnMut(StreamPart) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    if each(StreamPart::Groups(stream.whole_groups()?)).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let mut broke = ControlFlow::Continue(());
    stream.entries((StreamId::MIN, StreamId::MAX), ScanDirection::Forward, |id, fields| {
        broke = each(StreamPart::Entries(vec![stream_entry(id, fields)]));
        broke
    })?;
    Ok(if broke.is_break() { broke } else { each(StreamPart::Position(stream.position())) })
}

impl<M: Deref<Target: Members>> Stream<'_, M> {
    /// Returns the counters.
    pub fn position(&self) -> StreamPosition {
        let head = self.head();
        StreamPosition {
            len: head.len,
            last_id: head.last_id,
            max_deleted_id: head.max_deleted_id,
            entries_added: head.added,
        }
    }

    /// Returns all groups with their consumers and pending entries.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn whole_groups(&mut self) -> Result<Vec<StreamGroup>> {
        let mut groups = Vec::new();
        for (name, group) in self.groups()? {
            let found = self.consumers(&group)?;
            let consumers = found.iter().map(|(name, consumer)| StreamConsumer {
                name: name.clone(),
                seen_at: consumer.seen,
                active_at: Some(consumer.seen),
            });
            let mut whole = StreamGroup {
                name,
                last_id: group.last_id,
                entries_read: u64::try_from(group.entries_read).ok(),
                pending: Vec::new(),
                consumers: consumers.collect(),
            };
            self.pending_from(&group, StreamId::MIN, |id, entry| {
                // The names are sorted.
                if let Ok(consumer) = found.binary_search_by(|(name, _)| name.cmp(&entry.consumer)) {
                    whole.pending.push(skein_rdb::stream::PendingEntry {
                        id,
                        consumer,
                        delivered_at: entry.delivered,
                        deliveries: entry.deliveries,
                    });
                }
                ControlFlow::Continue(())
            })?;
            groups.push(whole);
        }
        Ok(groups)
    }
}

impl StreamWriter<'_> {
    /// Adds entries. Returns false, and adds none, if they are not in order behind the last id.
    ///
    /// # Errors
    /// Those of [`add`](Self::add).
    pub fn add_entries(&mut self, entries: &[StreamEntry]) -> Result<bool> {
        let mut last = self.head().last_id;
        for entry in entries {
            if entry.id <= last {
                return Ok(false);
            }
            last = entry.id;
        }
        for entry in entries {
            let texts = entry.fields.iter().flat_map(|(name, value)| [&name[..], value]);
            self.add(NewId::Exact(entry.id), &FieldsBuilder::of(texts))?;
        }
        Ok(true)
    }

    /// Sets the counters. Returns false if an entry is behind the last id, or if there are more
    /// entries than were ever added.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn set_position(&mut self, position: &StreamPosition) -> Result<bool> {
        let last_id = position.last_id;
        let last = self.edge(ScanDirection::Backward)?;
        if last.is_some_and(|last| last > last_id) || position.entries_added < self.len() {
            return Ok(false);
        }
        self.set_head(last_id, Some(position.entries_added), Some(position.max_deleted_id));
        Ok(true)
    }

    /// Makes a group and its consumers, without pending entries. Returns false if the stream has a
    /// group of this name, or the group has a consumer twice.
    ///
    /// # Errors
    /// As for [`create_group`](Self::create_group).
    pub fn add_group(&mut self, group: &StreamGroup) -> Result<bool> {
        let read = group.entries_read.and_then(|read| i64::try_from(read).ok());
        let start = GroupStart { last_id: group.last_id, entries_read: read.unwrap_or(ENTRIES_READ_UNKNOWN) };
        if !self.create_group(&group.name, start)? {
            return Ok(false);
        }
        let Some(mut open) = self.group(&group.name)? else { return Ok(false) };
        for consumer in &group.consumers {
            if !self.create_consumer(&group.name, &mut open, &consumer.name, consumer.seen_at)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes entries pending. Returns false if one names a consumer that the group does not have.
    ///
    /// # Errors
    /// As for [`restore_pending`](Self::restore_pending).
    pub fn add_pending(
        &mut self,
        group: &StreamGroup,
        pending: &[skein_rdb::stream::PendingEntry],
    ) -> Result<bool> {
        for entry in pending {
            let Some(consumer) = group.consumers.get(entry.consumer) else { return Ok(false) };
            let restored = PendingEntry {
                delivered: entry.delivered_at,
                deliveries: entry.deliveries,
                consumer: consumer.name.clone(),
            };
            if !self.restore_pending(&group.name, entry.id, &restored)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
