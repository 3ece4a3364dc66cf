//! Backups: a copy of the database in another folder, as of one moment, while writers continue.
//!
//! ```text
//!   DIR.partial-backup   the copy while it is made; locked (flock), replaced by the next backup
//!   DIR                  the name that a whole and durable copy gets by one rename
//! ```
//!
//! A copy is a database folder like any other. A crash leaves the partial folder, and never a
//! folder DIR with a part of the rows.
//!
//! `partial_folder` has the rename. The copy of the engine in memory is a checkpoint of one
//! moment. On disk, `rows` copies a snapshot into a new store. `since` copies files, and shares
//! those that an earlier backup has. `verify` checks a folder, and `restore` copies a checked one.

mod partial_folder;
mod restore;
mod rows;
mod since;
mod verify;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use skein_data::Engine;

use super::progress::watched;
use super::{Db, Progress};
use crate::{Error, Result};
use partial_folder::PartialFolder;
pub use verify::VerifyReport;

/// The name of the operation in [`Error::Canceled`].
const BACKUP: &str = "backup";

fn refused(path: &Path, why: impl Into<String>) -> Error {
    Error::Folder { path: path.to_owned(), why: why.into() }
}

fn failed<'p>(doing: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Error + 'p {
    move |error| refused(path, format!("cannot {doing} it: {error}"))
}

/// A finished backup or restore.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackupReport {
    /// Rows as in [`Progress::rows`]; of a restore and of [`Db::backup_since`] as in
    /// [`VerifyReport::rows`].
    pub rows: u64,
    /// Bytes that were copied: of keys, values and members, or of files by a restore and by
    /// [`Db::backup_since`].
    pub bytes: u64,
    /// Bytes of files that the earlier backup of [`Db::backup_since`] had, and that were not
    /// copied.
    pub shared_bytes: u64,
    /// The time that it took.
    pub took: Duration,
}

impl Db {
    /// Copies the database to another folder, as it is at one moment: all keyspaces, all kinds of
    /// contents, and times of expiry. Reads and writes continue. [`Db::open`] opens the copy, and
    /// so does a server.
    ///
    /// The folder must be absent or empty. It appears when the copy is whole and durable. Until
    /// then the copy is beside it, in a folder with a name that ends in `.partial-backup`. If a
    /// process dies during a backup, the next backup to the same folder replaces this one.
    ///
    /// The copy is made from a [snapshot](Self::snapshot), so values replaced meanwhile are kept
    /// until the end. [`backup_since`](Self::backup_since) makes backups that share files.
    ///
    /// ```
    /// use skeindb::Db;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (path, copy) = (folder.path().join("geese"), folder.path().join("copy"));
    /// let db = Db::open(&path)?;
    /// db.keyspace("geese")?.insert("grey", "Anser anser")?;
    /// db.backup(&copy)?;
    ///
    /// let copied = Db::open(&copy)?;
    /// assert_eq!(copied.keyspace("geese")?.get("grey")?.as_deref(), Some(&b"Anser anser"[..]));
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// The folder has contents, is within the database's own, or cannot be written, another backup
    /// to it is running, the database is closed, or its snapshot was ended for the memory limit.
    /// There is no folder then.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<BackupReport> {
        self.backup_with(folder, |_| ControlFlow::Continue(()))
    }

    /// Refuses a backup within the database's folder: there it could be taken for a checkpoint,
    /// which could then not be removed.
    fn refuse_within_itself(&self, folder: &Path) -> Result<()> {
        let own = self.shared.folder.as_deref();
        own.map_or(Ok(()), |own| restore::refuse_within(own, "the database", folder))
    }

    /// Does the same as [`backup`](Self::backup), and calls `progress` after every part: of up to
    /// about a megabyte on disk, of some hundred rows in memory. A break cancels the backup.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let copy = folder.path().join("copy");
    /// let db = skeindb::Db::in_memory()?;
    /// db.default_keyspace().insert("grey", "Anser anser")?;
    /// db.backup_with(&copy, |progress| {
    ///     println!("{} rows, {} bytes", progress.rows, progress.bytes);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`backup`](Self::backup), and [`Error::Canceled`] after a break.
    pub fn backup_with(
        &self,
        folder: impl AsRef<Path>,
        mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport> {
        let started = Instant::now();
        self.shared.check_usable()?;
        self.refuse_within_itself(folder.as_ref())?;
        let partial = PartialFolder::create(folder.as_ref())?;
        let copied = self.copy_rows(partial.path(), &mut progress)?;
        partial.finish()?;
        Ok(BackupReport { took: started.elapsed(), ..copied })
    }

    /// Copies all rows of one moment into an empty folder.
    fn copy_rows(
        &self,
        folder: &Path,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport> {
        match &self.shared.engine {
            Engine::Memory(store) => {
                let copied = watched(BACKUP, progress, |counted| store.copy_to(folder, counted))?;
                Ok(BackupReport::copied(copied.rows, copied.bytes))
            }
            Engine::Disk(disk) => {
                let mut told = |done: &Progress| {
                    if progress(done).is_break() {
                        Err(Error::Canceled { operation: BACKUP })
                    } else {
                        Ok(())
                    }
                };
                let copied = rows::copy(disk, folder, &mut told)?;
                Ok(BackupReport::copied(copied.rows, copied.bytes))
            }
        }
    }
}

impl BackupReport {
    /// Returns the report of a copy that shares nothing. The caller sets the time.
    fn copied(rows: u64, bytes: u64) -> Self {
        Self { rows, bytes, shared_bytes: 0, took: Duration::ZERO }
    }
}
