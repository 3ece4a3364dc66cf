//! Checks of folders, as `skein check` makes them, for programs.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use skein_data::OpenProgress;
use skein_disk::is_disk_folder;
use skein_log::storage::{OsStorage, StorageLock, has_file, lock_folder};
use skein_store::is_data_folder;

use super::super::progress::watched;
use super::refused;
use crate::{Db, Engine, Error, Progress, Result};

/// How long a folder may stay locked: until another backup has looked at it, or until a process
/// that this one has just started has closed the files that it inherited.
const LOCK_WAIT: Duration = Duration::from_millis(200);

/// The contents of a folder that was checked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The engine.
    pub engine: Engine,
    /// Rows of the newest checkpoint, or of the page file: those of logs are not among them.
    pub rows: u64,
    /// Records of logs that opening would replay.
    pub log_records: u64,
    /// Bytes of the newest checkpoint or the page file, and of the logs.
    pub bytes: u64,
    /// All damage that was found. If it is empty, the folder can be opened.
    pub damage: Vec<Error>,
}

impl VerifyReport {
    /// Returns whether there is no damage.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }
}

impl Db {
    /// Reads all files of a database that is not open, checks every checksum, and on disk every
    /// node of the tries. It changes nothing. `skein check` does the same.
    ///
    /// ```
    /// use skeindb::Db;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("geese");
    /// let db = Db::open(&path)?;
    /// db.default_keyspace().insert("grey", "Anser anser")?;
    /// db.close()?;
    /// # drop(db);
    /// let report = Db::verify(&path)?;
    /// assert!(report.is_sound() && report.rows + report.log_records > 0, "{report:?}");
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// The folder has no database, a process uses it, or a file cannot be read. Damage is not an
    /// error but a part of the report.
    pub fn verify(folder: impl AsRef<Path>) -> Result<VerifyReport> {
        Self::verify_with(folder, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`verify`](Self::verify), and calls `progress` after every part, of about a
    /// megabyte. A break cancels it.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("geese");
    /// # skeindb::Db::open(&path)?.close()?;
    /// skeindb::Db::verify_with(&path, |progress| {
    ///     println!("{} of {} bytes", progress.bytes, progress.bytes_total);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`verify`](Self::verify), and [`Error::Canceled`] after a break.
    pub fn verify_with(
        folder: impl AsRef<Path>,
        mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<VerifyReport> {
        let folder = folder.as_ref();
        let _lock = lock_closed(folder)?;
        watched("check", &mut progress, |counted| inspect(folder, counted)).map(|(report, _)| report)
    }
}

pub(super) fn no_database(folder: &Path) -> Error {
    refused(folder, "it has no database; name the folder of one")
}

/// Locks a folder, so that nobody opens it meanwhile. A folder without a lock file was never
/// opened, and gets none.
pub(super) fn lock_closed(folder: &Path) -> Result<Option<Box<dyn StorageLock>>> {
    let failed = |error| Error::from(skein_store::Error::from(error));
    if !has_file(&OsStorage, folder, "lock").map_err(failed)? {
        return Ok(None);
    }
    lock_folder(&OsStorage, folder, "lock", LOCK_WAIT).map(Some).map_err(failed)
}

/// Reads a folder; the caller must hold its lock. Returns also whether all logs lie within it.
pub(super) fn inspect(folder: &Path, progress: &OpenProgress) -> Result<(VerifyReport, bool)> {
    if is_disk_folder(folder) {
        return inspect_disk(folder, progress).map(|report| (report, true));
    }
    if !is_data_folder(folder) {
        return Err(no_database(folder));
    }
    let found = skein_store::inspect_with(folder, &OsStorage, progress)?;
    let newest = found.checkpoints.iter().find(|checkpoint| checkpoint.end_epoch.is_some());
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let is_whole = found.log_folders.iter().all(|log| log.starts_with(&absolute));
    let report = VerifyReport {
        engine: Engine::Memory,
        rows: newest.map_or(0, |checkpoint| checkpoint.rows),
        log_records: found.log_records,
        bytes: newest.map_or(0, |checkpoint| checkpoint.bytes) + found.logs.map_or(0, |logs| logs.bytes),
        damage: found.damage.into_iter().map(Error::from).collect(),
    };
    Ok((report, is_whole))
}

fn inspect_disk(folder: &Path, progress: &OpenProgress) -> Result<VerifyReport> {
    let found = skein_disk::inspect_with(folder, &OsStorage, progress)?;
    let main = found.tries.iter().find(|trie| trie.name == skein_disk::KeySpace::Main.name());
    Ok(VerifyReport {
        engine: Engine::Disk,
        rows: main.and_then(|trie| trie.census.as_ref()).map_or(0, |census| census.keys as u64),
        log_records: found.log_records,
        bytes: found.file_bytes + found.log.map_or(0, |log| log.bytes),
        damage: found.damage.into_iter().map(Error::from).collect(),
    })
}
