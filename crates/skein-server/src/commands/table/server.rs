//! Commands about the server, a line each.

use super::super::Handler::General;
use super::super::{
    CommandSpec, access, configuration, databases, debug, introspection, latency, memory, server, slowlog,
    while_loading,
};
use super::{ALSO_LOADING, ANY_TIME, BGSAVE, DEBUG, NONE, READ_FAST, SAVE, SHUTDOWN, WRITE, WRITE_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("acl", -2, &[], NONE, "server", General(access::acl), "Who may do what").with(access::SUBCOMMANDS),
    row("bgsave", -1, BGSAVE, NONE, "server", General(server::bgsave), "Starts a checkpoint"),
    row("bgrewriteaof", 1, BGSAVE, NONE, "server", General(server::bgrewriteaof), "Starts a checkpoint, which lets old logs go"),
    row("command", -1, ALSO_LOADING, NONE, "server", General(introspection::command), "About the commands").with(introspection::SUBCOMMANDS).early(while_loading::command),
    row("config", -2, &[], NONE, "server", General(configuration::config), "What the server runs with").with(configuration::SUBCOMMANDS),
    row("dbsize", 1, READ_FAST, NONE, "server", General(server::dbsize), "How many keys").timed_alone(),
    row("debug", -2, DEBUG, NONE, "server", General(debug::debug), "Sleeps, where the server's options allow it"),
    row("flushall", -1, WRITE, NONE, "server", General(server::flushall), "Removes all keys"),
    row("flushdb", -1, WRITE, NONE, "server", General(server::flushall), "Removes all keys"),
    row("info", -1, ALSO_LOADING, NONE, "server", General(server::info), "The server in numbers").early(while_loading::info),
    row("lastsave", 1, ANY_TIME, NONE, "server", General(server::last_save), "When the last checkpoint was written"),
    row("latency", -2, &[], NONE, "server", General(latency::latency), "How long commands take, and what made clients wait").with(latency::SUBCOMMANDS),
    row("memory", -2, &[], (2, 2, 1), "server", General(memory::memory), "What memory is used for").with(memory::SUBCOMMANDS),
    row("save", 1, SAVE, NONE, "server", General(server::save), "Writes a checkpoint"),
    row("shutdown", -1, SHUTDOWN, NONE, "server", General(server::shutdown), "Stops the server; nothing is lost").early(while_loading::shutdown),
    row("slowlog", -2, &[], NONE, "server", General(slowlog::slowlog), "The requests that took long").with(slowlog::SUBCOMMANDS),
    row("swapdb", 3, WRITE_FAST, NONE, "server", General(databases::swap), "Swaps database 0, the only one, with itself"),
    row("time", 1, ANY_TIME, NONE, "server", General(server::time), "What time it is").early(while_loading::time),
    row("wait", 3, &["noscript"], NONE, "generic", General(server::wait), "How many replicas have the writes: 0"),
];
