//! Backups: a copy of the database in another folder, as of one moment, while writers go on.
//!
//! ```text
//!   DIR.partial-backup   the copy while it is made; locked (flock), replaced by the next backup
//!   DIR                  the name that a whole and durable copy gets by one rename
//! ```
//!
//! A copy is a database folder like any other. A crash leaves the partial folder, and never a
//! folder DIR with a part of the rows.
//!
//! `partial_folder` has the rename. The copy of the engine in memory is a `checkpoint` of one
//! moment. On disk, `rows` copies a snapshot into a new store. `verify` checks a folder, and
//! `restore` copies a checked one.

mod checkpoint;
mod partial_folder;
mod restore;
mod rows;
mod verify;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use skein_data::Engine;

use super::Db;
use crate::{Error, Result};
use partial_folder::PartialFolder;
pub use verify::VerifyReport;

fn refused(path: &Path, why: impl Into<String>) -> Error {
    Error::Folder { path: path.to_owned(), why: why.into() }
}

fn failed<'p>(doing: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Error + 'p {
    move |error| refused(path, format!("cannot {doing} it: {error}"))
}

/// How far a long operation has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Rows that were copied, those of the catalog of keyspaces included. In memory each member of
    /// a set, and each column of a large hash, is one more row.
    pub rows: u64,
    /// Bytes that were copied: of keys, values and members, or of files by a restore.
    pub bytes: u64,
}

/// A finished backup or restore.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackupReport {
    /// Rows as in [`Progress::rows`]; of a restore as in [`VerifyReport::rows`].
    pub rows: u64,
    /// Bytes that were copied: of keys, values and members, or of files by a restore.
    pub bytes: u64,
    /// The time that it took.
    pub took: Duration,
}

impl Db {
    /// Copies the database to another folder, as it is at one moment: all keyspaces, all kinds of
    /// contents, and times of expiry. Reads and writes go on. [`Db::open`] opens the copy, and so
    /// does a server.
    ///
    /// The folder must be absent or empty. It appears when the copy is whole and durable; before, the
    /// copy is in a folder beside it whose name ends in `.partial-backup`. If a process dies during a
    /// backup, the next backup to the same folder replaces this one.
    ///
    /// The copy is made from a [snapshot](Self::snapshot), so what writers replace meanwhile is kept
    /// until the end.
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
    /// The folder has contents or cannot be written, another backup to it is running, the database
    /// is closed, or its snapshot was ended for the memory limit. There is no folder then.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<BackupReport> {
        self.backup_with(folder, |_| ControlFlow::Continue(()))
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
        let partial = PartialFolder::create(folder.as_ref())?;
        let mut told = |done: &Progress| {
            if progress(done).is_break() { Err(Error::Canceled { operation: "backup" }) } else { Ok(()) }
        };
        let copied = match &self.shared.engine {
            Engine::Memory(store) => checkpoint::copy(store, partial.path(), &mut told)?,
            Engine::Disk(disk) => rows::copy(disk, partial.path(), &mut told)?,
        };
        partial.finish()?;
        Ok(BackupReport { rows: copied.rows, bytes: copied.bytes, took: started.elapsed() })
    }
}
