//! Reads of one key that may have a long reply: one function for a batch of reads and for slices.
//!
//! ```text
//!   LongRead::answer ─┬─ short ─► reply
//!                     └─ long ──┬─ in a batch: the reply is put off, and the worker asks again
//!                               └─ in slices:  a task reads a view of the key
//! ```

use super::SlicedTask;
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, Handler};
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::RowView;

/// A command that reads one key and may reply in slices.
pub(crate) trait LongRead {
    /// Replies at once if the reply is short. Otherwise writes nothing and calls
    /// [`LongReply::begin`].
    fn answer(
        row: Option<RowView<'_>>,
        args: &RequestArgs<'_>,
        reply: &mut ReplyWriter<'_>,
        long: &mut LongReply,
    ) -> Result<(), CommandError>;
}

/// The fate of a long reply.
pub(crate) enum LongReply {
    /// It is put off, because the handler runs in a batch of reads.
    PutOff,
    /// This task writes it.
    Slices(Option<Box<SlicedTask>>),
}

impl LongReply {
    /// Begins a long reply. `task` takes a view of the key; `None` if nothing is left to write.
    pub(in crate::commands) fn begin(
        &mut self,
        reply: &mut ReplyWriter<'_>,
        task: impl FnOnce() -> Option<SlicedTask>,
    ) {
        match self {
            Self::PutOff => reply.put_off(),
            Self::Slices(begun) => *begun = task().map(Box::new),
        }
    }
}

/// Returns the handlers of a command.
pub(in crate::commands) const fn read_or_slices<L: LongRead>() -> Handler {
    Handler::ReadOrSlices(now::<L>, in_slices::<L>)
}

fn now<L: LongRead>(row: Option<RowView<'_>>, args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) {
    let start = reply.position();
    if let Err(fault) = L::answer(row, args, reply, &mut LongReply::PutOff) {
        reply.truncate(start);
        fault.write(reply);
    }
}

/// Replies with contents of any length, as of one moment.
fn in_slices<L: LongRead>(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    let mut long = LongReply::Slices(None);
    context.look_up(args.get(1), |row| L::answer(row?, args, reply, &mut long))?;
    Ok(match long {
        LongReply::Slices(Some(task)) => AfterCommand::Slices(task),
        LongReply::Slices(None) | LongReply::PutOff => AfterCommand::Done,
    })
}
