//! Runs one request to its end while no other worker runs any: a request of EXEC, or a command of a
//! script.

use super::command_error::NOT_IN_MULTI;
use super::task::{SlicedTask, TaskProgress, TaskSlice};
use super::{AfterCommand, Command, CommandContext, CommandResult, Replied, observed};
use crate::resp::{Args, Reply};
use crate::shared::stored_request::StoredRequest;

/// Runs one request of a client to its end, with the keys that the store has for its names. Returns
/// whether the connection must be closed after it.
pub(crate) fn run_named(
    context: &mut CommandContext,
    command: &'static Command,
    names: &Args,
    reply: &mut Reply,
) -> CommandResult<bool> {
    let mut stored = StoredRequest::default();
    let args = stored.of(context.client, command, names, context.stable)?;
    run(context, command, &args, reply)
}

/// Runs one request to its end. Its keys are those of the store. Returns whether the connection must
/// be closed after it.
pub(crate) fn run(
    context: &mut CommandContext,
    command: &'static Command,
    args: &Args,
    reply: &mut Reply,
) -> CommandResult<bool> {
    let ran =
        observed::run(context, command, args, |context| command.plan.run_by_itself(context, args, reply));
    context.shared.notices.note_made_keys(&mut context.session, command, args);
    match ran? {
        // No other worker runs, and nothing waits inside a transaction.
        AfterCommand::Done | AfterCommand::Fence | AfterCommand::Durable(_) => Ok(false),
        AfterCommand::Close => Ok(true),
        AfterCommand::Slices(task) => finish(context, task, reply).map(|()| false),
        AfterCommand::Checkpoint
        | AfterCommand::Wait(_)
        | AfterCommand::HeldBack
        | AfterCommand::Migrate(_) => Err(NOT_IN_MULTI),
    }
}

/// Runs all slices of a task.
fn finish(context: &mut CommandContext, mut task: Box<dyn SlicedTask>, reply: &mut Reply) -> Replied {
    let start = if task.writes_open_array() { reply.begin_open_array() } else { reply.position() };
    let mut slice = TaskSlice {
        session: &mut context.session,
        changes: &mut context.changes,
        ticket: context.ticket,
        reply_bytes_max: context.shared.settings.reply_bytes_max.get(),
        start,
    };
    let done = loop {
        match task.step(&mut slice, reply) {
            Ok(TaskProgress::More) => {}
            Ok(TaskProgress::Done) => break Ok(()),
            Ok(TaskProgress::DoneArray(len)) => {
                reply.close_open_array(start, len);
                break Ok(());
            }
            Err(fault) => break Err(fault),
        }
    };
    context.ticket = slice.ticket;
    if context.session.is_visible_transaction() {
        context.changes.publish_in_order(&mut context.session, &context.shared.notices.key_observer);
    }
    done
}
