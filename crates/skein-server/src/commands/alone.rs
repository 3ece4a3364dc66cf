//! Runs one request to its end while no other worker runs any: a request of EXEC, or a command of a
//! script.

use super::command_error::NOT_IN_MULTI;
use super::task::{SlicedTask, TaskProgress, TaskSlice};
use super::{AfterCommand, Command, CommandContext, CommandError, observed};
use crate::request::stored_request::StoredRequest;
use crate::resp::{ReplyWriter, RequestArgs};

/// Runs one request of a client to its end, with the keys that the store has for its names. Returns
/// whether the connection must be closed after it.
pub(crate) fn run_named<'c>(
    context: CommandContext<'c>,
    command: &'static Command,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> (CommandContext<'c>, Result<bool, CommandError>) {
    let mut stored = StoredRequest::default();
    match stored.of(context.client, command, args, context.stable) {
        Ok(args) => run(context, command, &args, reply),
        Err(fault) => (context, Err(fault)),
    }
}

/// Runs one request to its end. Its keys are those of the store. Returns whether the connection must
/// be closed after it.
pub(crate) fn run<'c>(
    mut context: CommandContext<'c>,
    command: &'static Command,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> (CommandContext<'c>, Result<bool, CommandError>) {
    let ran = observed::run(&mut context, command, args, |context| {
        command.plan.run_by_itself(context, args, reply)
    });
    context.shared.note_made_keys(&mut context.session, command, args);
    match ran {
        // No other worker runs, and nothing waits inside a transaction.
        Ok(AfterCommand::Done | AfterCommand::Fence | AfterCommand::Durable(_)) => (context, Ok(false)),
        Ok(AfterCommand::Close) => (context, Ok(true)),
        Ok(AfterCommand::Slices(task)) => {
            let (context, done) = finish(context, *task, reply);
            (context, done.map(|()| false))
        }
        Ok(
            AfterCommand::Checkpoint
            | AfterCommand::Wait(_)
            | AfterCommand::HeldBack
            | AfterCommand::Migrate(_),
        ) => (context, Err(NOT_IN_MULTI)),
        Err(fault) => (context, Err(fault)),
    }
}

/// Runs all slices of a task.
fn finish<'c>(
    context: CommandContext<'c>,
    mut task: SlicedTask,
    reply: &mut ReplyWriter<'_>,
) -> (CommandContext<'c>, Result<(), CommandError>) {
    let CommandContext { session, client, shared, ticket, changes, stable } = context;
    let start = if task.writes_open_array() { reply.begin_open_array() } else { reply.position() };
    let mut slice =
        TaskSlice { session, changes, ticket, reply_bytes_max: shared.settings.reply_bytes_max.get(), start };
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
    let TaskSlice { mut session, mut changes, ticket, .. } = slice;
    if session.is_visible_transaction() {
        changes.publish_in_order(&mut session, &shared.key_observer);
    }
    (CommandContext { session, client, shared, ticket, changes, stable }, done)
}
