//! Makes a database folder from a backup.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use skein_data::OpenProgress;
use skein_log::storage::{OsStorage, Storage as _};

use super::partial_folder::PartialFolder;
use super::{BackupReport, failed, refused, verify};
use crate::{Db, Error, Progress, Result};

/// Bytes that are copied between two calls of the progress callback.
const STEP: usize = 1 << 20;

impl Db {
    /// Makes a database in `folder` from a backup, and leaves the backup as it is. All of the
    /// backup is checked before, as by [`verify`](Self::verify). Any copy of a database folder will
    /// do that is not open and has its logs within.
    ///
    /// The folder must be absent or empty, and appears when it is whole, as for
    /// [`backup`](Self::backup).
    ///
    /// ```
    /// use skeindb::Db;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let [path, copy, restored] = ["geese", "copy", "restored"].map(|name| folder.path().join(name));
    /// let db = Db::open(&path)?;
    /// db.default_keyspace().insert("grey", "Anser anser")?;
    /// db.backup(&copy)?;
    /// db.default_keyspace().clear()?;
    ///
    /// Db::restore(&copy, &restored)?;
    /// assert!(Db::open(&restored)?.default_keyspace().contains_key("grey")?);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// The backup is damaged (the error is the first damage), is open, has logs in other folders,
    /// or cannot be read; `folder` has contents or cannot be written. There is no folder then.
    pub fn restore(backup: impl AsRef<Path>, folder: impl AsRef<Path>) -> Result<BackupReport> {
        Self::restore_with(backup, folder, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`restore`](Self::restore), and calls `progress` after every megabyte that
    /// was copied. A break cancels the restore.
    ///
    /// # Errors
    /// As for [`restore`](Self::restore), and [`Error::Canceled`] after a break.
    pub fn restore_with(
        backup: impl AsRef<Path>,
        folder: impl AsRef<Path>,
        mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport> {
        let (started, backup) = (Instant::now(), backup.as_ref());
        refuse_within(backup, "the backup", folder.as_ref())?;
        let partial = PartialFolder::create(folder.as_ref())?;
        let _lock = verify::lock_closed(backup)?;
        let (found, is_whole) = verify::inspect(backup, &OpenProgress::default())?;
        if let Some(damage) = found.damage.into_iter().next() {
            return Err(damage);
        }
        if !is_whole {
            let why =
                "it has logs in other folders; copy those into its folder `log` and name it when you open it";
            return Err(refused(backup, why));
        }
        let done = Progress { rows: found.rows, ..Progress::default() };
        let mut copy = FolderCopy { done, progress: &mut progress };
        copy.folder(backup, partial.path())?;
        partial.finish()?;
        let Progress { rows, bytes, .. } = copy.done;
        Ok(BackupReport { took: started.elapsed(), ..BackupReport::copied(rows, bytes) })
    }
}

/// Refuses a copy within a backup, which would have copies of itself, and within a database, which
/// could take it for files of its own.
pub(super) fn refuse_within(outer: &Path, what: &str, folder: &Path) -> Result<()> {
    let outer = outer.canonicalize().map_err(failed("find", outer))?;
    let absolute = std::path::absolute(folder).map_err(failed("resolve", folder))?;
    // The folder need not exist, so its nearest part that does counts.
    let existing = absolute.ancestors().find_map(|part| part.canonicalize().ok());
    if existing.is_some_and(|existing| existing.starts_with(&outer)) {
        return Err(refused(folder, format!("it is within {what}; choose a folder beside it")));
    }
    Ok(())
}

/// A copy of files that is made, and its progress.
struct FolderCopy<'p> {
    done: Progress,
    progress: &'p mut dyn FnMut(&Progress) -> ControlFlow<()>,
}

impl FolderCopy<'_> {
    /// Copies all files of a folder durably; the name of `to` itself is left to the caller.
    fn folder(&mut self, from: &Path, to: &Path) -> Result<()> {
        for entry in std::fs::read_dir(from).map_err(failed("read", from))? {
            let entry = entry.map_err(failed("read", from))?;
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(failed("read", &from))?;
            if kind.is_dir() {
                OsStorage.create_dir_all(&to).map_err(failed("create", &to))?;
                self.folder(&from, &to)?;
            } else if kind.is_file() {
                self.file(&from, &to)?;
            } else {
                return Err(refused(&from, "it is neither a file nor a folder; remove it from the backup"));
            }
        }
        OsStorage.sync_dir(to).map_err(failed("sync", to))
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<()> {
        let mut source = File::open(from).map_err(failed("open", from))?;
        let target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
        let mut target = target.map_err(failed("create", to))?;
        let mut buffer = vec![0; STEP];
        loop {
            let read = source.read(&mut buffer).map_err(failed("read", from))?;
            if read == 0 {
                break;
            }
            target.write_all(&buffer[..read]).map_err(failed("write", to))?;
            self.done.bytes += read as u64;
            if (self.progress)(&self.done).is_break() {
                return Err(Error::Canceled { operation: "restore" });
            }
        }
        target.sync_all().map_err(failed("sync", to))
    }
}
