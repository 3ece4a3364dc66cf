//! Numbers about a database.

use pyo3::prelude::*;
use skeindb::DbStats;

use crate::core::DbCore;
use crate::html;

/// Numbers about a database, of one moment or nearly so.
#[pyclass(frozen, get_all, module = "skeindb")]
pub(crate) struct Stats {
    /// The engine: "memory" or "disk".
    engine: &'static str,
    /// The durability of a write that has returned.
    durability: &'static str,
    /// The names of the keyspaces.
    keyspaces: Vec<String>,
    /// The number of keys of all keyspaces, with those of the catalog.
    keys: u64,
    /// Bytes of memory: index and rows, or the pages of the cache that are in use.
    memory_bytes: u64,
    /// Bytes of logs that no checkpoint covers.
    log_bytes: u64,
    /// Checkpoints since opening.
    checkpoints: u64,
    /// Live snapshots, those of transactions included.
    snapshots: u64,
    /// The size of the page file of the disk engine, in bytes.
    file_bytes: Option<u64>,
    /// Why writes are refused, if they are.
    writes_stopped: Option<String>,
}

impl Stats {
    pub(crate) fn new(core: &DbCore, stats: DbStats) -> Self {
        Self {
            engine: core.engine_name(),
            durability: core.durability_name(),
            keyspaces: core.db.keyspaces().unwrap_or_default(),
            keys: stats.keys,
            memory_bytes: stats.memory_bytes,
            log_bytes: stats.log_bytes,
            checkpoints: stats.checkpoints,
            snapshots: stats.snapshots,
            file_bytes: stats.file_bytes,
            writes_stopped: stats.writes_stopped,
        }
    }

    /// Returns the names and texts of all numbers that there are.
    pub(crate) fn figures(&self) -> Vec<(&'static str, String)> {
        let mut figures = vec![
            ("engine", self.engine.to_owned()),
            ("durability", self.durability.to_owned()),
            ("keyspaces", self.keyspaces.join(", ")),
            ("keys", self.keys.to_string()),
            ("memory_bytes", self.memory_bytes.to_string()),
            ("log_bytes", self.log_bytes.to_string()),
            ("checkpoints", self.checkpoints.to_string()),
            ("snapshots", self.snapshots.to_string()),
        ];
        figures.extend(self.file_bytes.map(|bytes| ("file_bytes", bytes.to_string())));
        figures.extend(self.writes_stopped.clone().map(|why| ("writes_stopped", why)));
        figures
    }
}

#[pymethods]
impl Stats {
    fn __repr__(&self) -> String {
        let figures: Vec<String> =
            self.figures().iter().map(|(name, text)| format!("{name}={text}")).collect();
        format!("<skeindb.Stats: {}>", figures.join(", "))
    }

    fn _repr_html_(&self) -> String {
        html::figures("skeindb.Stats", &self.figures())
    }
}
