//! CLIENT PAUSE and UNPAUSE; and UNBLOCK, which has no effect.

use std::time::Duration;

use skein_syntax::number::parse_i64;

use super::is;
use crate::commands::command_error::NOT_AN_INTEGER;
use crate::commands::subcommands::unknown_or_wrong;
use crate::commands::{AfterCommand, CommandError, CommandResult};
use crate::pause::{LONGEST, PausedRequests};
use crate::resp::{ReplyWriter, RequestArgs};
use crate::shared::ServerShared;

/// Starts the pause. The reply is sent after every worker has finished the commands that the pause
/// holds back.
pub(super) fn begin(
    shared: &ServerShared,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    let held = match args.len() {
        3 => PausedRequests::All,
        4 if is(args.get(3), "WRITE") => PausedRequests::Writes,
        4 if is(args.get(3), "ALL") => PausedRequests::All,
        4 => return Err(CommandError::text("ERR CLIENT PAUSE mode must be WRITE or ALL")),
        _ => return Err(unknown_or_wrong("client", args)),
    };
    shared.pause.begin(held, parse_time(args.get(2))?);
    reply.ok();
    Ok(AfterCommand::Fence)
}

fn parse_time(text: &[u8]) -> Result<Duration, CommandError> {
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

pub(super) fn end(shared: &ServerShared, reply: &mut ReplyWriter<'_>) {
    shared.pause.end();
    shared.wake_workers();
    reply.ok();
}

/// Always replies 0, because no command blocks its client.
pub(super) fn unblock(args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) -> Result<(), CommandError> {
    match args.len() {
        3 => {}
        4 if is(args.get(3), "TIMEOUT") || is(args.get(3), "ERROR") => {}
        4 => return Err(CommandError::text("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
        _ => return Err(unknown_or_wrong("client", args)),
    }
    parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    reply.int(0);
    Ok(())
}
