//! Options of a disk store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_log::storage::LOCK_WAIT;
use skein_log::{Durability, LogOptions, OpenProgress};

use crate::buffer::check_capacity;
use crate::trie::TrieShape;
use crate::{DiskError, ReadMode, ReplacementPolicy, Result, TrieKind, Values};

/// The largest limit of live snapshots.
pub const SNAPSHOTS_MOST: usize = 1 << 16;

/// The options of a disk store. Each has a default.
///
/// ```
/// use skein_disk::{DiskOptions, ReplacementPolicy, TrieShape};
///
/// let policy = ReplacementPolicy::Lru;
/// let options = DiskOptions { cache_pages: 1 << 18, policy, ..DiskOptions::default() };
/// assert_eq!(options.shape, TrieShape::Linked);
/// ```
#[derive(Debug, Clone)]
pub struct DiskOptions {
    /// The structure of the trie with the keys; a linked trie by default. An existing store must be
    /// opened with its own. The members' trie is always linked
    /// ([`KeySpace::Members`](crate::KeySpace::Members)).
    pub shape: TrieShape,
    /// The kind of values; plain bytes by default. An existing store must be opened with its own,
    /// which [`kind_of`](crate::kind_of) returns.
    pub values: Values,
    /// Pages of 4 KiB in memory: 65,536 by default, as in the paper's runs; at least 16.
    pub cache_pages: usize,
    /// The policy that selects the page to evict from a full cache.
    pub policy: ReplacementPolicy,
    /// How pages are read.
    pub reading: ReadMode,
    /// The guarantee of an acknowledged write.
    pub durability: Durability,
    /// A checkpoint is taken whenever this many bytes were logged: 64 MiB by default. With 0,
    /// checkpoints are taken only on request and on close.
    pub checkpoint_bytes: u64,
    /// Size of the log's segment files in bytes: 64 MiB by default, at least 64 KiB.
    pub segment_bytes: u64,
    /// The largest number of live snapshots, 1 to 65,536; 64 by default. While a
    /// [`DiskSnapshot`](crate::DiskSnapshot) lives, the pages that it shows keep their places in
    /// the file.
    pub snapshots: usize,
    /// How long opening waits for a folder that another process uses, for example one that was just
    /// killed: 5 s by default.
    pub lock_wait: Duration,
    /// Open the store without its log if the log's folder is missing and lost for good: with the
    /// state of its last checkpoint. Does nothing if the folder is not missing. False by default.
    pub give_up_log: bool,
    /// Reports the progress of opening, and can cancel it. Unused by default.
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
            snapshots: 64,
            lock_wait: LOCK_WAIT,
            give_up_log: false,
            progress: Arc::default(),
        }
    }
}

impl DiskOptions {
    /// Checks the options; [`DiskStore::open`](crate::DiskStore::open) does so before it changes
    /// anything.
    ///
    /// # Errors
    /// An option is out of its range.
    pub fn check(&self) -> Result<()> {
        check_capacity(self.cache_pages)?;
        if !(1..=SNAPSHOTS_MOST).contains(&self.snapshots) {
            let (value, why) = (self.snapshots.to_string(), format!("it can be 1 to {SNAPSHOTS_MOST}"));
            return Err(DiskError::BadOption { name: "snapshots", value, why });
        }
        self.kind().check()?;
        // The log's folder does not matter for the check.
        Ok(self.log_options(PathBuf::new()).check()?)
    }

    pub(super) fn kind(&self) -> TrieKind {
        TrieKind { shape: self.shape, values: self.values }
    }

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
