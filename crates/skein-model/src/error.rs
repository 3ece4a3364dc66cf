//! The errors of the store. Each names the value, the limit and the way out.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skein_index::IndexError;
use skein_log::storage::{LockHolder, NOT_A_FILE};
use skein_log::{LogError, MAX_PAYLOAD};

use crate::limits::{MEMBER_BYTES_MAX, SNAPSHOTS_MAX};

/// The result of an operation of the store.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why an operation failed. It then changed nothing, unless the variant says otherwise.
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
    /// The value (all columns of a row together) is longer than the option `limits.value_bytes`
    /// allows.
    #[error("value of {len} bytes is longer than the limit of {limit} bytes; split it or raise the limit")]
    ValueTooLong {
        /// The value's length in bytes.
        len: usize,
        /// The longest value, in bytes.
        limit: usize,
    },
    /// The record of the write is longer than a log record may be. The record includes the names of
    /// columns and some bytes for each.
    #[error("the write takes {len} bytes in the log, more than the limit of {limit} bytes; split it")]
    WriteTooLong {
        /// Bytes in the log.
        len: usize,
        /// The largest number of bytes of a record.
        limit: usize,
    },
    /// The write would exceed the memory limit.
    #[error("memory in use is {used} bytes, and the limit is {budget} bytes; remove keys or raise the limit")]
    OverBudget {
        /// Live bytes before the write.
        used: usize,
        /// The memory limit in bytes.
        budget: usize,
    },
    /// The index of the store has no space for another key.
    #[error("the store's index is full at {keys} keys; use another kind of index")]
    IndexFull {
        /// The number of keys in the index.
        keys: usize,
    },
    /// The number of live snapshots is at the option `limits.snapshots`, which is `max_snapshots`
    /// in the library and the server.
    #[error(
        "{live} snapshots are live, which is the limit of {limit} (each transaction that reads has one); end one{}",
        if *limit < SNAPSHOTS_MAX { ", or raise `max_snapshots`" } else { "" }
    )]
    TooManySnapshots {
        /// The number of live snapshots.
        live: usize,
        /// The largest number of live snapshots.
        limit: usize,
    },
    /// The snapshot was ended, because more memory was kept for snapshots than the option
    /// `limits.snapshot_bytes` allows, which is `max_snapshot_memory` in the library and the
    /// server.
    #[error(
        "the snapshot has ended: more than {limit} bytes were kept for snapshots; take another one and read it faster, or raise `max_snapshot_memory`"
    )]
    SnapshotEnded {
        /// The limit in bytes.
        limit: usize,
    },
    /// The operation needs a value and the row has columns, or the reverse.
    #[error(
        "the key holds {found}, and this operation needs {needed}; remove the key first or use the other operation"
    )]
    WrongKind {
        /// The contents of the row.
        found: &'static str,
        /// The contents that the operation needs.
        needed: &'static str,
    },
    /// The member of a set is too long.
    #[error("member of {len} bytes is longer than the limit of {limit} bytes; shorten it or hash its tail")]
    MemberTooLong {
        /// The member's length in bytes.
        len: usize,
        /// The longest member, in bytes.
        limit: usize,
    },
    /// The name of a column is too long for a spread hash; see
    /// [`MEMBER_BYTES_MAX`](crate::MEMBER_BYTES_MAX).
    #[error(
        "a column's name of {len} bytes is longer than the limit of {limit} bytes where a key has more than 64 columns; shorten it or hash its tail"
    )]
    ColumnNameTooLong {
        /// The name's length in bytes.
        len: usize,
        /// The longest name, in bytes.
        limit: usize,
    },
    /// A row that stands for a set or for spread columns was put to another key or to
    /// another store.
    #[error(
        "the row stands for a set or for spread columns, which belong to its own key; \
         use `rename`, or copy the members"
    )]
    OfAnotherKey,
    /// During a rename, the set or the spread columns of the row were removed.
    #[error("the contents of the key were removed meanwhile; look the key up again")]
    SetIsGone,
    /// The score is NaN.
    #[error("a score must be a number; infinities are allowed")]
    NotANumber,
    /// An increment of contents that are not a decimal 64-bit integer.
    #[error("the value is not a decimal integer between -2^63 and 2^63 - 1")]
    NotAnInteger,
    /// The result of an increment is not a 64-bit integer.
    #[error("{value} + {by} is not a 64-bit integer; the value is unchanged")]
    Overflow {
        /// The value before.
        value: i64,
        /// The summand.
        by: i64,
    },
    /// Writes are stopped because the disk failed. Reads continue.
    #[error("writes are stopped: {cause}; reads continue; repair the disk and open the store again")]
    WritesStopped {
        /// The first failure.
        cause: String,
    },
    /// Writes wait for space on the disk and continue when there is some. Reads continue.
    #[error(
        "writes are stopped: {cause}; reads continue; make room on the disk (or close files, if too many are \
         open), and writes continue automatically"
    )]
    NoRoomOnDisk {
        /// The last failure.
        cause: String,
    },
    /// The calling thread is already writing to this store, and would wait for the end of its own
    /// write.
    #[error(
        "{doing} inside a `write` or an open batch of the same thread and store would wait for its \
         own end; use that writer, or call it afterwards"
    )]
    InsideWrite {
        /// The operation that was called.
        doing: &'static str,
    },
    /// The engine that keeps the rows could not do the operation.
    #[error("{0}")]
    Engine(std::sync::Arc<dyn std::error::Error + Send + Sync>),
    /// The store was closed.
    #[error("the store is closed; open it again")]
    Closed,
    /// The opening or copy was cancelled by `OpenProgress::cancel` of the log.
    /// Nothing is lost.
    #[error("it was cancelled; open the store, or make the copy, again")]
    Cancelled,
    /// The path of the data folder is a file.
    #[error("{path} is a file; name a folder, or a path that does not exist yet")]
    NotAFolder {
        /// The path that was given.
        path: PathBuf,
    },
    /// The data folder is in use by another process, or by another store of this process.
    #[error(
        "{path} is in use by {holder}, after a wait of {waited:.1?}; {}, or choose another data folder",
        .holder.way_out()
    )]
    Locked {
        /// The data folder, or one of the log folders.
        path: PathBuf,
        /// The process that uses the folder.
        holder: LockHolder,
        /// How long the opening waited for it.
        waited: Duration,
    },
    /// The folder belongs to the disk engine. Nothing was changed.
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
        /// The operation: "open", "read", ...
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The message of the system.
        cause: String,
        /// The kind of the error, to tell a missing permission from a full disk.
        kind: io::ErrorKind,
    },
    /// The file has a format that this program does not know.
    #[error(
        "{path} has format version {found}, and this program reads version {known} alone; use the program that wrote it, or \
         restore a backup if none did: then the file is damaged"
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// A durable file is damaged.
    #[error(
        "{path} is damaged at byte {offset}: {what}; run `skein check` to see how much is damaged, then restore a backup"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset in the file.
        offset: u64,
        /// A description of the damage.
        what: String,
    },
    /// A log folder that the store needs is missing, or another folder is in its place.
    #[error(
        "the log folder {path} is missing (it has no file log.roster of this store): mount its disk, or name its new \
         place as a log folder; if it is lost for good, give it up and return to the newest checkpoint"
    )]
    LogFolderMissing {
        /// The log folder, as the identity of the data folder names it.
        path: PathBuf,
    },
    /// A log folder belongs to another store.
    #[error("{path} holds the logs of another store (id {found}, this one is {id}); name another folder")]
    Foreign {
        /// The log folder.
        path: PathBuf,
        /// The id of the store that owns its logs.
        found: String,
        /// This store's id.
        id: String,
    },
    /// An option has a value that cannot work.
    #[error("option {name}: {why}")]
    BadOption {
        /// The option's name.
        name: &'static str,
        /// The reason, and the values that work.
        why: String,
    },
}

