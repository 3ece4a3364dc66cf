//! Handlers of commands that are answered while a script keeps the server busy. Their rows name
//! them beside the normal handlers. All others reply BUSY.
//!
//! They need no data: the login, the begin and end of MULTI, and the commands that end the script.
//!
//! WATCH replies BUSY. (Redis allows it; it would read a key in the middle of the script.)

use std::sync::Arc;

use super::connection::{authenticate, negotiate_hello, reset_client, with_login};
use super::scripts::{kill, write_function_stats};
use super::transactions::{begin_multi, discard_multi, refused, unwatch_keys};
use super::{Command, CommandError, is};
use crate::clients::client::ClientState;
use crate::request::command_error::SYNTAX;
use crate::resp::{ReplyWriter, RequestArgs};
use crate::shared::ServerShared;
use crate::shared::busy_script::ScriptSort;

/// The client and the server, as such a command sees them.
pub(crate) struct BusyContext<'b> {
    pub client: &'b mut ClientState,
    pub shared: &'b Arc<ServerShared>,
}

/// Runs a request. Returns whether the connection must be closed after it. If it returns an error,
/// the partial reply is discarded.
pub(crate) type BusyHandler =
    fn(&mut BusyContext<'_>, &RequestArgs<'_>, &mut ReplyWriter<'_>) -> Result<bool, CommandError>;

/// Returns the handler of a request, if it may run now.
fn handler_of(command: &Command, args: &RequestArgs<'_>) -> Option<BusyHandler> {
    command.subcommand_of(args).map_or(command.while_busy, |subcommand| subcommand.while_busy)
}

/// Runs a request, if it may run now: see [`BusyHandler`].
pub(crate) fn run(
    context: &mut BusyContext<'_>,
    command: &Command,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    match handler_of(command, args) {
        Some(run) => run(context, args, reply),
        None => Err(refuse(context.client, command, context.shared)),
    }
}

/// Returns whether a request between MULTI and EXEC may be queued now.
pub(crate) fn may_be_queued(command: &Command, args: &RequestArgs<'_>) -> bool {
    handler_of(command, args).is_some()
}

/// Returns the reply BUSY.
pub(crate) fn refuse(client: &mut ClientState, command: &Command, shared: &ServerShared) -> CommandError {
    refused(client, command, shared.busy_script.refusal())
}

/// Errors unless the request is `SHUTDOWN NOSAVE`, with or without NOW and FORCE.
fn check_shutdown(args: &RequestArgs<'_>, shared: &ServerShared) -> Result<(), CommandError> {
    const KNOWN: [&str; 5] = ["SAVE", "NOSAVE", "NOW", "FORCE", "ABORT"];
    let has = |word: &str| args.from(1).any(|arg| is(arg, word));
    let is_known = |arg: &[u8]| KNOWN.iter().any(|known| is(arg, known));
    if !args.from(1).all(is_known) || (has("SAVE") && has("NOSAVE")) || (has("ABORT") && args.len() > 2) {
        return Err(SYNTAX);
    }
    if has("ABORT") {
        return Err(CommandError::text("ERR No shutdown in progress."));
    }
    if has("NOSAVE") { Ok(()) } else { Err(shared.busy_script.refusal()) }
}

pub(super) fn auth(
    BusyContext { client, shared }: &mut BusyContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    with_login(client, shared, |login| authenticate(login, args, reply)).map(|()| false)
}

pub(super) fn hello(
    BusyContext { client, shared }: &mut BusyContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    with_login(client, shared, |login| negotiate_hello(login, args, reply)).map(|()| false)
}

pub(super) fn reset(
    BusyContext { client, shared }: &mut BusyContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    reset_client(client, shared, reply);
    Ok(false)
}

pub(super) fn multi(
    context: &mut BusyContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    begin_multi(context.client, reply).map(|()| false)
}

pub(super) fn discard(
    context: &mut BusyContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    discard_multi(context.client, reply).map(|()| false)
}

pub(super) fn unwatch(
    context: &mut BusyContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    unwatch_keys(context.client, reply);
    Ok(false)
}

pub(super) fn quit(
    _: &mut BusyContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    reply.ok();
    Ok(true)
}

pub(super) fn kill_script(
    context: &mut BusyContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    kill(context.shared, ScriptSort::Script, reply).map(|()| false)
}

pub(super) fn kill_function(
    context: &mut BusyContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    kill(context.shared, ScriptSort::Function, reply).map(|()| false)
}

pub(super) fn function_stats(
    context: &mut BusyContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    write_function_stats(context.shared, reply).map(|()| false)
}

pub(super) fn shutdown(
    BusyContext { client, shared }: &mut BusyContext<'_>,
    args: &RequestArgs<'_>,
    _: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    check_shutdown(args, shared)?;
    tracing::info!(client = client.id, "a client stopped the server while a script ran");
    shared.busy_script.abandon();
    shared.stop();
    Ok(true)
}
