//! Commands of publish and subscribe, one line each.

use super::{CommandSpec, NONE, row, subcommands};

const GROUP: &str = "pubsub";

const SUBSCRIBES: &[&str] = &["pubsub", "noscript", "loading", "stale"];
const PUBLISHES: &[&str] = &["pubsub", "loading", "stale", "fast"];

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("psubscribe", -2, SUBSCRIBES, NONE, GROUP, "Subscribes to all channels that match patterns"),
    row("publish", 3, PUBLISHES, NONE, GROUP, "Sends a message to the subscribers of a channel")
        .having_other_effects(),
    row("pubsub", -2, &[], NONE, GROUP, "Shows channels and their subscribers").with(subcommands::PUBSUB),
    row("punsubscribe", -1, SUBSCRIBES, NONE, GROUP, "Ends subscriptions to patterns"),
    row("spublish", 3, PUBLISHES, NONE, GROUP, "Sends a message to the subscribers of a shard channel")
        .having_other_effects(),
    row("ssubscribe", -2, SUBSCRIBES, NONE, GROUP, "Subscribes to shard channels"),
    row("subscribe", -2, SUBSCRIBES, NONE, GROUP, "Subscribes to channels"),
    row("sunsubscribe", -1, SUBSCRIBES, NONE, GROUP, "Ends subscriptions to shard channels"),
    row("unsubscribe", -1, SUBSCRIBES, NONE, GROUP, "Ends subscriptions to channels"),
];
