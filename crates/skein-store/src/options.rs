//! How a store is opened.

use std::path::PathBuf;
use std::time::Duration;

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

/// Which index holds the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IndexKind {
    /// A trie of B+-trees: any keys, in order.
    #[default]
    Masstree,
}

impl std::str::FromStr for IndexKind {
    type Err = crate::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "masstree" => Ok(Self::Masstree),
            _ => Err(crate::Error::BadOption {
                name: "index",
                why: format!("there is no index named {name:?}; the known one is \"masstree\""),
            }),
        }
    }
}

impl std::fmt::Display for IndexKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Masstree => "masstree",
        })
    }
}

/// Bounds on what a store takes in.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The longest value in bytes, all columns of a row and their names together; at most (and by default)
    /// 512 MiB.
    pub value_bytes: usize,
    /// Live memory (index, rows) past which writes that add are refused; `None`, the default, for no budget.
    pub memory_bytes: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { value_bytes: 512 << 20, memory_bytes: None }
    }
}

/// How a store is opened; `StoreOptions::default()` serves most users.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// What an acknowledged write promises; `Buffered` by default. May differ from one run to the next.
    pub durability: Durability,
    /// The index; `masstree` by default. Not part of what is on disk, so it may differ between runs.
    pub index: IndexKind,
    /// Logs, one per worker; by default one per core. Sessions take them in turn.
    pub logs: usize,
    /// Folders for the logs, in turn, so that they may lie on several devices; by default the data folder.
    pub log_folders: Vec<PathBuf>,
    /// Size of a log segment; 64 MiB by default.
    pub segment_bytes: u64,
    /// A checkpoint starts when the logs have grown by this much since the last one; 1 GiB by default,
    /// `None` for never.
    pub checkpoint_log_bytes: Option<u64>,
    /// A checkpoint starts this long after the last one, if anything was written; 1 hour by default, `None`
    /// for never.
    pub checkpoint_interval: Option<Duration>,
    /// Threads that write a checkpoint or recover one; by default one per core.
    pub threads: usize,
    /// Bounds on what the store takes in.
    pub limits: Limits,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            durability: Durability::default(),
            index: IndexKind::default(),
            logs: cores,
            log_folders: Vec::new(),
            segment_bytes: 64 << 20,
            checkpoint_log_bytes: Some(1 << 30),
            checkpoint_interval: Some(Duration::from_secs(3600)),
            threads: cores,
            limits: Limits::default(),
        }
    }
}
