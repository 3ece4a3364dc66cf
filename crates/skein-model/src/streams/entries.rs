//! Reads of entries.
//!
//! ```text
//!   member of base a   member of base b   …   tail, in the head's member
//!   a ≤ ids < b        b ≤ ids
//! ```

use std::ops::{ControlFlow, Deref};

use super::StreamId;
use super::chunks::{ChunkEntries, count_in};
use super::fields::EntryFields;
use super::name_walks;
use super::records::{NameRange, base_in, behind_base, entries_in};
use super::stream::Stream;
use crate::{Members, Result, ScanDirection};

impl<M: Deref<Target: Members>> Stream<'_, M> {
    /// Calls `each` with the entries of an inclusive range of ids, until it breaks.
    ///
    /// # Errors
    /// Those of the engine, as for all methods.
    pub fn entries(
        &mut self,
        range: (StreamId, StreamId),
        direction: ScanDirection,
        mut each: impl FnMut(StreamId, EntryFields<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let is_backward = direction == ScanDirection::Backward;
        if is_backward && self.show_tail(range, direction, &mut each).is_break() {
            return Ok(());
        }
        let mut flow = ControlFlow::Continue(());
        if let Some(names) = self.members_of(range)? {
            name_walks::walk(&*self.members, &names, direction, &mut |name, value| {
                if let Some(entries) = entries_in(name, value) {
                    flow = show(entries, range, direction, &mut each);
                }
                flow
            })?;
        }
        if !is_backward && flow.is_continue() {
            let _ = self.show_tail(range, direction, &mut each);
        }
        Ok(())
    }

    /// Shows the entries of the tail. Breaks also if the range ends within it.
    fn show_tail(
        &self,
        range: (StreamId, StreamId),
        direction: ScanDirection,
        each: &mut impl FnMut(StreamId, EntryFields<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let tail = self.tail.as_ref().filter(|tail| tail.base <= range.1);
        tail.map_or(ControlFlow::Continue(()), |tail| show(tail.entries(), range, direction, each))
    }

    /// Returns the names of the members, besides the head, that may have entries of a range.
    fn members_of(&mut self, (first, last): (StreamId, StreamId)) -> Result<Option<NameRange>> {
        if first > last || self.tail.as_ref().is_some_and(|tail| tail.base <= first) {
            return Ok(None);
        }
        // Members with entries are the first ones by name.
        let start = self.members.rank_of(&behind_base(first))?.saturating_sub(1);
        Ok(self.entry_member(start)?.map(|name| NameRange::entries(name, last)))
    }

    /// Returns the name of the member with entries at a rank.
    pub(super) fn entry_member(&mut self, rank: u64) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        self.members.walk_ranks(rank, ScanDirection::Forward, &mut |_, member| {
            found = Some(member.to_vec()).filter(|name| base_in(name).is_some());
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Returns the name of the last member with entries.
    pub(super) fn last_entry_member(&mut self) -> Result<Option<Vec<u8>>> {
        match self.members.rank_of(&behind_base(StreamId::MAX))?.checked_sub(1) {
            Some(rank) => self.entry_member(rank),
            None => Ok(None),
        }
    }

    /// Returns the number of entries of an inclusive range of ids, but not more than `most`. Takes
    /// O(1) for all entries, O(log n) for the last ones, and otherwise a lookup for some hundred
    /// entries.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn count(&mut self, (first, last): (StreamId, StreamId), most: u64) -> Result<u64> {
        if first.previous().is_none_or(|before| before == StreamId::MIN) && last >= self.head.last_id {
            return Ok(self.head.len.min(most));
        }
        let tail = self.tail.as_ref().map_or(0, |tail| count_of(tail.entries(), (first, last)));
        let Some(names) = self.members_of((first, last))? else { return Ok(tail.min(most)) };
        let mut count = tail;
        // The member before, until it is known where it ends.
        let mut open: Option<(Vec<u8>, Vec<u8>)> = None;
        name_walks::walk(&*self.members, &names, ScanDirection::Forward, &mut |name, value| {
            if let Some((name, value)) = open.replace((name.to_vec(), value.to_vec())) {
                count += count_of_member(&name, &value, first);
            }
            if count < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if let Some((name, value)) = open {
            count += entries_in(&name, &value).map_or(0, |entries| count_of(entries, (first, last)));
        }
        Ok(count.min(most))
    }

    /// Calls `read` with the fields of an entry, and returns its answer; `None` without the entry.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn entry<R>(&mut self, id: StreamId, read: impl FnOnce(EntryFields<'_>) -> R) -> Result<Option<R>> {
        if let Some(tail) = self.tail.as_ref().filter(|tail| tail.base <= id) {
            return Ok(field_of(tail.entries(), id).map(read));
        }
        let Some(name) = self.member_with(id)? else { return Ok(None) };
        let value = self.members.value(&name)?.unwrap_or_default();
        let entries = entries_in(&name, &value);
        Ok(entries.and_then(|entries| field_of(entries, id)).map(read))
    }

    /// Returns the name of the member that may have an entry, if that is not the tail.
    pub(super) fn member_with(&mut self, id: StreamId) -> Result<Option<Vec<u8>>> {
        match self.members.rank_of(&behind_base(id))?.checked_sub(1) {
            Some(rank) => self.entry_member(rank),
            None => Ok(None),
        }
    }

    /// Returns the id of the first or the last entry.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn edge(&mut self, direction: ScanDirection) -> Result<Option<StreamId>> {
        if self.is_empty() {
            return Ok(None);
        }
        let of_tail = self.tail.as_ref().and_then(|tail| edge_of(tail.entries(), direction));
        if direction == ScanDirection::Backward && of_tail.is_some() {
            return Ok(of_tail);
        }
        let name = match direction {
            ScanDirection::Forward => self.entry_member(0)?,
            ScanDirection::Backward => self.last_entry_member()?,
        };
        let Some(name) = name else { return Ok(of_tail) };
        let value = self.members.value(&name)?.unwrap_or_default();
        Ok(entries_in(&name, &value).and_then(|entries| edge_of(entries, direction)))
    }
}

/// Calls `each` with the entries of a range, until it breaks. Breaks also at the end of the range.
pub(super) fn show(
    entries: ChunkEntries<'_>,
    (first, last): (StreamId, StreamId),
    direction: ScanDirection,
    each: &mut impl FnMut(StreamId, EntryFields<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut show = |(id, fields): (StreamId, EntryFields<'_>)| match direction {
        ScanDirection::Forward if id > last => ControlFlow::Break(()),
        ScanDirection::Backward if id < first => ControlFlow::Break(()),
        _ if id < first || id > last => ControlFlow::Continue(()),
        _ => each(id, fields),
    };
    match direction {
        ScanDirection::Forward => { entries }.try_for_each(show),
        ScanDirection::Backward => {
            let all: Vec<_> = entries.collect();
            all.into_iter().rev().try_for_each(&mut show)
        }
    }
}

fn count_of(entries: ChunkEntries<'_>, (first, last): (StreamId, StreamId)) -> u64 {
    entries.filter(|(id, _)| (first..=last).contains(id)).count() as u64
}

/// Returns the number of entries from `first` on, in a member that ends within the range.
fn count_of_member(name: &[u8], value: &[u8], first: StreamId) -> u64 {
    let is_whole = base_in(name).is_some_and(|base| base >= first);
    match entries_in(name, value) {
        Some(_) if is_whole => count_in(value),
        Some(entries) => count_of(entries, (first, StreamId::MAX)),
        None => 0,
    }
}

fn field_of(mut entries: ChunkEntries<'_>, wanted: StreamId) -> Option<EntryFields<'_>> {
    entries.find(|(id, _)| *id >= wanted).filter(|(id, _)| *id == wanted).map(|(_, fields)| fields)
}

fn edge_of(mut entries: ChunkEntries<'_>, direction: ScanDirection) -> Option<StreamId> {
    let edge = if direction == ScanDirection::Forward { entries.next() } else { entries.last() };
    edge.map(|(id, _)| id)
}
