//! Entries that are shown in steps, from members that a view keeps as they were at one moment.

use std::ops::{ControlFlow, Deref};

use super::StreamId;
use super::entries::show;
use super::fields::EntryFields;
use super::records::{HEAD_NAME, StreamRecord, behind_base};
use super::stream::Stream;
use crate::{Members, Result, ScanDirection};

/// A range of entries that is shown in steps: how far the steps have come.
#[derive(Debug)]
pub struct EntrySteps {
    direction: ScanDirection,
    /// The ids that no step has passed.
    range: (StreamId, StreamId),
    /// A member that may have further entries.
    open: Option<(Vec<u8>, Vec<u8>)>,
    /// The number of entries that no step has shown.
    left: u64,
}

impl EntrySteps {
    /// Returns the steps through `left` entries of an inclusive range of ids.
    pub fn new(range: (StreamId, StreamId), direction: ScanDirection, left: u64) -> Self {
        Self { direction, range, open: None, left }
    }

    /// Returns how many entries no step has shown.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns whether the step before has left entries of a member.
    pub fn is_within_member(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the bytes that the steps use besides themselves.
    pub fn memory(&self) -> usize {
        self.open.as_ref().map_or(0, |(name, value)| name.len() + value.len())
    }

    /// Calls `each` with the entries that the step before has left of a member. Counts them down in
    /// `most`. Breaks if the step ends with them.
    pub fn show_rest(
        &mut self,
        most: &mut usize,
        each: &mut impl FnMut(StreamId, EntryFields<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some((name, value)) = self.open.take() else { return ControlFlow::Continue(()) };
        self.show(&name, &value, most, each)
    }

    /// Calls `each` with the entries of the next member. Counts them down in `most`. Breaks if the
    /// step ends with them: `most` is reached, `each` breaks, or none is left.
    pub fn show(
        &mut self,
        name: &[u8],
        value: &[u8],
        most: &mut usize,
        each: &mut impl FnMut(StreamId, EntryFields<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(StreamRecord::Entries(entries) | StreamRecord::Head(_, entries)) =
            StreamRecord::of(name, value)
        else {
            return ControlFlow::Continue(());
        };
        let (direction, range) = (self.direction, self.range);
        let flow = show(entries, range, direction, &mut |id, fields| {
            *most = most.saturating_sub(1);
            self.left -= 1;
            match direction {
                ScanDirection::Forward => self.range.0 = id.next().unwrap_or(id),
                ScanDirection::Backward => self.range.1 = id.previous().unwrap_or(id),
            }
            let is_over = each(id, fields).is_break() || self.left == 0 || *most == 0;
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if flow.is_break() && self.left > 0 {
            self.open = Some((name.to_vec(), value.to_vec()));
        }
        flow
    }
}

impl<M: Deref<Target: Members>> Stream<'_, M> {
    /// Returns the members of the stream.
    pub fn members(&self) -> &M {
        &self.members
    }

    /// Returns the rank of the first member that may have entries from an id on, and that of the
    /// head, which is the last one.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn entry_ranks(&self, first: StreamId) -> Result<(u64, u64)> {
        let start = self.members.rank_of(&behind_base(first))?.saturating_sub(1);
        Ok((start, self.members.rank_of(HEAD_NAME)?))
    }

    /// Calls `each` with the names and values of all records behind the one named `after`, until it
    /// breaks; [`StreamRecord`] reads them.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn records_after(
        &self,
        after: Option<&[u8]>,
        mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.members.walk_names(after, &mut each)
    }
}
