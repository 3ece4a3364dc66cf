//! The contents of one key: written at once if they are short, otherwise from a view in slices.

use std::ops::ControlFlow;

use super::{AT_ONCE, AT_ONCE_BYTES, SLICE_BYTES, SliceResult, SlicedTask, TaskProgress, TaskSlice};
use crate::commands::CommandResult;
use crate::resp::Reply;

/// A view that is written in slices: for HGETALL, ZRANGE and their relatives.
pub(crate) trait SlicedView: Send {
    /// The advice in the error for a long reply.
    const WAY_OUT: &'static str;

    /// Returns the number of entries still to be written.
    fn left(&self) -> u64;

    /// Writes the head of a reply with this number of entries.
    fn head(&self, count: usize, reply: &mut Reply) {
        reply.array(count);
    }

    /// Writes the entries of a slice, up to `end`. Returns whether there are more.
    fn some(&mut self, end: ReplyEnd, reply: &mut Reply) -> CommandResult<bool>;
}

/// Writes a view in slices.
pub(crate) struct ViewTask<V> {
    viewed: V,
    /// Nothing is written yet.
    new: bool,
}

impl<V: SlicedView> ViewTask<V> {
    pub(crate) fn new(viewed: V) -> Self {
        Self { viewed, new: true }
    }

    /// Returns the number of entries still to be written.
    pub(crate) fn left(&self) -> u64 {
        self.viewed.left()
    }
}

impl<V: SlicedView> SlicedTask for ViewTask<V> {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        let Self { viewed, new } = self;
        if std::mem::take(new) {
            viewed.head(usize::try_from(viewed.left()).unwrap_or(usize::MAX), reply);
        }
        let more = viewed.some(ReplyEnd::of_slice(reply), reply)?;
        slice.check_len(reply, V::WAY_OUT)?;
        Ok(if more { TaskProgress::More } else { TaskProgress::Done })
    }
}

/// The position of a reply behind which a part of it is long enough.
#[derive(Clone, Copy)]
pub(crate) struct ReplyEnd(usize);

impl ReplyEnd {
    /// Returns the end of a slice that begins here.
    pub(crate) fn of_slice(reply: &Reply) -> Self {
        Self(reply.position() + SLICE_BYTES)
    }

    /// Says whether the part may continue.
    #[inline]
    pub(crate) fn check(self, reply: &Reply) -> ControlFlow<()> {
        if reply.position() > self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Writes `count` entries with `write` if they are short. Otherwise writes nothing and returns
/// false.
#[inline]
pub(crate) fn write_short(
    count: u64,
    reply: &mut Reply,
    write: impl FnOnce(usize, ReplyEnd, &mut Reply),
) -> bool {
    if count > AT_ONCE as u64 {
        return false;
    }
    let start = reply.position();
    let end = ReplyEnd(start + AT_ONCE_BYTES);
    write(count as usize, end, reply);
    let fits = end.check(reply).is_continue();
    if !fits {
        reply.truncate(start);
    }
    fits
}
