//! The checks that every request passes before it runs, is queued, or is answered BUSY or LOADING; and
//! the whole way of a request that runs without data, while the server is loading or busy.

use crate::clients::client::ClientState;
use crate::clients::warnings::WarningLimiter;
use crate::command_table::Flag;
use crate::commands::access::denied::refuse as refuse_denied;
use crate::commands::channels::check_subscribed;
use crate::commands::command_error::NO_AUTH;
use crate::commands::monitor::check_monitoring;
use crate::commands::transactions::refused;
use crate::commands::{AfterCommand, Command, CommandError, ResolvedTag, is, refuse};
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;

use super::connection::Connection;
use super::reply_buffer::ReplyBuffer;

/// Returns whether a request is a line of HTTP, and notes it in the log. Its connection must be closed
/// at once: a web page may have sent it, with commands behind it.
pub(super) fn is_attack(
    resolved: ResolvedTag,
    args: &Args,
    client: &ClientState,
    warnings: &WarningLimiter,
) -> bool {
    let attacks = !matches!(resolved, ResolvedTag::Command(_)) && is_cross_protocol(args.get(0));
    if attacks {
        warnings.cross_protocol(&client.record);
    }
    attacks
}

/// Returns the command of a request that its client may run. There is no `shared` while the server is
/// loading.
pub(super) fn check(
    shared: Option<&ServerShared>,
    (resolved, tag): (ResolvedTag, u16),
    client: &mut ClientState,
    args: &Args<'_>,
) -> Result<&'static Command, CommandError> {
    let ResolvedTag::Command(command) = resolved else { return Err(refuse(resolved, client, args)) };
    command.check_subcommand(args).inspect_err(|_| client.mark_multi_failed())?;
    if !client.authenticated && !command.has(Flag::NoAuth) {
        return Err(refused(client, command, NO_AUTH));
    }
    if let Err(denied) = client.check(tag, args) {
        return Err(refuse_denied(shared, client, command, &denied));
    }
    let allowed = check_subscribed(client, command).and_then(|()| check_monitoring(client, command, args));
    allowed.inspect_err(|_| client.mark_multi_failed())?;
    Ok(command)
}

/// Answers the first request of a connection without data. `run` runs a request that passes the checks,
/// and returns whether the connection closes after it; `None` if it was queued. Returns whether
/// the request ran, and whether its reply is to be counted.
pub(super) fn answer_without_data(
    connection: &mut Connection,
    output: &mut ReplyBuffer,
    (shared, warnings): (Option<&ServerShared>, &WarningLimiter),
    run: impl FnOnce(
        &mut ClientState,
        (&'static Command, u16),
        &Args,
        &mut Reply,
    ) -> Result<Option<AfterCommand>, CommandError>,
) -> Option<(u16, bool)> {
    let tag = connection.input.tag(0)?;
    let Connection { client, input, .. } = connection;
    let (args, start, resolved) = (input.args(0), output.buffer.len(), ResolvedTag::of(tag));
    if is_attack(resolved, &args, client, warnings) {
        (connection.attacked, connection.closing) = (true, true);
        return None;
    }
    let mut reply = Reply::new(&mut output.buffer, client.protocol);
    let done = check(shared, (resolved, tag), client, &args)
        .and_then(|command| run(client, (command, tag), &args, &mut reply));
    if let Err(fault) = &done {
        output.buffer.truncate(start);
        fault.write(&mut Reply::new(&mut output.buffer, client.protocol));
    }
    let ran = done.ok().flatten();
    connection.closing |= matches!(ran, Some(AfterCommand::Close));
    Some((tag, ran.is_some()))
}

/// Returns whether a request is a line of HTTP, as a web page sends it with `fetch`: the method of
/// its first line, or the first header.
fn is_cross_protocol(name: &[u8]) -> bool {
    is(name, "POST") || is(name, "Host:")
}
