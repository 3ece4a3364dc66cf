//! A range of entries as it was at one moment, read in steps while writers continue.

use std::ops::ControlFlow;

use skein_store::ScanDirection;

use super::fields::EntryFields;
use super::id::StreamId;
use super::members::StreamMembers as _;
use super::records::{entry_name, id_at_end};
use super::stream::StreamReader;
use crate::Result;
use crate::collections::{MembersView, ScoreRangeView};

/// Entries of a stream as they were at one moment; see `StreamReader::view`. A view keeps what
/// writers replace meanwhile, so drop it as soon as possible.
#[derive(Default)]
pub struct EntriesView {
    values: MembersView,
    /// The names, from the last one on; `None` if the entries are shown in their order.
    names: Option<ScoreRangeView>,
}

impl StreamReader<'_> {
    /// Takes a view of up to `most` entries of an inclusive range of ids, as they are now: to read
    /// them in steps while writers continue.
    pub fn view(
        &mut self,
        (first, last): (StreamId, StreamId),
        direction: ScanDirection,
        most: u64,
    ) -> Option<EntriesView> {
        let start = self.members.rank_of(&entry_name(first)).ok()?;
        let count = self.count((first, last)).ok()?;
        let most = most.min(count);
        if most == 0 {
            return Some(EntriesView::default());
        }
        match direction {
            ScanDirection::Forward => {
                let mut before = None;
                if let Some(rank) = start.checked_sub(1) {
                    self.members.walk(rank, ScanDirection::Forward, |_, name| {
                        before = Some(name.to_vec());
                        ControlFlow::Break(())
                    });
                }
                let values = self.members.view_members_after(before, most)?;
                Some(EntriesView { values, names: None })
            }
            ScanDirection::Backward => {
                let values = self.members.view_members()?;
                let names = self.members.view(start + count - 1, most, ScanDirection::Backward)?;
                Some(EntriesView { values, names: Some(names) })
            }
        }
    }
}

impl StreamReader<'_> {
    /// Calls `each` with the names and values of all records behind the one named `after`, until it
    /// breaks; [`StreamRecord`](super::StreamRecord) reads them.
    pub fn records_after(&self, after: Option<&[u8]>, each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) {
        self.members.values_after(after, each);
    }
}

impl EntriesView {
    /// Returns how many entries no step has shown.
    pub fn left(&self) -> u64 {
        self.names.as_ref().map_or_else(|| self.values.left(), ScoreRangeView::left)
    }

    /// Calls `each` with the next entries until it breaks, and visits about `most`. Returns whether
    /// there are more.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    pub fn step(
        &mut self,
        most: usize,
        mut each: impl FnMut(StreamId, EntryFields<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        let mut show = |name: &[u8], value: &[u8]| match id_at_end(name) {
            Some(id) => each(id, EntryFields::of(value)),
            None => ControlFlow::Continue(()),
        };
        let Some(names) = &mut self.names else { return self.values.step(most, show) };
        let (values, mut failed) = (&self.values, None);
        let more = names.step(most, |_, name| {
            let name = name.to_vec();
            match values.get(&name) {
                Ok(value) => show(&name, &value.unwrap_or_default()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failed.map_or(Ok(more), Err)
    }
}
