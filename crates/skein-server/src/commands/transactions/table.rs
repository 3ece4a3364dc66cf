//! The commands of transactions, and commands that are atomic over several keys.

use super::{discard, multi, unwatch};
use crate::command_table::request_keys::sort_target;
use crate::command_table::{Command, Group, command, family};
use crate::commands::Handler::{Exclusive, Exec, General};
use crate::commands::{multi_key, sort};
use crate::notice::key_events::EventClass::List;
use crate::notice::key_events::EventRule::{ByRequest, Never, Replaced};
use crate::notice::key_events::by_request::{copied, renamed, set_several};

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Transactions, [
    command("discard", 1, "noscript loading stale fast allow_busy",
            General(|context, _, reply| discard(context.client, reply)))
        .also("timed_together at_once_in_multi")
        .while_busy(|context, _, reply| discard(context.client, reply))
        .docs("Discards the commands queued since MULTI", ""),
    command("exec", 1, "noscript loading stale skip_slowlog", Exec).also("at_once_in_multi")
        .docs("Runs the commands queued since MULTI, atomically", ""),
    command("multi", 1, "noscript loading stale fast allow_busy",
            General(|context, _, reply| multi(context.client, reply)))
        .also("timed_together at_once_in_multi").while_busy(|context, _, reply| multi(context.client, reply))
        .docs("Starts to queue commands for EXEC", ""),
    command("unwatch", 1, "noscript loading stale fast allow_busy",
            General(|context, _, reply| unwatch(context.client, reply)))
        .also("timed_together").while_busy(|context, _, reply| unwatch(context.client, reply))
        .docs("Stops watching all keys", ""),
    command("copy", -3, "write denyoom", Exclusive(multi_key::copy)).group(Group::Generic).key(1, "RO access")
        .key(2, "OW update").names_database(multi_key::copy_database).event(ByRequest(copied))
        .also("makes_waited_keys copies_sources")
        .docs("Copies a key", "source@0 destination@1 [DB=destination-db:int] [REPLACE]"),
    command("msetnx", -3, "write denyoom", Exclusive(multi_key::mset_nx)).group(Group::String)
        .keys(1, -1, 2, "OW insert").event(ByRequest(set_several))
        .tips("request_policy:multi_shard response_policy:agg_min")
        .docs("Sets keys to values if none of the keys exists", "key_value(key@0 value)..."),
    command("rename", 3, "write",
            Exclusive(multi_key::rename)).group(Group::Generic).key(1, "RW access delete")
        .key(2, "OW update").event(ByRequest(renamed)).also("makes_waited_keys")
        .docs("Renames a key", "key@0 newkey@1"),
    command("renamenx", 3, "write fast", Exclusive(multi_key::rename_nx)).group(Group::Generic)
        .key(1, "RW access delete").key(2, "OW insert").event(ByRequest(renamed)).also("makes_waited_keys")
        .docs("Renames a key unless the new name is taken", "key@0 newkey@1"),
    command("sort", -2, "write denyoom",
            Exclusive(|context, args, reply| sort::run(context, args, reply, true)))
        .group(Group::Generic).key(1, "RO access").unknown_keys("RO access").unknown_keys("OW update")
        .finds_keys(sort_target)
        .event(Replaced(List, "sortstore"))
        .also("makes_waited_keys").categories("dangerous list set sortedset")
        .docs("Returns or stores the elements of a key in another order",
              "key@0 [BY=pattern@1:pattern] [LIMIT=offset_count(offset:int count:int)] \
               [GET=pattern@1:pattern...+] [order(ASC|DESC)] [sorting'ALPHA'] [STORE=destination@2]"),
    command("sort_ro", -2, "readonly",
            Exclusive(|context, args, reply| sort::run(context, args, reply, false)))
        .group(Group::Generic).key(1, "RO access").unknown_keys("RO access")
        .categories("dangerous list set sortedset")
        .docs("Returns the elements of a key in another order",
              "key@0 [BY=pattern@1:pattern] [LIMIT=offset_count(offset:int count:int)] \
               [GET=pattern@1:pattern...+] [order(ASC|DESC)] [sorting'ALPHA']"),
    command("watch", -2, "noscript loading stale fast allow_busy", General(super::watch)).keys(1, -1, 1, "RO")
        .event(Never).also("timed_together at_once_in_multi")
        .docs("Makes the next EXEC run only if the keys do not change", "key@0..."),
]);
