//! Commands that are answered before there is data: a handler each, which the table names beside the one that has data.
//!
//! What has no such handler answers LOADING. No handler here needs data, and each answers what its command answers later, so a
//! client that connects while the data is read back need not connect again.

use super::connection::{LoginContext, authenticate, negotiate_hello, reset_at};
use super::reply_limit::ReplyLimit;
use super::server::{check_shutdown, tell_time};
use super::{CommandError, client, databases, introspection};
use crate::client::ClientState;
use crate::info;
use crate::loading::Loading;
use crate::resp::{ReplyWriter, RequestArgs};

/// What such a command has at hand.
pub(crate) struct LoadingContext<'e> {
    pub client: &'e mut ClientState,
    pub loading: &'e Loading,
}

/// Answers a request; what it wrote to the reply before a fault is taken back.
pub(crate) type LoadingHandler = fn(
    &mut LoadingContext<'_>,
    &RequestArgs<'_>,
    &mut ReplyWriter<'_>,
) -> Result<AfterLoadingCommand, CommandError>;

/// How it goes on with the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterLoadingCommand {
    /// The reply is written.
    Done,
    /// The reply is written; the connection closes once it is sent.
    Close,
}

type LoadingResult = Result<AfterLoadingCommand, CommandError>;

impl LoadingContext<'_> {
    /// Runs what needs an entrance. ACL LOG begins with the data; until then the server's log alone has who is turned away.
    fn at_entrance<R>(&mut self, run: impl FnOnce(&mut LoginContext<'_>) -> R) -> R {
        let refused = |_: &ClientState, _: &[u8], user: &[u8]| {
            tracing::warn!(user = %user.escape_ascii(), "a client gave a wrong password while the data was read back");
        };
        run(&mut LoginContext { client: self.client, acl: &self.loading.acl, refused: &refused })
    }

    /// What most commands answer.
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
    early.at_entrance(|entrance| authenticate(entrance, args, reply)).map(|()| AfterLoadingCommand::Done)
}

pub(super) fn hello(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    early.at_entrance(|entrance| negotiate_hello(entrance, args, reply)).map(|()| AfterLoadingCommand::Done)
}

pub(super) fn reset(
    early: &mut LoadingContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    early.at_entrance(|entrance| reset_at(entrance, reply));
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
    _: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    databases::select_at(args, reply).map(|()| AfterLoadingCommand::Done)
}

pub(super) fn time(
    _: &mut LoadingContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    tell_time(reply);
    Ok(AfterLoadingCommand::Done)
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

/// The subcommands about this connection alone; the list of all clients begins with the data.
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
    tracing::info!(client = early.client.id, "a client asked for a stop");
    early.loading.progress.cancel();
    Ok(AfterLoadingCommand::Close)
}
