//! Why an engine did not do something.

use skein_disk::{DiskError, Values};

/// Why an engine did not do something. Nothing of it was done then, unless the variant says otherwise.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Of rows, or of the engine in memory.
    #[error(transparent)]
    Rows(#[from] skein_store::Error),
    /// Of the disk engine.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The disk store has values that no server wrote.
    #[error(
        "the values of the store are {values}, and a server serves rows; open a store with those, in another folder"
    )]
    NotOfRows {
        /// What they are.
        values: Values,
    },
    /// A value of the disk engine was not written by a server.
    #[error(
        "the value of the key `{key}` is no row of a server: another program wrote it; set the key, or serve a folder of a server's own"
    )]
    NotARow {
        /// The key, or how it begins.
        key: String,
    },
    /// The disk engine has no snapshots.
    #[error(
        "the disk engine has no snapshots; leave out SNAPSHOT, or serve with the engine in memory and the index skip-list (another data folder)"
    )]
    NoSnapshots,
    /// The disk engine has no limit of memory but its cache.
    #[error("the disk engine evicts nothing: its memory is bounded by its cache, and its keys by the disk")]
    NoMemoryLimit,
    /// The disk engine has no sorted sets.
    #[error("the disk engine has no sorted sets yet; serve with the engine in memory (another data folder)")]
    NoSortedSets,
}

/// Bytes of a key that an error shows.
const SHOWN: usize = 64;

impl EngineError {
    pub(super) fn not_a_row(key: &[u8]) -> Self {
        let shown = key[..key.len().min(SHOWN)].escape_ascii().to_string();
        Self::NotARow { key: if key.len() > SHOWN { shown + "..." } else { shown } }
    }
}
