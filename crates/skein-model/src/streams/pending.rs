//! Deliveries to consumers: entries become pending, are acknowledged, or claimed by another
//! consumer.
//!
//! A delivery changes the records of several consumers and of the group. [`OpenGroup`] keeps them
//! until its end, so that each is written once.
//!
//! A caller that shows the entries may refuse: its reply may become too long. So each method shows
//! all of its entries before it changes the first record.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::StreamId;
use super::fields::EntryFields;
use super::name_walks::walk_names;
use super::records::{
    Consumer, ENTRIES_READ_UNKNOWN, Group, NameRange, PendingEntry, id_at_end, owned_name, pending_name,
};
use super::stream::StreamWriter;
use crate::{Error, Result, ScanDirection};

/// The request of a consumer.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The name of the group.
    pub group: &'a [u8],
    /// The name of the consumer; it is made if it is new.
    pub consumer: &'a [u8],
    /// The most entries.
    pub most: usize,
    /// The time, in milliseconds since 1970.
    pub now: u64,
}

/// A group while a write changes its pending entries.
#[derive(Debug)]
pub(super) struct OpenGroup<'a> {
    name: &'a [u8],
    pub(super) group: Group,
    /// Consumers that were looked up, and whether they have changed.
    consumers: BTreeMap<Vec<u8>, (Consumer, bool)>,
}

impl<'a> OpenGroup<'a> {
    pub(super) fn of(stream: &mut StreamWriter<'_>, name: &'a [u8]) -> Result<Option<Self>> {
        Ok(stream.group(name)?.map(|group| Self { name, group, consumers: BTreeMap::new() }))
    }

    /// Returns the consumer of this name, if there is one.
    fn consumer(
        &mut self,
        stream: &mut StreamWriter<'_>,
        name: &[u8],
    ) -> Result<Option<&mut (Consumer, bool)>> {
        if !self.consumers.contains_key(name) {
            let Some(found) = stream.consumer(&self.group, name)? else { return Ok(None) };
            self.consumers.insert(name.to_vec(), (found, false));
        }
        Ok(self.consumers.get_mut(name))
    }

    /// Notes that a consumer asks for entries. Makes it if it is new. Returns its number.
    pub(super) fn see(&mut self, stream: &mut StreamWriter<'_>, name: &[u8], now: u64) -> Result<u32> {
        if let Some((consumer, changed)) = self.consumer(stream, name)? {
            *changed |= consumer.seen != now;
            consumer.seen = now;
            return Ok(consumer.number);
        }
        let consumer = self.group.new_consumer(now);
        self.consumers.insert(name.to_vec(), (consumer, true));
        Ok(consumer.number)
    }

    /// Makes an entry pending for a consumer. `before` is its pending entry.
    pub(super) fn put(
        &mut self,
        stream: &mut StreamWriter<'_>,
        id: StreamId,
        before: Option<&PendingEntry>,
        now: &PendingEntry,
    ) -> Result<()> {
        stream.put(&pending_name(self.group.number, id), &now.to_bytes())?;
        if before.is_some_and(|before| before.consumer == now.consumer) {
            return Ok(());
        }
        match before {
            Some(before) => self.disown(stream, id, before)?,
            None => self.group.pending += 1,
        }
        let group = self.group.number;
        if let Some((consumer, changed)) = self.consumer(stream, &now.consumer)? {
            consumer.pending += 1;
            *changed = true;
            let number = consumer.number;
            stream.put(&owned_name(group, number, id), &[])?;
        }
        Ok(())
    }

    /// Removes a pending entry.
    pub(super) fn remove(
        &mut self,
        stream: &mut StreamWriter<'_>,
        id: StreamId,
        entry: &PendingEntry,
    ) -> Result<()> {
        stream.members.remove_value(&pending_name(self.group.number, id))?;
        self.group.pending -= 1;
        self.disown(stream, id, entry)
    }

    /// Takes a pending entry from its consumer.
    fn disown(&mut self, stream: &mut StreamWriter<'_>, id: StreamId, entry: &PendingEntry) -> Result<()> {
        let group = self.group.number;
        if let Some((consumer, changed)) = self.consumer(stream, &entry.consumer)? {
            consumer.pending -= 1;
            *changed = true;
            let number = consumer.number;
            stream.members.remove_value(&owned_name(group, number, id))?;
        }
        Ok(())
    }

    /// Writes the records of the group and of the consumers.
    pub(super) fn close(self, stream: &mut StreamWriter<'_>) -> Result<()> {
        for (name, (consumer, changed)) in &self.consumers {
            if *changed {
                stream.put_consumer(&self.group, name, consumer)?;
            }
        }
        stream.put_group(self.name, &self.group)
    }
}

impl PendingEntry {
    /// Returns the milliseconds since the last delivery.
    pub fn idle(&self, now: u64) -> u64 {
        now.saturating_sub(self.delivered)
    }
}

