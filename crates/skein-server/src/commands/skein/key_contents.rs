//! What a key holds as the second element of an array of two, or the first: of `SK.NEXT` and its like, and of `SK.GETV`. In slices if it is much.

use super::{long_held, write_held};
use crate::commands::task::{SlicedTask, TaskProgress, TaskSlice};
use crate::commands::{AfterCommand, CommandError};
use crate::engine::RowRef;
use crate::resp::ReplyWriter;

/// What stands beside it.
pub(super) enum PairedWith {
    /// The key, before it.
    Key(Vec<u8>),
    /// The version, after it.
    Version(u64),
}

impl PairedWith {
    fn begin(&self, reply: &mut ReplyWriter<'_>) {
        reply.array(2);
        if let Self::Key(key) = self {
            reply.bulk(key);
        }
    }

    fn end(&self, reply: &mut ReplyWriter<'_>) {
        if let Self::Version(version) = self {
            super::versions::write_version(*version, reply);
        }
    }
}

/// Answers at once if that is short; else with a task, and nothing is written.
pub(super) fn answer(row: RowRef<'_>, beside: PairedWith, reply: &mut ReplyWriter<'_>) -> AfterCommand {
    if let Some(inside) = long_held(row) {
        let task = KeyContentsTask { inside: Box::new(inside), beside, new: true };
        return AfterCommand::Slices(Box::new(SlicedTask::Held(task)));
    }
    beside.begin(reply);
    write_held(row, reply);
    beside.end(reply);
    AfterCommand::Done
}

/// Much that a key holds.
pub(crate) struct KeyContentsTask {
    inside: Box<SlicedTask>,
    beside: PairedWith,
    /// Nothing is written yet.
    new: bool,
}

impl KeyContentsTask {
    pub(in crate::commands) fn memory(&self) -> usize {
        self.inside.memory()
    }

    pub(in crate::commands) fn step(
        &mut self,
        slice: &mut TaskSlice<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<TaskProgress, CommandError> {
        if std::mem::take(&mut self.new) {
            self.beside.begin(reply);
        }
        let progress = self.inside.step(slice, reply)?;
        if !matches!(progress, TaskProgress::More) {
            self.beside.end(reply);
        }
        Ok(progress)
    }
}
