//! A copy of a store's files in another folder, which shares files with an earlier copy.
//!
//! ```text
//!   newest checkpoint ── parts, manifest ──► second names of the earlier copy's files, or copies
//!   logs up to epoch E ── full segments ───► the same
//!                     ── last segments ────► copies, each with the mark of a clean close
//!   identity, segment manifest ────────────► new
//! ```
//!
//! Unlike [`Store::copy_to`], the copy keeps the store's id, because parts and segments have it.
//!
//! 1. The lease (`checkpoint/leases.rs`) keeps the newest checkpoint and its segments. The logs are
//!    cut behind the checkpoint's end, and no checkpoint is written until the lease has begun. So E
//!    is past the checkpoint's end epoch. Assume the process had died when E was durable and
//!    nothing later was on disk: then recovery would find exactly the copy.
//! 2. At durability `None` the checkpoint has all rows. A new one is written first if anything was
//!    written since the newest one began. It must be of one moment.
//! 3. Two folders share only files that no opening writes to in place: the files of checkpoints,
//!    and segments that are sealed in both folders (`LogCut`, `Recovered::sealed`).
//! 4. The identity is written last. Until then the folder is no store.
//! 5. The copy ends with an error if the store was closed at any time before the identity is
//!    written. Until then only this store can have removed or replaced its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_log::storage::{FileCopier, Storage, make_folder};
use skein_log::{LogCut, OpenProgress, Recovered};

use super::Store;
use super::open_store::OpenStore;
use crate::checkpoint::manifest::CheckpointManifest;
use crate::checkpoint::{CheckpointSource, folder_name, manifest, part_name};
use crate::identity::{Identity, LOG, LogFolder, StoreId, absolute};
use crate::session::active_writes;
use crate::{Durability, Error, Result};

/// Where [`Store::copy_files_to`] makes a copy.
#[derive(Debug, Clone)]
pub struct FileCopyTarget<'t> {
    /// The file system of the copy.
    pub storage: Arc<dyn Storage>,
    /// The folder of the copy: absent or empty.
    pub folder: &'t Path,
    /// An earlier copy in the same file system, to share files with. A folder without a store
    /// shares nothing. The caller has locked it: no process may open it meanwhile.
    pub earlier: Option<&'t Path>,
}

/// The result of [`Store::copy_files_to`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FileCopyReport {
    /// The copy has all writes up to this epoch.
    pub epoch: u64,
    /// Bytes of files that were written.
    pub copied_bytes: u64,
    /// Bytes of files that the earlier copy had.
    pub shared_bytes: u64,
    /// The time that the copy took.
    pub took: Duration,
}

impl Store {
    /// Copies the store's files to another folder, with all writes up to one moment. Reads, writes
    /// and checkpoints continue, and no file is removed meanwhile. Files that an earlier copy has
    /// with the same contents get a second name there (a hard link) instead. Each copy may be
    /// opened, changed and removed, and no other copy changes. The folder has a store once the call
    /// has returned `Ok`, and then all of it is durable.
    ///
    /// The bytes are copied as they are on disk. [`inspect`](crate::inspect) checks them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    /// let store = Store::open(folder.path().join("geese"), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// store.checkpoint()?;
    /// let storage: Arc<dyn skein_log::storage::Storage> = Arc::new(skein_log::storage::OsStorage);
    /// let copy = |folder, earlier| {
    ///     let target = FileCopyTarget { storage: storage.clone(), folder, earlier };
    ///     store.copy_files_to(&target, &OpenProgress::default())
    /// };
    /// copy(&first, None)?;
    /// store.put(b"swan", b"mute")?;
    /// assert!(copy(&second, Some(&first))?.shared_bytes > 0);
    /// assert_eq!(Store::open(&second, StoreOptions::default())?.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The folder has contents or cannot be written; writes are stopped, also by a full disk; the
    /// store was closed; a file is damaged; `Cancelled` by `progress`; `SnapshotEnded` at
    /// durability `None`, for the memory limit; `InsideWrite` if the calling thread is writing to
    /// the store. The folder may then have a part of the copy, and no store.
    pub fn copy_files_to(
        &self,
        target: &FileCopyTarget<'_>,
        progress: &OpenProgress,
    ) -> Result<FileCopyReport> {
        active_writes::check(self.core(), "`copy_files_to`")?;
        self.handle.open.copy_files(target, progress)
    }
}

impl OpenStore {
    fn copy_files(&self, target: &FileCopyTarget<'_>, progress: &OpenProgress) -> Result<FileCopyReport> {
        let (started, to) = (Instant::now(), &*target.storage);
        let folder = absolute(target.folder)?;
        make_folder(to, &folder)?;
        let files = LeasedFiles::take(self)?;
        let begin = files.begin();
        let bytes = files.checkpoint.as_ref().map_or(0, |(manifest, _)| manifest.bytes());
        progress.expect(bytes + files.cut.bytes());
        let earlier = match target.earlier {
            Some(path) => EarlierCopy::find(to, &absolute(path)?, self.folder.id, begin),
            None => EarlierCopy::default(),
        };
        let mut copier = FileCopier::new(&*self.folder.storage, to, progress);
        if let Some((manifest, from)) = &files.checkpoint {
            let into = folder.join(folder_name(begin));
            copy_checkpoint(&mut copier, manifest, from, &into, earlier.checkpoint.as_deref())?;
        }
        let log = folder.join(LOG);
        let segments = files.cut.copy_to(&mut copier, &log, &earlier.sealed)?;
        // Invariant 5.
        if self.core.commit.is_closed() {
            return Err(Error::Closed);
        }
        let log = LogFolder { id: segments.folder, active: true, path: log };
        Identity::with_log_folder(self.folder.id, begin, log).write(to, &folder)?;
        Ok(FileCopyReport {
            epoch: files.cut.epoch(),
            copied_bytes: copier.copied(),
            shared_bytes: copier.shared(),
            took: started.elapsed(),
        })
    }
}

