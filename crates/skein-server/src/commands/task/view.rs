//! A view of what one key holds, written in slices.

use std::ops::ControlFlow;

use super::{SLICE_BYTES, SLICE_KEYS, TaskProgress, TaskSlice};
use crate::commands::CommandError;
use crate::resp::ReplyWriter;

/// What a view shows, as it is written in slices: HGETALL, ZRANGE and their like.
pub(crate) trait SlicedView {
    /// What to do instead of asking for too much.
    const WAY_OUT: &'static str;

    /// How many entries are still to be written.
    fn left(&self) -> u64;

    /// Writes the head of a reply of so many entries.
    fn head(&self, count: usize, reply: &mut ReplyWriter<'_>);

    /// Writes up to `most` entries, each followed by a look at `full`; whether there are more.
    fn some(
        &mut self,
        most: usize,
        full: impl Fn(&ReplyWriter<'_>) -> ControlFlow<()>,
        reply: &mut ReplyWriter<'_>,
    ) -> bool;
}

/// A view that is being written.
pub(crate) struct ViewTask<V> {
    viewed: V,
    /// Nothing is written yet.
    new: bool,
}

impl<V: SlicedView> ViewTask<V> {
    pub(in crate::commands) fn new(viewed: V) -> Self {
        Self { viewed, new: true }
    }

    pub(super) fn step(
        &mut self,
        slice: &TaskSlice<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<TaskProgress, CommandError> {
        let Self { viewed, new } = self;
        if std::mem::take(new) {
            viewed.head(usize::try_from(viewed.left()).unwrap_or(usize::MAX), reply);
        }
        let more = viewed.some(SLICE_KEYS, full_from(reply.position()), reply);
        slice.check_len(reply, V::WAY_OUT)?;
        Ok(if more { TaskProgress::More } else { TaskProgress::Done })
    }
}

/// Whether a slice that began at this place of the reply has written enough.
pub(in crate::commands) fn full_from(begin: usize) -> impl Fn(&ReplyWriter<'_>) -> ControlFlow<()> {
    move |reply| {
        let full = reply.position() - begin > SLICE_BYTES;
        if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
