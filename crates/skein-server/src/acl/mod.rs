//! Who may do what: users, and their rights to commands and keys, in Redis's words.
//!
//! ```text
//!   user alice on >secret ~orders:* %R~prices:* +@read +set -keys (~log:* +append)
//!        │     │  │       │                     │               └ selectors: more rights, each enough by itself
//!        │     │  │       └ keys                └ commands, subcommands, categories
//!        name  may enter, with this password
//! ```
//!
//! - `user`: one user; `selector`: one set of rights; `rules`, `patterns`: what is said of commands and of keys.
//! - `ids`, `categories`: the commands by number, and Redis's categories. `needs`: what a request does to which keys.
//! - `users`: all users. `file`: as an ACL file. `secret`: passwords. `log`: who was turned away.
//!
//! A client holds its user, shared, as it was at some version of all users; a worker compares versions once a turn. A user that may do everything
//! costs one flag per request, any other one a look at the set of commands, and a match with each pattern for each key.

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

pub(crate) use categories::{Categories, Category, NAMES as CATEGORY_NAMES};
pub(crate) use command_ids::{CommandTarget, names_in};
pub(crate) use file::AclFileError;
pub(crate) use log::{AclLogCase, AclLogEntry, DenialReason, TEXT_BYTES_MAX as LOG_TEXT_BYTES_MAX};
pub(crate) use password::{PasswordHash, generate as generate_password};
pub(crate) use patterns::AllKeys;
pub(crate) use rules::AclRuleError;
pub(crate) use selector::{AclSelector, Denial};
pub(crate) use user::{AclUser, DEFAULT};
pub(crate) use users::{AclUsers, SetUserError};

/// All that a server knows of who may do what.
#[derive(Debug)]
pub(crate) struct Acl {
    pub users: AclUsers,
    pub log: log::AclLog,
    /// The ACL file, if there is one.
    pub file: Option<PathBuf>,
}

impl Acl {
    /// The users of the file, or the default user alone, which has this password unless the file says otherwise.
    ///
    /// # Errors
    /// The file is not there, or wrong.
    pub(crate) fn new(password: Option<&[u8]>, file: Option<PathBuf>) -> Result<Self, AclFileError> {
        let users = AclUsers::new(password);
        if let Some(path) = &file {
            users.load(path)?;
        }
        Ok(Self { users, log: log::AclLog::default(), file })
    }
}
