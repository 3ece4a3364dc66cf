//! What can go wrong, each with the value, the limit and the way out.

use std::io;
use std::path::{Path, PathBuf};

use crate::Values;

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
    /// The folder is one of the engine in memory. Nothing was changed.
    #[error(
        "{path} is a data folder of the engine in memory (it has a file `identity`); open it with that engine, or name another folder"
    )]
    OtherEngine {
        /// The folder.
        path: PathBuf,
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
    /// The store was closed, and another process may have its files.
    #[error("{path} was closed; open it again")]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// A write, or the writes of a transaction, use more pages than the cache has. Nothing of it was done.
    #[error(
        "the write uses {pages} pages or more at once, and the cache has {cache}; write less at once, or open the file with a larger cache"
    )]
    WriteTooLarge {
        /// Pages that it uses, at least.
        pages: usize,
        /// Pages of the cache.
        cache: usize,
    },
    /// What a transaction writes is more than a record of the log holds. Nothing of it was done.
    #[error(
        "the writes of the transaction have {len} bytes, and {limit} are the most of a record of the log; write less at once"
    )]
    TransactionTooLong {
        /// Bytes of its record.
        len: usize,
        /// The most there can be.
        limit: usize,
    },
    /// The values that are asked for together are longer than the caller takes.
    #[error(
        "the values of these keys have {len} bytes or more, and {limit} are the most that is taken; ask for fewer keys at once"
    )]
    ReadTooLong {
        /// Bytes that they have, at least.
        len: usize,
        /// The most that is taken.
        limit: usize,
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
    /// A key is longer than keys can be.
    #[error("a key has {len} bytes, and {limit} are the most; shorten it, or hash it")]
    KeyTooLong {
        /// Its bytes.
        len: usize,
        /// The most there can be.
        limit: usize,
    },
    /// A value is longer than values can be.
    #[error("a value has {len} bytes, and {limit} are the most; store it in parts")]
    ValueTooLong {
        /// Its bytes.
        len: usize,
        /// The most there can be.
        limit: usize,
    },
    /// A key has another version than a `cas` expects.
    #[error("the key has {}, and {} was expected; read it again", version(*found), version(*expected))]
    VersionDiffers {
        /// The version that it has; none if it has no value.
        found: Option<u64>,
        /// The version that was expected.
        expected: Option<u64>,
    },
    /// A value that is to be incremented is no integer.
    #[error("the value `{value}` is not an integer from -2^63 to 2^63 - 1 in decimal digits; set one first")]
    NotAnInteger {
        /// The value, or how it begins.
        value: String,
    },
    /// A trie of nodes of one length keeps integers of 32 bits alone.
    #[error(
        "the value `{value}` is not an integer from -2147483648 to 2147483647 in decimal digits, and a trie of the paper's layout keeps no other values; use a trie \
         of the default layout"
    )]
    NotASmallInteger {
        /// The value, or how it begins.
        value: String,
    },
    /// The number of a write is more than a trie of nodes of one length can keep as a version.
    #[error(
        "the write has number {version}, and a trie of the paper's layout keeps versions from 1 to {limit}; load what it has into a trie of the default layout"
    )]
    VersionsUsedUp {
        /// The write's number.
        version: u64,
        /// The greatest there can be.
        limit: u64,
    },
    /// A sum is out of range.
    #[error("{value} and {by} are more than 64 bits hold; the value stays {value}")]
    Overflow {
        /// The value before.
        value: i64,
        /// What was to be added.
        by: i64,
    },
    /// The last write to a key was begun and not ended, so that its value means nothing.
    #[error("the last write to the key `{key}` was interrupted, and its value is not valid; write it again")]
    Interrupted {
        /// The key, or how it begins.
        key: String,
    },
    /// The trie keeps no order of keys.
    #[error(
        "a hash trie has no order of keys, so there are no scans; use a classical or a linked trie for them"
    )]
    NoOrder,
    /// A trie of the file was made with other parameters. Nothing was changed.
    #[error(
        "the trie `{name}` is {has}, and was to be opened as {asked}; open it as what it is, or use another name"
    )]
    TrieDiffers {
        /// Its name.
        name: String,
        /// What the file says that it is.
        has: String,
        /// What it was asked for as.
        asked: String,
    },
    /// The values of a trie are not what they were to be opened as. Nothing was changed.
    #[error(
        "the values of the trie `{name}` are {has}, and were to be opened as {asked}; open it as what it is, or take its keys to another folder (`skein dump`, `skein load`)"
    )]
    ValuesDiffer {
        /// Its name.
        name: String,
        /// What the file says that they are.
        has: Values,
        /// What they were asked for as.
        asked: Values,
    },
    /// The log says so.
    #[error(transparent)]
    Log(#[from] skein_log::LogError),
}

fn version(version: Option<u64>) -> String {
    version.map_or("no value".to_owned(), |version| format!("version {version}"))
}

/// Bytes of a key that an error shows.
const SHOWN: usize = 64;

impl DiskError {
    pub(crate) fn interrupted(key: &[u8]) -> Self {
        let shown = key[..key.len().min(SHOWN)].escape_ascii().to_string();
        let key = if key.len() > SHOWN { shown + "..." } else { shown };
        Self::Interrupted { key }
    }

    pub(crate) fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), cause: error.to_string(), kind: error.kind() }
    }
}
