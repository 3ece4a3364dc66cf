//! Handlers of commands that work while the data is loading (see `without_data`).
//!
//! Their replies are the same as later. So a client that connects during loading need not connect again.

use super::connection::LoginContext;
use super::reply_limit::ReplyLimit;
use super::server::{check_shutdown, tell_time};
use super::standalone::{NO_CLUSTER, tell_role};
use super::without_data::{DatalessHandler, DatalessServer, WithoutData};
use super::{CommandError, client, databases, introspection};
use crate::clients::client::ClientState;
use crate::net::loading::Loading;
use crate::observe::info;
use crate::resp::{ReplyWriter, RequestArgs};

/// The client and the loading server.
pub(crate) type LoadingContext<'e> = WithoutData<'e, Loading>;

pub(crate) type LoadingHandler = DatalessHandler<Loading>;
type LoadingResult = Result<bool, CommandError>;

impl DatalessServer for Loading {
    /// ACL LOG starts after loading; until then only the server's log has rejected logins.
    fn with_login<R>(&self, client: &mut ClientState, run: impl FnOnce(&mut LoginContext<'_>) -> R) -> R {
        let refused = |_: &ClientState, _: &[u8], user: &[u8]| {
            tracing::warn!(user = %user.escape_ascii(), "a client gave a wrong password while the data was loading");
        };
        run(&mut LoginContext { client, acl: &self.acl, refused: &refused })
    }

    fn end_messages(&self, _: &mut ClientState) {}
}

impl LoadingContext<'_> {
    /// Returns the reply of most commands.
    pub(crate) fn refusal(&self) -> CommandError {
        CommandError::owned(format!(
            "LOADING SkeinDB is loading the dataset in memory: {}",
            self.server.progress_text()
        ))
    }
}

pub(super) fn echo(
    _: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    reply.bulk(args.get(1));
    Ok(false)
}

pub(super) fn select(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    databases::select_at(early.client, args, reply).map(|()| false)
}

pub(super) fn time(
    _: &mut LoadingContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    tell_time(reply);
    Ok(false)
}

pub(super) fn role(
    _: &mut LoadingContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    tell_role(reply);
    Ok(false)
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
    reply.text(&info::loading::text(early.server, &names));
    Ok(false)
}

pub(super) fn command(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    let bytes_max = early.server.options.reply_bytes_max;
    introspection::answer(args, &ReplyLimit::of(bytes_max, reply, introspection::WAY_OUT), reply)?;
    Ok(false)
}

/// Runs the subcommands that concern only this connection. The list of all clients starts after
/// loading.
pub(super) fn client(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> LoadingResult {
    if client::own_client(early.client, args, reply)? { Ok(false) } else { Err(early.refusal()) }
}

pub(super) fn shutdown(
    early: &mut LoadingContext<'_>,
    args: &RequestArgs<'_>,
    _: &mut ReplyWriter<'_>,
) -> LoadingResult {
    check_shutdown(args)?;
    tracing::info!(client = early.client.id, "a client stopped the server");
    early.server.progress.cancel();
    Ok(true)
}
