//! Long commands, which run in slices.
//!
//! ```text
//!   turn 1: ... SK.RANGE - +  ├ slice ┤  other clients
//!   turn 2:                   ├ slice ┤  other clients
//!   turn 3:                   ├ slice ┤  reply
//! ```
//!
//! A worker serves many clients, so none of its steps may take long. A task continues from the key
//! where its last slice ended. Later requests of its connection wait; other connections do not.
//!
//! `view` writes the contents of one key, `range_total` counts or removes a range, `long_read`
//! chooses between a batch and slices.
//!
//! Between slices, a scan releases the memory of the store that it protected. A range of a snapshot
//! keeps the snapshot until its last key. Further slices then free the versions that were kept for
//! it, because other clients may have written much meanwhile.

mod long_read;
mod range_total;
mod view;

use std::ops::{Bound, ControlFlow, Deref};
use std::sync::Arc;

use skein_syntax::{KeyRange, RangeProjection};

use super::dump::answer_stream;
use super::hashes::write_named;
use super::reply_limit::check_reply_bytes;
use super::skein::{long_contents, write_contents, write_details};
use super::{CommandError, CommandResult, Replied};
use crate::clients::client::HeldSnapshot;
use crate::notice::key_events::KeyChanges;
use crate::redis::glob::{Glob, STEPS_MAX};
use crate::resp::{Protocol, Reply};
use skein_data::{
    CollectionKind, EngineKeys, EngineSnapshot, RowView, ScanDirection, SnapshotRelease, StoredKeyspace,
    Ticket,
};

pub(super) use long_read::{LongReply, read_in_batch, read_in_slices, read_or_slices};
pub(crate) use range_total::{CountTask, RemoveRangeTask};
pub(super) use view::{ReplyEnd, SlicedView, ViewTask, write_short};

/// Maximum number of keys in a slice that writes their contents.
pub(super) const SLICE_KEYS: usize = 256;
/// Maximum number of versions that a slice frees after a snapshot.
const SLICE_VERSIONS: usize = 1024;
/// A slice also ends after writing this number of bytes.
pub(super) const SLICE_BYTES: usize = 256 << 10;
/// A reply of up to this number of members or columns, and about this number of bytes, is written
/// at once.
pub(super) const AT_ONCE: usize = 512;
pub(super) const AT_ONCE_BYTES: usize = 256 << 10;

/// The form of each key in the reply.
#[derive(Debug, Clone)]
pub(crate) enum RangeFormat {
    /// The key and its contents.
    Entries,
    /// The key alone.
    Keys,
    /// The key alone, if it matches this pattern.
    Matching(Glob),
    /// The key and these columns, with null for an absent one.
    Columns(Vec<Vec<u8>>),
    /// The key, and an array of its type, expiry time, version and contents.
    Details,
}

impl From<RangeProjection> for RangeFormat {
    fn from(shown: RangeProjection) -> Self {
        match shown {
            RangeProjection::Entries => Self::Entries,
            RangeProjection::Keys => Self::Keys,
            RangeProjection::Columns(names) => Self::Columns(names),
            RangeProjection::Details => Self::Details,
        }
    }
}

impl RangeFormat {
    fn memory(&self) -> usize {
        match self {
            Self::Entries | Self::Keys | Self::Details => 0,
            Self::Matching(glob) => glob.memory(),
            Self::Columns(names) => names.iter().map(|name| size_of::<Vec<u8>>() + name.len()).sum(),
        }
    }
}

/// A command that runs in slices.
pub(crate) trait SlicedTask: Send {
    /// Runs a slice.
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult;

    /// Returns the bytes that it holds besides its own. The entries that the store keeps for views
    /// and snapshots are not included; the store counts them.
    fn held(&self) -> usize {
        0
    }

    /// Returns whether the reply is an array with a length that is known only at the end.
    fn writes_open_array(&self) -> bool {
        false
    }

    /// Returns whether its slices change the store.
    fn writes(&self) -> bool {
        false
    }
}

impl dyn SlicedTask {
    /// Returns the bytes that it takes, with its own.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(self) + self.held()
    }
}

impl<T: SlicedTask + 'static> From<T> for Box<dyn SlicedTask> {
    fn from(task: T) -> Self {
        Box::new(task)
    }
}

/// The progress of a slice, or the error that replaces the reply.
pub(crate) type SliceResult = CommandResult<TaskProgress>;

