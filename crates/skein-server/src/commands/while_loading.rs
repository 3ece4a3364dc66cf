//! Handlers of commands that work while the data is loading. The table names them beside the normal
//! handlers.
//!
//! A command without such a handler replies LOADING. These handlers need no data, and their replies
//! are the same as later. So a client that connects during loading need not connect again.

use super::connection::{LoginContext, authenticate, negotiate_hello, reset_at};
use super::reply_limit::ReplyLimit;
use super::server::{check_shutdown, tell_time};
use super::standalone::{NO_CLUSTER, tell_role};
use super::{CommandError, client, databases, introspection};
use crate::clients::client::ClientState;
use crate::net::loading::Loading;
use crate::observe::info;
use crate::resp::{ReplyWriter, RequestArgs};

/// The client and the loading server, as such a command sees them.
pub(crate) struct LoadingContext<'e> {
    pub client: &'e mut ClientState,
    pub loading: &'e Loading,
}

/// Runs a request. If the handler returns an error, its partial reply is discarded.
pub(crate) type LoadingHandler = fn(
    &mut LoadingContext<'_>,
    &RequestArgs<'_>,
    &mut ReplyWriter<'_>,
) -> Result<AfterLoadingCommand, CommandError>;

/// The state of the connection after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterLoadingCommand {
    /// The reply is written.
    Done,
    /// The reply is written. The connection closes after it is sent.
    Close,
}

type LoadingResult = Result<AfterLoadingCommand, CommandError>;

impl LoadingContext<'_> {
    /// Calls `run` with a login context. ACL LOG starts after loading; until then only the server's
    /// log has rejected logins.
    fn with_login<R>(&mut self, run: impl FnOnce(&mut LoginContext<'_>) -> R) -> R {
        let refused = |_: &ClientState, _: &[u8], user: &[u8]| {
            tracing::warn!(user = %user.escape_ascii(), "a client gave a wrong password while the data was loading");
        };
        run(&mut LoginContext { client: self.client, acl: &self.loading.acl, refused: &refused })
    }

    /// Returns the reply of most commands.
    pub(crate) fn refusal(&self) -> CommandError {
        CommandError::owned(format!(
            "LOADING SkeinDB is loading the dataset in memory: {}",
            self.loading.progress_text()
        ))
    }
}

pub(super) fn auth(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    early.with_login(|login| authenticate(login, args, reply)).map(|()| AfterLoadingCommand::Done)
}

pub(super) fn hello(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    early.with_login(|login| negotiate_hello(login, args, reply)).map(|()| AfterLoadingCommand::Done)
}

pub(super) fn reset(
    early: &mut LoadingContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    early.with_login(|login| reset_at(login, reply));
    Ok(AfterLoadingCommand::Done)
}

pub(super) fn echo(
    _: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    reply.bulk(args.get(1));
    Ok(AfterLoadingCommand::Done)
}

pub(super) fn quit(
    _: &mut LoadingContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    reply.ok();
    Ok(AfterLoadingCommand::Close)
}

pub(super) fn select(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    databases::select_at(early.client, args, reply).map(|()| AfterLoadingCommand::Done)
}

pub(super) fn time(
    _: &mut LoadingContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    tell_time(reply);
    Ok(AfterLoadingCommand::Done)
}

pub(super) fn role(
    _: &mut LoadingContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    tell_role(reply);
    Ok(AfterLoadingCommand::Done)
}

pub(super) fn cluster(
    _: &mut LoadingContext<'_>,
    _: &RequestArgs<'_>,
    _: &mut ReplyWriter<'_>,
) -> LoadingResult {
    Err(NO_CLUSTER)
}

pub(super) fn info(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    let names: Vec<&[u8]> = args.from(1).collect();
    reply.text(&info::loading::text(early.loading, &names));
    Ok(AfterLoadingCommand::Done)
}

pub(super) fn command(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    let bytes_max = early.loading.options.reply_bytes_max;
    introspection::answer(args, &ReplyLimit::of(bytes_max, reply, introspection::WAY_OUT), reply)?;
    Ok(AfterLoadingCommand::Done)
}

/// Runs the subcommands that concern only this connection. The list of all clients starts after
/// loading.
pub(super) fn client(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    if client::own_client(early.client, args, reply)? {
        Ok(AfterLoadingCommand::Done)
    } else {
        Err(early.refusal())
    }
}

pub(super) fn shutdown(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    _: &mut ReplyWriter<'_>,
) -> LoadingResult {
    check_shutdown(args)?;
    tracing::info!(client = early.client.id, "a client stopped the server");
    early.loading.progress.cancel();
    Ok(AfterLoadingCommand::Close)
}
