//! The error of the library.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use skein_data::EngineError;

use crate::typed::{DecodeError, EncodeError};

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an operation was not done. Nothing of it was done, unless the operation says
/// otherwise.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine refused the operation: a limit, the file system, or damage.
    #[error(transparent)]
    Engine(EngineError),
    /// The closure of a transaction gave up; see [`Error::abort`].
    #[error("the transaction was given up: {reason}")]
    Aborted {
        /// The reason that the closure gave.
        reason: String,
    },
    /// An error of the caller's own, from the closure of a transaction; see [`Error::other`].
    #[error(transparent)]
    Other(Arc<dyn std::error::Error + Send + Sync>),
    /// Another write changed rows or ranges that the transaction had read. Begin it again, or use
    /// [`Db::transaction`](crate::Db::transaction), which does so. One that conflicts again and
    /// again succeeds by [`Db::transaction_exclusive`](crate::Db::transaction_exclusive).
    #[error(
        "another write changed what the transaction had read, {attempts} times; begin it again{}",
        if *attempts > 1 { ", as an exclusive transaction, which cannot conflict" } else { "" }
    )]
    Conflict {
        /// How often the transaction was tried.
        attempts: u32,
    },
    /// The thread that has an exclusive transaction open would have waited for its end: for a write
    /// that is not part of it, or for another exclusive transaction.
    #[error(
        "this thread has an exclusive transaction open, and would wait for itself; \
         write through the transaction, or end it first"
    )]
    WithinExclusive,
    /// The database was closed.
    #[error("the database is closed; open it again")]
    Closed,
    /// The process was forked from the one that opened the database, so it has neither the threads
    /// nor the locks.
    #[error("the database was opened before this process was forked; open one in the child instead")]
    Forked,
    /// The keyspace was dropped.
    #[error("the keyspace {name:?} was dropped; create it again and use the new handle")]
    KeyspaceDropped {
        /// The last name of the keyspace.
        name: String,
    },
    /// There is no keyspace of this name.
    #[error("there is no keyspace {name:?}; `keyspace` creates it")]
    NoKeyspace {
        /// The name.
        name: String,
    },
    /// There is a keyspace of this name already.
    #[error("there is a keyspace {name:?} already; drop it first, or choose another name")]
    KeyspaceExists {
        /// The name.
        name: String,
    },
    /// A keyspace cannot have this name.
    #[error("a keyspace cannot be named {name:?}: {why}")]
    KeyspaceName {
        /// The beginning of the name.
        name: String,
        /// The rule for names.
        why: &'static str,
    },
    /// [`Db::typed`](crate::Db::typed) has opened the keyspace with other types before.
    #[error(
        "the keyspace {name:?} was opened with keys of type `{}` and values of type `{}`, and now with `{}` \
         and `{}`; use one pair of types, or `TypedKeyspace::new` for another view of the same bytes",
        before.0, before.1, asked.0, asked.1
    )]
    TypesDiffer {
        /// The name of the keyspace.
        name: String,
        /// The names of the earlier types, of keys and of values.
        before: (&'static str, &'static str),
        /// Those of the later ones.
        asked: (&'static str, &'static str),
    },
    /// The index has no room for the names of keyspaces in its keys.
    #[error(
        "the index `mlp` has keys of up to 8 bytes, so there is only the default keyspace; choose another index"
    )]
    NoKeyspaces,
    /// A keyspace, transaction or savepoint was used with a database or transaction that did not
    /// make it.
    #[error("the {what} belongs to another {of}; use the one that made it")]
    Foreign {
        /// The passed object.
        what: &'static str,
        /// The object that it should belong to.
        of: &'static str,
    },
    /// A key is longer than the limit.
    #[error("the key has {len} bytes, and the limit is {limit}; shorten it, or use its hash as the key")]
    KeyTooLong {
        /// Bytes of the key.
        len: usize,
        /// The limit of this keyspace.
        limit: usize,
    },
    /// The default keyspace cannot have a key that begins with the 4 bytes of named keyspaces.
    #[error(
        "keys that begin with ff 53 4b 00 belong to named keyspaces; choose another key, or a named keyspace"
    )]
    KeyReserved,
    /// Keys were not in the required order.
    #[error("the key number {number} is not greater than the key before it; sort the keys")]
    NotSorted {
        /// Its position, from 0.
        number: u64,
    },
    /// A savepoint was rolled back before, or its transaction has ended.
    #[error("the savepoint is gone: an earlier one was rolled back to; make a new one")]
    SavepointGone,
    /// A folder cannot be used for a backup.
    #[error("{path}: {why}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why, and the way out.
        why: String,
    },
    /// The progress callback of an operation returned a break.
    #[error("the {operation} was canceled")]
    Canceled {
        /// The operation.
        operation: &'static str,
    },
    /// A key or value of a typed keyspace is not of its type.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A value for a typed keyspace cannot be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A future was polled outside of a Tokio runtime.
    #[cfg(feature = "tokio")]
    #[error("there is no Tokio runtime here; use the futures of `aio` within one")]
    NoRuntime,
    /// An option cannot have this value.
    #[error("the option {name}: {why}")]
    BadOption {
        /// The option.
        name: &'static str,
        /// Why, and which values it can have.
        why: String,
    },
}

impl Error {
    /// Gives up a transaction for a reason of the caller's own: return it from the closure.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// let users = db.keyspace("users")?;
    /// let failed = db.transaction(|tx| {
    ///     tx.insert(&users, "u1", "Ada")?;
    ///     Err::<(), _>(skeindb::Error::abort("changed my mind"))
    /// });
    /// assert_eq!(failed.unwrap_err().to_string(), "the transaction was given up: changed my mind");
    /// assert!(!users.contains_key("u1")?);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    pub fn abort(reason: impl Display) -> Self {
        Self::Aborted { reason: reason.to_string() }
    }

    /// Wraps an error of the caller's own, to return it from the closure of a transaction. Its
    /// text and its sources stay.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Other(Arc::from(error.into()))
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Rows(skein_data::RowError::Closed)
            | EngineError::Disk(skein_disk::DiskError::Closed { .. }) => Self::Closed,
            error => Self::Engine(error),
        }
    }
}

impl From<skein_store::Error> for Error {
    fn from(error: skein_store::Error) -> Self {
        EngineError::from(error).into()
    }
}

impl From<skein_disk::DiskError> for Error {
    fn from(error: skein_disk::DiskError) -> Self {
        EngineError::from(error).into()
    }
}
