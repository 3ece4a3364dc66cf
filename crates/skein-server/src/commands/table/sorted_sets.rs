//! Commands on sorted sets, one line each.

use super::super::Handler::{Exclusive, General, Read, ReadOrSlices, Write};
use super::super::{CommandSpec, sorted_sets as z};
use super::{NONE, ONE, READ, READ_FAST, TWO, WRITE, WRITE_FAST, WRITE_GROWS, WRITE_GROWS_FAST, row};

const GROUP: &str = "sorted-set";
const WRITE_MOVABLE: &[&str] = &["write", "movablekeys"];
const READ_MOVABLE: &[&str] = &["readonly", "movablekeys"];
const STORES_MOVABLE: &[&str] = &["write", "denyoom", "movablekeys"];

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("zadd", -4, WRITE_GROWS_FAST, ONE, GROUP, Write(z::zadd), "Sets the scores of members"),
    row("zcard", 2, READ_FAST, ONE, GROUP, Read(z::zcard), "Returns the number of members"),
    row("zcount", 4, READ_FAST, ONE, GROUP, Read(z::zcount), "Counts the members between two scores"),
    row("zdiff", -3, READ_MOVABLE, NONE, GROUP, Exclusive(z::zdiff), "Returns the members of the first set that are in no other").counting_keys_at(1),
    row("zdiffstore", -4, STORES_MOVABLE, ONE, GROUP, Exclusive(z::zdiff_store), "Stores the members of the first set that are in no other").counting_keys_at(2),
    row("zincrby", 4, WRITE_GROWS_FAST, ONE, GROUP, Write(z::zincr_by), "Adds to a member's score"),
    row("zinter", -3, READ_MOVABLE, NONE, GROUP, Exclusive(z::zinter), "Returns the members that are in all sets").counting_keys_at(1),
    row("zintercard", -3, READ_MOVABLE, NONE, GROUP, Exclusive(z::zinter_card), "Counts the members that are in all sets").counting_keys_at(1),
    row("zinterstore", -4, STORES_MOVABLE, ONE, GROUP, Exclusive(z::zinter_store), "Stores the members that are in all sets").counting_keys_at(2),
    row("zlexcount", 4, READ_FAST, ONE, GROUP, Read(z::zlex_count), "Counts the members between two members"),
    row("zmpop", -4, WRITE_MOVABLE, NONE, GROUP, General(z::zmpop), "Pops members from one end of the first set that has members").counting_keys_at(1),
    row("zmscore", -3, READ_FAST, ONE, GROUP, Read(z::zmscore), "Returns the scores of members"),
    row("zpopmax", -2, WRITE_FAST, ONE, GROUP, Write(z::zpop_max), "Pops the members with the greatest scores"),
    row("zpopmin", -2, WRITE_FAST, ONE, GROUP, Write(z::zpop_min), "Pops the members with the least scores"),
    row("zrandmember", -2, READ, ONE, GROUP, ReadOrSlices(z::zrand_member, z::zrand_member_in_slices), "Returns random members"),
    row("zrange", -4, READ, ONE, GROUP, ReadOrSlices(z::zrange::now, z::zrange::in_slices), "Returns a range of members, by rank, score or member"),
    row("zrangebylex", -4, READ, ONE, GROUP, ReadOrSlices(z::zrange_by_lex::now, z::zrange_by_lex::in_slices), "Returns the members between two members"),
    row("zrangebyscore", -4, READ, ONE, GROUP, ReadOrSlices(z::zrange_by_score::now, z::zrange_by_score::in_slices), "Returns the members between two scores"),
    row("zrangestore", -5, WRITE_GROWS, TWO, GROUP, Exclusive(z::zrange_store), "Stores a range of another set"),
    row("zrank", -3, READ_FAST, ONE, GROUP, Read(z::zrank), "Returns the rank of a member, from the least score on"),
    row("zrem", -3, WRITE_FAST, ONE, GROUP, Write(z::zrem), "Removes members"),
    row("zremrangebylex", 4, WRITE, ONE, GROUP, Write(z::zrem_range_by_lex), "Removes the members between two members"),
    row("zremrangebyrank", 4, WRITE, ONE, GROUP, Write(z::zrem_range_by_rank), "Removes the members between two ranks"),
    row("zremrangebyscore", 4, WRITE, ONE, GROUP, Write(z::zrem_range_by_score), "Removes the members between two scores"),
    row("zrevrange", -4, READ, ONE, GROUP, ReadOrSlices(z::zrevrange::now, z::zrevrange::in_slices), "Returns a range of members by rank, the greatest score first"),
    row("zrevrangebylex", -4, READ, ONE, GROUP, ReadOrSlices(z::zrevrange_by_lex::now, z::zrevrange_by_lex::in_slices), "Returns the members between two members, in reverse order"),
    row("zrevrangebyscore", -4, READ, ONE, GROUP, ReadOrSlices(z::zrevrange_by_score::now, z::zrevrange_by_score::in_slices), "Returns the members between two scores, in reverse order"),
    row("zrevrank", -3, READ_FAST, ONE, GROUP, Read(z::zrevrank), "Returns the rank of a member, from the greatest score on"),
    row("zscan", -3, READ, ONE, GROUP, General(z::zscan), "Returns the members, one page at a time"),
    row("zscore", 3, READ_FAST, ONE, GROUP, Read(z::zscore), "Returns the score of a member"),
    row("zunion", -3, READ_MOVABLE, NONE, GROUP, Exclusive(z::zunion), "Returns the members of all sets").counting_keys_at(1),
    row("zunionstore", -4, STORES_MOVABLE, ONE, GROUP, Exclusive(z::zunion_store), "Stores the members of all sets").counting_keys_at(2),
];
