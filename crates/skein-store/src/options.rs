//! How a store is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_index::index::MAX_KEY_LEN;
use skein_index::{mlp_index, skip_list};
use skein_log::storage::{LOCK_WAIT, OsStorage, Storage};
use skein_log::{LogOptions, OpenProgress};
use skein_sync::threads;

use crate::expiry::expiry_thread;
use crate::{Error, Eviction, ExpiryClock, Result};

pub use skein_log::Durability;

/// Which index holds the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IndexKind {
    /// A trie of B+-trees: any keys, in order.
    #[default]
    Masstree,
    /// A list of leaves under a hashed trie: any keys, in order; quick scans, and lookups that do not mind long keys.
    Wormhole,
    /// A trie in a cuckoo hash table: any keys, in order; quick lookups of single keys, above all short ones.
    CuckooTrie,
    /// A trie in a cuckoo hash table for keys of up to 8 bytes, such as numbers: quick lookups of these, in little memory.
    Mlp,
    /// Linked nodes under towers: any keys, in order; snapshots, and scans that read ahead.
    SkipList,
}

impl IndexKind {
    /// All of them, the default first.
    pub const ALL: [Self; 5] = [Self::Masstree, Self::Wormhole, Self::CuckooTrie, Self::Mlp, Self::SkipList];

    /// The name by which it is chosen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Masstree => "masstree",
            Self::Wormhole => "wormhole",
            Self::CuckooTrie => "cuckoo-trie",
            Self::Mlp => "mlp",
            Self::SkipList => "skip-list",
        }
    }

    /// The longest key that it takes, in bytes; a lower limit of the store's own goes before it.
    ///
    /// ```
    /// use skein_store::IndexKind;
    /// assert_eq!(IndexKind::Mlp.key_bytes_max(), 8);
    /// ```
    pub fn key_bytes_max(self) -> usize {
        match self {
            Self::Mlp => mlp_index::MAX_LEN,
            _ => KEY_BYTES_MAX,
        }
    }

    /// Whether it has snapshots.
    ///
    /// ```
    /// use skein_store::IndexKind;
    /// assert!(IndexKind::SkipList.has_snapshots() && !IndexKind::Masstree.has_snapshots());
    /// ```
    pub fn has_snapshots(self) -> bool {
        self == Self::SkipList
    }

    /// The names of those that have snapshots, for who asked another one for them.
    pub(crate) fn with_snapshots() -> String {
        let names: Vec<_> =
            Self::ALL.into_iter().filter(|kind| kind.has_snapshots()).map(Self::name).collect();
        names.join(", ")
    }
}

impl std::str::FromStr for IndexKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(|kind| format!("{:?}", kind.name())).join(", ");
            Error::BadOption {
                name: "index",
                why: format!("there is no index named {name:?}; those known are {known}"),
            }
        })
    }
}

impl std::fmt::Display for IndexKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The longest key that a store can be told to take, in bytes: what the index takes.
pub const KEY_BYTES_MAX: usize = MAX_KEY_LEN;

/// The longest value that a store can be told to take: 512 MiB less one byte.
pub const VALUE_BYTES_MAX: usize = (512 << 20) - 1;

/// The most snapshots that a store can be told to allow at a time. The index has one more, for checkpoints.
pub const SNAPSHOTS_MAX: usize = skip_list::SNAPSHOTS_MAX - 1;

/// Bounds on what a store takes in.
#[derive(Debug, Clone)]
pub struct StoreLimits {
    /// The longest key in bytes that is written; at least 1, at most (and by default) [`KEY_BYTES_MAX`]. Longer keys that
    /// are there already can be read and removed.
    pub key_bytes: usize,
    /// The longest value in bytes, all columns of a row and their names together; at most (and by default)
    /// [`VALUE_BYTES_MAX`].
    pub value_bytes: usize,
    /// Live memory (index, rows, buffers of the logs) past which keys are evicted, or writes that add are refused; `None`, the default, for no budget.
    pub memory_bytes: Option<usize>,
    /// Which keys go then; none by default.
    pub eviction: Eviction,
    /// Snapshots at a time, 1 to [`SNAPSHOTS_MAX`]; 64 by default. Each keeps what is replaced or removed while it lives.
    pub snapshots: usize,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            key_bytes: KEY_BYTES_MAX,
            value_bytes: VALUE_BYTES_MAX,
            memory_bytes: None,
            eviction: Eviction::None,
            snapshots: skip_list::SNAPSHOTS,
        }
    }
}

/// The checkpoint that closing writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseCheckpoint {
    /// Bytes in the logs that no checkpoint covers, at which one is written; 64 MiB by default.
    pub log_bytes: u64,
    /// How long it may take; 5 s by default. Then it is given up, and the next opening replays the logs.
    pub within: Duration,
}

impl Default for CloseCheckpoint {
    fn default() -> Self {
        Self { log_bytes: 64 << 20, within: Duration::from_secs(5) }
    }
}

