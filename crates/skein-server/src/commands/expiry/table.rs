//! The commands on expiry times.

use super::{EX, EXAT, PX, PXAT, answer, expire_in, left, seconds, set_until};
use crate::command_table::{Command, Group, KeyLookup, command, family};
use crate::commands::Handler::{General, Peek, Write};
use crate::notice::key_events::EventClass::Generic;
use crate::notice::key_events::EventRule::{ByRequest, Changed, Replaced};
use crate::notice::key_events::by_request::{got_and_expires, set_with_expiry};

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Generic, [
    command("expire", -3, "write fast",
            Write(|writer, args, reply| expire_in(writer, args, reply, "expire", EX)))
        .key(1, "RW update").event(Replaced(Generic, "expire")).also("removes_waited_keys")
        .docs("Sets the time to live of a key in seconds", "key@0 seconds:int [condition(NX|XX|GT|LT)]"),
    command("expireat", -3, "write fast",
            Write(|writer, args, reply| expire_in(writer, args, reply, "expireat", EXAT)))
        .key(1, "RW update").event(Replaced(Generic, "expire")).also("removes_waited_keys")
        .docs("Sets the expiry time of a key in seconds since 1970",
              "key@0 unix-time-seconds:time [condition(NX|XX|GT|LT)]"),
    command("expiretime", 2, "readonly fast",
            Peek(|row, _, reply| answer(row, reply, seconds))).key(1, "RO access")
        .docs("Returns the expiry time of a key in seconds since 1970", "key@0"),
    command("getex", -2, "write fast", Write(super::get_ex)).group(Group::String).key(1, "RW access update")
        .event(ByRequest(got_and_expires)).lookup(KeyLookup::AsReader)
        .docs("Returns the value of a key and sets its expiry time",
              "key@0 \
               [expiration(EX=seconds:int|PX=milliseconds:int|EXAT=unix-time-seconds:time|PXAT=unix-time-milliseconds:time|PERSIST)]"),
    command("persist", 2, "write fast", Write(super::persist)).key(1, "RW update")
        .event(Changed(Generic, "persist")).docs("Removes the expiry time of a key", "key@0"),
    command("pexpire", -3, "write fast",
            Write(|writer, args, reply| expire_in(writer, args, reply, "pexpire", PX)))
        .key(1, "RW update").event(Replaced(Generic, "expire")).also("removes_waited_keys")
        .docs("Sets the time to live of a key in milliseconds",
              "key@0 milliseconds:int [condition(NX|XX|GT|LT)]"),
    command("pexpireat", -3, "write fast",
            Write(|writer, args, reply| expire_in(writer, args, reply, "pexpireat", PXAT)))
        .key(1, "RW update").event(Replaced(Generic, "expire")).also("removes_waited_keys")
        .docs("Sets the expiry time of a key in milliseconds since 1970",
              "key@0 unix-time-milliseconds:time [condition(NX|XX|GT|LT)]"),
    command("pexpiretime", 2, "readonly fast",
            Peek(|row, _, reply| answer(row, reply, |ms| ms))).key(1, "RO access")
        .docs("Returns the expiry time of a key in milliseconds since 1970", "key@0"),
    command("psetex", 4, "write denyoom",
            Write(|writer, args, reply| set_until(writer, args, reply, "psetex", PX)))
        .group(Group::String).key(1, "OW update").event(ByRequest(set_with_expiry))
        .docs("Sets a key to a value with a time to live in milliseconds", "key@0 milliseconds:int value"),
    command("pttl", 2, "readonly fast", General(|context, args, reply| left(context, args, reply, |ms| ms)))
        .key(1, "RO access").also("timed_together").tips("nondeterministic_output")
        .docs("Returns the time to live of a key in milliseconds", "key@0"),
    command("setex", 4, "write denyoom",
            Write(|writer, args, reply| set_until(writer, args, reply, "setex", EX)))
        .group(Group::String).key(1, "OW update").event(ByRequest(set_with_expiry))
        .docs("Sets a key to a value with a time to live in seconds", "key@0 seconds:int value"),
    command("ttl", 2, "readonly fast", General(|context, args, reply| left(context, args, reply, seconds)))
        .key(1, "RO access").also("timed_together").tips("nondeterministic_output")
        .docs("Returns the time to live of a key in seconds", "key@0"),
]);
