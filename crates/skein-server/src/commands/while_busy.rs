//! Handlers of commands that are answered while a script keeps the server busy (see
//! `without_data`), and their stop of the server.
//!
//! WATCH replies BUSY. (Redis allows it; it would read a key in the middle of the script.)

use std::sync::Arc;

use super::transactions::refused;
use super::without_data::{DatalessHandler, WithoutData};
use super::{AfterCommand, Command, CommandError, CommandResult, is};
use crate::request::command_error::SYNTAX;
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;

/// The client and the busy server.
pub(crate) type BusyContext<'b> = WithoutData<'b, Arc<ServerShared>>;
pub(crate) type BusyHandler = DatalessHandler<Arc<ServerShared>>;

/// Returns the handler of a request. Errors if it may neither run nor be queued now.
pub(crate) fn handler_of(
    context: &mut BusyContext<'_>,
    command: &Command,
    args: &Args,
) -> CommandResult<BusyHandler> {
    let handler = command.subcommand_of(args).map_or(command.while_busy, |subcommand| subcommand.while_busy);
    handler.ok_or_else(|| refused(context.client, command, context.server.scripts.busy.refusal()))
}

/// Errors unless the request is `SHUTDOWN NOSAVE`, with or without NOW and FORCE.
fn check_shutdown(args: &Args, shared: &ServerShared) -> CommandResult<()> {
    const KNOWN: [&str; 5] = ["SAVE", "NOSAVE", "NOW", "FORCE", "ABORT"];
    let has = |word: &str| args.from(1).any(|arg| is(arg, word));
    let is_known = |arg: &[u8]| KNOWN.iter().any(|known| is(arg, known));
    if !args.from(1).all(is_known) || (has("SAVE") && has("NOSAVE")) || (has("ABORT") && args.len() > 2) {
        return Err(SYNTAX);
    }
    if has("ABORT") {
        return Err(CommandError::text("ERR No shutdown in progress."));
    }
    if has("NOSAVE") { Ok(()) } else { Err(shared.scripts.busy.refusal()) }
}

pub(super) fn shutdown(
    WithoutData { client, server: shared }: &mut BusyContext<'_>,
    args: &Args,
    _: &mut Reply,
) -> CommandResult {
    check_shutdown(args, shared)?;
    tracing::info!(client = client.id, "a client stopped the server while a script ran");
    shared.scripts.busy.abandon();
    shared.stop();
    Ok(AfterCommand::Close)
}
