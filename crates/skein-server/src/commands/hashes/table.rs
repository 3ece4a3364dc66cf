//! The commands on hashes.

use super::all::ColumnParts::{Both, Names, Values};
use super::all::answer;
use crate::command_table::{Command, Group, command, family};
use crate::commands::Handler::{General, Read, Write};
use crate::commands::task::read_or_slices;
use crate::notice::key_events::EventClass::Hash;
use crate::notice::key_events::EventRule::{Changed, Touched};

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Hash, [
    command("hdel", -3, "write fast", Write(super::hdel)).key(1, "RW delete").event(Changed(Hash, "hdel"))
        .docs("Removes columns", "key@0 field..."),
    command("hexists", 3, "readonly fast", Read(super::hexists)).key(1, "RO")
        .docs("Returns whether a column exists", "key@0 field"),
    command("hget", 3, "readonly fast", Read(super::hget)).key(1, "RO access")
        .docs("Returns a column", "key@0 field"),
    command("hgetall", 2, "readonly", read_or_slices!(|row, _, reply, long| answer(row, reply, Both, long)))
        .key(1, "RO access").tips("nondeterministic_output_order")
        .docs("Returns all columns, ordered by name", "key@0"),
    command("hincrby", 4, "write denyoom fast", Write(super::hincr_by)).key(1, "RW access update")
        .event(Changed(Hash, "hincrby"))
        .docs("Adds a number to an integer in a column", "key@0 field increment:int"),
    command("hincrbyfloat", 4, "write denyoom fast", Write(super::hincr_by_float)).key(1, "RW access update")
        .event(Changed(Hash, "hincrbyfloat"))
        .docs("Adds a number to a number in a column", "key@0 field increment:double"),
    command("hkeys", 2, "readonly", read_or_slices!(|row, _, reply, long| answer(row, reply, Names, long)))
        .key(1, "RO access").tips("nondeterministic_output_order")
        .docs("Returns the names of all columns, in order", "key@0"),
    command("hlen", 2, "readonly fast", Read(super::hlen)).key(1, "RO")
        .docs("Returns the number of columns", "key@0"),
    command("hmget", -3, "readonly fast", Read(super::hmget)).key(1, "RO access")
        .docs("Returns columns", "key@0 field..."),
    command("hmset", -4, "write denyoom fast", Write(super::hmset)).key(1, "RW update")
        .event(Touched(Hash, "hset"))
        .docs("Sets columns atomically and returns OK", "key@0 field_value(field value)..."),
    command("hrandfield", -2, "readonly", read_or_slices!(super::random::hrand_field)).key(1, "RO access")
        .tips("nondeterministic_output")
        .docs("Returns random columns", "key@0 [options(count:int [WITHVALUES])]"),
    command("hscan", -3, "readonly",
            General(super::scan::hscan)).key(1, "RO access").tips("nondeterministic_output")
        .docs("Returns the columns in order, one page at a time",
              "key@0 cursor:int [MATCH=pattern:pattern] [COUNT=count:int]"),
    command("hset", -4, "write denyoom fast", Write(super::hset)).key(1, "RW update")
        .event(Touched(Hash, "hset")).docs("Sets columns atomically", "key@0 field_value(field value)..."),
    command("hsetnx", 4, "write denyoom fast", Write(super::hset_nx)).key(1, "RW insert")
        .event(Changed(Hash, "hset")).docs("Sets a column unless it exists", "key@0 field value"),
    command("hstrlen", 3, "readonly fast", Read(super::hstrlen)).key(1, "RO")
        .docs("Returns the length of a column", "key@0 field"),
    command("hvals", 2, "readonly", read_or_slices!(|row, _, reply, long| answer(row, reply, Values, long)))
        .key(1, "RO access").tips("nondeterministic_output_order")
        .docs("Returns the values of all columns, ordered by name", "key@0"),
]);
