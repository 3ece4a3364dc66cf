//! Commands on columns, one line each.

use super::{CommandSpec, ONE, READ, READ_FAST, WRITE_FAST, WRITE_GROWS_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("hdel", -3, WRITE_FAST, ONE, "hash", "Removes columns"),
    row("hexists", 3, READ_FAST, ONE, "hash", "Returns whether a column exists"),
    row("hget", 3, READ_FAST, ONE, "hash", "Returns a column"),
    row("hgetall", 2, READ, ONE, "hash", "Returns all columns, ordered by name"),
    row("hincrby", 4, WRITE_GROWS_FAST, ONE, "hash", "Adds a number to an integer in a column"),
    row("hincrbyfloat", 4, WRITE_GROWS_FAST, ONE, "hash", "Adds a number to a number in a column"),
    row("hkeys", 2, READ, ONE, "hash", "Returns the names of all columns, in order"),
    row("hlen", 2, READ_FAST, ONE, "hash", "Returns the number of columns"),
    row("hmget", -3, READ_FAST, ONE, "hash", "Returns columns"),
    row("hmset", -4, WRITE_GROWS_FAST, ONE, "hash", "Sets columns atomically and returns OK"),
    row("hrandfield", -2, READ, ONE, "hash", "Returns random columns"),
    row("hscan", -3, READ, ONE, "hash", "Returns the columns in order, one page at a time"),
    row("hset", -4, WRITE_GROWS_FAST, ONE, "hash", "Sets columns atomically"),
    row("hsetnx", 4, WRITE_GROWS_FAST, ONE, "hash", "Sets a column unless it exists"),
    row("hstrlen", 3, READ_FAST, ONE, "hash", "Returns the length of a column"),
    row("hvals", 2, READ, ONE, "hash", "Returns the values of all columns, ordered by name"),
];
