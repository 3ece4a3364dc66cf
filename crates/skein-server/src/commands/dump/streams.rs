//! Streams: from the records of the data model to those of Redis's format, and back.

use super::restored_value::BAD_FORMAT;
use crate::commands::CommandError;
use skein_data::{
    ENTRIES_READ_UNKNOWN, EngineWriter, EntryFields, FieldsBuilder, GroupStart, NewId, StreamReader,
    StreamWriter,
};
use skein_rdb::stream::{
    PendingEntry, Stream, StreamConsumer, StreamEntry, StreamGroup, StreamId, StreamPosition,
};

fn dumped_id(id: skein_data::StreamId) -> StreamId {
    StreamId { ms: id.ms, seq: id.seq }
}

fn restored_id(id: StreamId) -> skein_data::StreamId {
    skein_data::StreamId { ms: id.ms, seq: id.seq }
}

/// Returns an entry for the format.
pub(super) fn dumped_entry(id: skein_data::StreamId, mut fields: EntryFields<'_>) -> StreamEntry {
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        pairs.push((name.to_vec(), value.to_vec()));
    }
    StreamEntry { id: dumped_id(id), fields: pairs }
}

/// Returns the counters and the groups of a stream.
pub(super) fn dumped_rest(
    stream: &mut StreamReader<'_>,
) -> Result<(StreamPosition, Vec<StreamGroup>), skein_data::RowError> {
    let head = stream.head();
    let position = StreamPosition {
        len: head.len,
        last_id: dumped_id(head.last_id),
        max_deleted_id: dumped_id(head.max_deleted_id),
        entries_added: head.added,
    };
    let mut groups = Vec::new();
    for (name, group) in stream.groups()? {
        let found = stream.consumers(&group)?;
        let consumer = |(name, consumer): &(Vec<u8>, skein_data::Consumer)| StreamConsumer {
            name: name.clone(),
            seen_at: consumer.seen,
            active_at: Some(consumer.seen),
        };
        let mut dumped = StreamGroup {
            name,
            last_id: dumped_id(group.last_id),
            entries_read: u64::try_from(group.entries_read).ok(),
            pending: Vec::new(),
            consumers: found.iter().map(consumer).collect(),
        };
        stream.pending_from(&group, skein_data::StreamId::MIN, |id, entry| {
            // The names are sorted.
            if let Ok(consumer) = found.binary_search_by(|(name, _)| name.cmp(&entry.consumer)) {
                let (delivered_at, deliveries) = (entry.delivered, entry.deliveries);
                dumped.pending.push(PendingEntry { id: dumped_id(id), consumer, delivered_at, deliveries });
            }
            std::ops::ControlFlow::Continue(())
        })?;
        groups.push(dumped);
    }
    Ok((position, groups))
}

/// Replaces the contents of a key by a stream, until `expires`. It is one write.
pub(super) fn restore_stream(
    stream: &Stream,
    writer: &mut EngineWriter<'_, '_>,
    key: &[u8],
    expires: Option<u64>,
) -> Result<(), CommandError> {
    let Stream { entries, position, groups } = stream;
    let is_behind = entries.last().is_some_and(|last| last.id > position.last_id);
    if position.len != entries.len() as u64 || position.entries_added < position.len || is_behind {
        return Err(BAD_FORMAT);
    }
    writer.replace_by_stream(key, expires, |made| {
        for entry in entries {
            let texts = entry.fields.iter().flat_map(|(name, value)| [&name[..], value]);
            let id = NewId::Exact(restored_id(entry.id));
            if made.add(id, &FieldsBuilder::of(texts))?.is_none() {
                return Err(BAD_FORMAT);
            }
        }
        made.set_head(
            restored_id(position.last_id),
            Some(position.entries_added),
            Some(restored_id(position.max_deleted_id)),
        );
        groups.iter().try_for_each(|group| restore_group(made, group))
    })
}

fn restore_group(made: &mut StreamWriter<'_>, group: &StreamGroup) -> Result<(), CommandError> {
    let read = group.entries_read.and_then(|read| i64::try_from(read).ok());
    let start = GroupStart {
        last_id: restored_id(group.last_id),
        entries_read: read.unwrap_or(ENTRIES_READ_UNKNOWN),
    };
    if !made.create_group(&group.name, start)? {
        return Err(BAD_FORMAT);
    }
    let mut open = made.group(&group.name)?.ok_or(BAD_FORMAT)?;
    for consumer in &group.consumers {
        if !made.create_consumer(&group.name, &mut open, &consumer.name, consumer.seen_at)? {
            return Err(BAD_FORMAT);
        }
    }
    for pending in &group.pending {
        let entry = skein_data::PendingEntry {
            delivered: pending.delivered_at,
            deliveries: pending.deliveries,
            consumer: group.consumers[pending.consumer].name.clone(),
        };
        if !made.restore_pending(&group.name, restored_id(pending.id), &entry)? {
            return Err(BAD_FORMAT);
        }
    }
    Ok(())
}
