//! What a client hears that may not do what it asked for, and how that gets into the log.

use crate::acl::{Case, Denied, LOG_TEXT_BYTES_MAX as TEXT_BYTES_MAX, Reason};
use crate::client::Client;
use crate::commands::client::line;
use crate::commands::{Command, Fault, Handler};
use crate::shared::Shared;

/// A request is not run, nor queued, because the client may not.
pub(crate) fn refuse(shared: &Shared, client: &mut Client, command: &Command, denied: &Denied) -> Fault {
    remember(shared, client, command.name, denied);
    let fault = fault(denied);
    if matches!(command.handler, Handler::Exec) {
        // As Redis has it, an EXEC that is refused is a transaction that fails.
        client.leave_multi();
        return fault.aborts();
    }
    client.spoil_multi();
    fault
}

/// What is said.
pub(crate) fn fault(denied: &Denied) -> Fault {
    match denied {
        Denied::Command(name) => {
            Fault::owned(format!("NOPERM this user has no permissions to run the '{name}' command"))
        }
        Denied::Key(..) => {
            Fault::text("NOPERM this user has no permissions to access one of the keys used as arguments")
        }
    }
}

/// A queued request is not run because the client may not any more.
pub(crate) fn refuse_in_exec(shared: &Shared, client: &Client, denied: &Denied) -> Fault {
    remember(shared, client, "exec", denied);
    let reason = match denied {
        Denied::Command(_) => "no permission to execute the command or subcommand",
        Denied::Key(..) => "no permission to touch the specified keys",
    };
    Fault::owned(format!(
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. \
         This command is no longer allowed for the following reason: {reason}"
    ))
}

fn remember(shared: &Shared, client: &Client, running: &str, denied: &Denied) {
    let (reason, object) = match denied {
        Denied::Command(name) => (Reason::Command, name.as_bytes()),
        Denied::Key(_, key) => (Reason::Key, &**key),
    };
    add(shared, client, running, reason, object, &client.user().name);
}

/// A password is refused that was given with the command `given_with` for `user`.
pub(crate) fn remember_login(shared: &Shared, client: &Client, given_with: &[u8], user: &[u8]) {
    add(shared, client, &String::from_utf8_lossy(given_with).to_lowercase(), Reason::Auth, given_with, user);
}

/// What is kept of a text: a copy, since what is only cut keeps its memory.
fn clip(text: &[u8]) -> Vec<u8> {
    text[..text.len().min(TEXT_BYTES_MAX)].to_vec()
}

fn add(shared: &Shared, client: &Client, running: &str, reason: Reason, object: &[u8], user: &[u8]) {
    let case = Case {
        reason,
        in_multi: client.in_multi() || client.in_exec(),
        object: clip(object),
        user: clip(user),
        client: line(shared, client, &client.card, running, TEXT_BYTES_MAX).trim_end().to_owned(),
    };
    shared.acl.log.add(case, shared.settings.acl_log_max.get());
}
