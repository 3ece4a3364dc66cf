//! The commands on HyperLogLogs.

use crate::command_table::{Command, Group, KeyLookup, command, family};
use crate::commands::Handler::{Exclusive, General, ReadOrSlices, Write};
use crate::notice::key_events::EventClass::String;
use crate::notice::key_events::EventRule::{ByRequest, Changed, Silent};
use crate::notice::key_events::by_request::merged;

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::HyperLogLog, [
    command("pfadd", -2, "write denyoom fast", Write(super::pf_add)).key(1, "RW insert")
        .event(Changed(String, "pfadd")).docs("Adds elements to a HyperLogLog", "key@0 [element...]"),
    command("pfcount", -2, "readonly", ReadOrSlices(super::pf_count_cached, super::pf_count))
        .keys(1, -1, 1, "RW access").lookup(KeyLookup::AsReader).also("other_effects")
        .docs("Returns about how many distinct elements were added", "key@0..."),
    command("pfdebug", 3, "write denyoom admin", General(super::pf_debug)).key(2, "RW access").event(Silent)
        .docs("Shows the registers or the encoding of a HyperLogLog", "subcommand key@0"),
    command("pfmerge", -2, "write denyoom", Exclusive(super::pf_merge)).key(1, "RW access insert")
        .keys(2, -1, 1, "RO access").event(ByRequest(merged)).lookup(KeyLookup::AsReader)
        .docs("Adds all elements of other HyperLogLogs", "destkey@0 sourcekey@1..."),
    command("pfselftest", 1, "admin", General(super::pf_self_test))
        .docs("Tests the encodings and the estimates", ""),
]);
