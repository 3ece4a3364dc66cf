//! `SK.SNAPSHOT BEGIN` and `SK.SNAPSHOT END`: one snapshot for several requests of a client.

use crate::commands::command_error::NOT_IN_MULTI;
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::resp::{Args, Reply};

pub(super) const NONE_HELD: CommandError =
    CommandError::text("ERR this client holds no snapshot: SK.SNAPSHOT BEGIN takes one");

pub(crate) fn snapshot(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let is = |word: &str| args.get(1).eq_ignore_ascii_case(word.as_bytes());
    let client = &mut context.client.snapshot;
    if is("BEGIN") {
        if client.held().is_some() {
            return Err(CommandError::text(
                "ERR this client holds a snapshot already: SK.SNAPSHOT END ends it",
            ));
        }
        client.hold(context.session.snapshot()?.ok_or(NOT_IN_MULTI)?, context.shared.data.databases.table());
    } else if is("END") {
        if !client.end() {
            return Err(NONE_HELD);
        }
    } else {
        return Err(CommandError::text("ERR syntax error: SK.SNAPSHOT BEGIN or SK.SNAPSHOT END"));
    }
    reply.ok();
    Ok(AfterCommand::Done)
}
