//! The commands of publish and subscribe.

use super::{add, publish, remove};
use crate::command_table::{ChannelArgs, Command, Group, HELP, Subcommand, command, family, subcommand};
use crate::commands::Handler::General;
use crate::notice::channels::ChannelKind::{Channel, Pattern, Shard};

#[rustfmt::skip]
const PUBSUB: &[Subcommand] = &[
    subcommand("channels", -2, "pubsub loading stale")
        .docs("Returns the channels with subscribers", "[pattern:pattern]"),
    subcommand("numpat", 2, "pubsub loading stale")
        .docs("Returns the number of patterns with subscribers", ""),
    subcommand("numsub", -2, "pubsub loading stale")
        .docs("Returns the number of subscribers of channels", "[channel...]"),
    subcommand("shardchannels", -2, "pubsub loading stale")
        .docs("Returns the shard channels with subscribers", "[pattern:pattern]"),
    subcommand("shardnumsub", -2, "pubsub loading stale")
        .docs("Returns the number of subscribers of shard channels", "[shardchannel...]"),
    HELP,
];

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::PubSub, [
    command("psubscribe", -2, "pubsub noscript loading stale",
            General(|context, args, reply| add(context, args, reply, Pattern, "psubscribe")))
        .channels(ChannelArgs::Patterns).also("while_subscribed")
        .docs("Subscribes to all channels that match patterns", "pattern(pattern:pattern)..."),
    command("publish", 3, "pubsub loading stale fast",
            General(|context, args, reply| publish(context, args, reply, Channel)))
        .also("other_effects")
        .channels(ChannelArgs::One)
        .docs("Sends a message to the subscribers of a channel", "channel message"),
    command("pubsub", -2, "", General(super::pubsub)).subcommands(PUBSUB)
        .docs("Shows channels and their subscribers", ""),
    command("punsubscribe", -1, "pubsub noscript loading stale",
            General(|context, args, reply| remove(context, args, reply, Pattern, "punsubscribe")))
        .also("while_subscribed").docs("Ends subscriptions to patterns", "[pattern:pattern...]"),
    command("spublish", 3, "pubsub loading stale fast",
            General(|context, args, reply| publish(context, args, reply, Shard)))
        .key(1, "not_key").channels(ChannelArgs::One).also("other_effects")
        .docs("Sends a message to the subscribers of a shard channel", "shardchannel message"),
    command("ssubscribe", -2, "pubsub noscript loading stale",
            General(|context, args, reply| add(context, args, reply, Shard, "ssubscribe")))
        .channels(ChannelArgs::All).keys(1, -1, 1, "not_key").also("while_subscribed")
        .docs("Subscribes to shard channels", "shardchannel..."),
    command("subscribe", -2, "pubsub noscript loading stale",
            General(|context, args, reply| add(context, args, reply, Channel, "subscribe")))
        .channels(ChannelArgs::All).also("while_subscribed").docs("Subscribes to channels", "channel..."),
    command("sunsubscribe", -1, "pubsub noscript loading stale",
            General(|context, args, reply| remove(context, args, reply, Shard, "sunsubscribe")))
        .keys(1, -1, 1, "not_key").also("while_subscribed")
        .docs("Ends subscriptions to shard channels", "[shardchannel...]"),
    command("unsubscribe", -1, "pubsub noscript loading stale",
            General(|context, args, reply| remove(context, args, reply, Channel, "unsubscribe")))
        .also("while_subscribed").docs("Ends subscriptions to channels", "[channel...]"),
]);
