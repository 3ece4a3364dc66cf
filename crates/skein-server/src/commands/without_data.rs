//! Handlers of commands that run without data: while the server loads it, and while a script keeps the
//! server busy. Their rows name them beside the normal handlers. All others reply LOADING or BUSY.
//!
//! `while_loading` and `while_busy` have those that run in one of the two cases.

use super::CommandError;
use super::connection::{LoginContext, authenticate, negotiate_hello, reset_at};
use crate::clients::client::ClientState;
use crate::resp::{ReplyWriter, RequestArgs};

/// The client and a server without data, as such a command sees them.
pub(crate) struct WithoutData<'e, S> {
    pub client: &'e mut ClientState,
    pub server: &'e S,
}

/// Runs a request. Returns whether the connection must be closed after it. If it returns an error, the
/// partial reply is discarded.
pub(crate) type DatalessHandler<S> =
    fn(&mut WithoutData<'_, S>, &RequestArgs<'_>, &mut ReplyWriter<'_>) -> Result<bool, CommandError>;

/// A server that is loading, or busy.
pub(crate) trait DatalessServer {
    /// Calls `run` with a login context.
    fn with_login<R>(&self, client: &mut ClientState, run: impl FnOnce(&mut LoginContext<'_>) -> R) -> R;

    /// Ends the messages that a client receives without asking.
    fn end_messages(&self, client: &mut ClientState);
}

pub(super) fn auth<S: DatalessServer>(
    WithoutData { client, server }: &mut WithoutData<'_, S>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    server.with_login(client, |login| authenticate(login, args, reply)).map(|()| false)
}

pub(super) fn hello<S: DatalessServer>(
    WithoutData { client, server }: &mut WithoutData<'_, S>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    server.with_login(client, |login| negotiate_hello(login, args, reply)).map(|()| false)
}

pub(super) fn reset<S: DatalessServer>(
    WithoutData { client, server }: &mut WithoutData<'_, S>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    server.end_messages(client);
    server.with_login(client, |login| reset_at(login, reply));
    Ok(false)
}

pub(super) fn quit<S>(
    _: &mut WithoutData<'_, S>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<bool, CommandError> {
    reply.ok();
    Ok(true)
}
