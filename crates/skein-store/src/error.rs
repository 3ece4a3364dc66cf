//! What can go wrong, each with the value, the limit and the way out.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skein_index::IndexError;
use skein_index::skip_list;
use skein_log::storage::LockHolder;
use skein_log::{LogError, MAX_PAYLOAD};

use crate::options::{IndexKind, SNAPSHOTS_MAX};

/// What an operation of the store answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation was not done. Nothing of it was done then, unless the variant says otherwise.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key is longer than the option `limits.key_bytes` allows.
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
    /// What the log would have to keep of the write (names of columns, and some bytes for each, included) is longer than
    /// a record of the log may be.
    #[error("the write takes {len} bytes in the log, more than the limit of {limit} bytes; split it")]
    WriteTooLong {
        /// Bytes in the log.
        len: usize,
        /// The most there can be.
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
    /// The index has no place for another key; see the index that the store was opened with.
    #[error("the store's index has no place for another key beside its {keys}; use another kind of index")]
    IndexFull {
        /// The keys it has.
        keys: usize,
    },
    /// The index that the store was opened with has no snapshots.
    #[error(
        "the index {index} has no snapshots; open the store with one that has ({}), which takes the same data folder",
        IndexKind::with_snapshots()
    )]
    NoSnapshots {
        /// The store's index.
        index: IndexKind,
    },
    /// As many snapshots are live as the option `limits.snapshots` allows.
    #[error(
        "{live} snapshots are live, which is the limit of {limit}; drop one, or raise the limit (at most {SNAPSHOTS_MAX})"
    )]
    TooManySnapshots {
        /// How many are live.
        live: usize,
        /// How many may be.
        limit: usize,
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
    /// The member of a sorted set is longer than one can be.
    #[error("member of {len} bytes is longer than the limit of {limit} bytes; shorten it or hash its tail")]
    MemberTooLong {
        /// The member's length in bytes.
        len: usize,
        /// The longest member, in bytes.
        limit: usize,
    },
    /// The name of a column is too long for columns that are too many for a row; see [`MEMBER_BYTES_MAX`](crate::MEMBER_BYTES_MAX).
    #[error(
        "a column's name of {len} bytes is longer than the limit of {limit} bytes where a key has more than 64 columns; shorten it or hash its tail"
    )]
    ColumnNameTooLong {
        /// The name's length in bytes.
        len: usize,
        /// The longest name, in bytes.
        limit: usize,
    },
    /// A row that stands for a sorted set, or for columns that are too many for a row, was put to another key than its own, or in another
    /// store.
    #[error(
        "the row stands for a sorted set or for many columns, which belong to its own key; give that key another name (`rename`), \
         or copy the members"
    )]
    OfAnotherKey,
    /// The row that a key is to get by its new name stands for a sorted set, or for many columns, that were removed meanwhile.
    #[error("what the key held was removed meanwhile; look the key up again")]
    SetIsGone,
    /// A score that is not a number.
    #[error("a score has to be a number; infinities are")]
    NotANumber,
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
    /// Writes wait for room on the disk, and go on by themselves when there is some; reads go on.
    #[error(
        "writes are stopped: {cause}; reads go on; make room on the disk (or let fewer files be open, if these are too many), and \
         writes go on by themselves"
    )]
    NoRoomOnDisk {
        /// What failed last.
        cause: String,
    },
    /// The calling thread is writing to this store already, and would wait for the end of its own write.
    #[error(
        "{doing} inside a `write`, a scope or a closure of one, on the same thread and store, would wait for its own end; use the writer \
         that is there, or do it afterwards"
    )]
    InsideWrite {
        /// What was called.
        doing: &'static str,
    },
    /// The store was closed.
    #[error("the store is closed; open it again")]
    Closed,
    /// Somebody wished that the opening ends (see
    /// [`OpenProgress::cancel`](crate::OpenProgress::cancel)). Nothing is lost.
    #[error("opening was ended before it was done; open the store again")]
    Cancelled,
    /// The path of the data folder is a file.
    #[error("{path} is a file; name a folder, or a path that does not exist yet")]
    NotAFolder {
        /// The path that was given.
        path: PathBuf,
    },
    /// The data folder is in use by another process (or by another store of this one).
    #[error(
        "{path} is in use by {holder}, after a wait of {waited:.1?}; stop that process or choose another data folder"
    )]
    Locked {
        /// The data folder, or one of the log folders.
        path: PathBuf,
        /// Who has it.
        holder: LockHolder,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The folder is one of the disk engine. Nothing was changed.
    #[error(
        "{path} is a data folder of the disk engine (it has a file `data.skein`); open it with that engine, or name another folder"
    )]
    OtherEngine {
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
        kind: io::ErrorKind,
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
    /// A log folder that the store needs is not there, or not the one that it was.
    #[error(
        "the log folder {path} is missing (it has no file log.roster of this store): mount its disk, or name it at its new place as \
         a log folder; if it is lost for good, giving it up goes back to the newest checkpoint"
    )]
    LogFolderMissing {
        /// The log folder, as the data folder's identity names it.
        path: PathBuf,
    },
    /// A log folder belongs to another store.
    #[error("{path} holds the logs of another store (id {found}, this one is {id}); name another folder")]
    Foreign {
        /// The log folder.
        path: PathBuf,
        /// Whose logs it holds.
        found: String,
        /// This store's id.
        id: String,
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

impl Error {
    /// A failed file operation, with what was being done to which file.
    pub(crate) fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), cause: error.to_string(), kind: error.kind() }
    }

    /// `Err` if a value, or the columns of a row, of `len` bytes are over `limit`.
    #[inline]
    pub(crate) fn check_value_len(len: usize, limit: usize) -> Result<()> {
        if len > limit { Err(Self::ValueTooLong { len, limit }) } else { Ok(()) }
    }

    /// `Err` if a write needs a record of `len` bytes, and there are none that long.
    pub(crate) fn check_record_len(len: usize) -> Result<()> {
        if len > MAX_PAYLOAD { Err(Self::WriteTooLong { len, limit: MAX_PAYLOAD }) } else { Ok(()) }
    }

    pub(crate) fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), offset, what: what.into() }
    }
}

