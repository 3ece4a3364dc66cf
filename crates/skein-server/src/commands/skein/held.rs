//! What a key holds as the second element of an array of two, or the first: of `SK.NEXT` and its like, and of `SK.GETV`. In slices if it is much.

use super::{long_held, write_held};
use crate::commands::task::{Progress, Slice, Task};
use crate::commands::{Fault, Next};
use crate::engine::RowRef;
use crate::resp::Reply;

/// What stands beside it.
pub(super) enum Beside {
    /// The key, before it.
    Key(Vec<u8>),
    /// The version, after it.
    Version(u64),
}

impl Beside {
    fn begin(&self, reply: &mut Reply<'_>) {
        reply.array(2);
        if let Self::Key(key) = self {
            reply.bulk(key);
        }
    }

    fn end(&self, reply: &mut Reply<'_>) {
        if let Self::Version(version) = self {
            super::versions::write_version(*version, reply);
        }
    }
}

/// Answers at once if that is short; else with a task, and nothing is written.
pub(super) fn answer(row: RowRef<'_>, beside: Beside, reply: &mut Reply<'_>) -> Next {
    if let Some(inside) = long_held(row) {
        let task = HeldTask { inside: Box::new(inside), beside, new: true };
        return Next::Slices(Box::new(Task::Held(task)));
    }
    beside.begin(reply);
    write_held(row, reply);
    beside.end(reply);
    Next::Done
}

/// Much that a key holds.
pub(crate) struct HeldTask {
    inside: Box<Task>,
    beside: Beside,
    /// Nothing is written yet.
    new: bool,
}

impl HeldTask {
    pub(in crate::commands) fn memory(&self) -> usize {
        self.inside.memory()
    }

    pub(in crate::commands) fn step(
        &mut self,
        slice: &mut Slice<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<Progress, Fault> {
        if std::mem::take(&mut self.new) {
            self.beside.begin(reply);
        }
        let progress = self.inside.step(slice, reply)?;
        if !matches!(progress, Progress::More) {
            self.beside.end(reply);
        }
        Ok(progress)
    }
}
