//! A range of entries as it was at one moment, read in steps while writers continue.

use std::ops::ControlFlow;

use skein_model::{Members as _, ScanDirection};

use super::entries::show;
use super::fields::EntryFields;
use super::id::StreamId;
use super::records::{HEAD_NAME, StreamRecord, behind_base};
use super::stream::StreamReader;
use crate::Result;
use crate::collections::{MembersView, ScoreRangeView};

/// Entries of a stream as they were at one moment; see `StreamReader::view`. A view keeps the
/// entries that writers replace meanwhile, so drop it as soon as possible.
#[derive(Default)]
pub struct EntriesView {
    values: MembersView,
    /// The names, from the last one on; `None` if the entries are shown in their order.
    names: Option<ScoreRangeView>,
    /// The ids that no step has passed.
    range: (StreamId, StreamId),
    /// A member that may have further entries.
    open: Option<(Vec<u8>, Vec<u8>)>,
    /// The number of entries that no step has shown.
    left: u64,
}

impl StreamReader<'_> {
    /// Takes a view of up to `most` entries of an inclusive range of ids, as they are now: to read
    /// them in steps while writers continue.
    pub fn view(
        &mut self,
        range: (StreamId, StreamId),
        direction: ScanDirection,
        most: u64,
    ) -> Option<EntriesView> {
        let left = self.count(range, most).ok()?;
        if left == 0 {
            return Some(EntriesView::default());
        }
        let start = self.members.rank_of(&behind_base(range.0)).ok()?.saturating_sub(1);
        let (values, names) = match direction {
            ScanDirection::Forward => {
                let mut before = None;
                if let Some(rank) = start.checked_sub(1) {
                    self.members.walk(rank, ScanDirection::Forward, |_, name| {
                        before = Some(name.to_vec());
                        ControlFlow::Break(())
                    });
                }
                (self.members.view_members_after(before, self.members.len())?, None)
            }
            ScanDirection::Backward => {
                let head = self.members.rank_of(HEAD_NAME).ok()?;
                let names = self.members.view(head, head - start + 1, ScanDirection::Backward)?;
                (self.members.view_members()?, Some(names))
            }
        };
        Some(EntriesView { values, names, range, open: None, left })
    }
}

impl StreamReader<'_> {
    /// Calls `each` with the names and values of all records behind the one named `after`, until it
    /// breaks; [`StreamRecord`](super::StreamRecord) reads them.
    pub fn records_after(&self, after: Option<&[u8]>, mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) {
        // The reader keeps its errors.
        self.members.walk_names(after, &mut each).unwrap_or_default();
    }
}

impl EntriesView {
    /// Returns how many entries no step has shown.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the bytes that the view uses besides itself, about.
    pub fn memory(&self) -> usize {
        self.values.memory() + self.open.as_ref().map_or(0, |(name, value)| name.len() + value.len())
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
        let Self { values, names, range, open, left } = self;
        if *left == 0 {
            return Ok(false);
        }
        let direction = if names.is_some() { ScanDirection::Backward } else { ScanDirection::Forward };
        let (mut shown, begun) = (0, open.take());
        let mut show_member = |name: &[u8], value: &[u8]| {
            let Some(StreamRecord::Entries(entries) | StreamRecord::Head(_, entries)) =
                StreamRecord::of(name, value)
            else {
                return ControlFlow::Continue(());
            };
            let flow = show(entries, *range, direction, &mut |id, fields| {
                shown += 1;
                *left -= 1;
                match direction {
                    ScanDirection::Forward => range.0 = id.next().unwrap_or(id),
                    ScanDirection::Backward => range.1 = id.previous().unwrap_or(id),
                }
                let is_over = each(id, fields).is_break() || *left == 0 || shown >= most;
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if flow.is_break() && *left > 0 {
                *open = Some((name.to_vec(), value.to_vec()));
            }
            flow
        };
        if let Some((name, value)) = begun
            && show_member(&name, &value).is_break()
        {
            return Ok(*left > 0);
        }
        let Some(names) = names else {
            let more = values.step(most, show_member)?;
            return Ok(*left > 0 && (more || open.is_some()));
        };
        let mut failed = None;
        let more = names.step(most, |_, name| {
            let name = name.to_vec();
            match values.get(&name) {
                Ok(value) => show_member(&name, &value.unwrap_or_default()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failed.map_or(Ok(*left > 0 && (more || open.is_some())), Err)
    }
}
