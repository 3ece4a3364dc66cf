//! What a client hears that may not do what it asked for, and how that gets into the log.

use crate::acl::{AclLogCase, Denial, DenialReason, LOG_TEXT_BYTES_MAX as TEXT_BYTES_MAX};
use crate::client::ClientState;
use crate::commands::client::line;
use crate::commands::{CommandError, CommandSpec, Handler};
use crate::shared::ServerShared;

/// A request is not run, nor queued, because the client may not.
pub(crate) fn refuse(
    shared: &ServerShared,
    client: &mut ClientState,
    command: &CommandSpec,
    denied: &Denial,
) -> CommandError {
    remember(shared, client, command.name, denied);
    let fault = fault(denied);
    if matches!(command.handler, Handler::Exec) {
        // As Redis has it, an EXEC that is refused is a transaction that fails.
        client.leave_multi();
        return fault.aborts();
    }
    client.mark_multi_failed();
    fault
}

/// What is said.
pub(crate) fn fault(denied: &Denial) -> CommandError {
    match denied {
        Denial::Command(name) => {
            CommandError::owned(format!("NOPERM this user has no permissions to run the '{name}' command"))
        }
        Denial::Key(..) => CommandError::text(
            "NOPERM this user has no permissions to access one of the keys used as arguments",
        ),
    }
}

/// A queued request is not run because the client may not any more.
pub(crate) fn refuse_in_exec(shared: &ServerShared, client: &ClientState, denied: &Denial) -> CommandError {
    remember(shared, client, "exec", denied);
    let reason = match denied {
        Denial::Command(_) => "no permission to execute the command or subcommand",
        Denial::Key(..) => "no permission to touch the specified keys",
    };
    CommandError::owned(format!(
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. \
         This command is no longer allowed for the following reason: {reason}"
    ))
}

fn remember(shared: &ServerShared, client: &ClientState, running: &str, denied: &Denial) {
    let (reason, object) = match denied {
        Denial::Command(name) => (DenialReason::Command, name.as_bytes()),
        Denial::Key(_, key) => (DenialReason::Key, &**key),
    };
    add(shared, client, running, reason, object, &client.user().name);
}

/// A password is refused that was given with the command `given_with` for `user`.
pub(crate) fn remember_login(shared: &ServerShared, client: &ClientState, given_with: &[u8], user: &[u8]) {
    add(
        shared,
        client,
        &String::from_utf8_lossy(given_with).to_lowercase(),
        DenialReason::Auth,
        given_with,
        user,
    );
}

/// What is kept of a text: a copy, since what is only cut keeps its memory.
fn clip(text: &[u8]) -> Vec<u8> {
    text[..text.len().min(TEXT_BYTES_MAX)].to_vec()
}

fn add(
    shared: &ServerShared,
    client: &ClientState,
    running: &str,
    reason: DenialReason,
    object: &[u8],
    user: &[u8],
) {
    let case = AclLogCase {
        reason,
        in_multi: client.in_multi() || client.in_exec(),
        object: clip(object),
        user: clip(user),
        client: line(shared, client, &client.record, running, TEXT_BYTES_MAX).trim_end().to_owned(),
    };
    shared.acl.log.add(case, shared.settings.acl_log_max.get());
}
