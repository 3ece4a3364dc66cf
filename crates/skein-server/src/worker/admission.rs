//! The checks that every request passes before it runs, is queued, or is answered BUSY.

use crate::clients::client::ClientState;
use crate::command_table::Flag;
use crate::commands::access::denied::refuse as refuse_denied;
use crate::commands::channels::check_subscribed;
use crate::commands::connection::refuse_unauthenticated;
use crate::commands::monitor::check_monitoring;
use crate::commands::transactions::refuse_queued;
use crate::commands::{Command, ResolvedTag, is, refuse};
use crate::observe::warnings::WarningLimiter;
use crate::resp::{ReplyWriter, RequestArgs};
use crate::shared::ServerShared;

/// Returns whether a request is a line of HTTP, and notes it in the log. Its connection must be closed
/// at once: a web page may have sent it, with commands behind it.
pub(super) fn is_attack(
    resolved: ResolvedTag,
    args: &RequestArgs<'_>,
    client: &ClientState,
    warnings: &WarningLimiter,
) -> bool {
    let attacks = !matches!(resolved, ResolvedTag::Command(_)) && is_cross_protocol(args.get(0));
    if attacks {
        warnings.cross_protocol(&client.record);
    }
    attacks
}

/// Returns the command of a request that its client may run. Otherwise writes the error.
pub(super) fn admitted_command(
    shared: &ServerShared,
    (resolved, tag): (ResolvedTag, u16),
    client: &mut ClientState,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Option<&'static Command> {
    let ResolvedTag::Command(command) = resolved else {
        refuse_queued(resolved, client);
        refuse(resolved, args, reply);
        return None;
    };
    if let Err(fault) = command.check_subcommand(args) {
        client.mark_multi_failed();
        fault.write(reply);
        return None;
    }
    if !client.authenticated && !command.has(Flag::NoAuth) {
        refuse_unauthenticated(command, reply);
        return None;
    }
    if let Err(denied) = client.check(tag, args) {
        refuse_denied(shared, client, command, &denied).write(reply);
        return None;
    }
    let allowed = check_subscribed(client, command).and_then(|()| check_monitoring(client, command, args));
    if let Err(fault) = allowed {
        client.mark_multi_failed();
        fault.write(reply);
        return None;
    }
    Some(command)
}

/// Returns whether a request is a line of HTTP, as a web page sends it with `fetch`: the method of
/// its first line, or the first header.
fn is_cross_protocol(name: &[u8]) -> bool {
    is(name, "POST") || is(name, "Host:")
}
