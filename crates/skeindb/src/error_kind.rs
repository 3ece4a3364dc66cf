//! The kinds of errors: what a caller can do about one.

use skein_data::{EngineError, RowError};
use skein_disk::DiskError;
use skein_log::LogError;

use crate::Error;

/// The kind of an [`Error`], for programs that act on errors, and for bindings to other languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another write changed what a transaction had read. Begin it again.
    Conflict,
    /// The closure of a transaction gave up, or returned an error of its own.
    Aborted,
    /// The database, or the snapshot, has ended.
    Closed,
    /// The database was opened before this process was forked.
    Forked,
    /// A keyspace is absent, was dropped, or exists already.
    Keyspace,
    /// An argument or an option is wrong in itself.
    Invalid,
    /// A key, a value or an amount is beyond a limit.
    Limit,
    /// The key holds something else than the operation needs.
    WrongKind,
    /// Another process, or another handle, uses the folder.
    Locked,
    /// A file operation failed, the disk is full, or writes are stopped after a failure.
    Io,
    /// A file is damaged, or of a format that this program does not know.
    Damaged,
    /// An opening or another long operation was cancelled.
    Cancelled,
    /// None of these.
    Other,
}

impl Error {
    /// Returns the kind of the error.
    ///
    /// ```
    /// use skeindb::{Db, ErrorKind};
    ///
    /// let db = Db::in_memory()?;
    /// let error = db.keyspace("").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Invalid);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => of_engine(error),
            Self::Aborted { .. } | Self::Other(_) => ErrorKind::Aborted,
            Self::Conflict { .. } => ErrorKind::Conflict,
            Self::Closed => ErrorKind::Closed,
            Self::Forked => ErrorKind::Forked,
            Self::KeyspaceDropped { .. } | Self::NoKeyspace { .. } | Self::KeyspaceExists { .. } => {
                ErrorKind::Keyspace
            }
            #[cfg(feature = "tokio")]
            Self::NoRuntime => ErrorKind::Invalid,
            Self::KeyTooLong { .. } => ErrorKind::Limit,
            Self::Folder { .. } => ErrorKind::Io,
            Self::Canceled { .. } => ErrorKind::Cancelled,
            Self::Decode(_) => ErrorKind::WrongKind,
            Self::KeyspaceName { .. }
            | Self::Encode(_)
            | Self::NoKeyspaces
            | Self::Foreign { .. }
            | Self::KeyReserved
            | Self::NotSorted { .. }
            | Self::SavepointGone
            | Self::BadOption { .. } => ErrorKind::Invalid,
        }
    }
}

fn of_engine(error: &EngineError) -> ErrorKind {
    match error {
        EngineError::Rows(error) => of_rows(error),
        EngineError::Disk(error) => of_disk(error),
        EngineError::CacheTooSmall { .. }
        | EngineError::NoEviction { .. }
        | EngineError::NotOfRows { .. } => ErrorKind::Invalid,
        EngineError::NotARow { .. } => ErrorKind::WrongKind,
        _ => ErrorKind::Other,
    }
}

fn of_rows(error: &RowError) -> ErrorKind {
    use RowError as E;
    match error {
        E::KeyTooLong { .. }
        | E::ValueTooLong { .. }
        | E::WriteTooLong { .. }
        | E::OverBudget { .. }
        | E::IndexFull { .. }
        | E::TooManySnapshots { .. }
        | E::MemberTooLong { .. }
        | E::ColumnNameTooLong { .. }
        | E::Overflow { .. } => ErrorKind::Limit,
        E::SnapshotEnded { .. } | E::Closed => ErrorKind::Closed,
        E::WrongKind { .. } | E::OfAnotherKey | E::SetIsGone => ErrorKind::WrongKind,
        E::NotANumber
        | E::NotAnInteger
        | E::InsideWrite { .. }
        | E::BadOption { .. }
        | E::NotAFolder { .. }
        | E::OtherEngine { .. } => ErrorKind::Invalid,
        E::WritesStopped { .. } | E::NoRoomOnDisk { .. } | E::Io { .. } => ErrorKind::Io,
        E::Cancelled => ErrorKind::Cancelled,
        E::Locked { .. } => ErrorKind::Locked,
        E::UnknownFormat { .. } | E::Damaged { .. } | E::LogFolderMissing { .. } | E::Foreign { .. } => {
            ErrorKind::Damaged
        }
        _ => ErrorKind::Other,
    }
}

fn of_disk(error: &DiskError) -> ErrorKind {
    use DiskError as E;
    match error {
        E::TransactionTooLong { .. }
        | E::ReadTooLong { .. }
        | E::FileFull { .. }
        | E::TooManySnapshots { .. }
        | E::KeyTooLong { .. }
        | E::ValueTooLong { .. }
        | E::Overflow { .. } => ErrorKind::Limit,
        E::BadOption { .. } | E::OtherEngine { .. } | E::NotAnInteger { .. } => ErrorKind::Invalid,
        E::Io { .. } | E::Stopped { .. } => ErrorKind::Io,
        E::Closed { .. } => ErrorKind::Closed,
        E::NotADiskFile { .. }
        | E::UnknownFormat { .. }
        | E::Damaged { .. }
        | E::Interrupted { .. }
        | E::TrieDiffers { .. }
        | E::ValuesDiffer { .. } => ErrorKind::Damaged,
        E::Log(error) => of_log(error),
        _ => ErrorKind::Other,
    }
}

fn of_log(error: &LogError) -> ErrorKind {
    of_rows(&RowError::from(error.clone()))
}