/// The files of one moment, which stay until this is dropped.
struct LeasedFiles<'s> {
    store: &'s OpenStore,
    /// The newest checkpoint and its folder.
    checkpoint: Option<(CheckpointManifest, PathBuf)>,
    cut: LogCut,
}

impl<'s> LeasedFiles<'s> {
    fn take(store: &'s OpenStore) -> Result<Self> {
        store.checkpoints.between_checkpoints(|turn| {
            let (commit, folder) = (&store.core.commit, &store.folder);
            if commit.is_closed() {
                return Err(Error::Closed);
            }
            if commit.durability == Durability::None {
                // When this epoch is closed, every writer has noted that it wrote.
                commit.log.commit()?;
                if commit.is_written() {
                    let source = CheckpointSource { of_one_moment: true, ..store.checkpoint_source() };
                    turn.write(source, store.core.options.checkpoint_threads)?;
                }
            }
            let checkpoint =
                CheckpointManifest::newest(&*folder.storage, &folder.path, folder.id, folder.checkpoint())?;
            let begin = checkpoint.as_ref().map_or(0, |(manifest, _)| manifest.begin);
            let cut = commit.log.cut(begin)?;
            store.checkpoints.copies.begin(begin);
            Ok(Self { store, checkpoint, cut })
        })
    }
}

impl LeasedFiles<'_> {
    /// Returns the begin epoch of the checkpoint; 0 without one.
    fn begin(&self) -> u64 {
        self.checkpoint.as_ref().map_or(0, |(manifest, _)| manifest.begin)
    }
}

impl Drop for LeasedFiles<'_> {
    fn drop(&mut self) {
        let checkpoints = &self.store.checkpoints;
        let source = self.store.checkpoint_source();
        checkpoints.between_checkpoints(|_| checkpoints.copies.end(self.begin(), &source));
    }
}

/// Files of an earlier copy that may be shared.
#[derive(Debug, Default)]
struct EarlierCopy {
    /// The folder of the same checkpoint, or of another one of the same name.
    checkpoint: Option<PathBuf>,
    /// Log segments that no opening writes to.
    sealed: Vec<PathBuf>,
}

impl EarlierCopy {
    /// Looks in the folder `path` for files of the store `id` with the checkpoint that began at
    /// `begin`. Damage there is no error: damaged files are not shared.
    fn find(storage: &dyn Storage, path: &Path, id: StoreId, begin: u64) -> Self {
        let identity = match Identity::read(storage, path) {
            Ok(Some(identity)) => identity,
            // It may have been removed since it was named.
            Ok(None) => return Self::default(),
            Err(error) => {
                tracing::warn!("no files of {} are shared: {error}", path.display());
                return Self::default();
            }
        };
        if identity.id != id {
            return Self::default();
        }
        let sealed = sealed_segments(storage, path, &identity).unwrap_or_else(|error| {
            tracing::warn!("no log segments of {} are shared: {error}", path.display());
            Vec::new()
        });
        Self { checkpoint: Some(path.join(folder_name(begin))), sealed }
    }
}

/// Returns the log segments of a store that no opening writes to.
fn sealed_segments(storage: &dyn Storage, path: &Path, identity: &Identity) -> Result<Vec<PathBuf>> {
    // Logs elsewhere may be those of an open store, if `path` is a copy of its folder.
    if identity.log_folders.iter().any(|folder| !folder.path.starts_with(path)) {
        return Ok(Vec::new());
    }
    let newest = CheckpointManifest::newest(storage, path, identity.id, identity.checkpoint)?;
    let folders: Vec<PathBuf> = identity.log_folders.iter().map(|folder| folder.path.clone()).collect();
    let epochs = newest.map(|(manifest, _)| manifest.epochs());
    let found = Recovered::inspect(storage, &folders, epochs, &OpenProgress::default())?;
    Ok(found.sealed().to_vec())
}

/// Copies the parts of a checkpoint, then its manifest. All of it is durable when this returns.
fn copy_checkpoint(
    copier: &mut FileCopier<'_>,
    manifest: &CheckpointManifest,
    from: &Path,
    into: &Path,
    earlier: Option<&Path>,
) -> Result<()> {
    make_folder(copier.target(), into)?;
    let failed = |doing, path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| Error::io(doing, &path, &error)
    };
    let list = from.join(manifest::NAME);
    let list_bytes = copier.source().open(&list, false).and_then(|file| file.len());
    let list_bytes = list_bytes.map_err(failed("read", &list))?;
    let parts = manifest.parts.iter().enumerate().map(|(number, info)| (part_name(number), info.bytes));
    for (name, bytes) in parts.chain([(manifest::NAME.to_owned(), list_bytes)]) {
        let earlier = earlier.map(|folder| folder.join(&name));
        copier.share_or_copy(earlier.as_deref(), &from.join(&name), bytes, &into.join(&name))?;
    }
    copier.target().sync_dir(into).map_err(failed("sync", into))
}
