//! The error replies to denied requests, and their entries in the ACL log.

use crate::acl::{AclLogCase, Denial, DenialContext, DenialReason, LOG_TEXT_BYTES_MAX as TEXT_BYTES_MAX};
use crate::clients::client::ClientState;
use crate::commands::client::line;
use crate::commands::transactions::refused;
use crate::commands::{Command, CommandError};
use crate::shared::ServerShared;

/// Denies a request that the client may not run: logs it and returns the error. The request neither
/// runs nor is queued. There is no log, and no `shared`, while the server is loading.
pub(crate) fn refuse(
    shared: Option<&ServerShared>,
    client: &mut ClientState,
    command: &Command,
    denied: &Denial,
) -> CommandError {
    if let Some(shared) = shared {
        remember(shared, client, command.name, own_context(client), denied);
    }
    refused(client, command, fault(denied))
}

/// Returns the error reply for a denied request.
fn fault(denied: &Denial) -> CommandError {
    match denied {
        Denial::Command(name) => {
            CommandError::owned(format!("NOPERM this user has no permissions to run the '{name}' command"))
        }
        Denial::Key(..) => CommandError::text(
            "NOPERM this user has no permissions to access one of the keys used as arguments",
        ),
        Denial::Channel(..) => CommandError::text(
            "NOPERM this user has no permissions to access one of the channels used as arguments",
        ),
    }
}

/// Denies a queued request if its permission was revoked after it was queued.
pub(crate) fn refuse_in_exec(shared: &ServerShared, client: &ClientState, denied: &Denial) -> CommandError {
    remember(shared, client, "exec", DenialContext::Multi, denied);
    let reason = match denied {
        Denial::Command(_) => "no permission to execute the command or subcommand",
        Denial::Key(..) => "no permission to touch the specified keys",
        Denial::Channel(..) => "no permission to access one of the channels used as arguments to the command",
    };
    CommandError::owned(format!(
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. \
         This command is no longer allowed for the following reason: {reason}"
    ))
}

/// Denies a command of a script.
pub(crate) fn refuse_in_script(
    shared: &ServerShared,
    client: &ClientState,
    command: &Command,
    denied: &Denial,
) -> CommandError {
    remember(shared, client, command.name, DenialContext::Script, denied);
    CommandError::text(match denied {
        Denial::Command(_) => "ERR The user executing the script can't run this command or subcommand",
        Denial::Key(..) => {
            "ERR The user executing the script can't access at least one of the keys mentioned in the command \
             arguments"
        }
        Denial::Channel(..) => {
            "ERR The user executing the script can't publish to the channel mentioned in the command"
        }
    })
}

/// Returns the context of a request that the client sent itself.
fn own_context(client: &ClientState) -> DenialContext {
    if client.in_multi() || client.in_exec() { DenialContext::Multi } else { DenialContext::TopLevel }
}

fn remember(
    shared: &ServerShared,
    client: &ClientState,
    running: &str,
    context: DenialContext,
    denied: &Denial,
) {
    let (reason, object) = match denied {
        Denial::Command(name) => (DenialReason::Command, name.as_bytes()),
        Denial::Key(_, key) => (DenialReason::Key, &**key),
        Denial::Channel(_, channel) => (DenialReason::Channel, &**channel),
    };
    add(shared, client, running, (reason, context), object, &client.user().name);
}

/// Logs a rejected password, which the command `given_with` contained, for `user`.
pub(crate) fn remember_login(shared: &ServerShared, client: &ClientState, given_with: &[u8], user: &[u8]) {
    add(
        shared,
        client,
        &String::from_utf8_lossy(given_with).to_lowercase(),
        (DenialReason::Auth, own_context(client)),
        given_with,
        user,
    );
}

/// Returns the start of a text as a copy. A slice that is only truncated would keep all its memory.
fn clip(text: &[u8]) -> Vec<u8> {
    text[..text.len().min(TEXT_BYTES_MAX)].to_vec()
}

fn add(
    shared: &ServerShared,
    client: &ClientState,
    running: &str,
    (reason, context): (DenialReason, DenialContext),
    object: &[u8],
    user: &[u8],
) {
    let case = AclLogCase {
        reason,
        context,
        object: clip(object),
        user: clip(user),
        client: line(shared, client, &client.record, running, TEXT_BYTES_MAX).trim_end().to_owned(),
    };
    shared.acl.log.add(case, shared.settings.acl_log_max.get());
}
