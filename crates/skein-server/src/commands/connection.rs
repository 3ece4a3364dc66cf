//! Commands about the connection itself.

pub(crate) mod table;

use std::sync::Arc;

use skein_syntax::number::parse_i64;

use super::access::denied::remember_login;
use super::channels::{ping_subscribed, remove_all};
use super::client::stop_tracking;
use super::monitor::stop_monitoring;
use super::{AfterCommand, CommandContext, CommandError, CommandResult, Replied, is};
use crate::acl::{Acl, DEFAULT};
use crate::clients::client::ClientState;
use crate::report::info::REDIS_VERSION;
use crate::resp::{Args, Protocol, Reply};
use crate::shared::ServerShared;
use crate::shared::loading::Loading;

pub(super) const BAD_NAME: CommandError =
    CommandError::text("ERR Client names cannot contain spaces, newlines or special characters.");

pub(super) fn ping(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    if context.client.only_subscribes() && ping_subscribed(args, reply) {
        return Ok(AfterCommand::Done);
    }
    match args.len() {
        1 => reply.simple("PONG"),
        2 => reply.bulk(args.get(1)),
        _ => return Err(CommandError::wrong_arity("ping")),
    }
    Ok(AfterCommand::Done)
}

pub(super) fn echo(args: &Args, reply: &mut Reply) -> CommandResult {
    reply.bulk(args.get(1));
    Ok(AfterCommand::Done)
}

pub(super) fn quit(reply: &mut Reply) -> CommandResult {
    reply.ok();
    Ok(AfterCommand::Close)
}

/// Called for each rejected password with the client, the command that carried the password, and
/// the user.
pub(crate) type RefusedLogin<'r> = dyn Fn(&ClientState, &[u8], &[u8]) + 'r;

/// Everything that a login needs. Exists both while the server loads its data and afterwards.
pub(crate) struct LoginContext<'e> {
    pub client: &'e mut ClientState,
    pub acl: &'e Acl,
    pub refused: &'e RefusedLogin<'e>,
}

