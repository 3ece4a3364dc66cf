//! Handlers of commands that work while the data is loading (see `without_data`).
//!
//! Their replies are the same as later. So a client that connects during loading need not connect again.

use super::reply_limit::ReplyLimit;
use super::server::check_shutdown;
use super::without_data::{DatalessHandler, WithoutData};
use super::{AfterCommand, CommandError, CommandResult, client, introspection};
use crate::report::info;
use crate::resp::{Args, Reply};
use crate::shared::loading::Loading;

/// The client and the loading server.
pub(crate) type LoadingContext<'e> = WithoutData<'e, Loading>;

pub(crate) type LoadingHandler = DatalessHandler<Loading>;

impl LoadingContext<'_> {
    /// Returns the reply of most commands.
    pub(crate) fn refusal(&self) -> CommandError {
        CommandError::owned(format!(
            "LOADING SkeinDB is loading the dataset in memory: {}",
            self.server.progress_text()
        ))
    }
}

pub(super) fn info(early: &mut LoadingContext<'_>, args: &Args, reply: &mut Reply) -> CommandResult {
    let names: Vec<&[u8]> = args.from(1).collect();
    reply.text(&info::loading::text(early.server, &names));
    Ok(AfterCommand::Done)
}

pub(super) fn command(early: &mut LoadingContext<'_>, args: &Args, reply: &mut Reply) -> CommandResult {
    let bytes_max = early.server.options.reply_bytes_max;
    introspection::answer(args, &ReplyLimit::of(bytes_max, reply, introspection::WAY_OUT), reply)?;
    Ok(AfterCommand::Done)
}

/// Runs the subcommands that concern only this connection. The list of all clients starts after
/// loading.
pub(super) fn client(early: &mut LoadingContext<'_>, args: &Args, reply: &mut Reply) -> CommandResult {
    if client::own_client(early.client, args, reply)? { Ok(AfterCommand::Done) } else { Err(early.refusal()) }
}

pub(super) fn shutdown(early: &mut LoadingContext<'_>, args: &Args, _: &mut Reply) -> CommandResult {
    check_shutdown(args)?;
    tracing::info!(client = early.client.id, "a client stopped the server");
    early.server.progress.cancel();
    Ok(AfterCommand::Close)
}