/// The result of a slice.
pub(crate) enum TaskProgress {
    /// There is more to do.
    More,
    /// The reply is written.
    Done,
    /// The open array is complete with this number of elements.
    DoneArray(usize),
}

/// The session and the limits of the reply, as a slice sees them.
pub(crate) struct TaskSlice<'s, 'k> {
    pub session: &'s mut EngineKeys<'k>,
    /// The changes of the slice, if somebody listens.
    pub changes: &'s mut KeyChanges,
    /// The reply must be held back until this ticket is durable.
    pub ticket: Ticket,
    /// Maximum length of the reply.
    pub reply_bytes_max: usize,
    /// The position at which the reply began.
    pub start: usize,
}

impl TaskSlice<'_, '_> {
    /// Errors if the reply has become too long.
    pub(super) fn check_len(&self, reply: &Reply, way_out: &str) -> Replied {
        self.check_bytes(reply.position() - self.start, way_out)
    }

    /// Errors if the task would hold too many bytes before the first byte of the reply.
    pub(super) fn check_memory(&self, bytes: usize, way_out: &str) -> CommandResult<()> {
        let limit = self.reply_bytes_max;
        if bytes <= limit {
            return Ok(());
        }
        Err(CommandError::owned(format!(
            "ERR the result would take more memory than the limit of {limit} bytes; {way_out}"
        )))
    }

    /// Errors if the reply would become this long and that is too long.
    pub(super) fn check_bytes(&self, bytes: usize, way_out: &str) -> CommandResult<()> {
        check_reply_bytes(bytes, self.reply_bytes_max, way_out)
    }
}

/// The snapshot that a range reads.
pub(crate) enum RangeSnapshot {
    /// Taken for this range. It ends with it.
    Own(EngineSnapshot),
    /// The client holds it for several ranges.
    Held(Arc<HeldSnapshot>),
}

impl Deref for RangeSnapshot {
    type Target = EngineSnapshot;

    fn deref(&self) -> &EngineSnapshot {
        match self {
            Self::Own(snapshot) => snapshot,
            Self::Held(held) => held,
        }
    }
}

/// `SK.RANGE`, `SK.PREFIX`, `KEYS`
pub(crate) struct RangeTask {
    keyspace: StoredKeyspace,
    range: KeyRange,
    direction: ScanDirection,
    /// Number of keys still to be written.
    left: usize,
    shape: RangeFormat,
    /// Bytes of the format, computed once because it may have many columns.
    shape_bytes: usize,
    elements: usize,
    /// Writes the rest of the last key, which has long contents.
    inside: Option<Box<dyn SlicedTask>>,
    /// All slices read this snapshot. Without it, each slice reads the current state.
    snapshot: Option<RangeSnapshot>,
    /// The result of the range, while the versions that were kept for its snapshot are freed.
    ended: Option<(SliceResult, SnapshotRelease)>,
}

impl RangeTask {
    pub(crate) fn new(
        keyspace: StoredKeyspace,
        range: KeyRange,
        direction: ScanDirection,
        limit: usize,
        shape: RangeFormat,
        snapshot: Option<RangeSnapshot>,
    ) -> Self {
        let (shape_bytes, left) = (shape.memory(), limit);
        Self {
            keyspace,
            range,
            direction,
            left,
            shape,
            shape_bytes,
            elements: 0,
            inside: None,
            snapshot,
            ended: None,
        }
    }

