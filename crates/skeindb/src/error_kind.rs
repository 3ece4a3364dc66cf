//! The kinds of errors, by the reaction that a caller has to them.

use crate::Error;

/// The kind of an [`Error`], for programs that act on errors. [`ErrorCode`](crate::ErrorCode) is
/// finer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another write changed rows or ranges that a transaction had read. Begin it again.
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
        self.code().kind()
    }
}
