//! What can go wrong, each with the value, the limit and the way out.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::storage::LockHolder;

/// What an error of a segment's sync says was being done.
pub(crate) const SYNC: &str = "sync the log segment";

/// What an operation of the log answers.
pub type Result<T> = std::result::Result<T, LogError>;

/// Why an operation was not done.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
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
    /// The folder is in use by another process, or by another log of this one.
    #[error(
        "{path} is in use by {holder}, after a wait of {waited:.1?}; stop that process or choose another folder"
    )]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Who has it.
        holder: LockHolder,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A path that should be a folder is a file.
    #[error("{path} is a file; name a folder, or a path that does not exist yet")]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A file is of a format that this program does not know. Nothing was changed.
    #[error("{path} has format version {found}, and this program knows {known}; use a program that knows it")]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    /// A file that was durable is damaged, or missing. Nothing was changed.
    #[error("{path} is damaged at byte {offset}: {what}; restore the file from a copy, or run `skein check`")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// Writes have stopped, because a write or a sync failed. What failed is never tried again.
    #[error("writes are stopped: {cause}; reads go on; mend the disk and open the log again")]
    Poisoned {
        /// The first failure.
        cause: String,
    },
    /// Writes are stopped for want of room on the disk, or because too many files are open; what they needed is tried again all the while.
    #[error(
        "writes are stopped: {cause}; reads go on; make room on the disk (or let fewer files be open, if these are too many), and \
         writes go on by themselves"
    )]
    NoRoom {
        /// What failed last.
        cause: String,
    },
    /// The log was closed.
    #[error("the log is closed; open it again")]
    Closed,
    /// Somebody wished that the opening ends (see
    /// [`OpenProgress::cancel`](crate::OpenProgress::cancel)). Nothing is lost.
    #[error("opening was ended before it was done; open it again")]
    Cancelled,
    /// An option has a value that cannot work.
    #[error("option {name}: {why}")]
    BadOption {
        /// The option's name.
        name: &'static str,
        /// Why it cannot work, and what can.
        why: String,
    },
}

impl LogError {
    /// Damage, or a file that is missing.
    pub(crate) fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), offset, what: what.into() }
    }

    /// Whether there was no room for something that can be tried again: nothing of it counts yet. A sync that failed cannot, whatever it says.
    /// A file that cannot be opened because too many are open is waited for as room on the disk is.
    pub(crate) fn is_no_room(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { doing, kind: StorageFull | QuotaExceeded | FileTooLarge, .. } if *doing != SYNC)
    }

    /// A failed file operation, with what was being done to which file.
    pub fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), cause: error.to_string(), kind: kind_of(error) }
    }
}

/// What kind of error it is. That too many files are open, in this process or on this machine, is a quota that is used up; `std` has no
/// kind of its own for it.
pub(crate) fn kind_of(error: &io::Error) -> io::ErrorKind {
    use rustix::io::Errno;
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => io::ErrorKind::QuotaExceeded,
        _ => error.kind(),
    }
}
