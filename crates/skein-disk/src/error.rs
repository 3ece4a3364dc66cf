//! Errors of the disk engine. Each message names the value, the limit and the way out.

use std::io;
use std::path::{Path, PathBuf};

use skein_log::storage::NOT_A_FILE;

use crate::{KeySpace, Values};

/// The result of an operation of the disk engine.
pub type Result<T> = std::result::Result<T, DiskError>;

/// The reason why an operation failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// A file operation failed.
    #[error("cannot {doing} {path}: {cause}")]
    Io {
        /// The operation: "read", "write", ...
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's message.
        cause: String,
        /// The kind of the system's error. It tells a full disk from a missing permission.
        kind: io::ErrorKind,
    },
    /// The file does not belong to this engine.
    #[error(
        "{path} is not a disk file of SkeinDB: {why}; name another file, or a path that does not exist yet"
    )]
    NotADiskFile {
        /// The file.
        path: PathBuf,
        /// The evidence.
        why: String,
    },
    /// The folder belongs to the engine in memory. Nothing was changed.
    #[error(
        "{path} is a data folder of the engine in memory (it has a file `identity`); open it with that engine, or name another folder"
    )]
    OtherEngine {
        /// The folder.
        path: PathBuf,
    },
    /// This program does not know the file's format version. Nothing was changed.
    #[error(
        "{path} has format version {found}, and this program reads version {known} alone; use the program that wrote it, or restore a backup if none did: then the file is damaged"
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// A page of the file is damaged.
    #[error(
        "{path} is damaged in the page at byte {offset}: {what}; run `skein check` to see how much is damaged, then restore a backup"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset of the page.
        offset: u64,
        /// The damage.
        what: String,
    },
    /// The log's list of segments is missing: its folder was lost, or is not mounted. Nothing was
    /// changed.
    #[error(
        "{path} is missing, but {file} has a checkpoint up to write {sequence}, and the log has all later writes; put the log's folder back, or restore a backup; if it is lost for good, give up the log's folder to continue with that checkpoint"
    )]
    LogMissing {
        /// The missing file in the log's folder.
        path: PathBuf,
        /// The page file.
        file: PathBuf,
        /// The last write that the page file has.
        sequence: u64,
    },
    /// The page file is missing, but the folder has a store's log. Nothing was changed.
    #[error("{path} is missing, but {log} has the log of a store; put the file back, or restore a backup")]
    FileMissing {
        /// The missing file.
        path: PathBuf,
        /// The log's folder.
        log: PathBuf,
    },
    /// The page file and the log belong to two stores. Nothing was changed.
    #[error(
        "{file} belongs to the store {file_store}, but {log} to the store {log_store}; put back the one that was moved, or restore a backup"
    )]
    TwoStores {
        /// The page file.
        file: PathBuf,
        /// The id of its store, in hexadecimal.
        file_store: String,
        /// The log's folder.
        log: PathBuf,
        /// The id of its store, in hexadecimal.
        log_store: String,
    },
    /// Writes are stopped because a sync failed. A failed sync is never retried.
    #[error("writes to {path} are stopped: {cause}; reads continue; repair the disk and open the file again")]
    Stopped {
        /// The file.
        path: PathBuf,
        /// The first failure.
        cause: String,
    },
    /// The store is closed, and another process may use its files.
    #[error("{path} was closed; open it again")]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// A transaction's writes are longer than a record of the log can be. Nothing was changed.
    #[error(
        "the writes of the transaction have {len} bytes, and a record of the log holds at most {limit}; write less at once"
    )]
    TransactionTooLong {
        /// Bytes of its record.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// The values of a read are together longer than the caller's limit.
    #[error(
        "the values of these keys have at least {len} bytes, and the limit is {limit}; ask for fewer keys at once"
    )]
    ReadTooLong {
        /// Bytes of the values, at least.
        len: usize,
        /// The caller's limit.
        limit: usize,
    },
    /// The file has as many pages as page numbers can name.
    #[error("the file has {pages} pages, the maximum; remove keys and compact it")]
    FileFull {
        /// Pages of the file.
        pages: u32,
    },
    /// The number of live snapshots is at the option `snapshots`.
    #[error("{live} snapshots are live, which is the limit of {limit}; drop one, or raise the limit")]
    TooManySnapshots {
        /// Live snapshots.
        live: usize,
        /// The largest number of live snapshots.
        limit: usize,
    },
    /// An option is out of its range.
    #[error("the option `{name}` cannot be {value}: {why}")]
    BadOption {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        why: String,
    },
    /// A key is too long.
    #[error("a key has {len} bytes, and the limit is {limit}; shorten it, or hash it")]
    KeyTooLong {
        /// Its bytes.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// A value is too long.
    #[error("a value has {len} bytes, and the limit is {limit}; store it in parts")]
    ValueTooLong {
        /// Its bytes.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// A key does not have the version that a `cas` expects.
    #[error("the key has {}, and {} was expected; read it again", version(*found), version(*expected))]
    VersionDiffers {
        /// The key's version; `None` if it has no value.
        found: Option<u64>,
        /// The expected version.
        expected: Option<u64>,
    },
    /// The value that an increment should change is not an integer.
    #[error("the value `{value}` is not an integer from -2^63 to 2^63 - 1 in decimal digits; set one first")]
    NotAnInteger {
        /// The value, or its first bytes.
        value: String,
    },
    /// A trie in the paper's layout keeps only integers of 32 bits.
    #[cfg(feature = "paper")]
    #[error(
        "the value `{value}` is not an integer from -2147483648 to 2147483647 in decimal digits, and a trie of the paper's layout keeps no other values; use a trie \
         of the default layout"
    )]
    NotASmallInteger {
        /// The value, or its first bytes.
        value: String,
    },
    /// The number of a write is greater than a version in the paper's layout can be.
    #[cfg(feature = "paper")]
    #[error(
        "the write has number {version}, and a trie of the paper's layout keeps versions from 1 to {limit}; load its keys into a trie of the default layout"
    )]
    VersionsUsedUp {
        /// The write's number.
        version: u64,
        /// The greatest version.
        limit: u64,
    },
    /// A sum is out of range.
    #[error("the sum of {value} and {by} does not fit 64 bits; the value stays {value}")]
    Overflow {
        /// The value before the increment.
        value: i64,
        /// The increment.
        by: i64,
    },
    /// The last write to a key was interrupted, so its value is not valid.
    #[error("the last write to the key `{key}` was interrupted, and its value is not valid; write it again")]
    Interrupted {
        /// The key, or its first bytes.
        key: String,
    },
    /// The trie has no key order.
    #[error("a hash trie has no order of keys, so it supports no scans; use a classical or a linked trie")]
    NoOrder,
    /// The key space has keys with values, or an ordered set of keys, and the operation is for the
    /// other kind. Nothing was changed.
    #[error("the operation does not fit the key space `{space}`; {way_out}")]
    OtherSpaceKind {
        /// The requested space.
        space: KeySpace,
        /// The operations that fit.
        way_out: &'static str,
    },
    /// The store does not have this key space. Nothing was changed.
    #[error(
        "the store has no key space `{space}`, because its values are plain bytes; create a store of rows (`Values::Rows`) in another folder"
    )]
    NoSuchSpace {
        /// The requested space.
        space: KeySpace,
    },
    /// The trie in the file was created with other parameters. Nothing was changed.
    #[error(
        "the trie `{name}` is {has}, but was opened as {asked}; open it with its own shape, or use another name"
    )]
    TrieDiffers {
        /// Its name.
        name: String,
        /// The parameters in the file.
        has: String,
        /// The requested parameters.
        asked: String,
    },
    /// The trie's values are of another kind than requested. Nothing was changed.
    #[error(
        "the values of the trie `{name}` are {has}, but were opened as {asked}; open it with its own kind of values, or move its keys to another folder (`skein dump`, `skein load`)"
    )]
    ValuesDiffer {
        /// Its name.
        name: String,
        /// The kind in the file.
        has: Values,
        /// The requested kind.
        asked: Values,
    },
    /// An error of the log.
    #[error(transparent)]
    Log(#[from] skein_log::LogError),
}

