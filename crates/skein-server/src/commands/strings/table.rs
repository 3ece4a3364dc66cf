//! The commands on strings, and on their bits.

use super::add;
use super::bits::{answer_unless_long, count, position};
use crate::command_table::{Command, Group, KeyLookup, command, family};
use crate::commands::Handler::{Exclusive, General, Read, Write};
use crate::commands::task::read_or_slices;
use crate::notice::key_events::EventClass::String;
use crate::notice::key_events::EventRule;
use crate::notice::key_events::EventRule::{ByRequest, Changed, Replaced};
use crate::notice::key_events::by_request::{set, set_several};

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::String, [
    command("get", 2, "readonly fast", Read(super::get)).key(1, "RO access")
        .docs("Gets the value of a key", "key@0"),
    command("set", -3, "write denyoom", Write(super::set)).key(1, "RW access update variable_flags")
        .key_flags_by(super::set_key_flags).event(ByRequest(set)).lookup(KeyLookup::AsReader)
        .also("removes_waited_keys").docs("Sets a key to a value",
              "key@0 value [condition(NX|XX)] [GET] \
               [expiration(EX=seconds:int|PX=milliseconds:int|EXAT=unix-time-seconds:time|PXAT=unix-time-milliseconds:time|KEEPTTL)]"),
    command("append", 3, "write denyoom fast", Write(super::append)).key(1, "RW insert")
        .event(Changed(String, "append")).docs("Appends to the value of a key", "key@0 value"),
    command("bitcount", -2, "readonly",
            read_or_slices!(|row, args, reply, long| answer_unless_long(row, args, reply, long, count)))
        .group(Group::Bitmap).key(1, "RO access")
        .docs("Counts the set bits of a value", "key@0 [index(start:int end:int [index_unit(BYTE|BIT)])]"),
    command("bitfield", -2, "write denyoom", Write(super::bit_fields::bit_field)).group(Group::Bitmap)
        .key(1, "RW access update variable_flags").key_flags_by(super::bit_field_key_flags)
        .event(Changed(String, "setbit")).also("outgrows_arguments")
        .docs("Reads and writes integers of any width at any bit of a value",
              "key@0 [operation(GET=encoding_offset(encoding \
               offset:int)|write([OVERFLOW=wrap_sat_fail(WRAP|SAT|FAIL)] \
               write_operation(SET=encoding_offset_value(encoding offset:int \
               value:int)|INCRBY=encoding_offset_increment(encoding offset:int increment:int))))...]"),
    command("bitfield_ro", -2, "readonly fast", Read(super::bit_fields::bit_field_ro)).group(Group::Bitmap)
        .key(1, "RO access").docs("Reads integers of any width at any bit of a value",
              "key@0 [GET=encoding_offset(encoding offset:int)...+]"),
    command("bitop", -4, "write denyoom", Exclusive(super::bit_operations::bit_op)).group(Group::Bitmap)
        .key(2, "OW update")
        .keys(3, -1, 1, "RO access").event(Replaced(String, "set")).also("copies_sources")
        .docs("Stores the combination of values, bit by bit", "operation destkey@0 key@1..."),
    command("bitpos", -3, "readonly",
            read_or_slices!(|row, args, reply, long| answer_unless_long(row, args, reply, long, position)))
        .group(Group::Bitmap).key(1, "RO access")
        .docs("Returns the position of the first bit that is set, or is not",
              "key@0 bit:int [index(start:int [end_index(end:int [index_unit(BYTE|BIT)])])]"),
    command("decr", 2, "write denyoom fast",
            Write(|writer, args, reply| add(writer, args.get(1), -1, reply))).key(1, "RW access update")
        .event(Changed(String, "incrby")).docs("Subtracts one from an integer", "key@0"),
    command("decrby", 3, "write denyoom fast", Write(super::decr_by)).key(1, "RW access update")
        .event(Changed(String, "incrby")).docs("Subtracts a number from an integer", "key@0 decrement:int"),
    command("getbit", 3, "readonly fast", Read(super::bits::get_bit)).group(Group::Bitmap).key(1, "RO access")
        .docs("Returns a bit of a value", "key@0 offset:int"),
    command("getdel", 2, "write fast", Write(super::get_del)).key(1, "RW access delete")
        .event(EventRule::REMOVED).lookup(KeyLookup::AsReader).also("removes_waited_keys")
        .docs("Returns the value of a key and removes the key", "key@0"),
    command("getrange", 4, "readonly", Read(super::ranges::get_range)).key(1, "RO access")
        .docs("Returns a part of a value", "key@0 start:int end:int"),
    command("getset", 3, "write denyoom fast", Write(super::get_set)).key(1, "RW access update")
        .event(Changed(String, "set")).lookup(KeyLookup::AsReader).also("removes_waited_keys")
        .docs("Sets a key to a value and returns the old value", "key@0 value"),
    command("incr", 2, "write denyoom fast",
            Write(|writer, args, reply| add(writer, args.get(1), 1, reply))).key(1, "RW access update")
        .event(Changed(String, "incrby")).docs("Adds one to an integer", "key@0"),
    command("incrby", 3, "write denyoom fast", Write(super::incr_by)).key(1, "RW access update")
        .event(Changed(String, "incrby")).docs("Adds a number to an integer", "key@0 increment:int"),
    command("incrbyfloat", 3, "write denyoom fast", Write(super::incr_by_float)).key(1, "RW access update")
        .event(Changed(String, "incrbyfloat")).docs("Adds a number to a number", "key@0 increment:double"),
    command("lcs", -3, "readonly", General(super::lcs::lcs)).keys(1, 2, 1, "RO access")
        .docs("Returns the longest common subsequence of two values",
              "key1@0 key2@0 [LEN] [IDX] [MINMATCHLEN=len:int] [WITHMATCHLEN]"),
    command("mget", -2, "readonly fast", General(super::mget)).keys(1, -1, 1, "RO access")
        .also("timed_together").tips("request_policy:multi_shard")
        .docs("Returns the values of keys, as of one moment", "key@0..."),
    command("mset", -3, "write denyoom", General(super::mset)).keys(1, -1, 2, "OW update")
        .event(ByRequest(set_several)).also("timed_together removes_waited_keys")
        .tips("request_policy:multi_shard response_policy:all_succeeded")
        .docs("Sets keys to values atomically", "key_value(key@0 value)..."),
    command("setbit", 4, "write denyoom",
            Write(super::bits::set_bit)).group(Group::Bitmap).key(1, "RW access update")
        .event(Changed(String, "setbit")).also("outgrows_arguments")
        .docs("Sets a bit of a value", "key@0 offset:int value:int"),
    command("setnx", 3, "write denyoom fast", Write(super::set_nx)).key(1, "OW insert")
        .event(Changed(String, "set")).docs("Sets a key unless it exists", "key@0 value"),
    command("setrange", 4, "write denyoom", Write(super::ranges::set_range)).key(1, "RW update")
        .event(Changed(String, "setrange")).also("outgrows_arguments")
        .docs("Replaces a part of a value", "key@0 offset:int value"),
    command("strlen", 2, "readonly fast", Read(super::strlen)).key(1, "RO")
        .docs("Returns the length of a value", "key@0"),
    command("substr", 4, "readonly", Read(super::ranges::get_range)).key(1, "RO access")
        .docs("Returns a part of a value; use GETRANGE", "key@0 start:int end:int"),
]);
