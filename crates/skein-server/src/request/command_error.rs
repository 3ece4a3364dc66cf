//! Error replies.
//!
//! Clients look at the first word of an error. Where Redis has a text for the same mistake, SkeinDB
//! uses it literally.

use std::borrow::Cow;

use skein_syntax::SyntaxError;

use crate::resp::Reply;
use skein_data::{DiskError, Error, RowError};

pub(crate) const SYNTAX: CommandError = CommandError::text("ERR syntax error");
pub(crate) const NOT_AN_INTEGER: CommandError =
    CommandError::text("ERR value is not an integer or out of range");
pub(crate) const NOT_A_FLOAT: CommandError = CommandError::text("ERR value is not a valid float");
pub(crate) const INFINITE_SUM: CommandError =
    CommandError::text("ERR increment would produce NaN or Infinity");
pub(crate) const OVERFLOW: CommandError = CommandError::text("ERR increment or decrement would overflow");
pub(crate) const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
pub(crate) const NOT_IN_MULTI: CommandError =
    CommandError::text("ERR Command not allowed inside a transaction");
pub(crate) const OUT_OF_MEMORY: CommandError =
    CommandError::text("OOM command not allowed when used memory > 'maxmemory'.");
pub(crate) const ARGUMENTS_TOO_LONG: CommandError = CommandError::text(
    "ERR the arguments of the command are longer than 4 GiB; send them in several commands",
);
pub(crate) const NO_AUTH: CommandError = CommandError::text("NOAUTH Authentication required.");

/// The result of writing a reply. An error replaces what is written of it.
pub(crate) type Replied = Result<(), CommandError>;

/// The reason why a command failed, as an error reply. A failed command has written nothing, unless
/// its documentation says otherwise.
#[derive(Debug, Clone)]
pub(crate) struct CommandError(Cow<'static, [u8]>);

impl CommandError {
    pub(crate) const fn text(text: &'static str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }

    pub(crate) fn owned(text: impl Into<Vec<u8>>) -> Self {
        Self(Cow::Owned(text.into()))
    }

    pub(crate) fn wrong_type() -> Self {
        Self::text(WRONG_TYPE)
    }

    pub(crate) fn wrong_arity(command: &str) -> Self {
        Self::owned(format!("ERR wrong number of arguments for '{command}' command"))
    }

    /// Returns the error for an integer outside the range `least..=most`.
    pub(crate) fn out_of_range(least: i64, most: i64) -> Self {
        Self::owned(format!("ERR value is out of range, value must between {least} and {most}"))
    }

    /// Returns the reply to an EXEC after this error has discarded the transaction.
    pub(crate) fn aborts(&self) -> Self {
        Self::owned([b"EXECABORT Transaction discarded because of: ", &*self.0].concat())
    }

    /// Returns the text of the error.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns whether the error says that the store accepts no writes.
    pub(crate) fn stops_writes(&self) -> bool {
        self.0.starts_with(b"MISCONF")
    }

    pub(crate) fn write(&self, reply: &mut Reply) {
        reply.error_bytes(&self.0);
    }
}

impl From<SyntaxError> for CommandError {
    fn from(mistake: SyntaxError) -> Self {
        Self::owned(mistake.to_string())
    }
}

impl From<RowError> for CommandError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::WrongKind { .. } => Self::wrong_type(),
            RowError::NotAnInteger => NOT_AN_INTEGER,
            RowError::Overflow { .. } => OVERFLOW,
            RowError::OverBudget { .. } => OUT_OF_MEMORY,
            RowError::IndexFull { .. } => Self::owned(format!("OOM {error}")),
            RowError::WritesStopped { .. } | RowError::NoRoomOnDisk { .. } => {
                Self::owned(format!("MISCONF {error}"))
            }
            _ => Self::owned(format!("ERR {error}")),
        }
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        match error {
            Error::Rows(error) => error.into(),
            // Both engines use the same log.
            Error::Disk(DiskError::Log(error)) => RowError::from(error).into(),
            Error::Disk(error @ DiskError::Stopped { .. }) => Self::owned(format!("MISCONF {error}")),
            _ => Self::owned(format!("ERR {error}")),
        }
    }
}