impl Error {
    /// Returns the error of a failed file operation on `path`.
    pub fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        if error.kind() == NOT_A_FILE {
            return Self::damaged(path, 0, error.to_string());
        }
        Self::Io { doing, path: path.to_owned(), cause: error.to_string(), kind: error.kind() }
    }

    /// Checks the length of a value, or of the columns of a row.
    ///
    /// # Errors
    /// `ValueTooLong` if `len` bytes are more than `limit`.
    #[inline]
    pub fn check_value_len(len: usize, limit: usize) -> Result<()> {
        if len > limit { Err(Self::ValueTooLong { len, limit }) } else { Ok(()) }
    }

    /// Checks the name of a spread column.
    ///
    /// # Errors
    /// `ColumnNameTooLong` if a collection cannot hold it.
    pub fn check_column_name(name: &[u8]) -> Result<()> {
        let (len, limit) = (name.len(), MEMBER_BYTES_MAX);
        if len > limit { Err(Self::ColumnNameTooLong { len, limit }) } else { Ok(()) }
    }

    /// Checks the length of the record of a write.
    ///
    /// # Errors
    /// `WriteTooLong` if records cannot have `len` bytes.
    pub fn check_record_len(len: usize) -> Result<()> {
        if len > MAX_PAYLOAD { Err(Self::WriteTooLong { len, limit: MAX_PAYLOAD }) } else { Ok(()) }
    }

    /// Returns the error of a damaged file.
    pub fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Self {
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
    fn lengths_up_to_the_limit_are_accepted() {
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