/// A server that may be loading, or busy.
pub(super) trait LoginServer {
    /// Calls `run` with a login context.
    fn with_login<R>(&self, client: &mut ClientState, run: impl FnOnce(&mut LoginContext<'_>) -> R) -> R;

    /// Ends the messages that a client receives without asking.
    fn end_messages(&self, client: &mut ClientState);
}

impl LoginServer for Arc<ServerShared> {
    /// Reports rejected logins to ACL LOG.
    fn with_login<R>(&self, client: &mut ClientState, run: impl FnOnce(&mut LoginContext<'_>) -> R) -> R {
        let refused = |client: &ClientState, given_with: &[u8], user: &[u8]| {
            remember_login(self, client, given_with, user);
        };
        run(&mut LoginContext { client, acl: &self.acl, refused: &refused })
    }

    fn end_messages(&self, client: &mut ClientState) {
        remove_all(self, client);
        stop_monitoring(self, client);
        stop_tracking(self, client);
    }
}

impl LoginServer for Loading {
    /// ACL LOG starts after loading; until then only the server's log has rejected logins.
    fn with_login<R>(&self, client: &mut ClientState, run: impl FnOnce(&mut LoginContext<'_>) -> R) -> R {
        let refused = |_: &ClientState, _: &[u8], user: &[u8]| {
            tracing::warn!(user = %user.escape_ascii(), "a client gave a wrong password while the data was loading");
        };
        run(&mut LoginContext { client, acl: &self.acl, refused: &refused })
    }

    fn end_messages(&self, _: &mut ClientState) {}
}

impl LoginContext<'_> {
    /// Logs in with a password that the command `given_with` contained. Errors if it is wrong.
    fn log_in(&mut self, given_with: &[u8], user: &[u8], password: &[u8]) -> CommandResult<()> {
        if self.client.log_in(&self.acl.users, user, password) {
            return Ok(());
        }
        (self.refused)(self.client, given_with, user);
        tracing::warn!(client = self.client.id, "a client gave a wrong password");
        Err(CommandError::text("WRONGPASS invalid username-password pair or user is disabled."))
    }
}

pub(super) fn auth(
    client: &mut ClientState,
    server: &impl LoginServer,
    args: &Args,
    reply: &mut Reply,
) -> CommandResult {
    server.with_login(client, |login| match args.len() {
        2 if login.acl.users.default_user().no_password => Err(CommandError::text(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        )),
        2 => login.log_in(args.get(0), DEFAULT, args.get(1)),
        3 => login.log_in(args.get(0), args.get(1), args.get(2)),
        _ => Err(super::command_error::SYNTAX),
    })?;
    reply.ok();
    Ok(AfterCommand::Done)
}

/// Runs `HELLO [version [AUTH user password] [SETNAME name]]`.
pub(super) fn hello(
    client: &mut ClientState,
    server: &impl LoginServer,
    args: &Args,
    reply: &mut Reply,
) -> CommandResult {
    server.with_login(client, |login| negotiate_hello(login, args, reply)).map(|()| AfterCommand::Done)
}

fn negotiate_hello(login: &mut LoginContext<'_>, args: &Args, reply: &mut Reply) -> Replied {
    let mut protocol = login.client.protocol;
    if args.len() > 1 {
        protocol = match parse_i64(args.get(1)) {
            None => return Err(CommandError::text("ERR Protocol version is not an integer or out of range")),
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err(CommandError::text("NOPROTO unsupported protocol version")),
        };
    }
    let mut at = 2;
    while at < args.len() {
        let rest = args.len() - at - 1;
        if is(args.get(at), "AUTH") && rest >= 2 {
            login.log_in(args.get(0), args.get(at + 1), args.get(at + 2))?;
            at += 3;
        } else if is(args.get(at), "SETNAME") && rest >= 1 {
            let name = checked_name(args.get(at + 1), "Client names", BAD_NAME)?;
            login.client.set_attributes(|attributes| attributes.name = name);
            at += 2;
        } else {
            let mut text = b"ERR Syntax error in HELLO option '".to_vec();
            text.extend_from_slice(args.get(at));
            text.push(b'\'');
            return Err(CommandError::owned(text));
        }
    }
    if !login.client.authenticated {
        return Err(CommandError::text(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH \
             <user> <pass> option can be used to authenticate the client and select the RESP protocol version at \
             the same time",
        ));
    }
    login.client.set_protocol(protocol);
    reply.set_protocol(protocol);
    greet(login.client, reply);
    Ok(())
}

/// Writes the fields of Redis. Clients choose commands by the version, so the field has the version
/// of Redis that this server follows. INFO has the version of SkeinDB.
fn greet(client: &ClientState, reply: &mut Reply) {
    reply.map(7);
    for (name, value) in [("server", "redis"), ("version", REDIS_VERSION)] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.named("proto").int(if client.protocol == Protocol::Resp3 { 3 } else { 2 });
    reply.named("id").count(client.id as usize);
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    reply.array(0);
}

/// Maximum length of the name of a client or its library. Redis has no limit; but every client has
/// such names, and every list of clients shows them.
const NAME_BYTES_MAX: usize = 1024;

/// Returns the name if it fits into lists that are read by line and word. Errors with `fault` if it
/// has spaces or special characters. `what` names it in the error for long names.
pub(super) fn checked_name(name: &[u8], what: &str, fault: CommandError) -> CommandResult<Vec<u8>> {
    if name.len() > NAME_BYTES_MAX {
        let len = name.len();
        return Err(CommandError::owned(format!(
            "ERR {what} cannot be longer than {NAME_BYTES_MAX} bytes; this one has {len}"
        )));
    }
    if name.iter().all(u8::is_ascii_graphic) { Ok(name.to_vec()) } else { Err(fault) }
}

/// Runs RESET: restores a connection to its initial state, except for the library's name and
/// version.
pub(super) fn reset(client: &mut ClientState, server: &impl LoginServer, reply: &mut Reply) -> CommandResult {
    server.end_messages(client);
    client.set_protocol(Protocol::default());
    client.replies.reset();
    client.leave_multi();
    client.snapshot.end();
    client.select(0);
    server.with_login(client, |login| login.client.log_out(&login.acl.users));
    client.set_attributes(|attributes| attributes.name = Vec::new());
    reply.set_protocol(client.protocol);
    reply.simple("RESET");
    Ok(AfterCommand::Done)
}
