//! The commands on streams.

use super::claim::{auto_claim, claim, run};
use super::ranges::answer;
use crate::command_table::{Command, Group, HELP, KeyLookup, Subcommand, command, family, range, subcommand};
use crate::commands::Handler::{Blocking, General, Read, Write, WriteRun};
use crate::commands::task::read_or_slices;
use crate::notice::key_events::EventClass::Stream;
use crate::notice::key_events::EventRule::{ByRequest, Changed, Silent, Touched};
use crate::notice::key_events::by_request::changed_group;
use crate::notice::key_events::stream_watch::{claiming_consumer, reading_consumer, trimmed_entries};
use skein_data::ScanDirection::{Backward, Forward};

#[rustfmt::skip]
const XGROUP: &[Subcommand] = &[
    subcommand("create", -5, "write denyoom").key(2, "RW insert").docs("Makes a group of consumers",
              "key@0 groupname id(id|new_id'$') [MKSTREAM] [ENTRIESREAD=entries_read:int]"),
    subcommand("createconsumer", 5, "write denyoom").key(2, "RW insert")
        .docs("Makes a consumer", "key@0 groupname consumername"),
    subcommand("delconsumer", 5, "write").key(2, "RW delete")
        .docs("Removes a consumer", "key@0 groupname consumername"),
    subcommand("destroy", 4, "write").key(2, "RW delete").docs("Removes a group", "key@0 groupname"),
    subcommand("setid", -5, "write").key(2, "RW update")
        .docs("Sets the last entry that a group has received",
              "key@0 groupname id(id|new_id'$') [ENTRIESREAD=entries_read:int]"),
    HELP,
];

#[rustfmt::skip]
const XINFO: &[Subcommand] = &[
    subcommand("consumers", 4, "readonly").key(2, "RO access").tips("nondeterministic_output")
        .docs("Describes the consumers of a group", "key@0 groupname"),
    subcommand("groups", 3, "readonly").key(2, "RO access")
        .docs("Describes the groups of a stream", "key@0"),
    subcommand("stream", -3, "readonly").key(2, "RO access")
        .docs("Describes a stream", "key@0 [FULL=full([COUNT=count:int])]"),
    HELP,
];

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Stream, [
    command("xack", -4, "write fast", Write(super::pending::xack)).key(1, "RW update").event(Silent)
        .lookup(KeyLookup::AsReader)
        .docs("Acknowledges entries that are pending in a group", "key@0 group id..."),
    command("xadd", -5, "write denyoom fast", WriteRun(super::add::xadd)).key(1, "RW update")
        .changes_stream(trimmed_entries).event(Changed(Stream, "xadd")).also("makes_waited_keys")
        .tips("nondeterministic_output").docs("Adds an entry",
              "key@0 [NOMKSTREAM] [trim(strategy(MAXLEN|MINID) [operator(equal'='|approximately'~')] \
               threshold [LIMIT=count:int])] id_or_auto(auto_id'*'|id) field_value(field value)..."),
    command("xautoclaim", -6, "write fast",
            General(|context, args, reply| run(context, args, reply, auto_claim)))
        .key(1, "RW delete").changes_stream(claiming_consumer).event(Silent).lookup(KeyLookup::AsReader)
        .tips("nondeterministic_output").docs("Takes over pending entries that are idle",
              "key@0 group consumer min-idle-time start [COUNT=count:int] [JUSTID]"),
    command("xclaim", -6, "write fast", General(|context, args, reply| run(context, args, reply, claim)))
        .key(1, "RW update").changes_stream(claiming_consumer).event(Silent).lookup(KeyLookup::AsReader)
        .tips("nondeterministic_output").docs("Takes over pending entries",
              "key@0 group consumer min-idle-time id... [IDLE=ms:int] [TIME=unix-time-milliseconds:time] \
               [RETRYCOUNT=count:int] [FORCE] [JUSTID] [LASTID=id]"),
    command("xdel", -3, "write fast", Write(super::entries::xdel)).key(1, "RW delete")
        .event(Changed(Stream, "xdel"))
        .docs("Removes entries by their ids", "key@0 id..."),
    command("xgroup", -2, "write denyoom", General(super::groups::xgroup)).event(ByRequest(changed_group))
        .also("makes_waited_keys").subcommands(XGROUP).docs("Makes, changes and removes consumer groups", ""),
    command("xinfo", -2, "readonly", General(super::info::xinfo)).subcommands(XINFO)
        .docs("Shows a stream, its groups and their consumers", ""),
    command("xlen", 2, "readonly fast", Read(super::entries::xlen)).key(1, "RO")
        .docs("Returns the number of entries", "key@0"),
    command("xpending", -3, "readonly", General(super::pending::xpending)).key(1, "RO access")
        .tips("nondeterministic_output").docs("Shows the entries that are pending in a group",
              "key@0 group [filters([IDLE=min-idle-time:int] start end count:int [consumer])]"),
    command("xrange", -4, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Forward, long)))
        .key(1, "RO access").docs("Returns a range of entries", "key@0 start end [COUNT=count:int]"),
    command("xread", -4, "readonly blocking", Blocking(&super::XREAD))
        .keys_after("STREAMS", 1, range(-1, 1, 2), "RO access").also("waits_if_asked")
        .docs("Returns the entries behind an id of streams, or waits for one",
              "[COUNT=count:int] [BLOCK=milliseconds:int] STREAMS=streams(key@0... id...)"),
    command("xreadgroup", -7, "write blocking", Blocking(&super::XREADGROUP))
        .keys_after("STREAMS", 4, range(-1, 1, 2), "RO access").changes_stream(reading_consumer).event(Silent)
        .lookup(KeyLookup::Unnoticed).also("waits_if_asked")
        .docs("Delivers entries to a consumer of a group, or waits for one",
              "GROUP=group_consumer(group consumer) [COUNT=count:int] [BLOCK=milliseconds:int] [NOACK] \
               STREAMS=streams(key@0... id...)"),
    command("xrevrange", -4, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Backward, long)))
        .key(1, "RO access")
        .docs("Returns a range of entries, the last one first", "key@0 end start [COUNT=count:int]"),
    command("xsetid", -3, "write denyoom fast", Write(super::entries::xsetid)).key(1, "RW update")
        .event(Touched(Stream, "xsetid")).docs("Sets the last id of a stream",
              "key@0 last-id [ENTRIESADDED=entries_added:int] [MAXDELETEDID=max_deleted_entry_id]"),
    command("xtrim", -4, "write", Write(super::add::xtrim)).key(1, "RW delete")
        .event(Changed(Stream, "xtrim"))
        .tips("nondeterministic_output").docs("Removes the first entries",
              "key@0 trim(strategy(MAXLEN|MINID) [operator(equal'='|approximately'~')] threshold \
               [LIMIT=count:int])"),
]);
