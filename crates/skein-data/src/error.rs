//! The errors of the engines.

use skein_disk::{DiskError, Values};
use skein_store::Eviction;

/// The reason why an engine did not do an operation. Nothing of the operation was done, unless the
/// variant says otherwise.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// An error of rows, or of the engine in memory.
    #[error(transparent)]
    Rows(skein_store::Error),
    /// An error of the disk engine.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The disk store has values that no server wrote.
    #[error("the values of the store are {values}, but a server needs rows; serve another folder")]
    NotOfRows {
        /// The kind of those values.
        values: Values,
    },
    /// A value of the disk engine was not written by a server.
    #[error(
        "the value of the key `{key}` is not a row: another program than a server wrote it; overwrite the key, or serve a folder that only servers write"
    )]
    NotARow {
        /// The key, or its beginning.
        key: String,
    },
    /// The memory limit of the disk engine, which is the size of its cache, is too small.
    #[error(
        "over the disk engine maxmemory is the size of the cache and cannot be {bytes} bytes; choose {least} or more, or 0 for the size at the start"
    )]
    CacheTooSmall {
        /// The requested limit.
        bytes: usize,
        /// The smallest limit.
        least: usize,
    },
    /// The disk engine evicts no keys.
    #[error(
        "the disk engine evicts pages from its cache and never keys, so the policy cannot be {policy}; choose noeviction, or the engine in memory"
    )]
    NoEviction {
        /// The requested policy.
        policy: Eviction,
    },
    /// A part of a stream contradicts itself, or the present value of the key.
    #[error("a part of the stream of the key `{key}` is not written: {reason}")]
    BadStream {
        /// The key, or its beginning.
        key: String,
        /// The violated rule.
        reason: &'static str,
    },
    /// A background thread could not be started.
    #[error("no thread could be started: {reason}; raise the limit of processes and threads")]
    NoThread {
        /// The system's reason.
        reason: String,
    },
}

/// The most bytes of a key that an error shows.
const SHOWN: usize = 64;

impl EngineError {
    pub(crate) fn not_a_row(key: &[u8]) -> Self {
        Self::NotARow { key: shown(key) }
    }

    pub(crate) fn bad_stream(key: &[u8], reason: &'static str) -> Self {
        Self::BadStream { key: shown(key), reason }
    }
}

/// Returns a key, or its beginning, for an error.
fn shown(key: &[u8]) -> String {
    let shown = key[..key.len().min(SHOWN)].escape_ascii().to_string();
    if key.len() > SHOWN { shown + "..." } else { shown }
}

impl From<skein_store::Error> for EngineError {
    fn from(error: skein_store::Error) -> Self {
        if let skein_store::Error::Engine(source) = &error
            && let Some(error) = source.downcast_ref::<Self>()
        {
            return error.clone();
        }
        Self::Rows(error)
    }
}

impl EngineError {
    /// Returns the error as an error of rows, for callers that report such errors.
    pub(crate) fn into_rows(self) -> skein_store::Error {
        match self {
            Self::Rows(error) => error,
            other => skein_store::Error::Engine(std::sync::Arc::new(other)),
        }
    }
}
