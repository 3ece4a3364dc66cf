//! The commands on keys of any kind.

use super::{count_present, exists_one};
use crate::command_table::request_keys::{migrated_keys, moved_key};
use crate::command_table::{Command, Group, HELP, KeyLookup, Subcommand, command, family, range, subcommand};
use crate::commands::Handler::{
    Exclusive, General, Migrate, Peek, PeekOneOrMany, ReadOneOrMany, WriteOrSlices,
};
use crate::commands::task::read_or_slices;
use crate::commands::{databases, dump, scan};
use crate::notice::key_events::EventRule;
use crate::notice::key_events::EventRule::ByRequest;
use crate::notice::key_events::by_request::{moved_to_database, restored};
use crate::observe::slowlog::SecretArgs;

#[rustfmt::skip]
const OBJECT: &[Subcommand] = &[
    subcommand("encoding", 3, "readonly").key(2, "RO").tips("nondeterministic_output")
        .docs("Returns the encoding that Redis has for a value", "key@0"),
    subcommand("freq", 3, "readonly").key(2, "RO").tips("nondeterministic_output")
        .docs("Returns how often a key was used", "key@0"),
    subcommand("idletime", 3, "readonly").key(2, "RO").tips("nondeterministic_output")
        .docs("Returns the seconds since the last use of a key", "key@0"),
    subcommand("refcount", 3, "readonly").key(2, "RO").tips("nondeterministic_output")
        .docs("Returns the number of references to a value: 1", "key@0"),
    HELP,
];

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Generic, [
    command("del", -2, "write", WriteOrSlices(super::remove::del, super::remove::del_in_slices))
        .keys(1, -1, 1, "RM delete")
        .event(EventRule::REMOVED).also("removes_waited_keys")
        .tips("request_policy:multi_shard response_policy:agg_sum").docs("Removes keys", "key@0..."),
    command("dump", 2, "readonly", read_or_slices!(dump::dump)).key(1, "RO access")
        .tips("nondeterministic_output").docs("Returns the contents of a key in Redis's format", "key@0"),
    command("exists", -2, "readonly fast",
            PeekOneOrMany(exists_one, |context, args, reply| count_present(context, args, reply, false)))
        .keys(1, -1, 1, "RO").also("timed_together")
        .tips("request_policy:multi_shard response_policy:agg_sum")
        .docs("Returns how many of the keys exist", "key@0..."),
    command("keys", 2, "readonly", General(super::keys)).categories("dangerous keyspace")
        .tips("request_policy:all_shards nondeterministic_output_order")
        .docs("Returns the keys that match a pattern, in order", "pattern:pattern"),
    command("migrate", -6, "write", Migrate).key(3, "RW access delete")
        .keys_after("KEYS", -2, range(-1, 1, 0), "RW access delete incomplete").finds_keys(migrated_keys)
        .hides(SecretArgs::of_migrate).event(EventRule::REMOVED).lookup(KeyLookup::AsReader)
        .also("removes_waited_keys").categories("dangerous keyspace").tips("nondeterministic_output")
        .docs("Moves keys to another server",
              "host port:int key_or_empty_string(key@0|empty_string'') destination-db:int timeout:int [COPY] \
               [REPLACE] [authentication([AUTH=password]|[AUTH2=username_password(username password)])] \
               [KEYS=key@1...]"),
    command("move", 3, "write fast", Exclusive(databases::move_key)).key(1, "RW access update")
        .finds_keys(moved_key).names_database(databases::move_database).event(ByRequest(moved_to_database))
        .also("makes_waited_keys").docs("Moves a key to another database", "key@0 db:int"),
    command("object", -2, "", General(super::object)).lookup(KeyLookup::Unnoticed).subcommands(OBJECT)
        .docs("Returns the encoding that Redis would use for a key", ""),
    command("randomkey", 1, "readonly", General(super::random::random_key))
        .tips("request_policy:all_shards nondeterministic_output").docs("Returns a random key", ""),
    command("restore", -4, "write denyoom", Exclusive(dump::restore)).key(1, "OW update")
        .event(ByRequest(restored)).also("makes_waited_keys outgrows_arguments")
        .categories("dangerous keyspace").docs("Makes a key from the reply of DUMP",
              "key@0 ttl:int serialized-value [REPLACE] [ABSTTL] [IDLETIME=seconds:int] [FREQ=frequency:int]"),
    command("restore-asking", -4, "write denyoom asking", Exclusive(dump::restore)).group(Group::Server)
        .key(1, "OW update").event(ByRequest(restored)).also("makes_waited_keys")
        .categories("dangerous keyspace").docs("Makes a key from the reply of DUMP, like RESTORE",
              "key@0 ttl:int serialized-value [REPLACE] [ABSTTL] [IDLETIME=seconds:int] [FREQ=frequency:int]"),
    command("scan", -2, "readonly",
            General(scan::scan)).tips("nondeterministic_output request_policy:special")
        .docs("Returns the keys in order, one page at a time",
              "cursor:int [MATCH=pattern:pattern] [COUNT=count:int] [TYPE=type]"),
    command("touch", -2, "readonly fast",
            ReadOneOrMany(exists_one, |context, args, reply| count_present(context, args, reply, true)))
        .keys(1, -1, 1, "RO").also("timed_together")
        .tips("request_policy:multi_shard response_policy:agg_sum")
        .docs("Returns how many of the keys exist", "key@0..."),
    command("type", 2, "readonly fast", Peek(super::kind)).key(1, "RO")
        .docs("Returns the kind of a key: string, hash, zset or none", "key@0"),
    command("unlink", -2, "write fast", WriteOrSlices(super::remove::del, super::remove::del_in_slices))
        .keys(1, -1, 1, "RM delete").event(EventRule::REMOVED).also("removes_waited_keys")
        .tips("request_policy:multi_shard response_policy:agg_sum").docs("Removes keys", "key@0..."),
]);