    /// Continues with a key that has long contents. Returns whether more of it is left.
    fn continue_inside(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> CommandResult<bool> {
        let Some(task) = &mut self.inside else { return Ok(false) };
        let more = matches!(task.step(slice, reply)?, TaskProgress::More);
        // The slice showed the moment only if the snapshot is still complete.
        self.snapshot.as_ref().map_or(Ok(()), |snapshot| snapshot.check())?;
        if !more {
            self.inside = None;
        }
        Ok(more)
    }

    fn write_slice(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        if self.continue_inside(slice, reply)? {
            return Ok(TaskProgress::More);
        }
        let Self { keyspace, range, direction, left, shape, elements, inside, snapshot, .. } = self;
        if *left == 0 {
            return Ok(TaskProgress::DoneArray(*elements));
        }
        let begin = reply.position();
        let (mut keys, mut steps, most) = (0, 0, (*left).min(SLICE_KEYS));
        let (mut last, mut fault) = (None, None);
        let is_any_order = matches!(shape, RangeFormat::Matching(_));
        let write = |key: &[u8], row: RowView<'_>| {
            match shape {
                RangeFormat::Matching(glob) if !glob.matches(key, &mut steps) => {}
                _ => match write_entry(key, row, shape, reply, inside) {
                    Ok(count) => *elements += count,
                    Err(error) => {
                        fault = Some(error);
                        return ControlFlow::Break(());
                    }
                },
            }
            keys += 1;
            *left -= 1;
            let full = keys == SLICE_KEYS || reply.position() - begin > SLICE_BYTES || steps > STEPS_MAX;
            if *left == 0 || full || inside.is_some() {
                last = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        match snapshot {
            Some(snapshot) => {
                snapshot.scan_keyspace(*keyspace, range.bounds(), *direction, most, write)?;
            }
            // KEYS may return keys in any order.
            None if is_any_order => slice.session.walk(*keyspace, range.bounds(), most, write)?,
            None => slice.session.scan(*keyspace, range.bounds(), *direction, most, write)?,
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        slice.check_len(reply, way_out(shape))?;
        match last.filter(|_| *left > 0 || inside.is_some()) {
            None => return Ok(TaskProgress::DoneArray(*elements)),
            Some(last) if *direction == ScanDirection::Forward => range.lower = Bound::Excluded(last),
            Some(last) => range.upper = Bound::Excluded(last),
        }
        Ok(TaskProgress::More)
    }
}

impl SlicedTask for RangeTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        if self.ended.is_none() {
            let progress = self.write_slice(slice, reply);
            let ended = !matches!(progress, Ok(TaskProgress::More));
            match self.snapshot.take_if(|_| ended) {
                Some(RangeSnapshot::Own(snapshot)) => self.ended = Some((progress, snapshot.release())),
                Some(RangeSnapshot::Held(_)) | None => return progress,
            }
        }
        let done = self.ended.take_if(|(_, kept)| !kept.step(SLICE_VERSIONS));
        done.map_or(Ok(TaskProgress::More), |(end, _)| end)
    }

    fn held(&self) -> usize {
        self.range.memory() + self.shape_bytes + self.inside.as_ref().map_or(0, |task| task.memory())
    }

    fn writes_open_array(&self) -> bool {
        true
    }
}

/// Writes one key. Returns the number of elements. Leaves long contents to a task in `inside`.
fn write_entry(
    key: &[u8],
    row: RowView,
    shape: &RangeFormat,
    reply: &mut Reply,
    inside: &mut Option<Box<dyn SlicedTask>>,
) -> CommandResult<usize> {
    match shape {
        RangeFormat::Keys | RangeFormat::Matching(_) => {
            reply.bulk(key);
            return Ok(1);
        }
        RangeFormat::Entries | RangeFormat::Columns(_) | RangeFormat::Details => {}
    }
    // Like ZRANGE WITHSCORES: each pair is an array in RESP3; in RESP2 the reply is flat.
    let pairs = reply.protocol() == Protocol::Resp3;
    if pairs {
        reply.array(2);
    }
    reply.bulk(key);
    if matches!(shape, RangeFormat::Details) {
        write_details(row, reply);
    }
    match shape {
        RangeFormat::Columns(names) => {
            let names = || names.iter().map(Vec::as_slice);
            row.columns(|columns| write_named(Some(columns), names(), reply))?
                .unwrap_or_else(|| write_named(None, names(), reply))?;
        }
        RangeFormat::Details if row.collection_kind() == Some(CollectionKind::Stream) => {
            *inside = write_stream_payload(row, reply)?;
        }
        _ => match long_contents(row)? {
            Some(task) => *inside = Some(task),
            None => write_contents(row, reply)?,
        },
    }
    Ok(if pairs { 1 } else { 2 })
}

/// Writes the payload of a stream, as DUMP does, because its entries alone are not all of it.
/// Returns the task that writes a long one.
fn write_stream_payload(
    row: RowView,
    reply: &mut Reply,
) -> Result<Option<Box<dyn SlicedTask>>, CommandError> {
    let (mut long, start) = (LongReply::Slices(None), reply.position());
    row.stream(|stream| answer_stream(stream, reply, &mut long))?.transpose()?;
    if let LongReply::Slices(Some(task)) = long {
        return Ok(Some(task));
    }
    // The stream was removed since its row was read.
    if reply.position() == start {
        reply.null();
    }
    Ok(None)
}

/// Returns the advice in the error for a long reply.
fn way_out(shape: &RangeFormat) -> &'static str {
    match shape {
        RangeFormat::Matching(_) => "use SCAN",
        _ => "use LIMIT and continue after the last key",
    }
}
