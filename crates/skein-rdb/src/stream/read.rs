//! Reads streams: nodes of entries, then the counters, then the groups.

use std::collections::HashMap;
use std::io::BufRead;

use super::{
    DELETED, PendingEntry, SAME_FIELDS, StreamConsumer, StreamEntry, StreamGroup, StreamId, StreamPosition,
    entries_read_of,
};
use crate::packed::{PackedElement, read_listpack};
use crate::{RdbError, RdbInput, Result, ValuePiece, ValueType};

/// The part of a stream that is read next.
#[derive(Debug, Clone, Copy)]
enum StreamPart {
    Head,
    /// So many nodes are left.
    Nodes(u64),
    Position,
    /// So many groups are left.
    Groups(u64),
}

/// Reads a stream, piece by piece.
#[derive(Debug)]
pub(crate) struct StreamReader {
    kind: ValueType,
    part: StreamPart,
    /// The first and the last entry so far.
    first: Option<StreamId>,
    last: Option<StreamId>,
    /// The counters, once they were read.
    position: StreamPosition,
}

impl StreamReader {
    pub(crate) fn new(kind: ValueType) -> Self {
        Self { kind, part: StreamPart::Head, first: None, last: None, position: StreamPosition::default() }
    }

    pub(crate) fn next<R: BufRead>(&mut self, input: &mut RdbInput<R>) -> Result<Option<ValuePiece>> {
        loop {
            match self.part {
                StreamPart::Head => self.part = StreamPart::Nodes(input.length("the number of nodes")?),
                StreamPart::Nodes(0) => self.part = StreamPart::Position,
                StreamPart::Nodes(left) => {
                    self.part = StreamPart::Nodes(left - 1);
                    let entries = self.read_node(input)?;
                    if !entries.is_empty() {
                        return Ok(Some(ValuePiece::StreamEntries(entries)));
                    }
                }
                StreamPart::Position => {
                    let position = self.read_position(input)?;
                    self.position = position;
                    self.part = StreamPart::Groups(input.length("the number of groups")?);
                    return Ok(Some(ValuePiece::StreamPosition(position)));
                }
                StreamPart::Groups(0) => return Ok(None),
                StreamPart::Groups(left) => {
                    self.part = StreamPart::Groups(left - 1);
                    let mut group = read_group(self.kind, input)?;
                    if self.kind == ValueType::Stream {
                        group.entries_read = self.entries_read_before(group.last_id);
                    }
                    return Ok(Some(ValuePiece::StreamGroup(group)));
                }
            }
        }
    }

    fn read_node<R: BufRead>(&mut self, input: &mut RdbInput<R>) -> Result<Vec<StreamEntry>> {
        const ID: &str = "the 16 bytes of an identifier";
        let offset = input.offset();
        let first = input.string(ID)?;
        let first: [u8; 16] =
            first.try_into().map_err(|_| RdbError::damaged(offset, "another length", ID))?;
        let offset = input.offset();
        let blob = input.string("a node of a stream")?;
        let limit = input.limits().blob_memory;
        let mut elements = Vec::new();
        read_listpack(&blob, offset, |element| {
            elements.push(element);
            let fits = elements.len() * size_of::<PackedElement<'_>>() <= limit;
            if fits { Ok(()) } else { Err(RdbError::TooLong { offset, what: "a node of a stream", limit }) }
        })?;
        let node = StreamNode { rest: &elements, first: StreamId::from_bytes(first), offset, limit };
        let entries = node.entries()?;
        for entry in &entries {
            if self.last.is_some_and(|last| last >= entry.id) {
                return Err(RdbError::damaged(
                    offset,
                    "entries out of order",
                    "an entry behind the one before",
                ));
            }
            self.first.get_or_insert(entry.id);
            self.last = Some(entry.id);
        }
        Ok(entries)
    }

