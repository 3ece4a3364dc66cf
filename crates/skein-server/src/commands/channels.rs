//! Publish and subscribe: SUBSCRIBE and its relatives, PUBLISH, PUBSUB.
//!
//! Design: `docs/design/server.md`.

pub(crate) mod table;

use super::subcommands::{help, subcommand};
use super::{AfterCommand, Command, CommandContext, CommandError, CommandResult, Flag, Replied};
use crate::clients::client::{ClientState, ClientSubscriptions};
use crate::notice::channels::ChannelKind;
use crate::redis::glob::Glob;
use crate::resp::{Args, Protocol, Reply};
use crate::shared::ServerShared;

const HELP: &[&str] = &[
    "PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "CHANNELS [<pattern>]",
    "    Return the channels that have subscribers, and match <pattern>.",
    "NUMPAT",
    "    Return the number of patterns that have subscribers.",
    "NUMSUB [<channel> ...]",
    "    Return the number of subscribers of each channel, patterns left out.",
    "SHARDCHANNELS [<pattern>]",
    "    Return the shard channels that have subscribers, and match <pattern>.",
    "SHARDNUMSUB [<shardchannel> ...]",
    "    Return the number of subscribers of each shard channel.",
    "HELP",
    "    Prints this help.",
];

/// Rejects a command that the client may not send while it has subscriptions.
pub(crate) fn check_subscribed(client: &ClientState, command: &Command) -> CommandResult<()> {
    if !client.only_subscribes() || command.has(Flag::WhileSubscribed) {
        return Ok(());
    }
    Err(CommandError::owned(format!(
        "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this \
         context",
        command.name
    )))
}

/// Writes the reply to one subscription or its end. CLIENT REPLY does not mute it.
fn confirm(what: &str, name: Option<&[u8]>, count: usize, reply: &mut Reply) {
    reply.push(3);
    reply.bulk(what.as_bytes());
    reply.bulk_or_null(name);
    reply.count(count);
}

fn add(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    kind: ChannelKind,
    what: &str,
) -> CommandResult {
    let CommandContext { client, shared, .. } = context;
    for name in args.from(1) {
        if !client.subscriptions.of(kind).contains_key(name) {
            let subscription = shared.notices.channels.subscribe(kind, name, client.record.place);
            client.subscriptions.add(kind, name, subscription);
        }
        confirm(what, Some(name), client.subscriptions.shown(kind), reply);
    }
    client.replies.keep_parts();
    client.show_subscriptions();
    Ok(AfterCommand::Done)
}

fn remove(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    kind: ChannelKind,
    what: &str,
) -> CommandResult {
    let CommandContext { client, shared, .. } = context;
    let names: Vec<Vec<u8>> = match args.len() {
        1 => client.subscriptions.of(kind).keys().cloned().collect(),
        _ => args.from(1).map(<[u8]>::to_vec).collect(),
    };
    for name in &names {
        if client.subscriptions.remove(kind, name) {
            shared.notices.channels.unsubscribe(kind, name, client.id);
        }
        confirm(what, Some(name), client.subscriptions.shown(kind), reply);
    }
    if names.is_empty() {
        confirm(what, None, client.subscriptions.shown(kind), reply);
    }
    client.replies.keep_parts();
    client.show_subscriptions();
    Ok(AfterCommand::Done)
}

/// Ends all subscriptions of a client without a reply: for RESET and for a closed connection.
pub(crate) fn remove_all(shared: &ServerShared, client: &mut ClientState) {
    if client.subscriptions.is_empty() {
        return;
    }
    for kind in ChannelKind::ALL {
        for name in client.subscriptions.of(kind).keys() {
            shared.notices.channels.unsubscribe(kind, name, client.id);
        }
    }
    client.subscriptions = ClientSubscriptions::default();
    client.show_subscriptions();
}

fn publish(context: &CommandContext, args: &Args, reply: &mut Reply, kind: ChannelKind) -> CommandResult {
    let shared = context.shared;
    let receivers = shared.notices.channels.publish(kind, args.get(1), args.get(2), |worker, delivery| {
        shared.workers.mailboxes[worker].send(|mail| mail.messages.push(delivery));
    });
    reply.count(receivers);
    Ok(AfterCommand::Done)
}

/// Runs PUBSUB.
pub(super) fn pubsub(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let channels = &context.shared.notices.channels;
    match subcommand(args)? {
        "channels" => write_active(context, args, ChannelKind::Channel, reply)?,
        "shardchannels" => write_active(context, args, ChannelKind::Shard, reply)?,
        "numsub" => write_counts(context, args, ChannelKind::Channel, reply),
        "shardnumsub" => write_counts(context, args, ChannelKind::Shard, reply),
        "numpat" => reply.count(channels.names(ChannelKind::Pattern)),
        _ => help(HELP, reply),
    }
    Ok(AfterCommand::Done)
}

fn write_active(context: &CommandContext, args: &Args, kind: ChannelKind, reply: &mut Reply) -> Replied {
    let pattern = match args.len() {
        2 => None,
        3 => Some(Glob::new(args.get(2))),
        _ => return Err(super::subcommands::unknown_or_wrong(args)),
    };
    let names = context.shared.notices.channels.active(kind, pattern.as_ref());
    reply.bulks(&names);
    Ok(())
}

fn write_counts(context: &CommandContext, args: &Args, kind: ChannelKind, reply: &mut Reply) {
    reply.array(2 * (args.len() - 2));
    for name in args.from(2) {
        reply.bulk(name);
        reply.count(context.shared.notices.channels.subscribers(kind, name));
    }
}

/// Runs PING, which is a message to a client that can only subscribe.
pub(super) fn ping_subscribed(args: &Args, reply: &mut Reply) -> bool {
    let is_message = reply.protocol() == Protocol::Resp2 && args.len() <= 2;
    if is_message {
        reply.array(2);
        reply.bulk(b"pong");
        reply.bulk(if args.len() == 2 { args.get(1) } else { b"" });
    }
    is_message
}
