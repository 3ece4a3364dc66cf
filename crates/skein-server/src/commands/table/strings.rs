//! Commands on values, a line each.

use super::super::Handler::{General, Read, ReadOrSlices, Write};
use super::super::{CommandSpec, strings};
use super::{ALL, ONE, PAIRS, READ, READ_FAST, WRITE_FAST, WRITE_GROWS, WRITE_GROWS_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    // The hottest two first: they share a cache line.
    row("get", 2, READ_FAST, ONE, "string", Read(strings::get), "Gets the value of a key"),
    row("set", -3, WRITE_GROWS, ONE, "string", Write(strings::set), "Sets a key to a value"),
    row("append", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::append), "Appends to the value of a key"),
    row("bitcount", -2, READ, ONE, "bitmap", ReadOrSlices(strings::bit_count, strings::bit_count_alone), "How many bits of a value are set"),
    row("bitpos", -3, READ, ONE, "bitmap", ReadOrSlices(strings::bit_pos, strings::bit_pos_alone), "Where the first bit is that is set, or is not"),
    row("decr", 2, WRITE_GROWS_FAST, ONE, "string", Write(strings::decr), "Takes one from an integer"),
    row("decrby", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::decr_by), "Takes a number from an integer"),
    row("getbit", 3, READ_FAST, ONE, "bitmap", Read(strings::get_bit), "Gets a bit of a value"),
    row("getdel", 2, WRITE_FAST, ONE, "string", Write(strings::get_del), "Gets the value of a key and removes the key"),
    row("getrange", 4, READ, ONE, "string", Read(strings::get_range), "Gets a part of a value"),
    row("getset", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::get_set), "Sets a key to a value and gets the one before"),
    row("incr", 2, WRITE_GROWS_FAST, ONE, "string", Write(strings::incr), "Adds one to an integer"),
    row("incrby", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::incr_by), "Adds a number to an integer"),
    row("incrbyfloat", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::incr_by_float), "Adds a number to a number"),
    row("lcs", -3, READ, (1, 2, 1), "string", General(strings::lcs::lcs), "The longest common subsequence of two values"),
    row("mget", -2, READ_FAST, ALL, "string", General(strings::mget), "Gets the values of keys, as of one moment"),
    row("mset", -3, WRITE_GROWS, PAIRS, "string", General(strings::mset), "Sets keys to values, all or none").timed_together(),
    row("setbit", 4, WRITE_GROWS, ONE, "bitmap", Write(strings::set_bit), "Sets a bit of a value"),
    row("setnx", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::set_nx), "Sets a key unless it is there"),
    row("setrange", 4, WRITE_GROWS, ONE, "string", Write(strings::set_range), "Replaces a part of a value"),
    row("strlen", 2, READ_FAST, ONE, "string", Read(strings::strlen), "Length of the value of a key"),
    row("substr", 4, READ, ONE, "string", Read(strings::get_range), "Gets a part of a value; use GETRANGE"),
];
