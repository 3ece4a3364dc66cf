//! Commands on sets, one line each.

use super::sorted_sets::READ_MOVABLE;
use super::{
    ALL, CommandSpec, NONE, ONE, READ, READ_FAST, TWO, WRITE_FAST, WRITE_GROWS, WRITE_GROWS_FAST, row,
};

const GROUP: &str = "set";

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("sadd", -3, WRITE_GROWS_FAST, ONE, GROUP, "Adds members"),
    row("scard", 2, READ_FAST, ONE, GROUP, "Returns the number of members"),
    row("sdiff", -2, READ, ALL, GROUP, "Returns the members of the first set that are in no other"),
    row("sdiffstore", -3, WRITE_GROWS, ALL, GROUP, "Stores the members of the first set that are in no other"),
    row("sinter", -2, READ, ALL, GROUP, "Returns the members that are in all sets"),
    row("sintercard", -3, READ_MOVABLE, NONE, GROUP, "Counts the members that are in all sets").counting_keys_at(1),
    row("sinterstore", -3, WRITE_GROWS, ALL, GROUP, "Stores the members that are in all sets"),
    row("sismember", 3, READ_FAST, ONE, GROUP, "Returns whether a member is in a set"),
    row("smembers", 2, READ, ONE, GROUP, "Returns all members, in order"),
    row("smismember", -3, READ_FAST, ONE, GROUP, "Returns for each member whether it is in a set"),
    row("smove", 4, WRITE_FAST, TWO, GROUP, "Moves a member to another set"),
    row("spop", -2, WRITE_FAST, ONE, GROUP, "Removes and returns random members"),
    row("srandmember", -2, READ, ONE, GROUP, "Returns random members"),
    row("srem", -3, WRITE_FAST, ONE, GROUP, "Removes members"),
    row("sscan", -3, READ, ONE, GROUP, "Returns the members in order, one page at a time"),
    row("sunion", -2, READ, ALL, GROUP, "Returns the members of all sets"),
    row("sunionstore", -3, WRITE_GROWS, ALL, GROUP, "Stores the members of all sets"),
];