impl StreamWriter<'_> {
    /// Delivers the entries behind the group's last id to a consumer, and calls `each` with them.
    /// They become pending, but not if `is_acknowledged`. Returns their number; `None` if there is
    /// no such group. Without entries, nothing changes.
    ///
    /// # Errors
    /// Those of `each`, with nothing changed. A name is over the limit of members, memory is used
    /// up, or the engine fails.
    pub fn deliver<E: From<Error>>(
        &mut self,
        asked: &Delivery<'_>,
        is_acknowledged: bool,
        mut each: impl FnMut(StreamId, EntryFields<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<Option<usize>, E> {
        let Some(mut open) = OpenGroup::of(self, asked.group)? else { return Ok(None) };
        let (mut found, mut shown) = (Vec::new(), Ok(()));
        if let Some(first) = open.group.last_id.next().filter(|_| asked.most > 0) {
            self.entries((first, StreamId::MAX), ScanDirection::Forward, |id, fields| {
                shown = each(id, fields);
                found.push(id);
                let goes_on = shown.is_ok() && found.len() < asked.most;
                if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
        }
        shown?;
        if found.is_empty() {
            return Ok(Some(0));
        }
        open.see(self, asked.consumer, asked.now)?;
        // The first entry tells of gaps. Without removals by name there are no gaps.
        let has_gaps =
            self.head.max_deleted_id != StreamId::MIN || open.group.entries_read == ENTRIES_READ_UNKNOWN;
        let first = if has_gaps { self.edge(ScanDirection::Forward)? } else { None }.unwrap_or_default();
        let may_be_pending = !is_acknowledged && open.group.pending > 0;
        let last_pending = if may_be_pending { self.last_pending(&open.group)? } else { None };
        let now = PendingEntry { delivered: asked.now, deliveries: 1, consumer: asked.consumer.to_vec() };
        for &id in &found {
            open.group.read(id, first, self);
            if !is_acknowledged {
                // After XGROUP SETID it may be pending already.
                let again = last_pending.is_some_and(|last| id <= last);
                let before = if again { self.pending_entry(&open.group, id)? } else { None };
                open.put(self, id, before.as_ref(), &now)?;
            }
        }
        open.close(self)?;
        Ok(Some(found.len()))
    }

    /// Shows a consumer its pending entries from an id on, and counts this as a delivery. `each`
    /// gets `None` for an entry that the stream has no more. Returns `None` if there is no such
    /// group.
    ///
    /// # Errors
    /// As for [`deliver`](Self::deliver).
    pub fn show_pending<E: From<Error>>(
        &mut self,
        asked: &Delivery<'_>,
        first: StreamId,
        mut each: impl FnMut(StreamId, Option<EntryFields<'_>>) -> std::result::Result<(), E>,
    ) -> std::result::Result<Option<()>, E> {
        let Some(mut open) = OpenGroup::of(self, asked.group)? else { return Ok(None) };
        let number = open.see(self, asked.consumer, asked.now)?;
        let mut found = Vec::new();
        for id in self.ids(&NameRange::owned(open.group.number, number, first), asked.most)? {
            match self.entry(id, |fields| each(id, Some(fields)))? {
                Some(shown) => {
                    shown?;
                    found.push(id);
                }
                None => each(id, None)?,
            }
        }
        for id in found {
            if let Some(before) = self.pending_entry(&open.group, id)? {
                let deliveries = before.deliveries.saturating_add(1);
                let now = PendingEntry { delivered: asked.now, deliveries, ..before.clone() };
                open.put(self, id, Some(&before), &now)?;
            }
        }
        open.close(self)?;
        Ok(Some(()))
    }

    /// Removes pending entries of a group. Returns their number.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn acknowledge(&mut self, group: &[u8], ids: &[StreamId]) -> Result<u64> {
        let Some(mut open) = OpenGroup::of(self, group)? else { return Ok(0) };
        let mut count = 0;
        for &id in ids {
            if let Some(entry) = self.pending_entry(&open.group, id)? {
                open.remove(self, id, &entry)?;
                count += 1;
            }
        }
        if count > 0 {
            open.close(self)?;
        }
        Ok(count)
    }

    /// Makes an entry pending as in another stream. Returns false if there is no such group or
    /// consumer.
    ///
    /// # Errors
    /// As for [`deliver`](Self::deliver).
    pub fn restore_pending(&mut self, group: &[u8], id: StreamId, entry: &PendingEntry) -> Result<bool> {
        let Some(mut open) = OpenGroup::of(self, group)? else { return Ok(false) };
        if open.consumer(self, &entry.consumer)?.is_none() {
            return Ok(false);
        }
        let before = self.pending_entry(&open.group, id)?;
        open.put(self, id, before.as_ref(), entry)?;
        open.close(self).map(|()| true)
    }

    /// Returns up to `most` ids that end the names of a range.
    pub(super) fn ids(&mut self, range: &NameRange, most: usize) -> Result<Vec<StreamId>> {
        let mut ids = Vec::new();
        walk_names(&*self.members, range, ScanDirection::Forward, &mut |name| {
            ids.extend(id_at_end(name));
            if ids.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(ids)
    }
}

impl Group {
    /// Moves the group on to an entry that it reads.
    fn read(&mut self, id: StreamId, first: StreamId, stream: &StreamWriter<'_>) {
        let head = stream.head();
        if self.entries_read != ENTRIES_READ_UNKNOWN && !head.has_gap_from(id, first) {
            self.entries_read += 1;
        } else if head.added > 0 {
            self.entries_read = head.count_up_to(id, first).unwrap_or(ENTRIES_READ_UNKNOWN);
        }
        self.last_id = id;
    }
}
