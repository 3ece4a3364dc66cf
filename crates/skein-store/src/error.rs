//! What can go wrong, each with the value, the limit and the way out.

use std::path::PathBuf;

/// What an operation of the store answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation was not done. Nothing of it was done then, unless the variant says otherwise.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key is longer than the store takes.
    #[error("key of {len} bytes is longer than the limit of {limit} bytes; shorten it or hash its tail")]
    KeyTooLong {
        /// The key's length in bytes.
        len: usize,
        /// The longest key, in bytes.
        limit: usize,
    },
    /// The value (all columns of a row together) is longer than the option `limits.value_bytes` allows.
    #[error("value of {len} bytes is longer than the limit of {limit} bytes; split it or raise the limit")]
    ValueTooLong {
        /// The value's length in bytes.
        len: usize,
        /// The longest value, in bytes.
        limit: usize,
    },
    /// The write would take the store over its memory budget.
    #[error(
        "memory in use is {used} bytes, at the budget of {budget} bytes; remove keys or raise the budget"
    )]
    OverBudget {
        /// Live bytes before the write.
        used: usize,
        /// The budget in bytes.
        budget: usize,
    },
    /// A value was asked of a row of columns, or columns of a row with one value.
    #[error(
        "the key holds {found}, and this operation needs {needed}; remove the key first or use the other operation"
    )]
    WrongKind {
        /// What the row holds.
        found: &'static str,
        /// What the operation works on.
        needed: &'static str,
    },
    /// An increment of something that is not a decimal 64-bit integer.
    #[error("the value is not a decimal integer between -2^63 and 2^63 - 1")]
    NotAnInteger,
    /// An increment past the ends of the 64-bit integers.
    #[error("{value} + {by} leaves the 64-bit integers; the value is unchanged")]
    Overflow {
        /// The value before.
        value: i64,
        /// What should have been added.
        by: i64,
    },
    /// Writes have stopped, because the disk failed; reads go on.
    #[error("writes are stopped: {cause}; reads go on; mend the disk and open the store again")]
    WritesStopped {
        /// The first failure.
        cause: String,
    },
    /// The store was closed.
    #[error("the store is closed; open it again")]
    Closed,
    /// The path of the data folder is a file.
    #[error("{path} is a file; name a folder, or a path that does not exist yet")]
    NotAFolder {
        /// The path that was given.
        path: PathBuf,
    },
    /// The data folder is in use by another process (or by another store of this one).
    #[error("{path} is in use by another process; stop that one or choose another data folder")]
    Locked {
        /// The data folder.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("cannot {doing} {path}: {cause}")]
    Io {
        /// What was being done: "open", "read", ...
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: String,
        /// Its kind, to tell a missing permission from a full disk.
        kind: std::io::ErrorKind,
    },
    /// A file is of a format that this program does not know.
    #[error("{path} has format version {found}, and this program knows {known}; use a program that knows it")]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    /// A file that was durable is damaged.
    #[error("{path} is damaged at byte {offset}: {what}; restore the file from a copy, or run `skein check`")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// An option has a value that cannot work.
    #[error("option {name}: {why}")]
    BadOption {
        /// The option's name.
        name: &'static str,
        /// Why it cannot work, and what can.
        why: String,
    },
}
