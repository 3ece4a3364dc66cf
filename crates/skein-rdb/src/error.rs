//! The errors of reads.

use std::borrow::Cow;
use std::io;

/// The reason why bytes could not be read as Redis's values.
#[derive(Debug, thiserror::Error)]
pub enum RdbError {
    /// The input ends too early.
    #[error("the input ends at byte {offset}; expected {expected}")]
    Ended {
        /// The number of bytes before the end.
        offset: u64,
        /// The part of the format that is missing.
        expected: &'static str,
    },
    /// The bytes contradict the format.
    #[error("damaged at byte {offset}: {found}; expected {expected}")]
    Damaged {
        /// The position of the part that is damaged.
        offset: u64,
        /// The bytes that are there.
        found: Cow<'static, str>,
        /// The part of the format that must be there.
        expected: &'static str,
    },
    /// The bytes may be right, but this crate does not read them.
    #[error("not supported, at byte {offset}: {what}")]
    Unsupported {
        /// The position of the type or version.
        offset: u64,
        /// The type or version, and the way out.
        what: Cow<'static, str>,
    },
    /// A string or a packed value exceeds a limit.
    #[error("too long, at byte {offset}: {what} takes more than the limit of {limit} bytes")]
    TooLong {
        /// The position of the value.
        offset: u64,
        /// The value.
        what: &'static str,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The source of the bytes failed.
    #[error("cannot read at byte {offset}: {error}")]
    Io {
        /// The number of bytes before the failure.
        offset: u64,
        /// The failure.
        error: io::Error,
    },
}

impl RdbError {
    pub(crate) fn damaged(offset: u64, found: impl Into<Cow<'static, str>>, expected: &'static str) -> Self {
        Self::Damaged { offset, found: found.into(), expected }
    }

    pub(crate) fn unsupported(offset: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self::Unsupported { offset, what: what.into() }
    }

    /// Returns the position of the error in the input.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Ended { offset, .. }
            | Self::Damaged { offset, .. }
            | Self::Unsupported { offset, .. }
            | Self::TooLong { offset, .. }
            | Self::Io { offset, .. } => *offset,
        }
    }
}
