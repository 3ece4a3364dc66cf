//! Reads of a stream, of a reader or within a write.

use std::ops::{ControlFlow, Deref};

use super::StreamId;
use super::chunks::EntryChunk;
use super::name_walks;
use super::records::{
    Consumer, ENTRIES_READ_UNKNOWN, Group, HEAD_NAME, NameRange, PendingEntry, StreamHead, consumer_name,
    group_name, id_at_end, pending_name, read_consumer, read_group, read_head, read_pending,
};
use crate::{MemberWrites, Members, Result, ScanDirection};

/// The stream of a key, over members that are read or, as a [`StreamWriter`], changed. Methods that
/// look for a record take O(log n).
#[derive(Debug)]
pub struct Stream<'k, M> {
    pub(super) key: &'k [u8],
    pub(super) members: M,
    pub(super) head: StreamHead,
    /// The last entries, if they lie in the head's member.
    pub(super) tail: Option<EntryChunk>,
    /// Whether the tail has changed since it was read.
    pub(super) has_new_tail: bool,
    /// The head as it is stored; `None` in a stream that is being made.
    stored: Option<StreamHead>,
}

/// A stream that is being changed; see [`change_stream`](super::change_stream).
pub type StreamWriter<'w> = Stream<'w, &'w mut dyn MemberWrites>;

impl<'k, M: Deref<Target: Members>> Stream<'k, M> {
    /// Opens the stream of a key, which is named for errors; a new one if it has no members.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn open(key: &'k [u8], members: M) -> Result<Self> {
        let (stored, tail) = members.value(HEAD_NAME)?.and_then(|value| read_head(&value)).unzip();
        let head = stored.unwrap_or_default();
        Ok(Self { key, members, head, tail: tail.flatten(), has_new_tail: false, stored })
    }

    /// Returns whether the head has changed since it was read, or is to be stored first.
    pub(super) fn has_new_head(&self) -> bool {
        self.has_new_tail || self.stored != Some(self.head)
    }

    /// Returns the head of the stream.
    pub fn head(&self) -> StreamHead {
        self.head
    }

    /// Returns the number of entries.
    pub fn len(&self) -> u64 {
        self.head.len
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.head.len == 0
    }

    /// Returns the id of the last entry, if it is behind this id.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn last_behind(&mut self, id: StreamId) -> Result<Option<StreamId>> {
        if self.head.last_id <= id {
            return Ok(None);
        }
        Ok(self.edge(ScanDirection::Backward)?.filter(|last| *last > id))
    }

    /// Returns a group.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn group(&mut self, name: &[u8]) -> Result<Option<Group>> {
        Ok(self.members.value(&group_name(name))?.and_then(|value| read_group(&value)))
    }

    /// Returns all groups and their names, in the order of their names.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn groups(&mut self) -> Result<Vec<(Vec<u8>, Group)>> {
        self.named(&NameRange::groups(), 1, read_group)
    }

    /// Returns a consumer of a group.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn consumer(&mut self, group: &Group, name: &[u8]) -> Result<Option<Consumer>> {
        let value = self.members.value(&consumer_name(group.number, name))?;
        Ok(value.and_then(|value| read_consumer(&value)))
    }

    /// Returns whether there is a group of this name with this consumer.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn has_consumer(&mut self, group: &[u8], consumer: &[u8]) -> Result<bool> {
        let Some(group) = self.group(group)? else { return Ok(false) };
        Ok(self.consumer(&group, consumer)?.is_some())
    }

    /// Returns all consumers of a group, in the order of their names.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn consumers(&mut self, group: &Group) -> Result<Vec<(Vec<u8>, Consumer)>> {
        self.named(&NameRange::consumers(group.number), 5, read_consumer)
    }

    /// Returns the records of a range of names with `prefix` bytes before their own part.
    fn named<R>(
        &mut self,
        range: &NameRange,
        prefix: usize,
        read: impl Fn(&[u8]) -> Option<R>,
    ) -> Result<Vec<(Vec<u8>, R)>> {
        let mut found = Vec::new();
        name_walks::walk(&*self.members, range, ScanDirection::Forward, &mut |name, value| {
            let own = name.get(prefix..).unwrap_or_default().to_vec();
            found.extend(read(value).map(|record| (own, record)));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Returns an entry that is pending in a group.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn pending_entry(&mut self, group: &Group, id: StreamId) -> Result<Option<PendingEntry>> {
        let value = self.members.value(&pending_name(group.number, id))?;
        Ok(value.and_then(|value| read_pending(&value)))
    }

    /// Calls `each` with the entries that are pending in a group, from an id on, until it breaks.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn pending_from(
        &mut self,
        group: &Group,
        first: StreamId,
        mut each: impl FnMut(StreamId, PendingEntry) -> ControlFlow<()>,
    ) -> Result<()> {
        let range = NameRange::pending(group.number, first);
        name_walks::walk(&*self.members, &range, ScanDirection::Forward, &mut |name, value| match (
            id_at_end(name),
            read_pending(value),
        ) {
            (Some(id), Some(entry)) => each(id, entry),
            _ => ControlFlow::Continue(()),
        })
    }

    /// Returns the id of the last entry that is pending in a group.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn last_pending(&mut self, group: &Group) -> Result<Option<StreamId>> {
        let range = NameRange::pending(group.number, StreamId::MIN);
        let names = name_walks::first_names(&*self.members, &range, ScanDirection::Backward, 1)?;
        Ok(names.first().and_then(|name| id_at_end(name)))
    }

    /// Returns up to `most` ids of entries that are pending for a consumer, from an id on.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn owned_from(
        &mut self,
        group: &Group,
        consumer: &Consumer,
        first: StreamId,
        most: usize,
    ) -> Result<Vec<StreamId>> {
        let range = NameRange::owned(group.number, consumer.number, first);
        let names = name_walks::first_names(&*self.members, &range, ScanDirection::Forward, most)?;
        Ok(names.iter().filter_map(|name| id_at_end(name)).collect())
    }

    /// Returns the number of entries that a group has not read. Returns `None` if the number is
    /// unknown: entries behind its last id were removed by name, or it was set to an id between
    /// entries.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn lag(&mut self, group: &Group) -> Result<Option<i64>> {
        let first = self.edge(ScanDirection::Forward)?.unwrap_or_default();
        let read = self.head.entries_read(group, group.last_id, first);
        Ok(read.map(|read| self.head.added.cast_signed().wrapping_sub(read)))
    }
}

