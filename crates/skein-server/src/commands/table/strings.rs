//! Commands on values, one line each.

use super::super::Handler::{General, Read, ReadOrSlices, Write};
use super::super::{CommandSpec, strings};
use super::{ALL, ONE, PAIRS, READ, READ_FAST, WRITE_FAST, WRITE_GROWS, WRITE_GROWS_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    // The two most frequent commands come first: they share a cache line.
    row("get", 2, READ_FAST, ONE, "string", Read(strings::get), "Gets the value of a key"),
    row("set", -3, WRITE_GROWS, ONE, "string", Write(strings::set), "Sets a key to a value"),
    row("append", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::append), "Appends to the value of a key"),
    row("bitcount", -2, READ, ONE, "bitmap", ReadOrSlices(strings::bit_count, strings::bit_count_alone), "Counts the set bits of a value"),
    row("bitpos", -3, READ, ONE, "bitmap", ReadOrSlices(strings::bit_pos, strings::bit_pos_alone), "Returns the position of the first bit that is set, or is not"),
    row("decr", 2, WRITE_GROWS_FAST, ONE, "string", Write(strings::decr), "Subtracts one from an integer"),
    row("decrby", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::decr_by), "Subtracts a number from an integer"),
    row("getbit", 3, READ_FAST, ONE, "bitmap", Read(strings::get_bit), "Returns a bit of a value"),
    row("getdel", 2, WRITE_FAST, ONE, "string", Write(strings::get_del), "Returns the value of a key and removes the key"),
    row("getrange", 4, READ, ONE, "string", Read(strings::get_range), "Returns a part of a value"),
    row("getset", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::get_set), "Sets a key to a value and returns the old value"),
    row("incr", 2, WRITE_GROWS_FAST, ONE, "string", Write(strings::incr), "Adds one to an integer"),
    row("incrby", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::incr_by), "Adds a number to an integer"),
    row("incrbyfloat", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::incr_by_float), "Adds a number to a number"),
    row("lcs", -3, READ, (1, 2, 1), "string", General(strings::lcs::lcs), "Returns the longest common subsequence of two values"),
    row("mget", -2, READ_FAST, ALL, "string", General(strings::mget), "Returns the values of keys, as of one moment"),
    row("mset", -3, WRITE_GROWS, PAIRS, "string", General(strings::mset), "Sets keys to values atomically").timed_together(),
    row("setbit", 4, WRITE_GROWS, ONE, "bitmap", Write(strings::set_bit), "Sets a bit of a value"),
    row("setnx", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::set_nx), "Sets a key unless it exists"),
    row("setrange", 4, WRITE_GROWS, ONE, "string", Write(strings::set_range), "Replaces a part of a value"),
    row("strlen", 2, READ_FAST, ONE, "string", Read(strings::strlen), "Returns the length of a value"),
    row("substr", 4, READ, ONE, "string", Read(strings::get_range), "Returns a part of a value; use GETRANGE"),
];
