//! Reads of one key that may have a long reply: one function for a batch of reads and for slices.
//!
//! ```text
//!   read_or_slices!(answer) ─┬─ short ─► reply
//!                            └─ long ──┬─ in a batch: the reply is put off, and the worker asks again
//!                                      └─ in slices:  a task reads a view of the key
//! ```

use super::SlicedTask;
use crate::commands::{AfterCommand, CommandContext, CommandResult, reply_or_error};
use crate::resp::{Args, Reply};
use skein_data::RowView;

/// The fate of a long reply.
pub(crate) enum LongReply {
    /// It is put off, because the handler runs in a batch of reads.
    PutOff,
    /// This task writes it.
    Slices(Option<Box<dyn SlicedTask>>),
}

impl LongReply {
    /// Begins a long reply. `task` takes a view of the key; `None` if nothing is left to write.
    pub(crate) fn begin<T: Into<Box<dyn SlicedTask>>>(
        &mut self,
        reply: &mut Reply,
        task: impl FnOnce() -> Option<T>,
    ) {
        match self {
            Self::PutOff => reply.put_off(),
            Self::Slices(begun) => *begun = task().map(Into::into),
        }
    }
}

/// Returns the handlers of a command that reads one key. `answer` is a function or closure without
/// captures. It replies if the reply is short; otherwise it writes nothing and calls
/// [`LongReply::begin`].
macro_rules! read_or_slices {
    ($answer:expr) => {
        $crate::commands::Handler::ReadOrSlices(
            |row, args, reply| $crate::commands::task::read_in_batch($answer, row, args, reply),
            |context, args, reply| $crate::commands::task::read_in_slices($answer, context, args, reply),
        )
    };
}
pub(crate) use read_or_slices;

/// Replies to a read in a batch, or puts the reply off.
pub(crate) fn read_in_batch(
    answer: impl FnOnce(Option<RowView>, &Args, &mut Reply, &mut LongReply) -> CommandResult<()>,
    row: Option<RowView>,
    args: &Args,
    reply: &mut Reply,
) {
    reply_or_error(reply, |reply| answer(row, args, reply, &mut LongReply::PutOff));
}

/// Replies with contents of any length, as of one moment.
pub(crate) fn read_in_slices(
    answer: impl FnOnce(Option<RowView>, &Args, &mut Reply, &mut LongReply) -> CommandResult<()>,
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
) -> CommandResult {
    let mut long = LongReply::Slices(None);
    context.read(args.get(1), |row| answer(row?, args, reply, &mut long))?;
    Ok(match long {
        LongReply::Slices(Some(task)) => AfterCommand::Slices(task),
        LongReply::Slices(None) | LongReply::PutOff => AfterCommand::Done,
    })
}
