//! Commands on values, one line each.

use super::{ALL, CommandSpec, ONE, PAIRS, READ, READ_FAST, WRITE_FAST, WRITE_GROWS, WRITE_GROWS_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    // The most frequent commands come first: their handlers are in the same order, side by side.
    row("get", 2, READ_FAST, ONE, "string", "Gets the value of a key"),
    row("set", -3, WRITE_GROWS, ONE, "string", "Sets a key to a value").removing_waited_keys(),
    row("append", 3, WRITE_GROWS_FAST, ONE, "string", "Appends to the value of a key"),
    row("bitcount", -2, READ, ONE, "bitmap", "Counts the set bits of a value"),
    row("bitfield", -2, WRITE_GROWS, ONE, "bitmap", "Reads and writes integers of any width at any bit of a value").outgrowing_arguments(),
    row("bitfield_ro", -2, READ_FAST, ONE, "bitmap", "Reads integers of any width at any bit of a value"),
    row("bitop", -4, WRITE_GROWS, (2, -1, 1), "bitmap", "Stores the combination of values, bit by bit"),
    row("bitpos", -3, READ, ONE, "bitmap", "Returns the position of the first bit that is set, or is not"),
    row("decr", 2, WRITE_GROWS_FAST, ONE, "string", "Subtracts one from an integer"),
    row("decrby", 3, WRITE_GROWS_FAST, ONE, "string", "Subtracts a number from an integer"),
    row("getbit", 3, READ_FAST, ONE, "bitmap", "Returns a bit of a value"),
    row("getdel", 2, WRITE_FAST, ONE, "string", "Returns the value of a key and removes the key").removing_waited_keys(),
    row("getrange", 4, READ, ONE, "string", "Returns a part of a value"),
    row("getset", 3, WRITE_GROWS_FAST, ONE, "string", "Sets a key to a value and returns the old value").removing_waited_keys(),
    row("incr", 2, WRITE_GROWS_FAST, ONE, "string", "Adds one to an integer"),
    row("incrby", 3, WRITE_GROWS_FAST, ONE, "string", "Adds a number to an integer"),
    row("incrbyfloat", 3, WRITE_GROWS_FAST, ONE, "string", "Adds a number to a number"),
    row("lcs", -3, READ, (1, 2, 1), "string", "Returns the longest common subsequence of two values"),
    row("mget", -2, READ_FAST, ALL, "string", "Returns the values of keys, as of one moment").timed_together(),
    row("mset", -3, WRITE_GROWS, PAIRS, "string", "Sets keys to values atomically").timed_together().removing_waited_keys(),
    row("setbit", 4, WRITE_GROWS, ONE, "bitmap", "Sets a bit of a value").outgrowing_arguments(),
    row("setnx", 3, WRITE_GROWS_FAST, ONE, "string", "Sets a key unless it exists"),
    row("setrange", 4, WRITE_GROWS, ONE, "string", "Replaces a part of a value").outgrowing_arguments(),
    row("strlen", 2, READ_FAST, ONE, "string", "Returns the length of a value"),
    row("substr", 4, READ, ONE, "string", "Returns a part of a value; use GETRANGE"),
];
