//! Commands about the connection, one line each.

use super::{ANY_TIME, CONNECTION, CommandSpec, NONE, row, subcommands};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("auth", -2, CONNECTION, NONE, "connection", "Logs in with a password").timed_together(),
    row("client", -2, &[], NONE, "connection", "Shows and manages connections").with(subcommands::CLIENT),
    row("echo", 2, ANY_TIME, NONE, "connection", "Returns its argument").timed_together(),
    row("hello", -1, CONNECTION, NONE, "connection", "Selects the version of the protocol").timed_together(),
    row("ping", -1, &["fast"], NONE, "connection", "Returns PONG").timed_together(),
    row("quit", -1, CONNECTION, NONE, "connection", "Closes the connection").timed_together(),
    row("reset", 1, CONNECTION, NONE, "connection", "Restores the connection to its initial state").timed_together(),
    row("select", 2, ANY_TIME, NONE, "connection", "Selects a database").timed_together(),
];
