//! The options with which a store is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_log::storage::{LOCK_WAIT, OsStorage, Storage};
use skein_log::{LogOptions, OpenProgress};
use skein_model::row::UseNotes;
use skein_model::{KEY_BYTES_MAX, RowLimits, SNAPSHOTS_MAX, VALUE_BYTES_MAX};
use skein_sync::threads;

use crate::clock::ExpiryClock;
use crate::index::IndexKind;
use crate::{Error, Result};

pub use skein_log::Durability;

/// The default interval of the ticks of the expiry thread.
const EXPIRY_INTERVAL: Duration = Duration::from_millis(100);
/// The default interval of the packing thread.
const PACK_INTERVAL: Duration = Duration::from_millis(100);

/// The keys to evict at the memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Eviction {
    /// No keys: writes that add memory are rejected.
    #[default]
    None,
    /// Keys that were not used for long: about the least recently used of all.
    Lru,
    /// Keys that are used seldom: about the least frequently used of all.
    Lfu,
    /// Any keys.
    Random,
    /// As `Lru`, of the keys that expire.
    VolatileLru,
    /// As `Lfu`, of the keys that expire.
    VolatileLfu,
    /// As `Random`, of the keys that expire.
    VolatileRandom,
    /// Of the keys that expire, the ones that expire first.
    Ttl,
}

impl Eviction {
    /// All variants. New ones are appended: programs in C have their positions as numbers.
    pub const ALL: [Self; 8] = [
        Self::VolatileLru,
        Self::VolatileLfu,
        Self::VolatileRandom,
        Self::Ttl,
        Self::Lru,
        Self::Lfu,
        Self::Random,
        Self::None,
    ];

    /// Returns whether only keys that expire are evicted.
    pub fn is_volatile(self) -> bool {
        matches!(self, Self::VolatileLru | Self::VolatileLfu | Self::VolatileRandom | Self::Ttl)
    }

    /// Returns the kind of use that rows must note.
    pub(crate) fn notes(self) -> UseNotes {
        match self {
            Self::Lfu | Self::VolatileLfu => UseNotes::Frequency,
            _ => UseNotes::LastUse,
        }
    }

    /// Returns whether keys are evicted by their use.
    pub(crate) fn is_by_use(self) -> bool {
        matches!(self, Self::Lru | Self::VolatileLru | Self::Lfu | Self::VolatileLfu)
    }

    /// Returns the name, which is that of Redis.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "noeviction",
            Self::Lru => "allkeys-lru",
            Self::Lfu => "allkeys-lfu",
            Self::Random => "allkeys-random",
            Self::VolatileLru => "volatile-lru",
            Self::VolatileLfu => "volatile-lfu",
            Self::VolatileRandom => "volatile-random",
            Self::Ttl => "volatile-ttl",
        }
    }
}

impl Eviction {
    /// Describes the policy, for helps that list all.
    pub fn about(self) -> &'static str {
        match self {
            Self::None => "rejects writes that add data",
            Self::Lru => "evicts keys that were not used for the longest time",
            Self::Lfu => "evicts keys that are used seldom",
            Self::Random => "evicts any keys",
            Self::VolatileLru => "as allkeys-lru, of the keys that expire",
            Self::VolatileLfu => "as allkeys-lfu, of the keys that expire",
            Self::VolatileRandom => "as allkeys-random, of the keys that expire",
            Self::Ttl => "evicts the keys that expire first",
        }
    }
}

impl std::str::FromStr for Eviction {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(|one| format!("{:?}", one.name())).join(", ");
            Error::BadOption {
                name: "eviction",
                why: format!("there is no policy named {name:?}; use one of {known}"),
            }
        })
    }
}

impl std::fmt::Display for Eviction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The limits of a store.
#[derive(Debug, Clone)]
pub struct StoreLimits {
    /// The longest key of a write in bytes; at least 1, at most (and by default) [`KEY_BYTES_MAX`].
    /// Longer keys that are already present can be read and removed.
    pub key_bytes: usize,
    /// The longest value in bytes, or all columns of a row with their names; at most (and by
    /// default) [`VALUE_BYTES_MAX`].
    pub value_bytes: usize,
    /// The largest set, sorted or not, and the largest list that stays in the row of its key, if a
    /// writer packs members; see [`Session::pack_members`](crate::Session::pack_members).
    pub row_members: RowLimits,
    /// The limit for live memory (index, rows, buffers of the logs). At the limit keys are evicted,
    /// or writes that add memory are rejected. `None`, the default, for no limit.
    pub memory_bytes: Option<usize>,
    /// The keys to evict at the limit; by default none are evicted.
    pub eviction: Eviction,
    /// Keys that begin with these bytes are never evicted; none by default.
    pub never_evicted: Option<Vec<u8>>,
    /// The largest number of live snapshots, 1 to [`SNAPSHOTS_MAX`]; 64 by default. While a
    /// snapshot lives, the rows that it shows stay in memory. Library and server call it
    /// `max_snapshots`, and so do errors.
    pub snapshots: usize,
    /// The limit for the memory that is kept for snapshots: replaced and removed rows with their
    /// keys. Over it, the oldest snapshot ends. `None`, the default, for a quarter of
    /// `memory_bytes`; without `memory_bytes` there is no limit then. Library and server call it
    /// `max_snapshot_memory`, and so do errors.
    pub snapshot_bytes: Option<usize>,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            key_bytes: KEY_BYTES_MAX,
            value_bytes: VALUE_BYTES_MAX,
            row_members: RowLimits::DEFAULT,
            memory_bytes: None,
            eviction: Eviction::None,
            never_evicted: None,
            snapshots: 64,
            snapshot_bytes: None,
        }
    }
}