fn version(version: Option<u64>) -> String {
    version.map_or("no value".to_owned(), |version| format!("version {version}"))
}

/// Bytes of a key that an error shows.
const SHOWN: usize = 64;

impl DiskError {
    /// Returns whether the store refuses the key or the value of one write, and takes other writes.
    ///
    /// ```
    /// # use skein_disk::DiskError;
    /// let long = DiskError::KeyTooLong { len: 70_000, limit: 65_535 };
    /// assert!(long.refuses_contents() && !DiskError::NoOrder.refuses_contents());
    /// ```
    pub fn refuses_contents(&self) -> bool {
        match self {
            Self::KeyTooLong { .. } | Self::ValueTooLong { .. } => true,
            #[cfg(feature = "paper")]
            Self::NotASmallInteger { .. } => true,
            _ => false,
        }
    }

    pub(crate) fn interrupted(key: &[u8]) -> Self {
        let shown = key[..key.len().min(SHOWN)].escape_ascii().to_string();
        let key = if key.len() > SHOWN { shown + "..." } else { shown };
        Self::Interrupted { key }
    }

    pub(crate) fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        if error.kind() == NOT_A_FILE {
            return Self::Damaged { path: path.to_owned(), offset: 0, what: error.to_string() };
        }
        Self::Io { doing, path: path.to_owned(), cause: error.to_string(), kind: error.kind() }
    }
}
