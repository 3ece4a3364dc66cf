//! Commands about the connection, one line each.

use super::super::Handler::General;
use super::super::{client, connection, databases, while_loading};
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("auth", General(connection::auth)).early(while_loading::auth),
    row("client", General(client::client)).early(while_loading::client),
    row("echo", General(connection::echo)).early(while_loading::echo),
    row("hello", General(connection::hello)).early(while_loading::hello),
    row("ping", General(connection::ping)),
    row("quit", General(connection::quit)).early(while_loading::quit),
    row("reset", General(connection::reset)).early(while_loading::reset),
    row("select", General(databases::select)).early(while_loading::select),
];
