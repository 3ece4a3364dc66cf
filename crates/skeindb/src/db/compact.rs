//! Compaction: gives back space on disk.

use skein_data::Engine;

use super::Db;
use crate::Result;

/// The result of [`Db::compact`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// Bytes before: of the page file, or of logs that no checkpoint covers.
    pub bytes_before: u64,
    /// The same bytes afterwards.
    pub bytes_after: u64,
}

impl Db {
    /// Gives back space on disk. Reads and writes go on.
    ///
    /// - On disk, pages with few nodes are merged and pages are moved, and the file is cut off behind
    ///   the last one. `skein compact` does the same. A crash at any moment loses nothing.
    /// - In memory, this is a [`checkpoint`](Self::checkpoint), which has live rows alone. Logs that
    ///   it covers are removed.
    ///
    /// ```
    /// use skeindb::{Db, Engine};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("geese");
    /// let db = Db::builder(&path).engine(Engine::Disk).open()?;
    /// let numbers = db.keyspace("numbers")?;
    /// numbers.bulk_load((0..20_000u32).map(|number| (number.to_be_bytes(), [0; 1000])))?;
    /// db.checkpoint()?;
    /// numbers.clear()?;
    /// let report = db.compact()?;
    /// assert!(report.bytes_after < report.bytes_before, "{report:?}");
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// The database is closed, writes are stopped, a page is damaged, or a file operation fails.
    pub fn compact(&self) -> Result<CompactReport> {
        self.shared.check_usable()?;
        match &self.shared.engine {
            Engine::Memory(store) => {
                let log_bytes = || store.stats().log_bytes_behind;
                let bytes_before = log_bytes();
                store.checkpoint()?;
                Ok(CompactReport { bytes_before, bytes_after: log_bytes() })
            }
            Engine::Disk(disk) => {
                let done = disk.store().compact()?;
                Ok(CompactReport { bytes_before: done.bytes_before, bytes_after: done.bytes_after })
            }
        }
    }
}
