//! Deliveries to consumers: entries become pending, are acknowledged, or claimed by another
//! consumer.
//!
//! A delivery changes the records of several consumers and of the group. [`OpenGroup`] keeps them
//! until its end, so that each is written once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use skein_store::ScanDirection;

use super::fields::EntryFields;
use super::id::StreamId;
use super::members::walk_names;
use super::records::{
    Consumer, ENTRIES_READ_UNKNOWN, Group, NameRange, PendingEntry, id_at_end, owned_name, pending_name,
};
use super::stream::{Result, StreamWriter};

/// What a consumer asks for.
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

/// How a consumer takes over pending entries.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Entries that were delivered later than so many milliseconds ago stay.
    pub min_idle: u64,
    /// The time of delivery that they get.
    pub delivered: u64,
    /// The number of deliveries that they get. `None` counts one more.
    pub deliveries: Option<u64>,
    /// Whether to leave the number of deliveries as it is.
    pub keeps_deliveries: bool,
    /// Whether to take entries that are not pending.
    pub force: bool,
}

/// The outcome of claiming one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It is the consumer's.
    Taken,
    /// It is not pending, or was delivered too recently.
    Left,
    /// The stream has it no more, so it is not pending any more.
    Gone,
}

/// A group while a write changes its pending entries.
#[derive(Debug)]
struct OpenGroup<'a> {
    name: &'a [u8],
    group: Group,
    /// Consumers that were looked up, and whether they have changed.
    consumers: BTreeMap<Vec<u8>, (Consumer, bool)>,
}

