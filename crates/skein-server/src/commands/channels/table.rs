//! The commands of publish and subscribe.

use crate::command_table::{ChannelArgs, Command, Group, HELP, Subcommand, command, family, subcommand};
use crate::commands::Handler::General;

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
    command("psubscribe", -2, "pubsub noscript loading stale", General(super::psubscribe))
        .channels(ChannelArgs::Patterns).also("while_subscribed")
        .docs("Subscribes to all channels that match patterns", "pattern(pattern:pattern)..."),
    command("publish", 3, "pubsub loading stale fast", General(super::publish)).also("other_effects")
        .channels(ChannelArgs::One).docs("Sends a message to the subscribers of a channel", "channel message"),
    command("pubsub", -2, "", General(super::pubsub)).subcommands(PUBSUB)
        .docs("Shows channels and their subscribers", ""),
    command("punsubscribe", -1, "pubsub noscript loading stale", General(super::punsubscribe))
        .also("while_subscribed").docs("Ends subscriptions to patterns", "[pattern:pattern...]"),
    command("spublish", 3, "pubsub loading stale fast", General(super::spublish)).key(1, "not_key")
        .channels(ChannelArgs::One).also("other_effects")
        .docs("Sends a message to the subscribers of a shard channel", "shardchannel message"),
    command("ssubscribe", -2, "pubsub noscript loading stale", General(super::ssubscribe))
        .channels(ChannelArgs::All).keys(1, -1, 1, "not_key").also("while_subscribed")
        .docs("Subscribes to shard channels", "shardchannel..."),
    command("subscribe", -2, "pubsub noscript loading stale", General(super::subscribe))
        .channels(ChannelArgs::All).also("while_subscribed").docs("Subscribes to channels", "channel..."),
    command("sunsubscribe", -1, "pubsub noscript loading stale", General(super::sunsubscribe))
        .keys(1, -1, 1, "not_key").also("while_subscribed")
        .docs("Ends subscriptions to shard channels", "[shardchannel...]"),
    command("unsubscribe", -1, "pubsub noscript loading stale", General(super::unsubscribe))
        .also("while_subscribed").docs("Ends subscriptions to channels", "[channel...]"),
]);
