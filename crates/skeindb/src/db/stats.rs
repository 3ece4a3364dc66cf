//! Numbers about a database.

use skein_data::PAGE;

use super::{Db, Engine};
use crate::Result;

/// Numbers about a database, of one moment or nearly so.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DbStats {
    /// The engine.
    pub engine: Engine,
    /// The number of keys of all keyspaces, with those of the catalog.
    pub keys: u64,
    /// Bytes of memory: index and rows, or the pages of the cache that are in use.
    pub memory_bytes: u64,
    /// Bytes of logs that no checkpoint covers.
    pub log_bytes: u64,
    /// Checkpoints since opening.
    pub checkpoints: u64,
    /// Live snapshots, those of transactions included.
    pub snapshots: u64,
    /// The size of the page file of the disk engine, in bytes.
    pub file_bytes: Option<u64>,
    /// Why writes are refused, if they are.
    pub writes_stopped: Option<String>,
}

impl Db {
    /// Returns numbers about the database.
    ///
    /// ```
    /// let db = skeindb::Db::in_memory()?;
    /// db.default_keyspace().insert("grey", "Anser anser")?;
    /// assert_eq!(db.stats()?.keys, 1);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// The database is closed.
    pub fn stats(&self) -> Result<DbStats> {
        self.shared.check_usable()?;
        let engine = &self.shared.engine;
        let stats = engine.stats();
        let disk = engine.disk();
        Ok(DbStats {
            engine: if disk.is_some() { Engine::Disk } else { Engine::Memory },
            keys: stats.keys as u64,
            memory_bytes: (stats.index_bytes + stats.row_bytes) as u64,
            log_bytes: stats.log_bytes_behind,
            checkpoints: stats.checkpoints,
            snapshots: stats.snapshots as u64,
            file_bytes: disk.map(|(disk, _)| (disk.store().pages_in_use() * PAGE) as u64),
            writes_stopped: stats.writes_stopped,
        })
    }
}