impl From<IndexError> for Error {
    fn from(refused: IndexError) -> Self {
        match refused {
            IndexError::KeyTooLong { len, limit } => Self::KeyTooLong { len, limit },
            IndexError::OverBudget { used, budget } => Self::OverBudget { used, budget },
            IndexError::Full { keys } => Self::IndexFull { keys },
        }
    }
}

impl From<skip_list::TooManySnapshots> for Error {
    fn from(skip_list::TooManySnapshots { live, limit }: skip_list::TooManySnapshots) -> Self {
        Self::TooManySnapshots { live, limit }
    }
}

impl From<LogError> for Error {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Io { doing, path, cause, kind } => Self::Io { doing, path, cause, kind },
            LogError::Locked { path, holder, waited } => Self::Locked { path, holder, waited },
            LogError::NotAFolder { path } => Self::NotAFolder { path },
            LogError::UnknownFormat { path, found, known } => Self::UnknownFormat { path, found, known },
            LogError::Damaged { path, offset, what } => Self::Damaged { path, offset, what },
            LogError::Poisoned { cause } => Self::WritesStopped { cause },
            LogError::NoRoom { cause } => Self::NoRoomOnDisk { cause },
            LogError::Closed => Self::Closed,
            LogError::Cancelled => Self::Cancelled,
            LogError::BadOption { name, why } => Self::BadOption { name, why },
            other => Self::WritesStopped { cause: other.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_up_to_the_limit_are_taken() {
        assert!(Error::check_value_len(7, 7).is_ok() && Error::check_record_len(MAX_PAYLOAD).is_ok());
        let message = Error::check_value_len(8, 7).unwrap_err().to_string();
        assert_eq!(
            message,
            "value of 8 bytes is longer than the limit of 7 bytes; split it or raise the limit"
        );
        let message = Error::check_record_len(MAX_PAYLOAD + 1).unwrap_err().to_string();
        assert!(message.contains("1073741825 bytes") && message.contains("limit of 1073741824"), "{message}");
    }
}
