//! Tasks over a range of keys that reply with a total: counting the keys, and removing them.

use std::borrow::Cow;
use std::ops::{Bound, ControlFlow};

use super::{SLICE_KEYS, SliceResult, SlicedTask, TaskProgress, TaskSlice};
use crate::commands::{CommandError, CommandResult};
use crate::resp::Reply;
use skein_data::{RangeRemovalStep, ScanDirection, StoredKeyspace};
use skein_syntax::KeyRange;

/// Maximum number of keys in a slice that only counts.
const SLICE_KEYS_COUNTED: usize = 4096;

/// `SK.COUNT`
pub(crate) struct CountTask {
    keyspace: StoredKeyspace,
    range: KeyRange,
    count: usize,
}

impl CountTask {
    pub(crate) fn new(keyspace: StoredKeyspace, range: KeyRange) -> Self {
        Self { keyspace, range, count: 0 }
    }
}

impl SlicedTask for CountTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        let (count, last) =
            slice.session.count_first(self.keyspace, self.range.bounds(), SLICE_KEYS_COUNTED)?;
        self.count += count;
        if let Some(last) = last {
            self.range.lower = Bound::Excluded(last);
            return Ok(TaskProgress::More);
        }
        reply.count(self.count);
        Ok(TaskProgress::Done)
    }

    fn held(&self) -> usize {
        self.range.memory()
    }
}

/// `SK.DELRANGE`, `FLUSHALL`, `FLUSHDB`
pub(crate) struct RemoveRangeTask {
    keyspace: StoredKeyspace,
    /// The keyspaces that follow.
    then: Vec<StoredKeyspace>,
    range: KeyRange,
    count: usize,
    /// The reply is the number of removed keys instead of OK.
    counts: bool,
}

impl RemoveRangeTask {
    /// Removes a range of a keyspace, and replies with the number of removed keys.
    pub(crate) fn counting(keyspace: StoredKeyspace, range: KeyRange) -> Self {
        Self { keyspace, then: Vec::new(), range, count: 0, counts: true }
    }

    /// Removes all keys of some keyspaces. `REQUIRES:` there is one
    pub(crate) fn flush(mut keyspaces: Vec<StoredKeyspace>) -> Self {
        let keyspace = keyspaces.pop().unwrap_or_default();
        Self { keyspace, then: keyspaces, range: KeyRange::ALL, count: 0, counts: false }
    }

    /// Removes the first keys and notes each of them.
    fn remove_observed(&self, slice: &mut TaskSlice<'_, '_>) -> CommandResult<RangeRemovalStep> {
        let (lower, upper) = self.range.bounds();
        let mut keys: Vec<Vec<u8>> = Vec::new();
        slice.session.scan(self.keyspace, (lower, upper), ScanDirection::Forward, SLICE_KEYS, |key, _| {
            keys.push(key.to_vec());
            if keys.len() < SLICE_KEYS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let last = keys.last().filter(|_| keys.len() == SLICE_KEYS);
        let stored: Vec<Cow<'_, [u8]>> = keys.iter().map(|key| self.keyspace.stored(key)).collect();
        let watch = slice.changes.begin_removal(slice.session, stored.iter().map(|key| &**key));
        let upper = last.map_or(upper, |last| Bound::Included(&last[..]));
        let removed = slice.session.remove_some(self.keyspace, (lower, upper));
        slice.changes.end(watch, slice.session, removed.is_ok());
        let mut removed = removed?;
        if removed.rest.is_none() {
            removed.rest = last.map(|last| Bound::Excluded(last.clone()));
        }
        Ok(removed)
    }
}

impl SlicedTask for RemoveRangeTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        let removed = if self.counts && slice.changes.is_on() {
            self.remove_observed(slice)
        } else {
            slice.session.remove_some(self.keyspace, self.range.bounds()).map_err(CommandError::from)
        };
        let is_last = |removed: &RangeRemovalStep| removed.rest.is_none() && self.then.is_empty();
        if !self.counts && removed.as_ref().map_or(true, is_last) {
            // This is needed after an error, too: some keys were removed.
            slice.changes.flushed();
        }
        let removed = removed?;
        slice.ticket = slice.ticket.max(removed.ticket);
        self.count += removed.count;
        if let Some(rest) = removed.rest {
            self.range.lower = rest;
            return Ok(TaskProgress::More);
        }
        if let Some(next) = self.then.pop() {
            (self.keyspace, self.range) = (next, KeyRange::ALL);
            return Ok(TaskProgress::More);
        }
        if self.counts {
            reply.count(self.count);
        } else {
            reply.ok();
        }
        Ok(TaskProgress::Done)
    }

    fn held(&self) -> usize {
        self.range.memory()
    }

    fn writes(&self) -> bool {
        true
    }
}
