//! Commands on sorted sets, one line each.

use super::{
    BLOCKS_MOVABLE, BUT_LAST, CommandSpec, NONE, ONE, READ, READ_FAST, TWO, WRITE, WRITE_FAST, WRITE_GROWS,
    WRITE_GROWS_FAST, row,
};

const GROUP: &str = "sorted-set";
const BLOCKS_FAST: &[&str] = &["write", "noscript", "blocking", "fast"];
const WRITE_MOVABLE: &[&str] = &["write", "movablekeys"];
pub(super) const READ_MOVABLE: &[&str] = &["readonly", "movablekeys"];
const STORES_MOVABLE: &[&str] = &["write", "denyoom", "movablekeys"];

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("bzmpop", -5, BLOCKS_MOVABLE, NONE, GROUP, "Pops members of the first set that has any, or waits for some").counting_keys_at(2),
    row("bzpopmax", -3, BLOCKS_FAST, BUT_LAST, GROUP, "Pops the member with the greatest score, or waits for one"),
    row("bzpopmin", -3, BLOCKS_FAST, BUT_LAST, GROUP, "Pops the member with the least score, or waits for one"),
    row("zadd", -4, WRITE_GROWS_FAST, ONE, GROUP, "Sets the scores of members").making_waited_keys(),
    row("zcard", 2, READ_FAST, ONE, GROUP, "Returns the number of members"),
    row("zcount", 4, READ_FAST, ONE, GROUP, "Counts the members between two scores"),
    row("zdiff", -3, READ_MOVABLE, NONE, GROUP, "Returns the members of the first set that are in no other").counting_keys_at(1),
    row("zdiffstore", -4, STORES_MOVABLE, ONE, GROUP, "Stores the members of the first set that are in no other").counting_keys_at(2).making_waited_keys(),
    row("zincrby", 4, WRITE_GROWS_FAST, ONE, GROUP, "Adds to a member's score").making_waited_keys(),
    row("zinter", -3, READ_MOVABLE, NONE, GROUP, "Returns the members that are in all sets").counting_keys_at(1),
    row("zintercard", -3, READ_MOVABLE, NONE, GROUP, "Counts the members that are in all sets").counting_keys_at(1),
    row("zinterstore", -4, STORES_MOVABLE, ONE, GROUP, "Stores the members that are in all sets").counting_keys_at(2).making_waited_keys(),
    row("zlexcount", 4, READ_FAST, ONE, GROUP, "Counts the members between two members"),
    row("zmpop", -4, WRITE_MOVABLE, NONE, GROUP, "Pops members from one end of the first set that has members").counting_keys_at(1),
    row("zmscore", -3, READ_FAST, ONE, GROUP, "Returns the scores of members"),
    row("zpopmax", -2, WRITE_FAST, ONE, GROUP, "Pops the members with the greatest scores"),
    row("zpopmin", -2, WRITE_FAST, ONE, GROUP, "Pops the members with the least scores"),
    row("zrandmember", -2, READ, ONE, GROUP, "Returns random members"),
    row("zrange", -4, READ, ONE, GROUP, "Returns a range of members, by rank, score or member"),
    row("zrangebylex", -4, READ, ONE, GROUP, "Returns the members between two members"),
    row("zrangebyscore", -4, READ, ONE, GROUP, "Returns the members between two scores"),
    row("zrangestore", -5, WRITE_GROWS, TWO, GROUP, "Stores a range of another set").making_waited_keys(),
    row("zrank", -3, READ_FAST, ONE, GROUP, "Returns the rank of a member, from the least score on"),
    row("zrem", -3, WRITE_FAST, ONE, GROUP, "Removes members"),
    row("zremrangebylex", 4, WRITE, ONE, GROUP, "Removes the members between two members"),
    row("zremrangebyrank", 4, WRITE, ONE, GROUP, "Removes the members between two ranks"),
    row("zremrangebyscore", 4, WRITE, ONE, GROUP, "Removes the members between two scores"),
    row("zrevrange", -4, READ, ONE, GROUP, "Returns a range of members by rank, the greatest score first"),
    row("zrevrangebylex", -4, READ, ONE, GROUP, "Returns the members between two members, in reverse order"),
    row("zrevrangebyscore", -4, READ, ONE, GROUP, "Returns the members between two scores, in reverse order"),
    row("zrevrank", -3, READ_FAST, ONE, GROUP, "Returns the rank of a member, from the greatest score on"),
    row("zscan", -3, READ, ONE, GROUP, "Returns the members, one page at a time"),
    row("zscore", 3, READ_FAST, ONE, GROUP, "Returns the score of a member"),
    row("zunion", -3, READ_MOVABLE, NONE, GROUP, "Returns the members of all sets").counting_keys_at(1),
    row("zunionstore", -4, STORES_MOVABLE, ONE, GROUP, "Stores the members of all sets").counting_keys_at(2).making_waited_keys(),
];
