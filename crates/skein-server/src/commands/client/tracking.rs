//! CLIENT TRACKING and its relatives. SkeinDB does not track keys, and the replies say so.

use super::is;
use crate::commands::CommandError;
use crate::commands::command_error::SYNTAX;
use crate::resp::{ReplyWriter, RequestArgs};

/// The client to which invalidation messages are redirected: no client.
pub(super) const NOBODY: i64 = -1;

/// Accepts OFF, which is always the case. Returns an error for ON.
pub(super) fn set(args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) -> Result<(), CommandError> {
    if is(args.get(2), "ON") {
        return Err(CommandError::text(
            "ERR CLIENT TRACKING is not supported: the server sends no invalidation messages; let cached keys expire",
        ));
    }
    if !is(args.get(2), "OFF") || args.len() > 3 {
        return Err(SYNTAX);
    }
    reply.ok();
    Ok(())
}

/// The reply of CLIENT CACHING, whatever its argument, because no client is in tracking mode.
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
