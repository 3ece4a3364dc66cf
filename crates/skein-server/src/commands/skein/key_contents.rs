//! The contents of a key as one element of a pair. In `SK.NEXT` and its relatives it is the second
//! one, after the key. In `SK.GETV` it is the first one, before the version. Long contents are
//! written in slices.

use super::{long_contents, write_contents};
use crate::commands::task::{SliceResult, SlicedTask, TaskProgress, TaskSlice};
use crate::commands::{AfterCommand, CommandResult};
use crate::resp::Reply;
use skein_data::RowView;

/// The other element of the pair.
pub(super) enum PairedWith {
    /// The key, before the contents.
    Key(Vec<u8>),
    /// The version, after the contents.
    Version(u64),
}

impl PairedWith {
    fn begin(&self, reply: &mut Reply) {
        reply.array(2);
        if let Self::Key(key) = self {
            reply.bulk(key);
        }
    }

    fn end(&self, reply: &mut Reply) {
        if let Self::Version(version) = self {
            super::versions::write_version(*version, reply);
        }
    }
}

/// Replies at once if the contents are short. Otherwise writes nothing and returns a task.
pub(super) fn answer(row: RowView, beside: PairedWith, reply: &mut Reply) -> CommandResult {
    if let Some(inside) = long_contents(row)? {
        let task = KeyContentsTask { inside, beside, new: true };
        return Ok(AfterCommand::slices(task));
    }
    let start = reply.position();
    beside.begin(reply);
    if let Err(fault) = write_contents(row, reply) {
        reply.truncate(start);
        return Err(fault);
    }
    beside.end(reply);
    Ok(AfterCommand::Done)
}

/// Writes long contents of a key.
pub(crate) struct KeyContentsTask {
    inside: Box<dyn SlicedTask>,
    beside: PairedWith,
    /// Nothing is written yet.
    new: bool,
}

impl SlicedTask for KeyContentsTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        if std::mem::take(&mut self.new) {
            self.beside.begin(reply);
        }
        let progress = self.inside.step(slice, reply)?;
        if !matches!(progress, TaskProgress::More) {
            self.beside.end(reply);
        }
        Ok(progress)
    }

    fn held(&self) -> usize {
        self.inside.memory()
    }
}
