//! Access control: users, and their rights to commands and keys, with Redis's syntax.
//!
//! ```text
//!   user alice on >secret ~orders:* %R~prices:* +@read +set -keys (~log:* +append)
//!        │     │  │       │                     │               └ selectors: additional rights
//!        │     │  │       └ keys                └ commands, subcommands, categories
//!        name  may log in, with this password
//! ```
//!
//! Each selector is a complete set of rights: a request is allowed if one selector allows all of
//! it.
//!
//! Read in this order:
//!
//! - `user`: one user. `selector`: one set of rights. `rules`, `patterns`: rules for commands and
//!   keys.
//! - `command_ids`, `categories`: commands by number, and Redis's categories. `required_access`:
//!   the keys that a request accesses, and how.
//! - `users`: all users. `file`: the ACL file. `password`: hashes. `log`: refused logins and
//!   requests. `round_trip`: tests that printed rules are read back.
//!
//! A client holds a shared reference to its user, as of some version of all users. A worker
//! compares versions once per turn and connection. For a user with all rights, each request checks
//! one flag. For other users, each request checks the set of commands, and matches each key with
//! each pattern.
//!
//! Design: `docs/design/server.md`.

mod categories;
mod command_ids;
mod file;
mod log;
mod password;
mod patterns;
mod required_access;
#[cfg(any(test, fuzzing))]
pub(crate) mod round_trip;
mod rules;
mod selector;
mod user;
mod users;

use std::path::PathBuf;

pub(crate) use categories::{Category, NAMES as CATEGORY_NAMES};
pub(crate) use command_ids::{CommandTarget, names_in};
pub(crate) use file::AclFileError;
pub(crate) use log::{
    AclLogCase, AclLogEntry, DenialContext, DenialReason, TEXT_BYTES_MAX as LOG_TEXT_BYTES_MAX,
};
pub(crate) use password::{PasswordHash, generate as generate_password};
pub(crate) use patterns::AllKeys;
pub(crate) use rules::AclRuleError;
pub use selector::DefaultChannels;
pub(crate) use selector::{AclSelector, Denial};
pub(crate) use user::{AclUser, DEFAULT};
pub(crate) use users::{AclUsers, SetUserError};

/// The users of a server and their log of refusals.
#[derive(Debug)]
pub(crate) struct Acl {
    pub users: AclUsers,
    pub log: log::AclLog,
    /// The path of the ACL file, if there is one.
    pub file: Option<PathBuf>,
}

impl Acl {
    /// Loads the users of the file. Without a file there is only the default user. `password` is
    /// the password of the default user, unless the file defines that user. New users may use these
    /// channels.
    ///
    /// # Errors
    /// If the file is missing or wrong.
    pub(crate) fn new(
        password: Option<&[u8]>,
        file: Option<PathBuf>,
        channels: DefaultChannels,
    ) -> Result<Self, AclFileError> {
        let users = AclUsers::new(password);
        users.set_default_channels(channels);
        if let Some(path) = &file {
            users.load(path)?;
        }
        Ok(Self { users, log: log::AclLog::default(), file })
    }
}
