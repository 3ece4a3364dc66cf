//! Writes of consumer groups and consumers.

use super::StreamId;
use super::name_walks::first_names;
use super::records::{Consumer, Group, NameRange, consumer_name, group_name, pending_name};
use super::stream::StreamWriter;
use crate::{Result, ScanDirection};

/// The names that a removal lists at a time.
const LISTED: usize = 1024;

/// Where a group begins to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStart {
    /// It reads the entries behind this id.
    pub last_id: StreamId,
    /// The number of entries up to this id, or
    /// [`ENTRIES_READ_UNKNOWN`](super::ENTRIES_READ_UNKNOWN).
    pub entries_read: i64,
}

impl StreamWriter<'_> {
    /// Makes a group. Returns false if there is one of this name.
    ///
    /// # Errors
    /// The name is over the limit of members, memory is used up, or the engine fails.
    pub fn create_group(&mut self, name: &[u8], start: GroupStart) -> Result<bool> {
        if self.group(name)?.is_some() {
            return Ok(false);
        }
        let number = self.head.next_group;
        self.head.next_group = number.wrapping_add(1);
        let GroupStart { last_id, entries_read } = start;
        let group = Group { number, last_id, entries_read, pending: 0, consumers: 0, next_consumer: 0 };
        self.put_group(name, &group)?;
        Ok(true)
    }

    /// Sets where a group reads on. Returns false if there is no such group.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn set_group(&mut self, name: &[u8], start: GroupStart) -> Result<bool> {
        let Some(group) = self.group(name)? else { return Ok(false) };
        let GroupStart { last_id, entries_read } = start;
        self.put_group(name, &Group { last_id, entries_read, ..group })?;
        Ok(true)
    }

    /// Removes a group with its consumers and pending entries. Returns whether it was there. Takes
    /// O(log n) for each of them.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn destroy_group(&mut self, name: &[u8]) -> Result<bool> {
        let Some(group) = self.group(name)? else { return Ok(false) };
        self.remove_all(&NameRange::owned_in(group.number), |_| None)?;
        self.remove_all(&NameRange::pending(group.number, StreamId::MIN), |_| None)?;
        self.remove_all(&NameRange::consumers(group.number), |_| None)?;
        self.members.remove_value(&group_name(name))
    }

    /// Makes a consumer. Returns false if there is one of this name.
    ///
    /// # Errors
    /// As for [`create_group`](Self::create_group).
    pub fn create_consumer(
        &mut self,
        group_name: &[u8],
        group: &mut Group,
        name: &[u8],
        now: u64,
    ) -> Result<bool> {
        if self.consumer(group, name)?.is_some() {
            return Ok(false);
        }
        let consumer = group.new_consumer(now);
        self.put_consumer(group, name, &consumer)?;
        self.put_group(group_name, group)?;
        Ok(true)
    }

    /// Removes a consumer with its pending entries. Returns their number, 0 without such a
    /// consumer. Takes O(log n) for each.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn delete_consumer(&mut self, group_name: &[u8], group: &mut Group, name: &[u8]) -> Result<u64> {
        let Some(consumer) = self.consumer(group, name)? else { return Ok(0) };
        let owned = NameRange::owned(group.number, consumer.number, StreamId::MIN);
        let number = group.number;
        self.remove_all(&owned, |owned| super::records::id_at_end(owned).map(|id| pending_name(number, id)))?;
        self.members.remove_value(&consumer_name(group.number, name))?;
        group.consumers -= 1;
        group.pending -= consumer.pending;
        self.put_group(group_name, group)?;
        Ok(consumer.pending)
    }

    pub(super) fn put_group(&mut self, name: &[u8], group: &Group) -> Result<()> {
        self.put(&group_name(name), &group.to_bytes())
    }

    pub(super) fn put_consumer(&mut self, group: &Group, name: &[u8], consumer: &Consumer) -> Result<()> {
        self.put(&consumer_name(group.number, name), &consumer.to_bytes())
    }

    /// Removes the records of a range, and with each the one that `other` names.
    fn remove_all(&mut self, range: &NameRange, other: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<()> {
        loop {
            let names = first_names(&*self.members, range, ScanDirection::Forward, LISTED)?;
            for name in &names {
                self.members.remove_value(name)?;
                if let Some(other) = other(name) {
                    self.members.remove_value(&other)?;
                }
            }
            if names.len() < LISTED {
                return Ok(());
            }
        }
    }
}

impl Group {
    /// Returns a new consumer, and counts it.
    pub(super) fn new_consumer(&mut self, now: u64) -> Consumer {
        let number = self.next_consumer;
        self.next_consumer = number.wrapping_add(1);
        self.consumers += 1;
        Consumer { number, seen: now, pending: 0 }
    }
}