/// How a store is opened; `StoreOptions::default()` serves most users.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// What an acknowledged write promises; `Buffered` by default. May differ from one run to the next.
    pub durability: Durability,
    /// The index; `masstree` by default. Not part of what is on disk, so it may differ between runs.
    pub index: IndexKind,
    /// Logs, one per worker; by default one per core, at most 1,024. Sessions take them in turn.
    pub logs: usize,
    /// Folders for new log segments, in turn, so that they may lie on several devices. None, the default, for those of
    /// the last run, and at first the folder `log` in the data folder. A relative path is taken from the current folder of
    /// the process, and remembered in full.
    ///
    /// The store remembers its log folders: all are read, named here or not, and one that is missing is an error. A
    /// folder that was moved is named here at its new place. To remove one, open without it (but with others), write a
    /// checkpoint, and open once more: then it is not needed.
    pub log_folders: Vec<PathBuf>,
    /// Log folders that are lost for good; none by default. If one that the store remembers is missing and named here, the store
    /// goes back to its newest checkpoint: what all logs hold since then is dropped, because without that folder's part it
    /// has holes. If none is missing nothing is done.
    pub give_up_log_folders: Vec<PathBuf>,
    /// Size of a log segment; 64 MiB by default.
    pub segment_bytes: u64,
    /// A checkpoint starts when the logs have grown by this much since the last one; 1 GiB by default,
    /// `None` for never.
    pub checkpoint_log_bytes: Option<u64>,
    /// A checkpoint starts this long after the last one, if anything was written; 1 hour by default, `None`
    /// for never.
    pub checkpoint_interval: Option<Duration>,
    /// When closing writes a checkpoint, so that the next opening has little to replay; `None` for never. At `Durability::None` it always does.
    pub close_checkpoint: Option<CloseCheckpoint>,
    /// Threads that recover; by default one per core, at most 1,024.
    pub recovery_threads: usize,
    /// Threads that write a checkpoint while requests run; by default one per two cores, at most 1,024.
    pub checkpoint_threads: usize,
    /// How long opening waits for a data folder, or a log folder, that another process has in use; 5 s by default. A process that was killed
    /// holds its folders until the system has taken its memory apart. What this process has open itself is not waited for.
    pub lock_wait: Duration,
    /// The file system; tests put one in its place that fails.
    pub storage: Arc<dyn Storage>,
    /// Bounds on what the store takes in.
    pub limits: StoreLimits,
    /// Where the time comes from, by which keys expire.
    pub clock: ExpiryClock,
    /// How often a thread looks for keys that have expired, and removes them; 100 ms by default. It works for a quarter of this time at
    /// most, or half of it when that is not enough. `None` for never: they are hidden all the same, and take memory until they are written to or removed.
    pub expiry_interval: Option<Duration>,
    /// Where opening tells how far it has come, and hears that it is to end; by default nobody
    /// looks.
    pub progress: Arc<OpenProgress>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let cores = threads::cores();
        Self {
            durability: Durability::default(),
            index: IndexKind::default(),
            logs: cores,
            log_folders: Vec::new(),
            give_up_log_folders: Vec::new(),
            segment_bytes: 64 << 20,
            checkpoint_log_bytes: Some(1 << 30),
            checkpoint_interval: Some(Duration::from_hours(1)),
            close_checkpoint: Some(CloseCheckpoint::default()),
            recovery_threads: cores,
            checkpoint_threads: cores.div_ceil(2),
            lock_wait: LOCK_WAIT,
            storage: Arc::new(OsStorage),
            limits: StoreLimits::default(),
            clock: ExpiryClock::system(),
            expiry_interval: Some(expiry_thread::INTERVAL),
            progress: Arc::default(),
        }
    }
}

impl StoreOptions {
    /// Says what cannot work; [`Store::open`](crate::Store::open) asks before it touches anything.
    ///
    /// # Errors
    /// An option out of range.
    pub fn check(&self) -> Result<()> {
        let bad = |name, why: String| Err(Error::BadOption { name, why });
        if !(1..=KEY_BYTES_MAX).contains(&self.limits.key_bytes) {
            let why = format!("{}; it can be 1 to {KEY_BYTES_MAX}", self.limits.key_bytes);
            return bad("limits.key_bytes", why);
        }
        if self.limits.value_bytes > VALUE_BYTES_MAX {
            let why = format!("{}; it can be up to {VALUE_BYTES_MAX}", self.limits.value_bytes);
            return bad("limits.value_bytes", why);
        }
        if !(1..=SNAPSHOTS_MAX).contains(&self.limits.snapshots) {
            let why = format!("{}; it can be 1 to {SNAPSHOTS_MAX}", self.limits.snapshots);
            return bad("limits.snapshots", why);
        }
        for (name, count) in
            [("recovery_threads", self.recovery_threads), ("checkpoint_threads", self.checkpoint_threads)]
        {
            if !(1..=threads::MOST).contains(&count) {
                return bad(name, format!("{count}; there can be 1 to {}", threads::MOST));
            }
        }
        if self.checkpoint_log_bytes == Some(0) {
            return bad("checkpoint_log_bytes", "0; name a size, or None for never".into());
        }
        if self.checkpoint_interval.is_some_and(|interval| interval.is_zero()) {
            return bad("checkpoint_interval", "0; name a time, or None for never".into());
        }
        if self.expiry_interval.is_some_and(|interval| interval.is_zero()) {
            return bad("expiry_interval", "0; name a time, or None for never".into());
        }
        // Where the logs will lie makes no difference to the rest.
        Ok(self.log_options(vec![PathBuf::new()]).check()?)
    }

    /// How the logs are opened, in these folders.
    pub(crate) fn log_options(&self, folders: Vec<PathBuf>) -> LogOptions {
        LogOptions {
            logs: self.logs,
            durability: self.durability,
            segment_bytes: self.segment_bytes,
            lock_wait: self.lock_wait,
            progress: self.progress.clone(),
            ..LogOptions::new(folders)
        }
    }
}
