//! The commands that Redis does not have: on ordered keys, versions, snapshots and memory. The
//! group of this family is no category of rights, so a row names its own.

use std::ops::Bound::{Excluded, Unbounded};

use super::neighbours::one;
use crate::command_table::{Command, Group, KeyReach, command, family};
use crate::commands::Handler::{General, Write};
use crate::commands::memory;
use crate::commands::task::read_or_slices;
use crate::notice::key_events::EventClass::String;
use crate::notice::key_events::EventRule::Changed;
use skein_data::ScanDirection::{Backward, Forward};

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Skein, [
    command("sk.cas", 4, "write denyoom fast", Write(super::versions::cas)).key(1, "RW access update")
        .event(Changed(String, "set"))
        .docs("Sets a key if its version is as given", "key@0 version:int value"),
    command("sk.count", 3, "readonly", General(super::ranges::count)).reaches(KeyReach::Between)
        .docs("Counts the keys between bounds", "min max"),
    command("sk.delrange", 3, "write", General(super::ranges::del_range)).reaches(KeyReach::Between)
        .categories("dangerous").docs("Removes the keys between bounds", "min max"),
    command("sk.first", 1, "readonly fast",
            General(|context, _, reply| one(context, (Unbounded, Unbounded), Forward, reply)))
        .reaches(KeyReach::Every)
        .docs("Returns the first key and its contents", ""),
    command("sk.getv", 2, "readonly fast", read_or_slices!(super::versions::getv)).key(1, "RO access")
        .docs("Returns the contents and the version of a key", "key@0"),
    command("sk.last", 1, "readonly fast",
            General(|context, _, reply| one(context, (Unbounded, Unbounded), Backward, reply)))
        .reaches(KeyReach::Every)
        .docs("Returns the last key and its contents", ""),
    command("sk.memory", 1, "readonly", General(memory::by_part)).docs("Returns the memory by part", ""),
    command("sk.next", 2, "readonly fast",
            General(|context, args, reply| one(context, (Excluded(args.get(1)), Unbounded), Forward, reply)))
        .key(1, "RO access").reaches(KeyReach::Every)
        .docs("Returns the next key and its contents", "key@0"),
    command("sk.prefix", -2, "readonly", General(super::ranges::prefix)).reaches(KeyReach::Prefixed)
        .docs("Returns the keys with a prefix, in order, and their contents",
              "prefix [REV] [LIMIT=count:int] [contents(NOVALUES|DETAILS|COLUMNS=columns(count:int \
               name...))] [moment(SNAPSHOT|HELD)]"),
    command("sk.prev", 2, "readonly fast",
            General(|context, args, reply| one(context, (Unbounded, Excluded(args.get(1))), Backward, reply)))
        .key(1, "RO access").reaches(KeyReach::Every)
        .docs("Returns the previous key and its contents", "key@0"),
    command("sk.range", -3, "readonly", General(super::ranges::range)).reaches(KeyReach::Between)
        .docs("Returns the keys between bounds, in order, and their contents",
              "min max [REV] [LIMIT=count:int] [contents(NOVALUES|DETAILS|COLUMNS=columns(count:int \
               name...))] [moment(SNAPSHOT|HELD)]"),
    command("sk.snapshot", 2, "readonly no_multi", General(super::snapshot))
        .docs("Begins or ends a snapshot for several ranges", "action(BEGIN|END)"),
]);
