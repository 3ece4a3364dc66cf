//! Commands about the connection, one line each.

use super::super::Handler::General;
use super::super::{CommandSpec, client, connection, databases, while_loading};
use super::{ANY_TIME, CONNECTION, NONE, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("auth", -2, CONNECTION, NONE, "connection", General(connection::auth), "Logs in with a password").early(while_loading::auth),
    row("client", -2, &[], NONE, "connection", General(client::client), "Shows and manages connections").with(client::SUBCOMMANDS).early(while_loading::client),
    row("echo", 2, ANY_TIME, NONE, "connection", General(connection::echo), "Returns its argument").early(while_loading::echo),
    row("hello", -1, CONNECTION, NONE, "connection", General(connection::hello), "Selects the version of the protocol").early(while_loading::hello),
    row("ping", -1, &["fast"], NONE, "connection", General(connection::ping), "Returns PONG"),
    row("quit", -1, CONNECTION, NONE, "connection", General(connection::quit), "Closes the connection").early(while_loading::quit),
    row("reset", 1, CONNECTION, NONE, "connection", General(connection::reset), "Restores the connection to its initial state").early(while_loading::reset),
    row("select", 2, ANY_TIME, NONE, "connection", General(databases::select), "Selects database 0, the only one").early(while_loading::select),
];
