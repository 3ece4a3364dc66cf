//! The contents of one key, read from a view and written in slices.

use std::ops::ControlFlow;

use super::{SLICE_BYTES, SLICE_KEYS, TaskProgress, TaskSlice};
use crate::commands::CommandError;
use crate::resp::Reply;

/// A view that is written in slices: for HGETALL, ZRANGE and their relatives.
pub(crate) trait SlicedView {
    /// The advice in the error for a long reply.
    const WAY_OUT: &'static str;

    /// Returns the number of entries still to be written.
    fn left(&self) -> u64;

    /// Writes the head of a reply with this number of entries.
    fn head(&self, count: usize, reply: &mut Reply);

    /// Writes up to `most` entries, and calls `full` after each one. Returns whether there are
    /// more.
    fn some(
        &mut self,
        most: usize,
        full: impl Fn(&Reply) -> ControlFlow<()>,
        reply: &mut Reply,
    ) -> Result<bool, CommandError>;
}

/// Writes a view in slices.
pub(crate) struct ViewTask<V> {
    viewed: V,
    /// Nothing is written yet.
    new: bool,
}

impl<V: SlicedView> ViewTask<V> {
    pub(in crate::commands) fn new(viewed: V) -> Self {
        Self { viewed, new: true }
    }

    /// Returns the number of entries still to be written.
    pub(in crate::commands) fn left(&self) -> u64 {
        self.viewed.left()
    }

    pub(in crate::commands) fn step(
        &mut self,
        slice: &TaskSlice<'_, '_>,
        reply: &mut Reply,
    ) -> Result<TaskProgress, CommandError> {
        let Self { viewed, new } = self;
        if std::mem::take(new) {
            viewed.head(usize::try_from(viewed.left()).unwrap_or(usize::MAX), reply);
        }
        let more = viewed.some(SLICE_KEYS, full_from(reply.position()), reply)?;
        slice.check_len(reply, V::WAY_OUT)?;
        Ok(if more { TaskProgress::More } else { TaskProgress::Done })
    }
}

/// Returns a check whether a slice that began at this position of the reply has written enough.
pub(in crate::commands) fn full_from(begin: usize) -> impl Fn(&Reply<'_>) -> ControlFlow<()> {
    move |reply| {
        let full = reply.position() - begin > SLICE_BYTES;
        if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