/// The checkpoint that is written when a store is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseCheckpoint {
    /// The checkpoint is written if at least this many bytes of logs are not covered by a
    /// checkpoint; 64 MiB by default.
    pub log_bytes: u64,
    /// The time limit; 5 s by default. After it the checkpoint is abandoned, and the next opening
    /// replays the logs.
    pub within: Duration,
}

impl Default for CloseCheckpoint {
    fn default() -> Self {
        Self { log_bytes: 64 << 20, within: Duration::from_secs(5) }
    }
}

/// The options with which a store is opened; `StoreOptions::default()` suits most users.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The guarantee for an acknowledged write; `Buffered` by default. It may differ between runs.
    pub durability: Durability,
    /// The index; `masstree` by default. It does not affect the disk format, so it may differ
    /// between runs.
    pub index: IndexKind,
    /// The number of logs, one per worker; by default one per core, at most 1,024. New sessions
    /// take them in rotation.
    pub logs: usize,
    /// Folders for new log segments, used in rotation, so that they may be on several devices. If
    /// empty (the default), the folders of the last run are used; the first run uses the folder
    /// `log` in the data folder. A relative path starts at the current folder of the process and is
    /// stored as an absolute path.
    ///
    /// The store remembers its log folders. It reads all of them, named here or not, and a missing
    /// one is an error. After moving a folder, name it here at its new place. To remove a folder:
    /// open without it (but with others), write a checkpoint, and open again.
    pub log_folders: Vec<PathBuf>,
    /// Log folders that are lost for good; empty by default. If a remembered folder is missing and
    /// named here, the store returns to its newest checkpoint. Later records of all logs are
    /// dropped, because without the lost folder they have gaps. If no folder is missing, nothing
    /// happens.
    pub give_up_log_folders: Vec<PathBuf>,
    /// The largest size of a log segment; 64 MiB by default.
    pub segment_bytes: u64,
    /// A checkpoint starts when the logs have grown by this many bytes since the last one, or by
    /// four times the bytes of that checkpoint, but at least 32 MiB. The default is 1 GiB; `None`
    /// for never. So a small store keeps small logs.
    pub checkpoint_log_bytes: Option<u64>,
    /// A checkpoint starts this long after the last one if anything was written; 1 hour by default,
    /// `None` for never.
    pub checkpoint_interval: Option<Duration>,
    /// The checkpoint that closing writes, so that the next opening has little to replay; `None`
    /// for never. At `Durability::None` closing always writes one.
    pub close_checkpoint: Option<CloseCheckpoint>,
    /// The number of threads that recover; by default one per core, at most 1,024.
    pub recovery_threads: usize,
    /// The number of threads that write a checkpoint while requests run; by default one per two
    /// cores, at most 1,024.
    pub checkpoint_threads: usize,
    /// How long opening waits for a data folder or log folder that another process uses; 5 s by
    /// default. A killed process holds its folders until the system has freed its memory. Opening
    /// does not wait for folders that this process itself uses.
    pub lock_wait: Duration,
    /// The file system. Tests replace it by one that fails.
    pub storage: Arc<dyn Storage>,
    /// The limits of the store.
    pub limits: StoreLimits,
    /// The clock by which keys expire.
    pub clock: ExpiryClock,
    /// How often a thread removes expired keys; 100 ms by default. The thread works for at most a
    /// quarter of this time, or half of it when it falls behind. `None` for never: expired keys are
    /// hidden all the same, and use memory until they are overwritten or removed.
    pub expiry_interval: Option<Duration>,
    /// How often a thread packs the rows that lie in pages of their index; 100 ms by default. The thread
    /// works for at most a tenth of this time, and rests for a second or more after each pass over the
    /// keys. `None` for never: pages that random inserts and removals leave partly empty stay so until
    /// they are written again.
    pub pack_interval: Option<Duration>,
    /// Shows the progress of opening and can cancel it; unused by default.
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
            checkpoint_interval: Some(Duration::from_secs(60 * 60)),
            close_checkpoint: Some(CloseCheckpoint::default()),
            recovery_threads: cores,
            checkpoint_threads: cores.div_ceil(2),
            lock_wait: LOCK_WAIT,
            storage: Arc::new(OsStorage),
            limits: StoreLimits::default(),
            clock: ExpiryClock::system(),
            expiry_interval: Some(EXPIRY_INTERVAL),
            pack_interval: Some(PACK_INTERVAL),
            progress: Arc::default(),
        }
    }
}

impl StoreOptions {
    /// Checks the options; [`Store::open`](crate::Store::open) does this before it touches a file.
    ///
    /// # Errors
    /// An option is out of range.
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
        for (name, interval) in
            [("expiry_interval", self.expiry_interval), ("pack_interval", self.pack_interval)]
        {
            if interval.is_some_and(|interval| interval.is_zero()) {
                return bad(name, "0; name a time, or None for never".into());
            }
        }
        // The path of the logs does not affect the other checks.
        Ok(self.log_options(vec![PathBuf::new()]).check()?)
    }

    /// Returns the options for opening the logs in these folders.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for one in Eviction::ALL {
            assert_eq!(one.name().parse::<Eviction>().ok(), Some(one));
        }
        let error = "lru".parse::<Eviction>().unwrap_err().to_string();
        assert!(error.contains("\"lru\"") && error.contains("\"allkeys-lru\""), "{error}");
    }
}
