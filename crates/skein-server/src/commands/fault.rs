//! Why a command was not done, and how that is said on the wire.
//!
//! Clients look at the first word of an error. Where Redis has a text for the same mistake, it is used to the
//! letter.

use std::borrow::Cow;

use skein_disk::DiskError;

use crate::engine::{Error, RowError};
use crate::resp::Reply;

pub(crate) const SYNTAX: Fault = Fault::text("ERR syntax error");
pub(crate) const NOT_AN_INTEGER: Fault = Fault::text("ERR value is not an integer or out of range");
pub(crate) const OVERFLOW: Fault = Fault::text("ERR increment or decrement would overflow");
pub(crate) const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
pub(crate) const NO_AUTH: &str = "NOAUTH Authentication required.";

/// Why a command was not done: an error reply. Nothing was written then, unless the command's page says otherwise.
#[derive(Debug)]
pub(crate) struct Fault(Cow<'static, [u8]>);

impl Fault {
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

    pub(crate) fn write(&self, reply: &mut Reply<'_>) {
        reply.error_bytes(&self.0);
    }
}

impl From<RowError> for Fault {
    fn from(error: RowError) -> Self {
        match error {
            RowError::WrongKind { .. } => Self::wrong_type(),
            RowError::NotAnInteger => NOT_AN_INTEGER,
            RowError::Overflow { .. } => OVERFLOW,
            RowError::OverBudget { .. } | RowError::IndexFull { .. } => Self::owned(format!("OOM {error}")),
            RowError::WritesStopped { .. } => Self::owned(format!("MISCONF {error}")),
            _ => Self::owned(format!("ERR {error}")),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Rows(error) => error.into(),
            // The log is the same under both engines.
            Error::Disk(DiskError::Log(error)) => RowError::from(error).into(),
            Error::Disk(error @ DiskError::Stopped { .. }) => Self::owned(format!("MISCONF {error}")),
            _ => Self::owned(format!("ERR {error}")),
        }
    }
}
