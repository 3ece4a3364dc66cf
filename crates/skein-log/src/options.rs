//! How a log is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_sync::threads;

use crate::storage::LOCK_WAIT;
use crate::{LogError, OpenProgress, Result};

/// What a write promises when it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing is logged; a clean close writes a checkpoint.
    None,
    /// On disk within 200 ms; a crash may lose that much, and what survives is a prefix with no holes.
    #[default]
    Buffered,
    /// An acknowledged write survives a power cut.
    Sync,
}

/// The epochs between which the newest complete checkpoint was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointEpochs {
    /// It holds everything of the epochs before this one; the logs need replay from here on.
    pub begin: u64,
    /// It may hold something of every epoch up to this one, which was durable before the checkpoint counted.
    pub end: u64,
}

/// How a log is opened; only `folders` has no default.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Folders for the logs, in turn, so that they may lie on several devices. They are created if need be.
    pub folders: Vec<PathBuf>,
    /// Folders of earlier runs that are read, and get no new segments; none by default.
    pub also_read: Vec<PathBuf>,
    /// Drops whatever the logs hold, as if the checkpoint were all there is; false by default. For logs of which a part
    /// was lost.
    pub give_up: bool,
    /// How many logs to write: one per worker. May differ from one run to the next; at most 1,024.
    pub logs: usize,
    /// What an acknowledged write promises. May differ from one run to the next.
    pub durability: Durability,
    /// Size at which a segment file is full, in bytes; 64 MiB by default, from 64 KiB to 4 GiB. The first
    /// segments of a run are smaller.
    pub segment_bytes: u64,
    /// How often epochs close by themselves; 100 ms by default, at most 150 ms, so that with the sync itself
    /// the 200 ms of `Buffered` hold.
    pub flush_interval: Duration,
    /// Bytes that one log may hold in memory before whoever wants to write to it waits; 8 MiB by default,
    /// at least 64 KiB.
    pub buffer_bytes: usize,
    /// How long a folder that another process has in use is waited for; 5 s by default.
    pub lock_wait: Duration,
    /// The database that the logs belong to; `None`, the default, for that of the logs found, or a new one.
    pub database: Option<[u8; 16]>,
    /// Told how far the opening has come; it may end it. A new one, which nobody looks at, by default. The opening counts
    /// what it scans, and leaves the replay, whose bytes it has announced, to be counted by whoever replays.
    pub progress: Arc<OpenProgress>,
}

impl CheckpointEpochs {
    /// Epochs of a checkpoint that covers nothing, if there is none.
    pub(crate) fn or_none(checkpoint: Option<Self>) -> Self {
        checkpoint.unwrap_or(Self { begin: 0, end: 0 })
    }
}

impl LogOptions {
    /// Default options for logs in these folders: `Buffered`, one log per core.
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self {
            folders,
            also_read: Vec::new(),
            give_up: false,
            logs: threads::cores(),
            durability: Durability::default(),
            segment_bytes: 64 << 20,
            flush_interval: Duration::from_millis(100),
            buffer_bytes: 8 << 20,
            lock_wait: LOCK_WAIT,
            database: None,
            progress: Arc::default(),
        }
    }

    /// All folders that are read.
    pub(crate) fn all_folders(&self) -> Vec<PathBuf> {
        [&self.folders[..], &self.also_read].concat()
    }

    /// Says what cannot work; [`Log::open`](crate::Log::open) asks before it touches anything.
    ///
    /// # Errors
    /// An option out of range.
    pub fn check(&self) -> Result<()> {
        let bad = |name, why: String| Err(LogError::BadOption { name, why });
        if self.folders.is_empty() {
            return bad("folders", "there is none; name at least one".into());
        }
        if !(1..=threads::MOST).contains(&self.logs) {
            return bad("logs", format!("{} logs; there can be 1 to {}", self.logs, threads::MOST));
        }
        if !((64 << 10)..=(4 << 30)).contains(&self.segment_bytes) {
            return bad("segment_bytes", format!("{}; it can be 64 KiB to 4 GiB", self.segment_bytes));
        }
        if self.buffer_bytes < 64 << 10 {
            return bad("buffer_bytes", format!("{}; it must be at least 64 KiB", self.buffer_bytes));
        }
        if self.flush_interval.is_zero() || self.flush_interval > Duration::from_millis(150) {
            return bad("flush_interval", format!("{:?}; it can be up to 150 ms", self.flush_interval));
        }
        Ok(())
    }
}
