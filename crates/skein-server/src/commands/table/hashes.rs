//! Commands on columns, one line each.

use super::super::Handler::{General, Read, ReadOrSlices, Write};
use super::super::{CommandSpec, hashes};
use super::{ONE, READ, READ_FAST, WRITE_FAST, WRITE_GROWS_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("hdel", -3, WRITE_FAST, ONE, "hash", Write(hashes::hdel), "Removes columns"),
    row("hexists", 3, READ_FAST, ONE, "hash", Read(hashes::hexists), "Returns whether a column exists"),
    row("hget", 3, READ_FAST, ONE, "hash", Read(hashes::hget), "Returns a column"),
    row("hgetall", 2, READ, ONE, "hash", ReadOrSlices(hashes::hgetall::now, hashes::hgetall::in_slices), "Returns all columns, ordered by name"),
    row("hincrby", 4, WRITE_GROWS_FAST, ONE, "hash", Write(hashes::hincr_by), "Adds a number to an integer in a column"),
    row("hincrbyfloat", 4, WRITE_GROWS_FAST, ONE, "hash", Write(hashes::hincr_by_float), "Adds a number to a number in a column"),
    row("hkeys", 2, READ, ONE, "hash", ReadOrSlices(hashes::hkeys::now, hashes::hkeys::in_slices), "Returns the names of all columns, in order"),
    row("hlen", 2, READ_FAST, ONE, "hash", Read(hashes::hlen), "Returns the number of columns"),
    row("hmget", -3, READ_FAST, ONE, "hash", Read(hashes::hmget), "Returns columns"),
    row("hmset", -4, WRITE_GROWS_FAST, ONE, "hash", Write(hashes::hmset), "Sets columns atomically and returns OK"),
    row("hrandfield", -2, READ, ONE, "hash", ReadOrSlices(hashes::hrand_field, hashes::hrand_field_in_slices), "Returns random columns"),
    row("hscan", -3, READ, ONE, "hash", General(hashes::hscan), "Returns the columns in order, one page at a time"),
    row("hset", -4, WRITE_GROWS_FAST, ONE, "hash", Write(hashes::hset), "Sets columns atomically"),
    row("hsetnx", 4, WRITE_GROWS_FAST, ONE, "hash", Write(hashes::hset_nx), "Sets a column unless it exists"),
    row("hstrlen", 3, READ_FAST, ONE, "hash", Read(hashes::hstrlen), "Returns the length of a column"),
    row("hvals", 2, READ, ONE, "hash", ReadOrSlices(hashes::hvals::now, hashes::hvals::in_slices), "Returns the values of all columns, ordered by name"),
];
