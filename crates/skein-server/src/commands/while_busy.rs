//! Commands that are answered while a script keeps the server busy. All others reply BUSY.
//!
//! They need no data: the login, the begin and end of MULTI, and what ends the script.
//!
//! WATCH replies BUSY. (Redis allows it; it would read a key in the middle of the script.)

use std::sync::Arc;

use super::connection::{authenticate, negotiate_hello, reset_client, with_login};
use super::scripts::{kill, write_function_stats};
use super::transactions::{begin_multi, discard_multi, unwatch_keys};
use super::{CommandError, CommandSpec, Handler, is};
use crate::busy_script::ScriptSort;
use crate::client::ClientState;
use crate::command_error::SYNTAX;
use crate::resp::{ReplyWriter, RequestArgs};
use crate::shared::ServerShared;

/// The client and the server, as such a command sees them.
pub(crate) struct BusyContext<'b> {
    pub client: &'b mut ClientState,
    pub shared: &'b Arc<ServerShared>,
}

/// Runs a request, if it may run now. Returns whether the connection must be closed after it. If it
/// returns an error, the partial reply is discarded.
pub(crate) fn run(
    context: &mut BusyContext<'_>,
    command: &CommandSpec,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    let BusyContext { client, shared } = context;
    let second = args.from(1).next().unwrap_or_default();
    match command.name {
        "auth" => with_login(client, shared, |login| authenticate(login, args, reply))?,
        "hello" => with_login(client, shared, |login| negotiate_hello(login, args, reply))?,
        "reset" => reset_client(client, shared, reply),
        "multi" => begin_multi(client, reply)?,
        "discard" => discard_multi(client, reply)?,
        "unwatch" => unwatch_keys(client, reply),
        "quit" => {
            reply.ok();
            return Ok(true);
        }
        "script" if is(second, "KILL") => kill(shared, ScriptSort::Script, reply)?,
        "function" if is(second, "KILL") => kill(shared, ScriptSort::Function, reply)?,
        "function" if is(second, "STATS") => write_function_stats(shared, reply)?,
        "shutdown" => {
            check_shutdown(args, shared)?;
            tracing::info!(client = client.id, "a client stopped the server while a script ran");
            shared.busy_script.abandon();
            shared.stop();
            return Ok(true);
        }
        _ => return Err(refuse(client, command, shared)),
    }
    Ok(false)
}

/// Returns whether a request between MULTI and EXEC may be queued now.
pub(crate) fn may_be_queued(command: &CommandSpec, args: &RequestArgs<'_>) -> bool {
    let second = args.from(1).next().unwrap_or_default();
    match command.name {
        "script" => is(second, "KILL"),
        "function" => is(second, "KILL") || is(second, "STATS"),
        name => name != "watch" && command.has_flag("allow_busy"),
    }
}

/// Returns the reply BUSY, and spoils a transaction: as in Redis, EXEC discards it.
pub(crate) fn refuse(client: &mut ClientState, command: &CommandSpec, shared: &ServerShared) -> CommandError {
    let fault = shared.busy_script.refusal();
    if matches!(command.handler(), Handler::Exec) {
        client.leave_multi();
        return fault.aborts();
    }
    client.mark_multi_failed();
    fault
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
