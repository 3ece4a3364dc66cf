//! The codes of errors: the one place that sorts the errors of all layers.

use std::io;

use skein_data::{EngineError, RowError};
use skein_disk::DiskError;

use crate::{Error, ErrorKind};

/// The exact kind of an [`Error`], for bindings to languages that number their errors. A program in
/// Rust needs its [`ErrorKind`] or the error itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// Another write changed rows or ranges that a transaction had read. Begin it again.
    Conflict,
    /// The closure of a transaction gave up, or returned an error of its own.
    Aborted,
    /// The database is closed.
    Closed,
    /// The snapshot was ended because it kept too much memory.
    SnapshotEnded,
    /// The database was opened before this process was forked.
    Forked,
    /// The keyspace was dropped.
    KeyspaceDropped,
    /// There is no keyspace of this name.
    NoKeyspace,
    /// There is a keyspace of this name already.
    KeyspaceExists,
    /// A keyspace cannot have this name.
    KeyspaceName,
    /// A keyspace or savepoint belongs to another database or transaction.
    Foreign,
    /// The default keyspace cannot have this key.
    KeyReserved,
    /// The transaction was rolled back to an earlier savepoint, so this one is no longer valid.
    SavepointGone,
    /// An option has a value that it cannot have.
    BadOption,
    /// Another argument is wrong in itself, or the call is made at the wrong time.
    Misuse,
    /// The value is not a number of the kind that the operation adds to.
    NotANumber,
    /// A key, a value, a batch or an answer is longer than the limit.
    TooLong,
    /// The sum does not fit its type.
    Overflow,
    /// The memory limit is reached, or the index or the page file is full.
    Full,
    /// Too many snapshots and transactions are live.
    TooManySnapshots,
    /// The key holds something else than the operation needs.
    WrongKind,
    /// Another process, or another handle, uses the folder.
    Locked,
    /// The file system refused an operation.
    Io,
    /// The disk is full.
    NoSpace,
    /// Writes are stopped because the disk failed.
    WritesStopped,
    /// The folder cannot be used for a backup, a restore or a check.
    Folder,
    /// The folder is a file, or belongs to the other engine.
    OtherEngine,
    /// The folder has other files, or those of another version or with other options.
    UnknownFormat,
    /// A file is damaged.
    Damaged,
    /// An opening or another long operation was cancelled.
    Cancelled,
    /// None of these.
    Other,
}

impl ErrorCode {
    /// Returns the kind of all errors with this code.
    ///
    /// ```
    /// use skeindb::{ErrorCode, ErrorKind};
    ///
    /// assert_eq!(ErrorCode::NoSpace.kind(), ErrorKind::Io);
    /// ```
    pub fn kind(self) -> ErrorKind {
        match self {
            Self::Conflict => ErrorKind::Conflict,
            Self::Aborted => ErrorKind::Aborted,
            Self::Closed | Self::SnapshotEnded => ErrorKind::Closed,
            Self::Forked => ErrorKind::Forked,
            Self::KeyspaceDropped | Self::NoKeyspace | Self::KeyspaceExists => ErrorKind::Keyspace,
            Self::KeyspaceName
            | Self::Foreign
            | Self::KeyReserved
            | Self::SavepointGone
            | Self::BadOption
            | Self::Misuse
            | Self::NotANumber
            | Self::OtherEngine => ErrorKind::Invalid,
            Self::TooLong | Self::Overflow | Self::Full | Self::TooManySnapshots => ErrorKind::Limit,
            Self::WrongKind => ErrorKind::WrongKind,
            Self::Locked => ErrorKind::Locked,
            Self::Io | Self::NoSpace | Self::WritesStopped | Self::Folder => ErrorKind::Io,
            Self::UnknownFormat | Self::Damaged => ErrorKind::Damaged,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Other => ErrorKind::Other,
        }
    }
}

