//! Streams of an engine: their writes, the parts of dumps and loads, and reads in steps.
//!
//! `skein_model::streams` has the records and all that is done with them. Only the access to the
//! members of a key is here.

use std::ops::ControlFlow;

use skein_model::streams::{
    self, EntriesVersion, EntryFields, EntrySteps, Stream, StreamId, StreamPart, StreamWriter,
};
use skein_model::{CollectionKind, ScanDirection};
use skein_rdb::stream::{StreamEntry, StreamGroup, StreamPosition};
use skein_store::RowWriter as _;

use crate::collections::{MembersView, ScoreRangeView, SetReader};
use crate::row_piece::StreamContents;
use crate::{EngineWriter, Error, Result, RowError, RowView};

/// The pending entries that one step writes.
const PENDING_AT_ONCE: usize = 256;

/// The stream of a key as of one moment; see [`RowView::stream`](crate::RowView::stream).
///
/// Its methods return no errors: those of the disk engine end the read.
pub type StreamReader<'r> = Stream<'r, &'r SetReader<'r>>;

impl RowView<'_> {
    /// Calls `look` with the stream of the key. Returns `None` if the key holds something else.
    ///
    /// # Errors
    /// As for [`sorted_set`](Self::sorted_set).
    pub fn stream<R>(self, look: impl FnOnce(&mut StreamReader<'_>) -> R) -> Result<Option<R>> {
        let opened = self.collection_of(CollectionKind::Stream, |members| {
            StreamReader::open(b"", members).map(|mut stream| look(&mut stream))
        })?;
        opened.transpose().map_err(Error::from)
    }

    /// Returns the state of the entries of the key's stream; `None` if the key holds something
    /// else.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    pub fn entries_version(self) -> Result<Option<EntriesVersion>> {
        let row = self.stored_collection().map_or_else(|| self.version(), |head| head.id);
        let found = self.stream(|stream| stream.entries_version(row, self.expires_at()))?;
        Ok(found.transpose()?)
    }
}

impl EngineWriter<'_, '_> {
    /// Changes the stream of a key, as [`RowWriter::change_set`](skein_store::RowWriter) changes a
    /// set. If the key is absent, `make` says whether to make a stream; otherwise the answer is
    /// `None`. A stream without entries stays, as in Redis.
    ///
    /// # Errors
    /// Those of `change`; a size limit, the memory limit; `WrongKind` if the key holds something
    /// else.
    pub fn change_stream<R, E: From<Error> + From<skein_store::Error>>(
        &mut self,
        key: &[u8],
        make: bool,
        mut change: impl FnMut(&mut StreamWriter<'_>) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        self.change_members_of(CollectionKind::Stream, key, make, |members| {
            streams::change_stream(key, members, &mut change)
        })
    }

    /// Replaces the contents of a key by the stream that `change` makes from an empty one.
    ///
    /// # Errors
    /// Those of `change`; a size limit or the memory limit.
    pub fn replace_by_stream<R, E: From<Error> + From<skein_store::Error>>(
        &mut self,
        key: &[u8],
        expires: Option<u64>,
        mut change: impl FnMut(&mut StreamWriter<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        self.replace_by_members_of(CollectionKind::Stream, key, expires, |members| {
            streams::change_stream(key, members, &mut change)
        })
    }
}

