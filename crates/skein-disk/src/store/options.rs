//! How a disk store is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_log::storage::LOCK_WAIT;
use skein_log::{Durability, LogOptions, OpenProgress};

use crate::buffer::CACHE_LEAST;
use crate::trie::TrieShape;
use crate::{DiskError, ReadMode, ReplacementPolicy, Result, TrieKind, Values};

/// Options; each has a default.
///
/// ```
/// use skein_disk::{DiskOptions, Policy, Shape};
///
/// let options = DiskOptions { cache_pages: 1 << 18, policy: Policy::Lru, ..DiskOptions::default() };
/// assert_eq!(options.shape, Shape::Linked);
/// ```
#[derive(Debug, Clone)]
pub struct DiskOptions {
    /// Which trie the store keeps its keys in: a linked one by default. An existing store has to be opened as what it is.
    pub shape: TrieShape,
    /// What the values are: plain bytes by default. An existing store has to be opened as what it is; [`kind_of`](crate::kind_of) says that.
    pub values: Values,
    /// Pages of 4 KiB in memory: 65,536 by default, as in the paper's runs; 16 at least.
    pub cache_pages: usize,
    /// Which page leaves a full cache.
    pub policy: ReplacementPolicy,
    /// How pages are read.
    pub reading: ReadMode,
    /// What an acknowledged write promises.
    pub durability: Durability,
    /// A checkpoint is taken when so many bytes were logged: 64 MiB by default. 0: only when asked for, and when the store is closed.
    pub checkpoint_bytes: u64,
    /// Size of the log's segment files, in bytes: 64 MiB by default, 64 KiB at least.
    pub segment_bytes: u64,
    /// How long opening waits for a folder that another process has in use, one that was killed, say: 5 s by default.
    pub lock_wait: Duration,
    /// Where opening tells how far it has come, and hears that it is to end; by default nobody
    /// looks.
    pub progress: Arc<OpenProgress>,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            shape: TrieShape::Linked,
            values: Values::default(),
            cache_pages: 1 << 16,
            policy: ReplacementPolicy::default(),
            reading: ReadMode::default(),
            durability: Durability::default(),
            checkpoint_bytes: 64 << 20,
            segment_bytes: 64 << 20,
            lock_wait: LOCK_WAIT,
            progress: Arc::default(),
        }
    }
}

impl DiskOptions {
    /// Says what cannot work; [`DiskStore::open`](crate::DiskStore::open) asks before it touches anything.
    ///
    /// # Errors
    /// An option out of range.
    pub fn check(&self) -> Result<()> {
        if self.cache_pages < CACHE_LEAST {
            let why = format!("a cache has {CACHE_LEAST} pages at least");
            return Err(DiskError::BadOption {
                name: "cache-pages",
                value: self.cache_pages.to_string(),
                why,
            });
        }
        self.kind().check()?;
        // Where the log will lie makes no difference to the rest.
        Ok(self.log_options(PathBuf::new()).check()?)
    }

    /// What the trie is to be.
    pub(super) fn kind(&self) -> TrieKind {
        TrieKind { shape: self.shape, values: self.values }
    }

    /// How the log is opened, in this folder.
    pub(super) fn log_options(&self, folder: PathBuf) -> LogOptions {
        LogOptions {
            logs: 1,
            durability: self.durability,
            segment_bytes: self.segment_bytes,
            lock_wait: self.lock_wait,
            progress: self.progress.clone(),
            ..LogOptions::new(vec![folder])
        }
    }
}
