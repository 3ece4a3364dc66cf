//! Writes streams with type 19, which Redis 7.0 and later read.

use super::{SAME_FIELDS, Stream, StreamEntry, StreamGroup, StreamId, StreamPosition, UNKNOWN};
use crate::ValueType;
use crate::packed::ListpackWriter;
use crate::write::{write_length, write_string, write_type};

/// A node has at most this number of entries, and about this number of bytes: Redis's defaults.
const NODE_ENTRIES: usize = 100;
/// A node has at most about this number of bytes.
pub const NODE_BYTES: usize = 4096;

/// A node that is being written.
#[derive(Debug)]
struct NodeWriter {
    first: StreamEntry,
    /// The entries, without the head of the node.
    pack: ListpackWriter,
    count: usize,
}

impl NodeWriter {
    fn new(first: &StreamEntry) -> Self {
        let mut node = Self { first: first.clone(), pack: ListpackWriter::default(), count: 0 };
        node.push(first);
        node
    }

    /// Returns whether the node has room for an entry.
    fn has_room(&self, entry: &StreamEntry) -> bool {
        let bytes: usize = entry.fields.iter().map(|(name, value)| name.len() + value.len()).sum();
        let node = self.head().byte_len() + self.pack.byte_len() - ListpackWriter::default().byte_len();
        self.count < NODE_ENTRIES && node + bytes < NODE_BYTES
    }

    fn push(&mut self, entry: &StreamEntry) {
        write_entry(&mut self.pack, &self.first, entry);
        self.count += 1;
    }

    fn head(&self) -> ListpackWriter {
        let mut head = ListpackWriter::default();
        head.push_count(self.count);
        head.push_number(0);
        head.push_count(self.first.fields.len());
        for (name, _) in &self.first.fields {
            head.push(name);
        }
        head.push_number(0);
        head
    }

    fn finish(&self) -> Vec<u8> {
        let mut whole = self.head();
        whole.append(&self.pack);
        whole.finish()
    }
}

fn write_entry(pack: &mut ListpackWriter, first: &StreamEntry, entry: &StreamEntry) {
    let are_equal = first.fields.iter().zip(&entry.fields).all(|((one, _), (other, _))| one == other);
    let is_same = first.fields.len() == entry.fields.len() && are_equal;
    let start = pack.len();
    pack.push_number(if is_same { SAME_FIELDS } else { 0 });
    pack.push_number(entry.id.ms.wrapping_sub(first.id.ms).cast_signed());
    pack.push_number(entry.id.seq.wrapping_sub(first.id.seq).cast_signed());
    if !is_same {
        pack.push_count(entry.fields.len());
    }
    for (name, value) in &entry.fields {
        if !is_same {
            pack.push(name);
        }
        pack.push(value);
    }
    pack.push_count(pack.len() - start);
}

/// Writes a stream in parts: all entries, then the rest.
#[derive(Debug, Default)]
pub struct StreamWriter {
    nodes: Vec<u8>,
    count: u64,
    first: StreamId,
    node: Option<NodeWriter>,
}

impl StreamWriter {
    /// Adds an entry behind those before.
    pub fn push(&mut self, entry: &StreamEntry) {
        match &mut self.node {
            Some(node) if node.has_room(entry) => node.push(entry),
            _ => {
                self.end_node();
                self.node = Some(NodeWriter::new(entry));
            }
        }
    }

    fn end_node(&mut self) {
        let Some(node) = self.node.take() else { return };
        if self.count == 0 {
            self.first = node.first.id;
        }
        write_string(&mut self.nodes, &node.first.id.to_bytes());
        write_string(&mut self.nodes, &node.finish());
        self.count += 1;
    }

    /// Returns the bytes that were written so far, about.
    pub fn byte_len(&self) -> usize {
        self.nodes.len() + self.node.as_ref().map_or(0, |node| node.pack.byte_len())
    }

    /// Appends the type and the stream. Groups and consumers have the order of Redis if they are
    /// sorted by their names.
    ///
    /// # Panics
    /// If a pending entry names a consumer that the group does not have.
    pub fn finish(mut self, out: &mut Vec<u8>, position: &StreamPosition, groups: &[StreamGroup]) {
        self.end_node();
        write_type(out, ValueType::Stream2);
        write_length(out, self.count);
        out.extend_from_slice(&self.nodes);
        write_length(out, position.len);
        for id in [position.last_id, self.first, position.max_deleted_id] {
            write_id(out, id);
        }
        write_length(out, position.entries_added);
        write_length(out, groups.len() as u64);
        for group in groups {
            write_group(out, group);
        }
    }
}

fn write_id(out: &mut Vec<u8>, id: StreamId) {
    write_length(out, id.ms);
    write_length(out, id.seq);
}

fn write_group(out: &mut Vec<u8>, group: &StreamGroup) {
    write_string(out, &group.name);
    write_id(out, group.last_id);
    write_length(out, group.entries_read.unwrap_or(UNKNOWN));
    write_length(out, group.pending.len() as u64);
    for pending in &group.pending {
        out.extend_from_slice(&pending.id.to_bytes());
        out.extend_from_slice(&pending.delivered_at.to_le_bytes());
        write_length(out, pending.deliveries);
    }
    let mut of_consumers = vec![Vec::new(); group.consumers.len()];
    for pending in &group.pending {
        of_consumers[pending.consumer].push(pending.id);
    }
    write_length(out, group.consumers.len() as u64);
    for (consumer, pending) in group.consumers.iter().zip(of_consumers) {
        write_string(out, &consumer.name);
        out.extend_from_slice(&consumer.seen_at.to_le_bytes());
        write_length(out, pending.len() as u64);
        for id in pending {
            out.extend_from_slice(&id.to_bytes());
        }
    }
}

/// Appends the type and the stream.
///
/// # Panics
/// If a pending entry names a consumer that the group does not have.
pub fn write_stream(out: &mut Vec<u8>, stream: &Stream) {
    let mut writer = StreamWriter::default();
    for entry in &stream.entries {
        writer.push(entry);
    }
    writer.finish(out, &stream.position, &stream.groups);
}