    /// Returns the number of entries that a group of an old stream has read, if its last entry
    /// shows it. Old streams do not count; like Redis 7.0, takes all entries of the stream as all
    /// that were added.
    fn entries_read_before(&self, id: StreamId) -> Option<u64> {
        let StreamPosition { len, last_id, .. } = self.position;
        match self.first {
            _ if len == 0 => Some(0),
            _ if id == last_id => Some(len),
            _ if id > last_id => None,
            Some(first) if id < first => Some(0),
            Some(first) if id == first => Some(1),
            _ => None,
        }
    }

    fn read_position<R: BufRead>(&self, input: &mut RdbInput<R>) -> Result<StreamPosition> {
        let len = input.length("the number of entries")?;
        let last_id = read_id(input, "the last identifier")?;
        if self.kind == ValueType::Stream {
            return Ok(StreamPosition {
                len,
                last_id,
                max_deleted_id: StreamId::default(),
                entries_added: len,
            });
        }
        // The first identifier is that of the first entry.
        read_id(input, "the first identifier")?;
        let max_deleted_id = read_id(input, "the greatest deleted identifier")?;
        let entries_added = input.length("the number of added entries")?;
        Ok(StreamPosition { len, last_id, max_deleted_id, entries_added })
    }
}

fn read_id<R: BufRead>(input: &mut RdbInput<R>, expected: &'static str) -> Result<StreamId> {
    Ok(StreamId { ms: input.length(expected)?, seq: input.length(expected)? })
}

/// The elements of a node's listpack.
struct StreamNode<'e, 'b> {
    rest: &'e [PackedElement<'b>],
    first: StreamId,
    offset: u64,
    limit: usize,
}

