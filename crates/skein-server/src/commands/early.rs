//! Commands that are answered before there is data: a handler each, which the table names beside the one that has data.
//!
//! What has no such handler answers LOADING. No handler here needs data, and each answers what its command answers later, so a
//! client that connects while the data is read back need not connect again.

use super::connection::{Entrance, auth_at, hello_at, reset_at};
use super::limit::ReplyLimit;
use super::server::{check_shutdown, tell_time};
use super::{Fault, client, databases, introspection};
use crate::client::Client;
use crate::info;
use crate::loading::Loading;
use crate::resp::{Args, Reply};

/// What such a command has at hand.
pub(crate) struct Early<'e> {
    pub client: &'e mut Client,
    pub loading: &'e Loading,
}

/// Answers a request; what it wrote to the reply before a fault is taken back.
pub(crate) type EarlyHandler = fn(&mut Early<'_>, &Args<'_>, &mut Reply<'_>) -> Result<EarlyNext, Fault>;

/// How it goes on with the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlyNext {
    /// The reply is written.
    Done,
    /// The reply is written; the connection closes once it is sent.
    Close,
}

type Answer = Result<EarlyNext, Fault>;

impl Early<'_> {
    /// Runs what needs an entrance. ACL LOG begins with the data; until then the server's log alone has who is turned away.
    fn at_entrance<R>(&mut self, run: impl FnOnce(&mut Entrance<'_>) -> R) -> R {
        let refused = |_: &Client, _: &[u8], user: &[u8]| {
            tracing::warn!(user = %user.escape_ascii(), "a client gave a wrong password while the data was read back");
        };
        run(&mut Entrance { client: self.client, acl: &self.loading.acl, refused: &refused })
    }

    /// What most commands answer.
    pub(crate) fn refusal(&self) -> Fault {
        Fault::owned(format!("LOADING SkeinDB is loading the dataset in memory: {}", self.loading.words()))
    }
}

pub(super) fn auth(early: &mut Early<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    early.at_entrance(|entrance| auth_at(entrance, args, reply)).map(|()| EarlyNext::Done)
}

pub(super) fn hello(early: &mut Early<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    early.at_entrance(|entrance| hello_at(entrance, args, reply)).map(|()| EarlyNext::Done)
}

pub(super) fn reset(early: &mut Early<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    early.at_entrance(|entrance| reset_at(entrance, reply));
    Ok(EarlyNext::Done)
}

pub(super) fn echo(_: &mut Early<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    reply.bulk(args.get(1));
    Ok(EarlyNext::Done)
}

pub(super) fn quit(_: &mut Early<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    reply.ok();
    Ok(EarlyNext::Close)
}

pub(super) fn select(_: &mut Early<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    databases::select_at(args, reply).map(|()| EarlyNext::Done)
}

pub(super) fn time(_: &mut Early<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    tell_time(reply);
    Ok(EarlyNext::Done)
}

pub(super) fn info(early: &mut Early<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    let names: Vec<&[u8]> = args.from(1).collect();
    reply.text(&info::loading::text(early.loading, &names));
    Ok(EarlyNext::Done)
}

pub(super) fn command(early: &mut Early<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    let bytes_max = early.loading.options.reply_bytes_max;
    introspection::answer(args, &ReplyLimit::of(bytes_max, reply, introspection::WAY_OUT), reply)?;
    Ok(EarlyNext::Done)
}

/// The subcommands about this connection alone; the list of all clients begins with the data.
pub(super) fn client(early: &mut Early<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    if client::about_oneself(early.client, args, reply)? { Ok(EarlyNext::Done) } else { Err(early.refusal()) }
}

pub(super) fn shutdown(early: &mut Early<'_>, args: &Args<'_>, _: &mut Reply<'_>) -> Answer {
    check_shutdown(args)?;
    tracing::info!(client = early.client.id, "a client asked for a stop");
    early.loading.progress.cancel();
    Ok(EarlyNext::Close)
}
