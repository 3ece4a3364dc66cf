//! The arguments of commands of publish and subscribe, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("psubscribe", "pattern(pattern:pattern)..."),
    ("publish", "channel message"),
    ("pubsub|channels", "[pattern:pattern]"),
    ("pubsub|numsub", "[channel...]"),
    ("pubsub|shardchannels", "[pattern:pattern]"),
    ("pubsub|shardnumsub", "[shardchannel...]"),
    ("punsubscribe", "[pattern:pattern...]"),
    ("spublish", "shardchannel message"),
    ("ssubscribe", "shardchannel..."),
    ("subscribe", "channel..."),
    ("sunsubscribe", "[shardchannel...]"),
    ("unsubscribe", "[channel...]"),
];