impl<'b> StreamNode<'_, 'b> {
    fn damaged(&self, found: &'static str, expected: &'static str) -> RdbError {
        RdbError::damaged(self.offset, found, expected)
    }

    fn element(&mut self, expected: &'static str) -> Result<PackedElement<'b>> {
        let taken = self.rest.split_first();
        let (first, rest) = taken.ok_or_else(|| self.damaged("the end of a node", expected))?;
        self.rest = rest;
        Ok(*first)
    }

    fn number(&mut self, expected: &'static str) -> Result<i64> {
        match self.element(expected)? {
            PackedElement::Number(number) => Ok(number),
            PackedElement::Text(_) => Err(self.damaged("a text", expected)),
        }
    }

    /// Reads a number of elements, which must be there.
    fn count(&mut self, expected: &'static str) -> Result<usize> {
        let count = usize::try_from(self.number(expected)?).ok().filter(|count| *count <= self.rest.len());
        count.ok_or_else(|| self.damaged("too great a number", expected))
    }

    /// Returns the entries that are not deleted.
    fn entries(mut self) -> Result<Vec<StreamEntry>> {
        let valid = self.number("the number of entries in a node")?;
        let deleted = self.number("the number of deleted entries in a node")?;
        let fields = self.count("the number of fields in a node")?;
        let mut names = Vec::with_capacity(fields);
        for _ in 0..fields {
            names.push(self.element("the name of a field")?);
        }
        if self.number("the end of the head of a node")? != 0 {
            return Err(self.damaged("another number", "the end of the head of a node"));
        }
        let (mut entries, mut memory, mut removed) = (Vec::new(), 0, 0);
        while !self.rest.is_empty() {
            match self.entry(&names)? {
                None => removed += 1,
                Some(entry) => {
                    memory += entry.memory();
                    if memory > self.limit {
                        let (offset, limit) = (self.offset, self.limit);
                        return Err(RdbError::TooLong { offset, what: "a node of a stream", limit });
                    }
                    entries.push(entry);
                }
            }
        }
        if usize::try_from(valid) != Ok(entries.len()) || deleted != removed {
            return Err(self.damaged("another number of entries", "the numbers in the head of a node"));
        }
        Ok(entries)
    }

    /// Reads an entry. Returns `None` if it is deleted.
    fn entry(&mut self, names: &[PackedElement<'b>]) -> Result<Option<StreamEntry>> {
        const VALUE: &str = "the value of a field";
        let before = self.rest.len();
        let flags = self.number("the flags of an entry")?;
        let id = StreamId {
            ms: self.first.ms.wrapping_add_signed(self.number("the time of an entry")?),
            seq: self.first.seq.wrapping_add_signed(self.number("the number of an entry")?),
        };
        let mut fields = Vec::new();
        if flags & SAME_FIELDS != 0 {
            for name in names {
                fields.push((name.into_vec(), self.element(VALUE)?.into_vec()));
            }
        } else {
            for _ in 0..self.count("the number of fields of an entry")? {
                let name = self.element("the name of a field")?;
                fields.push((name.into_vec(), self.element(VALUE)?.into_vec()));
            }
        }
        let len = before - self.rest.len();
        if self.number("the number of elements of an entry")? != i64::try_from(len).unwrap_or(i64::MAX) {
            return Err(self.damaged("another number", "the number of elements of an entry"));
        }
        Ok((flags & DELETED == 0).then_some(StreamEntry { id, fields }))
    }
}

fn read_group<R: BufRead>(kind: ValueType, input: &mut RdbInput<R>) -> Result<StreamGroup> {
    let name = input.string("the name of a group")?;
    let last_id = read_id(input, "the last identifier of a group")?;
    let entries_read = match kind {
        ValueType::Stream => None,
        _ => entries_read_of(input.length("the number of entries that a group has read")?),
    };
    let mut group = StreamGroup { name, last_id, entries_read, ..StreamGroup::default() };
    let owners = read_pending(input, &mut group)?;
    read_consumers(kind, input, &mut group, &owners)?;
    Ok(group)
}

/// A pending entry without a consumer.
const NOBODY: usize = usize::MAX;

/// Reads the pending entries of a group. Returns their indexes.
fn read_pending<R: BufRead>(
    input: &mut RdbInput<R>,
    group: &mut StreamGroup,
) -> Result<HashMap<StreamId, usize>> {
    const EXPECTED: &str = "a pending entry";
    let mut indexes = HashMap::new();
    for at in 0..input.length("the number of pending entries")? {
        let offset = input.offset();
        let id = StreamId::from_bytes(input.array(EXPECTED)?);
        let delivered_at = input.u64_le(EXPECTED)?;
        let deliveries = input.length(EXPECTED)?;
        group.pending.push(PendingEntry { id, consumer: NOBODY, delivered_at, deliveries });
        if indexes.insert(id, at as usize).is_some() {
            return Err(RdbError::damaged(offset, "the same identifier again", EXPECTED));
        }
    }
    Ok(indexes)
}

fn read_consumers<R: BufRead>(
    kind: ValueType,
    input: &mut RdbInput<R>,
    group: &mut StreamGroup,
    indexes: &HashMap<StreamId, usize>,
) -> Result<()> {
    const TIME: &str = "a time of a consumer";
    const PENDING: &str = "an entry that is pending for nobody else";
    for at in 0..input.length("the number of consumers")? {
        let name = input.string("the name of a consumer")?;
        let seen_at = input.u64_le(TIME)?;
        let active_at = match kind {
            ValueType::Stream3 => entries_read_of(input.u64_le(TIME)?),
            _ => Some(seen_at),
        };
        for _ in 0..input.length("the number of pending entries")? {
            let offset = input.offset();
            let id = StreamId::from_bytes(input.array(PENDING)?);
            let owner = indexes.get(&id).map(|index| &mut group.pending[*index].consumer);
            match owner.filter(|owner| **owner == NOBODY) {
                Some(owner) => *owner = at as usize,
                None => return Err(RdbError::damaged(offset, "another identifier", PENDING)),
            }
        }
        group.consumers.push(StreamConsumer { name, seen_at, active_at });
    }
    if group.pending.iter().any(|pending| pending.consumer == NOBODY) {
        return Err(RdbError::damaged(
            input.offset(),
            "a pending entry without a consumer",
            "a consumer for each pending entry",
        ));
    }
    Ok(())
}
