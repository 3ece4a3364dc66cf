//! Incremental backups: complete folders that share files with an earlier backup.
//!
//! `skein_store::Store::copy_files_to` copies the files and says which of them two folders may
//! share. Here the earlier backup is locked, and the copy is checked before it gets its name,
//! because its bytes were read from files and not from memory.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_data::{Engine, OpenProgress};
use skein_disk::is_disk_folder;
use skein_log::storage::{OsStorage, StorageLock};
use skein_store::{FileCopyTarget, Store, is_data_folder};

use super::super::progress::watched;
use super::partial_folder::PartialFolder;
use super::restore::refuse_within;
use super::{BACKUP, BackupReport, failed, refused, verify};
use crate::{Db, Progress, Result};

impl Db {
    /// Backs up the database to a new folder, as [`backup`](Self::backup) does, and shares files
    /// with an earlier backup instead of copying them. The new backup is as complete as any: it
    /// needs no other one to be opened or restored. Each backup may be opened, changed and deleted,
    /// and no other one changes.
    ///
    /// In memory, a backup has the newest checkpoint and the logs since. Files that `previous` has
    /// with the same bytes get a second name (a hard link). So between two checkpoints a backup
    /// takes as much space as the logs have grown, and up to one log segment (64 MiB) more for each
    /// log. After a checkpoint it takes as much as all rows. All shared bytes are read and
    /// compared. If the file system refuses a link, the file is copied.
    ///
    /// - If there is no folder `previous`, nothing is shared. So the first backup of a series needs
    ///   no call of its own.
    /// - `previous` may be a backup of another database, of the other engine, or damaged. Then
    ///   little or nothing is shared, and the new backup is whole. So it is after
    ///   [`backup`](Self::backup), because its copies are databases with an id of their own.
    /// - The disk engine writes to its file in place, so nothing of it can be shared: this is then
    ///   the same as [`backup`](Self::backup). So it is for a database without a folder.
    /// - A shared file that is damaged at rest is damaged in all backups that share it. The next
    ///   backup copies it anew.
    ///
    /// ```
    /// use skeindb::Db;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let [path, sunday, monday, tuesday] =
    /// #     ["geese", "sunday", "monday", "tuesday"].map(|name| folder.path().join(name));
    /// let db = Db::open(&path)?;
    /// let geese = db.keyspace("geese")?;
    /// geese.insert("grey", "Anser anser")?;
    /// db.checkpoint()?;
    /// db.backup_since(&sunday, &monday)?;
    /// geese.insert("bean", "Anser fabalis")?;
    /// let report = db.backup_since(&monday, &tuesday)?;
    /// assert!(report.shared_bytes > 0, "{report:?}");
    /// std::fs::remove_dir_all(&monday).unwrap();
    /// assert_eq!(Db::open(&tuesday)?.keyspace("geese")?.len()?, 2);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`backup`](Self::backup). Besides: `previous` is a folder without a database, or is
    /// open, or another call is reading it; the new folder is within it; writes are stopped, also
    /// by a full disk (`backup` works then); a file of the database is damaged (`backup` works
    /// then, too).
    pub fn backup_since(&self, previous: impl AsRef<Path>, folder: impl AsRef<Path>) -> Result<BackupReport> {
        self.backup_since_with(previous, folder, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`backup_since`](Self::backup_since), and calls `progress` after every
    /// megabyte that was copied or compared, and during the check of the copy. A break cancels the
    /// backup.
    ///
    /// # Errors
    /// As for [`backup_since`](Self::backup_since), and
    /// [`Error::Canceled`](crate::Error::Canceled) after a break.
    pub fn backup_since_with(
        &self,
        previous: impl AsRef<Path>,
        folder: impl AsRef<Path>,
        mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<BackupReport> {
        let (started, previous) = (Instant::now(), previous.as_ref());
        self.shared.check_usable()?;
        let earlier = EarlierBackup::lock(previous)?;
        if earlier.is_some() {
            refuse_within(previous, "the backup", folder.as_ref())?;
        }
        self.refuse_within_itself(folder.as_ref())?;
        let partial = PartialFolder::create(folder.as_ref())?;
        let copied = match &self.shared.engine {
            Engine::Memory(store) if !store.options().storage.is_volatile() => {
                let earlier = earlier.as_ref().filter(|earlier| !earlier.is_on_disk).map(|_| previous);
                let target = FileCopyTarget { storage: Arc::new(OsStorage), folder: partial.path(), earlier };
                watched(BACKUP, &mut progress, |counted| copy_files(store, &target, counted))?
            }
            Engine::Memory(_) | Engine::Disk(_) => self.copy_rows(partial.path(), &mut progress)?,
        };
        partial.finish()?;
        Ok(BackupReport { took: started.elapsed(), ..copied })
    }
}

/// An earlier backup, locked. A folder without a lock file gets none: should somebody open it
/// meanwhile, the files that are shared are only read or removed.
struct EarlierBackup {
    is_on_disk: bool,
    _lock: Option<Box<dyn StorageLock>>,
}

impl EarlierBackup {
    /// Locks a folder that must have a database, and must not be open. Returns `None` if there is
    /// no folder.
    fn lock(folder: &Path) -> Result<Option<Self>> {
        match std::fs::symlink_metadata(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", folder)(error)),
            Ok(_) => {}
        }
        let is_on_disk = is_disk_folder(folder);
        if !is_on_disk && !is_data_folder(folder) {
            return Err(verify::no_database(folder));
        }
        Ok(Some(Self { is_on_disk, _lock: verify::lock_closed(folder)? }))
    }
}

/// Copies or shares the files of one moment, and checks all of them.
fn copy_files(store: &Store, target: &FileCopyTarget<'_>, progress: &OpenProgress) -> Result<BackupReport> {
    let copied = store.copy_files_to(target, progress)?;
    let (found, _) = verify::inspect(target.folder, progress)?;
    if let Some(damage) = found.damage.first() {
        let why = format!(
            "the copy of a file is damaged, so the database's own file may be; use `backup`, which writes all rows \
             from memory: {damage}"
        );
        return Err(refused(target.folder, why));
    }
    let (rows, bytes) = (found.rows, copied.copied_bytes);
    Ok(BackupReport { rows, bytes, shared_bytes: copied.shared_bytes, took: Duration::ZERO })
}
