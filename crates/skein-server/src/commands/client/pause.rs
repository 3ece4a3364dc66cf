//! CLIENT PAUSE and UNPAUSE, and UNBLOCK.

use std::time::Duration;

use skein_syntax::number::parse_i64;

use super::is;
use crate::clients::pause::{LONGEST, PausedRequests};
use crate::commands::command_error::NOT_AN_INTEGER;
use crate::commands::subcommands::unknown_or_wrong;
use crate::commands::{AfterCommand, CommandError, CommandResult, Replied};
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;
use skein_data::Ticket;

const UNBLOCKED: CommandError = CommandError::text("UNBLOCKED client unblocked via CLIENT UNBLOCK");

/// Starts the pause. The reply is sent after every worker has finished the commands that the pause
/// holds back.
pub(super) fn begin(shared: &ServerShared, args: &Args, reply: &mut Reply) -> CommandResult {
    let held = match args.len() {
        3 => PausedRequests::All,
        4 if is(args.get(3), "WRITE") => PausedRequests::Writes,
        4 if is(args.get(3), "ALL") => PausedRequests::All,
        4 => return Err(CommandError::text("ERR CLIENT PAUSE mode must be WRITE or ALL")),
        _ => return Err(unknown_or_wrong(args)),
    };
    shared.clients.pause.begin(held, parse_time(args.get(2))?);
    reply.ok();
    Ok(AfterCommand::Fence)
}

fn parse_time(text: &[u8]) -> CommandResult<Duration> {
    let millis =
        parse_i64(text).ok_or(CommandError::text("ERR timeout is not an integer or out of range"))?;
    let millis = u64::try_from(millis).map_err(|_| CommandError::text("ERR timeout is negative"))?;
    let time = Duration::from_millis(millis);
    if time > LONGEST {
        let most = LONGEST.as_millis();
        return Err(CommandError::owned(format!(
            "ERR timeout is out of range: {millis} milliseconds exceed the limit of {most} milliseconds"
        )));
    }
    Ok(time)
}

pub(super) fn end(shared: &ServerShared, reply: &mut Reply) {
    shared.clients.pause.end();
    shared.workers.wake();
    reply.ok();
}

/// Runs CLIENT UNBLOCK: ends the wait of a client that a command blocks.
pub(super) fn unblock(shared: &ServerShared, args: &Args, reply: &mut Reply) -> Replied {
    let with_error = match args.len() {
        3 => false,
        4 if is(args.get(3), "TIMEOUT") => false,
        4 if is(args.get(3), "ERROR") => true,
        4 => return Err(CommandError::text("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
        _ => return Err(unknown_or_wrong(args)),
    };
    let id = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let found = u64::try_from(id).ok().and_then(|id| shared.notices.waiting.withdraw(id));
    reply.int(found.is_some().into());
    if let Some(client) = found {
        let mut bytes = Vec::new();
        let mut answer = Reply::new(&mut bytes, client.protocol);
        if with_error {
            UNBLOCKED.write(&mut answer);
        } else {
            answer.null_array();
        }
        shared.workers.answer_waiting(client.record.place, bytes, Ticket::default());
    }
    Ok(())
}
