//! Commands about the server, one line each.

use super::{
    ALSO_LOADING, ANY_TIME, BGSAVE, CommandSpec, DEBUG, NONE, READ_FAST, SAVE, SHUTDOWN, WRITE, WRITE_FAST,
    row, subcommands,
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("acl", -2, &[], NONE, "server", "Manages users and their permissions").with(subcommands::ACL),
    row("bgsave", -1, BGSAVE, NONE, "server", "Starts a checkpoint"),
    row("bgrewriteaof", 1, BGSAVE, NONE, "server", "Starts a checkpoint, which replaces older logs"),
    row("command", -1, ALSO_LOADING, NONE, "server", "Describes the commands").with(subcommands::COMMAND),
    row("config", -2, &[], NONE, "server", "Shows and changes the configuration").with(subcommands::CONFIG),
    row("dbsize", 1, READ_FAST, NONE, "server", "Returns the number of keys of the selected database"),
    row("debug", -2, DEBUG, NONE, "server", "Sleeps, if the server's options allow it"),
    row("flushall", -1, WRITE, NONE, "server", "Removes the keys of all databases").removing_waited_keys(),
    row("flushdb", -1, WRITE, NONE, "server", "Removes the keys of the selected database").removing_waited_keys(),
    row("info", -1, ALSO_LOADING, NONE, "server", "Returns the server's statistics"),
    row("lastsave", 1, ANY_TIME, NONE, "server", "Returns the time of the last checkpoint").timed_together(),
    row("latency", -2, &[], NONE, "server", "Reports the latency of commands and slow events").with(subcommands::LATENCY),
    row("lolwut", -1, READ_FAST, NONE, "server", "Returns the version of the server"),
    row("memory", -2, &[], (2, 2, 1), "server", "Reports the use of memory").with(subcommands::MEMORY),
    row("monitor", 1, DEBUG, NONE, "server", "Sends the requests of all clients to this one"),
    row("save", 1, SAVE, NONE, "server", "Writes a checkpoint"),
    row("shutdown", -1, SHUTDOWN, NONE, "server", "Stops the server and keeps all writes"),
    row("slowlog", -2, &[], NONE, "server", "Shows the slow requests").with(subcommands::SLOWLOG),
    row("swapdb", 3, WRITE_FAST, NONE, "server", "Swaps the contents of two databases").removing_waited_keys(),
    row("time", 1, ANY_TIME, NONE, "server", "Returns the current time").timed_together(),
    row("wait", 3, &["noscript"], NONE, "generic", "Returns the number of replicas with the writes: 0"),
];