impl Error {
    /// Returns the code of the error.
    ///
    /// ```
    /// use skeindb::{Db, ErrorCode};
    ///
    /// let error = Db::in_memory()?.rename_keyspace("geese", "birds").unwrap_err();
    /// assert_eq!(error.code(), ErrorCode::NoKeyspace);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Engine(error) => of_engine(error),
            Self::Aborted { .. } | Self::Other(_) => ErrorCode::Aborted,
            Self::Conflict { .. } => ErrorCode::Conflict,
            Self::Closed => ErrorCode::Closed,
            Self::Forked => ErrorCode::Forked,
            Self::KeyspaceDropped { .. } => ErrorCode::KeyspaceDropped,
            Self::NoKeyspace { .. } => ErrorCode::NoKeyspace,
            Self::KeyspaceExists { .. } => ErrorCode::KeyspaceExists,
            Self::KeyspaceName { .. } => ErrorCode::KeyspaceName,
            Self::Foreign { .. } => ErrorCode::Foreign,
            Self::KeyTooLong { .. } => ErrorCode::TooLong,
            Self::KeyReserved => ErrorCode::KeyReserved,
            Self::SavepointGone => ErrorCode::SavepointGone,
            Self::Folder { .. } => ErrorCode::Folder,
            Self::Canceled { .. } => ErrorCode::Cancelled,
            Self::Decode(_) | Self::TypesDiffer { .. } => ErrorCode::WrongKind,
            Self::BadOption { .. } | Self::NoKeyspaces => ErrorCode::BadOption,
            Self::Encode(_) | Self::NotSorted { .. } | Self::WithinExclusive => ErrorCode::Misuse,
            #[cfg(feature = "tokio")]
            Self::NoRuntime => ErrorCode::Misuse,
        }
    }
}

fn of_engine(error: &EngineError) -> ErrorCode {
    match error {
        EngineError::Rows(error) => of_rows(error),
        EngineError::Disk(error) => of_disk(error),
        EngineError::CacheTooSmall { .. } | EngineError::NoEviction { .. } => ErrorCode::BadOption,
        EngineError::NotOfRows { .. } => ErrorCode::OtherEngine,
        EngineError::NotARow { .. } => ErrorCode::WrongKind,
        _ => ErrorCode::Other,
    }
}

fn of_rows(error: &RowError) -> ErrorCode {
    use RowError as E;
    match error {
        E::KeyTooLong { .. }
        | E::ValueTooLong { .. }
        | E::WriteTooLong { .. }
        | E::MemberTooLong { .. }
        | E::ColumnNameTooLong { .. } => ErrorCode::TooLong,
        E::OverBudget { .. } | E::IndexFull { .. } => ErrorCode::Full,
        E::TooManySnapshots { .. } => ErrorCode::TooManySnapshots,
        E::Overflow { .. } => ErrorCode::Overflow,
        E::SnapshotEnded { .. } => ErrorCode::SnapshotEnded,
        E::Closed => ErrorCode::Closed,
        E::WrongKind { .. } | E::OfAnotherKey | E::SetIsGone => ErrorCode::WrongKind,
        E::NotANumber | E::NotAnInteger => ErrorCode::NotANumber,
        E::InsideWrite { .. } => ErrorCode::Misuse,
        E::BadOption { .. } => ErrorCode::BadOption,
        E::NotAFolder { .. } | E::OtherEngine { .. } => ErrorCode::OtherEngine,
        E::WritesStopped { .. } => ErrorCode::WritesStopped,
        E::NoRoomOnDisk { .. } => ErrorCode::NoSpace,
        E::Io { kind, .. } => of_io(*kind),
        E::Cancelled => ErrorCode::Cancelled,
        E::Locked { .. } => ErrorCode::Locked,
        E::UnknownFormat { .. } | E::LogFolderMissing { .. } | E::Foreign { .. } => ErrorCode::UnknownFormat,
        E::Damaged { .. } => ErrorCode::Damaged,
        _ => ErrorCode::Other,
    }
}

fn of_disk(error: &DiskError) -> ErrorCode {
    use DiskError as E;
    match error {
        E::TransactionTooLong { .. }
        | E::ReadTooLong { .. }
        | E::KeyTooLong { .. }
        | E::ValueTooLong { .. } => ErrorCode::TooLong,
        E::FileFull { .. } => ErrorCode::Full,
        E::TooManySnapshots { .. } => ErrorCode::TooManySnapshots,
        E::Overflow { .. } => ErrorCode::Overflow,
        E::BadOption { .. } => ErrorCode::BadOption,
        E::OtherEngine { .. } => ErrorCode::OtherEngine,
        E::NotAnInteger { .. } => ErrorCode::NotANumber,
        E::Io { kind, .. } => of_io(*kind),
        E::Stopped { .. } => ErrorCode::WritesStopped,
        E::Closed { .. } => ErrorCode::Closed,
        E::NotADiskFile { .. } | E::UnknownFormat { .. } | E::TrieDiffers { .. } | E::ValuesDiffer { .. } => {
            ErrorCode::UnknownFormat
        }
        E::Damaged { .. }
        | E::Interrupted { .. }
        | E::LogMissing { .. }
        | E::FileMissing { .. }
        | E::TwoStores { .. } => ErrorCode::Damaged,
        E::Log(error) => of_rows(&RowError::from(error.clone())),
        _ => ErrorCode::Other,
    }
}

fn of_io(kind: io::ErrorKind) -> ErrorCode {
    if kind == io::ErrorKind::StorageFull { ErrorCode::NoSpace } else { ErrorCode::Io }
}
