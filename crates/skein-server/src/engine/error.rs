//! The errors of the engines.

use skein_disk::{DiskError, Values};

/// The reason why an engine did not do an operation. Nothing of the operation was done, unless the
/// variant says otherwise.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// An error of rows, or of the engine in memory.
    #[error(transparent)]
    Rows(#[from] skein_store::Error),
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
    /// The disk engine has no snapshots.
    #[error(
        "the disk engine has no snapshots; omit SNAPSHOT, or serve another data folder with the engine in memory"
    )]
    NoSnapshots,
    /// The disk engine has no memory limit besides its cache.
    #[error("the disk engine evicts no keys: its cache limits its memory, and the disk limits its keys")]
    NoMemoryLimit,
    /// The disk engine has no sorted sets.
    #[error("the disk engine has no sorted sets yet; serve another data folder with the engine in memory")]
    NoSortedSets,
}

/// The most bytes of a key that an error shows.
const SHOWN: usize = 64;

impl EngineError {
    pub(super) fn not_a_row(key: &[u8]) -> Self {
        let shown = key[..key.len().min(SHOWN)].escape_ascii().to_string();
        Self::NotARow { key: if key.len() > SHOWN { shown + "..." } else { shown } }
    }
}
