//! Compaction: gives back space on disk.

use std::ops::ControlFlow;

use skein_data::Engine;

use super::progress::watched;
use super::{Db, Progress};
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
    /// Gives back space on disk. Reads and writes continue.
    ///
    /// - On disk, pages with few nodes are merged and pages are moved, and the file is cut off
    ///   behind the last one. `skein compact` does the same. A crash at any moment loses nothing.
    /// - In memory, this is a [`checkpoint`](Self::checkpoint), which has live rows alone. Logs
    ///   that it covers are removed.
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
        self.compact_with(|_| ControlFlow::Continue(()))
    }

    /// Does the same as [`compact`](Self::compact), and calls `progress` after every step: of up to
    /// 64 pages on disk, which count when they are merged or moved, and of some hundred rows in
    /// memory. A break cancels the compaction. Nothing is lost then, and on disk the space that it
    /// has given back so far stays free.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let db = skeindb::Db::open(folder.path().join("geese"))?;
    /// db.default_keyspace().insert("grey", "Anser anser")?;
    /// db.compact_with(|progress| {
    ///     println!("{} rows, {} bytes", progress.rows, progress.bytes);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`compact`](Self::compact), and [`Error::Canceled`](crate::Error::Canceled) after a
    /// break.
    pub fn compact_with(
        &self,
        mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<CompactReport> {
        self.shared.check_usable()?;
        match &self.shared.engine {
            Engine::Memory(store) => {
                let log_bytes = || store.stats().log_bytes_behind;
                let bytes_before = log_bytes();
                watched("compaction", &mut progress, |counted| store.checkpoint_with(counted))?;
                Ok(CompactReport { bytes_before, bytes_after: log_bytes() })
            }
            Engine::Disk(disk) => {
                let done =
                    watched("compaction", &mut progress, |counted| disk.store().compact_with(counted))?;
                Ok(CompactReport { bytes_before: done.bytes_before, bytes_after: done.bytes_after })
            }
        }
    }
}
