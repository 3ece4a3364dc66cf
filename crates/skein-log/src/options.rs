//! The options of a log.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_sync::threads;

use crate::storage::LOCK_WAIT;
use crate::{LogError, OpenProgress, Result};

/// The guarantee of an acknowledged write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Nothing is logged. A clean close writes a checkpoint.
    None,
    /// Writes are on disk within 200 ms. A crash may lose the writes of that time, but the
    /// surviving writes are a prefix without holes.
    #[default]
    Buffered,
    /// An acknowledged write survives a power cut.
    Sync,
}

impl Durability {
    /// All levels, the weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Buffered, Self::Sync];

    /// Returns the name of the level, as in the options.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Buffered => "buffered",
            Self::Sync => "sync",
        }
    }

    /// Describes the level, for lists of all.
    pub fn about(self) -> &'static str {
        match self {
            Self::None => "Nothing is logged; a checkpoint or a clean stop writes everything",
            Self::Buffered => "On disk within 200 ms; a crash leaves a prefix of the writes",
            Self::Sync => "An acknowledged write survives a power cut",
        }
    }
}

impl std::fmt::Display for Durability {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

/// The epochs during which the newest complete checkpoint was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointEpochs {
    /// The checkpoint holds all writes of the epochs before this one. Replay must begin here.
    pub begin: u64,
    /// The checkpoint may hold writes of epochs up to this one. This epoch was durable before the
    /// checkpoint was complete.
    pub end: u64,
}

/// The smallest limit of the size of a segment.
pub const SEGMENT_BYTES_MIN: u64 = 64 << 10;
/// The largest limit of the size of a segment.
pub const SEGMENT_BYTES_MAX: u64 = 4 << 30;

/// The options of a log. Only `folders` has no default.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Folders for the logs, used in turn, so that the logs may lie on several devices. Missing
    /// folders are created.
    pub folders: Vec<PathBuf>,
    /// Folders of earlier runs, which are read but get no new segments. Empty by default.
    pub also_read: Vec<PathBuf>,
    /// Discards everything in the logs and starts from the checkpoint alone. False by default. Use
    /// it if a part of a log was lost.
    pub give_up: bool,
    /// The number of logs to write: one per worker, at most 1,024. May differ from run to run.
    pub logs: usize,
    /// The guarantee of an acknowledged write. May differ from run to run.
    pub durability: Durability,
    /// The size at which a segment file is full, in bytes: from 64 KiB to 4 GiB, by default 64 MiB.
    /// A new segment has half the length of the log, and at least 1 MiB. If a thread had to wait
    /// for a segment, the next one has twice its size.
    pub segment_bytes: u64,
    /// The interval at which epochs close by themselves: at most 150 ms, by default 100 ms. So the
    /// 200 ms of `Buffered` also cover the sync.
    pub flush_interval: Duration,
    /// The bytes that one log may hold in memory before threads that want to write to it block: at
    /// least 64 KiB, by default 8 MiB.
    pub buffer_bytes: usize,
    /// How long to wait for a folder that another process uses. 5 s by default.
    pub lock_wait: Duration,
    /// The database that the logs belong to. `None`, the default, takes the id of the logs found,
    /// or a new one.
    pub database: Option<[u8; 16]>,
    /// Receives the progress of the opening and may cancel it. By default nobody watches. The
    /// opening announces the bytes of scan and replay but counts only the scan; the caller of the
    /// replay counts the rest.
    pub progress: Arc<OpenProgress>,
}

impl CheckpointEpochs {
    /// Returns the checkpoint, or the epochs of one that covers nothing.
    pub(crate) fn or_none(checkpoint: Option<Self>) -> Self {
        checkpoint.unwrap_or(Self { begin: 0, end: 0 })
    }
}

impl LogOptions {
    /// Returns the default options for logs in these folders: `Buffered`, one log per core.
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

    /// Returns all folders that are read.
    pub(crate) fn all_folders(&self) -> Vec<PathBuf> {
        [&self.folders[..], &self.also_read].concat()
    }

    /// Checks the options. [`Log::open`](crate::Log::open) calls it before it changes anything.
    ///
    /// # Errors
    /// Returns an error if an option is out of range.
    pub fn check(&self) -> Result<()> {
        let bad = |name, why: String| Err(LogError::BadOption { name, why });
        if self.folders.is_empty() {
            return bad("folders", "the list is empty; name at least one folder".into());
        }
        if !(1..=threads::MOST).contains(&self.logs) {
            return bad("logs", format!("{} logs; choose 1 to {}", self.logs, threads::MOST));
        }
        if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&self.segment_bytes) {
            let (least, most) = (SEGMENT_BYTES_MIN >> 10, SEGMENT_BYTES_MAX >> 30);
            let why = format!("{} bytes; choose {least} KiB to {most} GiB", self.segment_bytes);
            return bad("segment_bytes", why);
        }
        if self.buffer_bytes < 64 << 10 {
            return bad("buffer_bytes", format!("{} bytes; choose at least 64 KiB", self.buffer_bytes));
        }
        if self.flush_interval.is_zero() || self.flush_interval > Duration::from_millis(150) {
            return bad(
                "flush_interval",
                format!("{:?}; choose more than 0 and at most 150 ms", self.flush_interval),
            );
        }
        Ok(())
    }
}
