//! The commands on sets.

use super::algebra::{answer, store};
use crate::command_table::{Command, Group, command, family};
use crate::commands::Handler::{Exclusive, General, Read, Write, WriteRun};
use crate::commands::sorted_sets::SetOperation::{Difference, Intersection, Union};
use crate::commands::sorted_sets::remove_named;
use crate::commands::task::read_or_slices;
use crate::notice::key_events::EventClass::Set;
use crate::notice::key_events::EventRule::{ByRequest, Changed, Replaced};
use crate::notice::key_events::by_request::moved_member;
use skein_data::CollectionKind;

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Set, [
    command("sadd", -3, "write denyoom fast", WriteRun(super::members::sadd)).key(1, "RW insert")
        .event(Changed(Set, "sadd")).docs("Adds members", "key@0 member..."),
    command("scard", 2, "readonly fast", Read(super::members::scard)).key(1, "RO")
        .docs("Returns the number of members", "key@0"),
    command("sdiff", -2, "readonly",
            Exclusive(|context, args, reply| answer(context, args, reply, Difference)))
        .keys(1, -1, 1, "RO access")
        .tips("nondeterministic_output_order")
        .docs("Returns the members of the first set that are in no other", "key@0..."),
    command("sdiffstore", -3, "write denyoom",
            Exclusive(|context, args, reply| store(context, args, reply, Difference))).key(1, "OW update")
        .keys(2, -1, 1, "RO access").event(Replaced(Set, "sdiffstore"))
        .docs("Stores the members of the first set that are in no other", "destination@0 key@1..."),
    command("sinter", -2, "readonly",
            Exclusive(|context, args, reply| answer(context, args, reply, Intersection)))
        .keys(1, -1, 1, "RO access")
        .tips("nondeterministic_output_order").docs("Returns the members that are in all sets", "key@0..."),
    command("sintercard", -3, "readonly", Exclusive(super::algebra::sinter_card)).counted_keys(1, "RO access")
        .docs("Counts the members that are in all sets", "numkeys:int key@0... [LIMIT=limit:int]"),
    command("sinterstore", -3, "write denyoom",
            Exclusive(|context, args, reply| store(context, args, reply, Intersection))).key(1, "RW update")
        .keys(2, -1, 1, "RO access").event(Replaced(Set, "sinterstore"))
        .docs("Stores the members that are in all sets", "destination@0 key@1..."),
    command("sismember", 3, "readonly fast", Read(super::members::sis_member)).key(1, "RO")
        .docs("Returns whether a member is in a set", "key@0 member"),
    command("smembers", 2, "readonly", read_or_slices!(super::members::smembers)).key(1, "RO access")
        .tips("nondeterministic_output_order").docs("Returns all members, in order", "key@0"),
    command("smismember", -3, "readonly fast", Read(super::members::smis_member)).key(1, "RO access")
        .docs("Returns for each member whether it is in a set", "key@0 member..."),
    command("smove", 4, "write fast", Exclusive(super::members::smove)).key(1, "RW access delete")
        .key(2, "RW insert")
        .event(ByRequest(moved_member))
        .docs("Moves a member to another set", "source@0 destination@1 member"),
    command("spop", -2, "write fast",
            Write(super::random::spop)).key(1, "RW access delete").event(Changed(Set, "spop"))
        .tips("nondeterministic_output").docs("Removes and returns random members", "key@0 [count:int]"),
    command("srandmember", -2, "readonly", read_or_slices!(super::random::srand_member)).key(1, "RO access")
        .tips("nondeterministic_output").docs("Returns random members", "key@0 [count:int]"),
    command("srem", -3, "write fast",
            WriteRun(|writer, run, reply| remove_named(writer, CollectionKind::Set, run, reply)))
        .key(1, "RW delete").event(Changed(Set, "srem")).docs("Removes members", "key@0 member..."),
    command("sscan", -3, "readonly",
            General(super::members::sscan)).key(1, "RO access").tips("nondeterministic_output")
        .docs("Returns the members in order, one page at a time",
              "key@0 cursor:int [MATCH=pattern:pattern] [COUNT=count:int]"),
    command("sunion", -2, "readonly",
            Exclusive(|context, args, reply| answer(context, args, reply, Union))).keys(1, -1, 1, "RO access")
        .tips("nondeterministic_output_order").docs("Returns the members of all sets", "key@0..."),
    command("sunionstore", -3, "write denyoom",
            Exclusive(|context, args, reply| store(context, args, reply, Union))).key(1, "OW update")
        .keys(2, -1, 1, "RO access").event(Replaced(Set, "sunionstore"))
        .docs("Stores the members of all sets", "destination@0 key@1..."),
]);
