//! What can go wrong, each with the value, the limit and the way out.

use std::io;
use std::path::{Path, PathBuf};

/// What an operation of the disk engine answers.
pub type Result<T> = std::result::Result<T, DiskError>;

/// Why an operation was not done.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// A file operation failed.
    #[error("cannot {doing} {path}: {cause}")]
    Io {
        /// What was being done: "read", "write", ...
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: String,
        /// Its kind, to tell a full disk from a missing permission.
        kind: io::ErrorKind,
    },
    /// The file is not one of this engine.
    #[error(
        "{path} is not a disk file of SkeinDB: {why}; name another file, or a path that does not exist yet"
    )]
    NotADiskFile {
        /// The file.
        path: PathBuf,
        /// How that shows.
        why: String,
    },
    /// The file is of a format that this program does not know. Nothing was changed.
    #[error("{path} has format version {found}, and this program knows {known}; use a program that knows it")]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this program reads and writes.
        known: u32,
    },
    /// A page of the file is not as it was written.
    #[error(
        "{path} is damaged in the page at byte {offset}: {what}; restore the file from a copy, or run `skein check`"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the page begins.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// Writes have stopped, because a sync failed. What failed is never tried again.
    #[error("writes to {path} are stopped: {cause}; reads go on; mend the disk and open the file again")]
    Stopped {
        /// The file.
        path: PathBuf,
        /// The first failure.
        cause: String,
    },
    /// All pages of the cache are in use at once.
    #[error("all {cache} pages of the cache are in use at once; open the file with a larger cache")]
    CacheInUse {
        /// Pages of the cache.
        cache: usize,
    },
    /// The file has as many pages as page numbers reach.
    #[error("the file has {pages} pages, the most that there can be; remove keys, and compact it")]
    FileFull {
        /// Pages of the file.
        pages: u32,
    },
    /// An option is out of its range.
    #[error("the option `{name}` cannot be {value}: {why}")]
    BadOption {
        /// Its name.
        name: &'static str,
        /// What it was.
        value: String,
        /// What it can be.
        why: String,
    },
    /// The log says so.
    #[error(transparent)]
    Log(#[from] skein_log::LogError),
}

impl DiskError {
    pub(crate) fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), cause: error.to_string(), kind: error.kind() }
    }
}
