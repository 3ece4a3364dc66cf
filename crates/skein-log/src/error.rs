//! The errors of the log. Each message names the value, the limit and the way out.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::storage::{LockHolder, NOT_A_FILE};

/// The operation that errors of a segment's sync name.
pub(crate) const SYNC: &str = "sync the log segment";

/// The result of an operation of the log.
pub type Result<T> = std::result::Result<T, LogError>;

/// The reason why an operation failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A file operation failed.
    #[error("cannot {doing} {path}: {cause}")]
    Io {
        /// The operation: "open", "read", ...
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The message of the system.
        cause: String,
        /// The kind of error, to distinguish a missing permission from a full disk.
        kind: io::ErrorKind,
    },
    /// Another process, or another log of this process, uses the folder.
    #[error(
        "{path} is in use by {holder}, after a wait of {waited:.1?}; {}, or choose another folder",
        .holder.way_out()
    )]
    Locked {
        /// The folder.
        path: PathBuf,
        /// The process that uses it.
        holder: LockHolder,
        /// How long this process waited.
        waited: Duration,
    },
    /// The path of a folder leads to a file.
    #[error("{path} is a file; name a folder, or a path that does not exist yet")]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A file has a format that this program does not know. Nothing was changed.
    #[error(
        "{path} has format version {found}, and this program reads version {known} alone; use the program that wrote it, or \
         restore a backup if none did: then the file is damaged"
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// A file that was durable is damaged or missing. Nothing was changed.
    #[error(
        "{path} is damaged at byte {offset}: {what}; run `skein check` to see how much is damaged, then restore a backup"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The position in the file.
        offset: u64,
        /// The damage.
        what: String,
    },
    /// Writes have stopped because a write or a sync failed. The failed operation is never tried
    /// again.
    #[error("writes are stopped: {cause}; reads continue; repair the disk and open the log again")]
    Poisoned {
        /// The first failure.
        cause: String,
    },
    /// Writes have stopped because the disk is full or too many files are open. The log tries the
    /// failed operation again several times a second.
    #[error(
        "writes are stopped: {cause}; reads continue; make room on the disk (or close files, if too many are \
         open), and writes continue automatically"
    )]
    NoRoom {
        /// The latest failure.
        cause: String,
    },
    /// The log was closed.
    #[error("the log is closed; open it again")]
    Closed,
    /// A caller cancelled the opening (see [`OpenProgress::cancel`](crate::OpenProgress::cancel)).
    /// Nothing is lost.
    #[error("the opening was cancelled; open the log again")]
    Cancelled,
    /// An option is out of range.
    #[error("option {name}: {why}")]
    BadOption {
        /// The option's name.
        name: &'static str,
        /// The reason, and the allowed values.
        why: String,
    },
}

impl LogError {
    /// Creates an error for a damaged or missing file.
    pub(crate) fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), offset, what: what.into() }
    }

    /// Returns whether the operation lacked space and can be tried again, because nothing of it
    /// counts yet. False for a failed sync, whatever its error says. A lack of file descriptors is
    /// treated like a lack of space.
    pub(crate) fn is_no_room(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { doing, kind: StorageFull | QuotaExceeded | FileTooLarge, .. } if *doing != SYNC)
    }

    /// Adds the size of the file to the message, if the operation lacked space.
    pub(crate) fn with_size(mut self, bytes: u64) -> Self {
        if let Self::Io { cause, kind: io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge, .. } =
            &mut self
        {
            *cause = format!("{cause} for its {bytes} bytes");
        }
        self
    }

    /// Creates an error for a failed file operation: the operation, the file and the system's
    /// error. A path that leads to no file is damage.
    pub fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        if error.kind() == NOT_A_FILE {
            return Self::damaged(path, 0, error.to_string());
        }
        Self::Io { doing, path: path.to_owned(), cause: error.to_string(), kind: kind_of(error) }
    }
}

/// Returns the kind of an error. Too many open files, in this process or on this machine, count as
/// an exhausted quota, because `std` has no kind for them.
pub(crate) fn kind_of(error: &io::Error) -> io::ErrorKind {
    use rustix::io::Errno;
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => io::ErrorKind::QuotaExceeded,
        _ => error.kind(),
    }
}