impl StreamContents for StreamPart {
    fn count(&self) -> usize {
        if let Self::Entries(entries) = self { entries.len() } else { 1 }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Groups(groups) => groups.iter().map(StreamGroup::memory).sum(),
            Self::Entries(entries) => entries.iter().map(StreamEntry::memory).sum(),
            Self::Position(_) => size_of::<StreamPosition>(),
        }
    }

    fn write(&self, writer: &mut EngineWriter<'_, '_>, key: &[u8]) -> Result<()> {
        let written = |done: bool, reason| if done { Ok(()) } else { Err(Error::bad_stream(key, reason)) };
        match self {
            Self::Groups(groups) => {
                const REASON: &str = "two groups, or two consumers of a group, have one name";
                writer.replace_by_stream(key, None, |made| {
                    groups.iter().try_for_each(|group| written(made.add_group(group)?, REASON))
                })?;
                let mut steps = 0;
                for group in groups {
                    for pending in group.pending.chunks(PENDING_AT_ONCE) {
                        writer.publish_if_many()?;
                        let added = changed(writer, key, |stream| stream.add_pending(group, pending))?;
                        written(added, "an entry is pending for a consumer that its group does not have")?;
                        steps += 1;
                    }
                }
                // A caller that learns of a publication expects whole pieces in it.
                if steps > 1 { writer.publish() } else { Ok(()) }
            }
            Self::Entries(entries) => {
                let added = changed(writer, key, |stream| stream.add_entries(entries))?;
                written(added, "the id of an entry is not greater than the last id")
            }
            Self::Position(position) => {
                let set = changed(writer, key, |stream| stream.set_position(position))?;
                written(set, "an entry is behind the last id, or there are more entries than were added")
            }
        }
    }
}

/// Changes a stream, and makes it if it is absent. After an error of `change` the head is written,
/// too, so that it counts the entries that were added before.
fn changed(
    writer: &mut EngineWriter<'_, '_>,
    key: &[u8],
    mut change: impl FnMut(&mut StreamWriter<'_>) -> Result<bool, RowError>,
) -> Result<bool> {
    let done = writer.change_stream::<_, Error>(key, true, |stream| Ok(change(stream)))?;
    Ok(done.unwrap_or(Ok(false))?)
}

/// Entries of a stream as they were at one moment, to read them in steps while writers continue. A
/// view keeps the entries that writers replace meanwhile, so drop it as soon as possible.
pub struct EntriesView {
    values: MembersView,
    /// The names, from the last one on; `None` if the entries are shown in their order.
    names: Option<ScoreRangeView>,
    steps: EntrySteps,
}

impl EntriesView {
    /// Takes a view of up to `most` entries of an inclusive range of ids, as they are now.
    pub fn of(
        stream: &mut StreamReader<'_>,
        range: (StreamId, StreamId),
        direction: ScanDirection,
        most: u64,
    ) -> Option<Self> {
        let left = stream.count(range, most).ok()?;
        let steps = EntrySteps::new(range, direction, left);
        if left == 0 {
            return Some(Self { steps, ..Self::default() });
        }
        let (members, (start, head)) = (*stream.members(), stream.entry_ranks(range.0).ok()?);
        let (values, names) = match direction {
            ScanDirection::Forward => {
                let mut before = None;
                if let Some(rank) = start.checked_sub(1) {
                    members.walk(rank, ScanDirection::Forward, |_, name| {
                        before = Some(name.to_vec());
                        ControlFlow::Break(())
                    });
                }
                (members.view_members_after(before, members.len())?, None)
            }
            ScanDirection::Backward => {
                let names = members.view(head, head - start + 1, ScanDirection::Backward)?;
                (members.view_members()?, Some(names))
            }
        };
        Some(Self { values, names, steps })
    }

    /// Returns how many entries no step has shown.
    pub fn left(&self) -> u64 {
        self.steps.left()
    }

    /// Returns the bytes that the view uses besides itself, about.
    pub fn memory(&self) -> usize {
        self.values.memory() + self.steps.memory()
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
        let Self { values, names, steps } = self;
        if steps.left() == 0 {
            return Ok(false);
        }
        let mut entries = most;
        if steps.show_rest(&mut entries, &mut each).is_break() {
            return Ok(steps.left() > 0);
        }
        let mut show = |name: &[u8], value: &[u8]| steps.show(name, value, &mut entries, &mut each);
        let more = match names {
            None => values.step(most, show)?,
            Some(names) => {
                let mut failed = None;
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
                failed.map_or(Ok(more), Err)?
            }
        };
        Ok(steps.left() > 0 && (more || steps.is_within_member()))
    }
}

/// A view without entries.
impl Default for EntriesView {
    fn default() -> Self {
        let steps = EntrySteps::new((StreamId::MIN, StreamId::MIN), ScanDirection::Forward, 0);
        Self { values: MembersView::default(), names: None, steps }
    }
}
