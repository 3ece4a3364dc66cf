//! CLIENT TRACKING and what belongs to it: there is none, and that is what is answered.

use super::is;
use crate::commands::CommandError;
use crate::commands::command_error::SYNTAX;
use crate::resp::{ReplyWriter, RequestArgs};

/// To whom news of keys are redirected.
pub(super) const NOBODY: i64 = -1;

/// It can be turned off, which it is.
pub(super) fn set(args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) -> Result<(), CommandError> {
    if is(args.get(2), "ON") {
        return Err(CommandError::text(
            "ERR CLIENT TRACKING is not supported: no news of changed keys are sent; let cached keys expire",
        ));
    }
    if !is(args.get(2), "OFF") || args.len() > 3 {
        return Err(SYNTAX);
    }
    reply.ok();
    Ok(())
}

/// What CACHING says of a client that is not tracked, whatever it asks for.
pub(super) const CACHING: CommandError = CommandError::text(
    "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
);

pub(super) fn info(reply: &mut ReplyWriter<'_>) {
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(1);
    reply.bulk(b"off");
    reply.bulk(b"redirect");
    reply.int(NOBODY);
    reply.bulk(b"prefixes");
    reply.array(0);
}
