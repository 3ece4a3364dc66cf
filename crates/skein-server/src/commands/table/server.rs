//! Commands about the server, one line each.

use super::super::Handler::General;
use super::super::{
    CommandSpec, access, configuration, databases, debug, introspection, latency, memory, server, slowlog,
    while_loading,
};
use super::{ALSO_LOADING, ANY_TIME, BGSAVE, DEBUG, NONE, READ_FAST, SAVE, SHUTDOWN, WRITE, WRITE_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("acl", -2, &[], NONE, "server", General(access::acl), "Manages users and their permissions").with(access::SUBCOMMANDS),
    row("bgsave", -1, BGSAVE, NONE, "server", General(server::bgsave), "Starts a checkpoint"),
    row("bgrewriteaof", 1, BGSAVE, NONE, "server", General(server::bgrewriteaof), "Starts a checkpoint, which replaces older logs"),
    row("command", -1, ALSO_LOADING, NONE, "server", General(introspection::command), "Describes the commands").with(introspection::SUBCOMMANDS).early(while_loading::command),
    row("config", -2, &[], NONE, "server", General(configuration::config), "Shows and changes the configuration").with(configuration::SUBCOMMANDS),
    row("dbsize", 1, READ_FAST, NONE, "server", General(server::dbsize), "Returns the number of keys").timed_alone(),
    row("debug", -2, DEBUG, NONE, "server", General(debug::debug), "Sleeps, if the server's options allow it"),
    row("flushall", -1, WRITE, NONE, "server", General(server::flushall), "Removes all keys"),
    row("flushdb", -1, WRITE, NONE, "server", General(server::flushall), "Removes all keys"),
    row("info", -1, ALSO_LOADING, NONE, "server", General(server::info), "Returns the server's statistics").early(while_loading::info),
    row("lastsave", 1, ANY_TIME, NONE, "server", General(server::last_save), "Returns the time of the last checkpoint"),
    row("latency", -2, &[], NONE, "server", General(latency::latency), "Reports the latency of commands and slow events").with(latency::SUBCOMMANDS),
    row("memory", -2, &[], (2, 2, 1), "server", General(memory::memory), "Reports the use of memory").with(memory::SUBCOMMANDS),
    row("save", 1, SAVE, NONE, "server", General(server::save), "Writes a checkpoint"),
    row("shutdown", -1, SHUTDOWN, NONE, "server", General(server::shutdown), "Stops the server and keeps all writes").early(while_loading::shutdown),
    row("slowlog", -2, &[], NONE, "server", General(slowlog::slowlog), "Shows the slow requests").with(slowlog::SUBCOMMANDS),
    row("swapdb", 3, WRITE_FAST, NONE, "server", General(databases::swap), "Swaps database 0, the only one, with itself"),
    row("time", 1, ANY_TIME, NONE, "server", General(server::time), "Returns the current time").early(while_loading::time),
    row("wait", 3, &["noscript"], NONE, "generic", General(server::wait), "Returns the number of replicas with the writes: 0"),
];