impl<'a> OpenGroup<'a> {
    fn of(stream: &mut StreamWriter<'_>, name: &'a [u8]) -> Result<Option<Self>> {
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
    fn see(&mut self, stream: &mut StreamWriter<'_>, name: &[u8], now: u64) -> Result<u32> {
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
    fn put(
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
    fn remove(&mut self, stream: &mut StreamWriter<'_>, id: StreamId, entry: &PendingEntry) -> Result<()> {
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
    fn close(self, stream: &mut StreamWriter<'_>) -> Result<()> {
        for (name, (consumer, changed)) in &self.consumers {
            if *changed {
                stream.put_consumer(&self.group, name, consumer)?;
            }
        }
        stream.put_group(self.name, &self.group)
    }

    /// Claims one entry for a consumer.
    fn claim(
        &mut self,
        stream: &mut StreamWriter<'_>,
        id: StreamId,
        asked: &Delivery<'_>,
        claim: &Claim,
    ) -> Result<Claimed> {
        let before = stream.pending_entry(&self.group, id)?;
        if stream.entry(id, |_| ())?.is_none() {
            let Some(before) = before else { return Ok(Claimed::Left) };
            self.remove(stream, id, &before)?;
            return Ok(Claimed::Gone);
        }
        let deliveries = match &before {
            None if !claim.force => return Ok(Claimed::Left),
            None => 1,
            Some(before) if claim.min_idle > 0 && before.idle(asked.now) < claim.min_idle => {
                return Ok(Claimed::Left);
            }
            Some(before) => before.deliveries,
        };
        self.see(stream, asked.consumer, asked.now)?;
        let counted = if claim.keeps_deliveries { deliveries } else { deliveries.saturating_add(1) };
        let now = PendingEntry {
            delivered: claim.delivered,
            deliveries: claim.deliveries.unwrap_or(counted),
            consumer: asked.consumer.to_vec(),
        };
        self.put(stream, id, before.as_ref(), &now)?;
        Ok(Claimed::Taken)
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
    /// They become pending, but not if `is_acknowledged`. Returns their number; `None` if there is no
    /// such group. Without entries, nothing changes.
    ///
    /// # Errors
    /// A name is over the limit of members, memory is used up, or the engine fails.
    pub fn deliver(
        &mut self,
        asked: &Delivery<'_>,
        is_acknowledged: bool,
        mut each: impl FnMut(StreamId, EntryFields<'_>),
    ) -> Result<Option<usize>> {
        let Some(mut open) = OpenGroup::of(self, asked.group)? else { return Ok(None) };
        let mut found = Vec::new();
        if let Some(first) = open.group.last_id.next().filter(|_| asked.most > 0) {
            self.entries((first, StreamId::MAX), ScanDirection::Forward, |id, fields| {
                each(id, fields);
                found.push(id);
                if found.len() < asked.most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
        }
        if found.is_empty() {
            return Ok(Some(0));
        }
        open.see(self, asked.consumer, asked.now)?;
        // The first entry tells of gaps, and there are none without removals by name.
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
        open.close(self).map(|()| Some(found.len()))
    }

    /// Shows a consumer its pending entries from an id on, and counts this as a delivery. `each`
    /// gets `None` for an entry that the stream has no more. Returns `None` if there is no such
    /// group.
    ///
    /// # Errors
    /// As for [`deliver`](Self::deliver).
    pub fn show_pending(
        &mut self,
        asked: &Delivery<'_>,
        first: StreamId,
        mut each: impl FnMut(StreamId, Option<EntryFields<'_>>),
    ) -> Result<Option<()>> {
        let Some(mut open) = OpenGroup::of(self, asked.group)? else { return Ok(None) };
        let number = open.see(self, asked.consumer, asked.now)?;
        for id in self.ids(&NameRange::owned(open.group.number, number, first), asked.most)? {
            if self.entry(id, |fields| each(id, Some(fields)))?.is_none() {
                each(id, None);
                continue;
            }
            if let Some(before) = self.pending_entry(&open.group, id)? {
                let deliveries = before.deliveries.saturating_add(1);
                let now = PendingEntry { delivered: asked.now, deliveries, ..before.clone() };
                open.put(self, id, Some(&before), &now)?;
            }
        }
        open.close(self).map(Some)
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

    /// Claims entries for a consumer, which is made if it gets one. Moves the group on to
    /// `last_id`, if that is behind its own. Calls `each` with the entries that it took.
    ///
    /// # Errors
    /// As for [`deliver`](Self::deliver).
    pub fn claim(
        &mut self,
        asked: &Delivery<'_>,
        claim: &Claim,
        ids: &[StreamId],
        last_id: StreamId,
        mut each: impl FnMut(StreamId, EntryFields<'_>),
    ) -> Result<Option<()>> {
        let Some(mut open) = OpenGroup::of(self, asked.group)? else { return Ok(None) };
        open.group.last_id = open.group.last_id.max(last_id);
        for &id in ids {
            if open.claim(self, id, asked, claim)? == Claimed::Taken {
                self.entry(id, |fields| each(id, fields))?;
            }
        }
        open.close(self).map(Some)
    }

    /// Claims pending entries from an id on: up to `asked.most`, among up to `tried`. Calls `each`
    /// with those that it took, and with `None` for those that the stream has no more. Returns the
    /// id of the next pending entry, 0-0 behind the last one; `None` if there is no such group.
    ///
    /// # Errors
    /// As for [`deliver`](Self::deliver).
    pub fn claim_from(
        &mut self,
        asked: &Delivery<'_>,
        claim: &Claim,
        first: StreamId,
        tried: usize,
        mut each: impl FnMut(StreamId, Option<EntryFields<'_>>),
    ) -> Result<Option<StreamId>> {
        let Some(mut open) = OpenGroup::of(self, asked.group)? else { return Ok(None) };
        let (mut left, mut tries, mut next) = (asked.most, tried, Some(first));
        while let Some(from) = next.filter(|_| left > 0 && tries > 0) {
            let listed = left.min(tries).min(LISTED);
            let ids = self.ids(&NameRange::pending(open.group.number, from), listed)?;
            next = if ids.len() < listed { None } else { ids.last().and_then(|last| last.next()) };
            for id in ids {
                tries -= 1;
                match open.claim(self, id, asked, claim)? {
                    Claimed::Taken => _ = self.entry(id, |fields| each(id, Some(fields)))?,
                    Claimed::Gone => each(id, None),
                    Claimed::Left => continue,
                }
                left -= 1;
            }
        }
        let next = match next {
            Some(from) => self.ids(&NameRange::pending(open.group.number, from), 1)?.pop(),
            None => None,
        };
        open.close(self).map(|()| Some(next.unwrap_or_default()))
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
    fn ids(&mut self, range: &NameRange, most: usize) -> Result<Vec<StreamId>> {
        let mut ids = Vec::new();
        walk_names(&mut self.members, range, ScanDirection::Forward, &mut |name| {
            ids.extend(id_at_end(name));
            if ids.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(ids)
    }
}

/// The pending entries that a search for claims lists at a time.
const LISTED: usize = 256;

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
