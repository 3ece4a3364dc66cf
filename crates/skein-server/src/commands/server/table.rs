//! The commands about the server.

use crate::command_table::{Command, Group, HELP, KeyLookup, Subcommand, command, family, subcommand};
use crate::commands::Handler::{Exclusive, General};
use crate::commands::{
    access, configuration, databases, debug, introspection, latency, memory, monitor, slowlog, while_busy,
    while_loading,
};
use crate::observe::slowlog::SecretArgs;

#[rustfmt::skip]
const ACL: &[Subcommand] = &[
    subcommand("cat", -2, "noscript loading stale")
        .docs("Lists the categories, or the commands of one", "[categoryname]"),
    subcommand("deluser", -3, "admin noscript loading stale")
        .docs("Removes users and disconnects their clients", "username..."),
    subcommand("dryrun", -4, "admin noscript loading stale")
        .docs("Tells whether a user may run a request", "username command [arg...]"),
    subcommand("genpass", -2, "noscript loading stale").docs("Returns a random password", "[bits:int]"),
    subcommand("getuser", 3, "admin noscript loading stale").docs("Returns the rules of a user", "username"),
    subcommand("list", 2, "admin noscript loading stale").docs("Returns all users as lines of rules", ""),
    subcommand("load", 2, "admin noscript loading stale").docs("Reads the users from the ACL file", ""),
    subcommand("log", -2, "admin noscript loading stale")
        .docs("Shows the denied requests, or forgets them", "[operation(count:int|RESET)]"),
    subcommand("save", 2, "admin noscript loading stale").docs("Writes the users to the ACL file", ""),
    subcommand("setuser", -3, "admin noscript loading stale")
        .docs("Makes a user, or changes its rules", "username [rule...]"),
    subcommand("users", 2, "admin noscript loading stale").docs("Returns the names of all users", ""),
    subcommand("whoami", 2, "noscript loading stale").docs("Returns the user of this connection", ""),
    HELP,
];

#[rustfmt::skip]
const COMMAND: &[Subcommand] = &[
    subcommand("count", 2, "loading stale").docs("Returns the number of commands", ""),
    subcommand("docs", -2, "loading stale").tips("nondeterministic_output_order")
        .docs("Returns summaries and arguments of commands", "[command-name...]"),
    subcommand("getkeys", -4, "loading stale").docs("Returns the keys of a request", "command argument..."),
    subcommand("getkeysandflags", -4, "loading stale")
        .docs("Returns the keys of a request, and its use of each", "command argument..."),
    subcommand("info", -2, "loading stale").tips("nondeterministic_output_order")
        .docs("Returns flags, keys and categories of commands", "[command-name...]"),
    subcommand("list", -2, "loading stale").tips("nondeterministic_output_order")
        .docs("Returns the names of commands",
              "[FILTERBY=filterby(MODULE=module-name|ACLCAT=category|PATTERN=pattern:pattern)]"),
    HELP,
];

#[rustfmt::skip]
const CONFIG: &[Subcommand] = &[
    subcommand("get", -3, "admin noscript loading stale")
        .docs("Returns the parameters that match patterns", "parameter(parameter)..."),
    subcommand("set", -4, "admin noscript loading stale")
        .tips("request_policy:all_nodes response_policy:all_succeeded")
        .docs("Changes parameters", "parameter_value(parameter value)..."),
    subcommand("resetstat", 2, "admin noscript loading stale").docs("Starts the statistics anew", ""),
    subcommand("rewrite", 2, "admin noscript loading stale")
        .docs("Writes the changed parameters to the options file", ""),
    HELP,
];

#[rustfmt::skip]
const LATENCY: &[Subcommand] = &[
    subcommand("doctor", 2, "admin noscript loading stale")
        .tips("nondeterministic_output request_policy:all_nodes response_policy:special")
        .docs("Explains the slow events", ""),
    subcommand("graph", 3, "admin noscript loading stale")
        .tips("nondeterministic_output request_policy:all_nodes response_policy:special")
        .docs("Draws the latest events of one kind", "event"),
    HELP,
    subcommand("histogram", -2, "admin noscript loading stale")
        .tips("nondeterministic_output request_policy:all_nodes response_policy:special")
        .docs("Returns how long commands took", "[command...]"),
    subcommand("history", 3, "admin noscript loading stale")
        .tips("nondeterministic_output request_policy:all_nodes response_policy:special")
        .docs("Returns the latest events of one kind", "event"),
    subcommand("latest", 2, "admin noscript loading stale")
        .tips("nondeterministic_output request_policy:all_nodes response_policy:special")
        .docs("Returns the last event of each kind", ""),
    subcommand("reset", -2, "admin noscript loading stale")
        .tips("request_policy:all_nodes response_policy:all_succeeded").docs("Forgets events", "[event...]"),
];