impl StreamHead {
    /// Returns how many entries were ever added up to `id`, which the group has read. `first` is
    /// the first entry. Returns `None` if the number is unknown.
    pub(super) fn entries_read(&self, group: &Group, id: StreamId, first: StreamId) -> Option<i64> {
        match group.entries_read {
            _ if self.added == 0 => Some(0),
            read if read != ENTRIES_READ_UNKNOWN && !self.has_gap_from(id, first) => Some(read),
            _ => self.count_up_to(id, first),
        }
    }

    /// Returns whether an entry between this id and the end was removed by name, as far as the head
    /// tells.
    pub(super) fn has_gap_from(&self, id: StreamId, first: StreamId) -> bool {
        let deleted = self.max_deleted_id;
        self.len > 0 && deleted != StreamId::MIN && id <= deleted && first <= deleted
    }

    /// Returns how many entries were ever added up to this id, if head and first entry tell.
    pub(super) fn count_up_to(&self, id: StreamId, first: StreamId) -> Option<i64> {
        let Self { last_id, max_deleted_id, added, len, .. } = *self;
        if added == 0 {
            return Some(0);
        }
        if id == last_id || (len == 0 && id < last_id) {
            return Some(added.cast_signed());
        }
        let has_gap = max_deleted_id != StreamId::MIN && max_deleted_id >= first;
        if id > last_id || id > first || has_gap {
            return None;
        }
        Some((added.wrapping_sub(len) + u64::from(id == first)).cast_signed())
    }
}
