//! DEBUG, for tests of clients. The server's options must allow it.

use std::time::Duration;

use super::subcommands::{help, unknown_or_wrong};
use super::{AfterCommand, CommandContext, CommandError, is};
use crate::resp::{ReplyWriter, RequestArgs};

/// The longest sleep.
const SLEEP_MAX: Duration = Duration::from_secs(60 * 60);

const HELP: &[&str] = &[
    "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "SLEEP <seconds>",
    "    Stop serving the clients of this worker for <seconds>. Decimals allowed.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn debug(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    if !context.shared.options.debug_command {
        return Err(CommandError::text(
            "ERR DEBUG command not allowed. To allow it, start the server with the option enable-debug-command.",
        ));
    }
    let subcommand = args.get(1);
    if is(subcommand, "HELP") && args.len() == 2 {
        help(HELP, reply);
    } else if is(subcommand, "SLEEP") && args.len() == 3 {
        std::thread::sleep(parse_sleep(args.get(2))?);
        reply.ok();
    } else {
        return Err(unknown_or_wrong("debug", args));
    }
    Ok(AfterCommand::Done)
}

fn parse_sleep(text: &[u8]) -> Result<Duration, CommandError> {
    let seconds: Option<f64> = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| *time <= SLEEP_MAX).ok_or_else(|| {
        let shown = text[..text.len().min(64)].escape_ascii();
        CommandError::owned(format!(
            "ERR DEBUG SLEEP {shown}: give seconds from 0 to {}, decimals allowed",
            SLEEP_MAX.as_secs()
        ))
    })
}