#[rustfmt::skip]
const MEMORY: &[Subcommand] = &[
    subcommand("doctor", 2, "")
        .tips("nondeterministic_output request_policy:all_shards response_policy:special")
        .docs("Explains the use of memory", ""),
    subcommand("malloc-stats", 2, "")
        .tips("nondeterministic_output request_policy:all_shards response_policy:special")
        .docs("Describes the allocator", ""),
    subcommand("purge", 2, "").tips("request_policy:all_shards response_policy:all_succeeded")
        .docs("Returns free memory to the system", ""),
    subcommand("stats", 2, "")
        .tips("nondeterministic_output request_policy:all_shards response_policy:special")
        .docs("Returns the memory by part", ""),
    subcommand("usage", -3, "readonly").key(2, "RO")
        .docs("Returns the bytes of a key", "key@0 [SAMPLES=count:int]"),
    HELP,
];

#[rustfmt::skip]
const SLOWLOG: &[Subcommand] = &[
    subcommand("get", -2, "admin loading stale").tips("request_policy:all_nodes nondeterministic_output")
        .docs("Returns the newest slow requests", "[count:int]"),
    subcommand("len", 2, "admin loading stale")
        .tips("request_policy:all_nodes response_policy:agg_sum nondeterministic_output")
        .docs("Returns the number of entries", ""),
    subcommand("reset", 2, "admin loading stale")
        .tips("request_policy:all_nodes response_policy:all_succeeded").docs("Removes all entries", ""),
    HELP,
];

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Server, [
    command("acl", -2, "", General(access::acl)).hides(SecretArgs::of_acl).subcommands(ACL)
        .docs("Manages users and their permissions", ""),
    command("bgsave", -1, "admin noscript no_async_loading", General(super::bgsave))
        .docs("Starts a checkpoint", "[SCHEDULE]"),
    command("bgrewriteaof", 1, "admin noscript no_async_loading", General(super::bgrewriteaof))
        .docs("Starts a checkpoint, which replaces older logs", ""),
    command("command", -1, "loading stale", General(introspection::command))
        .while_loading(while_loading::command).categories("connection").tips("nondeterministic_output_order")
        .subcommands(COMMAND).docs("Describes the commands", ""),
    command("config", -2, "", General(configuration::config)).hides(SecretArgs::of_config).subcommands(CONFIG)
        .docs("Shows and changes the configuration", ""),
    command("dbsize", 1, "readonly fast", General(super::dbsize)).categories("keyspace")
        .tips("request_policy:all_shards response_policy:agg_sum")
        .docs("Returns the number of keys of the selected database", ""),
    command("debug", -2, "admin noscript loading stale", General(debug::debug)).also("in_scripts_by_setting")
        .docs("Sleeps, if the server's options allow it", "subcommand [argument...]"),
    command("flushall", -1, "write", General(super::flushall)).also("removes_waited_keys")
        .categories("dangerous keyspace").tips("request_policy:all_shards response_policy:all_succeeded")
        .docs("Removes the keys of all databases", "[async(ASYNC|SYNC)]"),
    command("flushdb", -1, "write", General(super::flushdb)).also("removes_waited_keys")
        .categories("dangerous keyspace").tips("request_policy:all_shards response_policy:all_succeeded")
        .docs("Removes the keys of the selected database", "[async(ASYNC|SYNC)]"),
    command("info", -1, "loading stale", General(super::info)).while_loading(while_loading::info)
        .categories("dangerous")
        .tips("nondeterministic_output request_policy:all_shards response_policy:special")
        .docs("Returns the server's statistics", "[section...]"),
    command("lastsave", 1, "loading stale fast", General(super::last_save)).also("timed_together")
        .categories("admin dangerous").tips("nondeterministic_output")
        .docs("Returns the time of the last checkpoint", ""),
    command("latency", -2, "", General(latency::latency)).subcommands(LATENCY)
        .docs("Reports the latency of commands and slow events", ""),
    command("lolwut", -1, "readonly fast", General(super::lolwut))
        .docs("Returns the version of the server", "[VERSION=version:int]"),
    command("memory", -2, "", General(memory::memory)).lookup(KeyLookup::Unnoticed).subcommands(MEMORY)
        .docs("Reports the use of memory", ""),
    command("monitor", 1, "admin noscript loading stale", General(monitor::monitor))
        .docs("Sends the requests of all clients to this one", ""),
    command("save", 1, "admin noscript no_async_loading no_multi", General(super::save))
        .docs("Writes a checkpoint", ""),
    command("shutdown", -1, "admin noscript loading stale no_multi allow_busy", General(super::shutdown))
        .while_loading(while_loading::shutdown).while_busy(while_busy::shutdown)
        .docs("Stops the server and keeps all writes", "[SAVE] [NOW] [ABORT]"),
    command("slowlog", -2, "", General(slowlog::slowlog)).subcommands(SLOWLOG)
        .docs("Shows the slow requests", ""),
    command("swapdb", 3, "write fast", Exclusive(databases::swap)).also("removes_waited_keys")
        .categories("dangerous keyspace")
        .docs("Swaps the contents of two databases", "index1:int index2:int"),
    command("time", 1, "loading stale fast", General(|_, _, reply| super::time(reply))).also("timed_together")
        .while_loading(|_, _, reply| super::time(reply)).tips("nondeterministic_output")
        .docs("Returns the current time", ""),
    command("wait", 3, "noscript", General(super::wait)).group(Group::Generic).categories("connection")
        .tips("request_policy:all_shards response_policy:agg_min")
        .docs("Returns the number of replicas with the writes: 0", "numreplicas:int timeout:int"),
]);
