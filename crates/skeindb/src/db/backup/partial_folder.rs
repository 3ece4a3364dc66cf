//! A folder that is filled under a temporary name, and gets its own name when it is whole.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use skein_log::storage::{OsStorage, Storage as _};

use super::{failed, refused};
use crate::Result;

/// The ending of the temporary name.
const SUFFIX: &str = ".partial-backup";
/// Names in the folder of a database, or their beginnings.
const KNOWN: [&str; 5] = ["lock", "identity", "log", "checkpoint-", "data.skein"];

/// A folder under its temporary name. If it is dropped unfinished, it is removed.
#[derive(Debug)]
pub(super) struct PartialFolder {
    path: PathBuf,
    target: PathBuf,
    /// The folder itself, locked.
    lock: File,
    is_finished: bool,
}

impl PartialFolder {
    /// Creates the temporary folder for `target`, which must be absent or empty. Replaces one that
    /// a dead process left.
    pub(super) fn create(target: &Path) -> Result<Self> {
        let target = std::path::absolute(target).map_err(failed("resolve", target))?;
        check_empty(&target)?;
        let Some(name) = target.file_name() else {
            return Err(refused(&target, "it has no name of its own; name a folder in it"));
        };
        let path = target.with_file_name([name, SUFFIX.as_ref()].join("".as_ref()));
        let parent = target.parent().unwrap_or(Path::new("/"));
        OsStorage.create_dir_all(parent).map_err(failed("create", parent))?;
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed("create", &path)(error));
            }
            _ => {}
        }
        let lock = lock(&path)?;
        clear(&path)?;
        Ok(Self { path, target, lock, is_finished: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the folder its own name, durably. REQUIRES: its contents are durable.
    pub(super) fn finish(mut self) -> Result<()> {
        self.lock.sync_all().map_err(failed("sync", &self.path))?;
        // It replaces an empty folder, and no other.
        std::fs::rename(&self.path, &self.target).map_err(failed("rename", &self.path))?;
        self.is_finished = true;
        let parent = self.target.parent().unwrap_or(Path::new("/"));
        OsStorage.sync_dir(parent).map_err(failed("sync", parent))
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        if !self.is_finished
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            tracing::warn!("{} stays, and the next backup replaces it: {error}", self.path.display());
        }
    }
}

/// Checks that there is no folder, or an empty one.
fn check_empty(path: &Path) -> Result<()> {
    match std::fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused(path, "it is not empty; name a folder that does not exist yet")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// Locks a folder for this backup, until the file is dropped.
fn lock(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(failed("open", path))?;
    let busy = || refused(path, "another backup is writing it; wait for its end, or choose another folder");
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(busy()),
        Err(error) => return Err(failed("lock", path)(error.into())),
    }
    // Another backup may have renamed or removed the folder before it was locked here.
    let of_file = file.metadata().map_err(failed("read", path))?;
    match std::fs::metadata(path) {
        Ok(of_path) if (of_path.dev(), of_path.ino()) == (of_file.dev(), of_file.ino()) => Ok(file),
        _ => Err(busy()),
    }
}

/// Removes the files of an unfinished backup.
fn clear(path: &Path) -> Result<()> {
    let entries = std::fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(failed("read", path))?;
    let is_known = |name: &str| KNOWN.iter().any(|known| name.starts_with(known));
    if let Some(foreign) = entries.iter().find(|entry| !entry.file_name().to_str().is_some_and(is_known)) {
        let name = foreign.file_name();
        return Err(refused(path, format!("no backup made {}; remove it", name.display())));
    }
    for entry in entries {
        let path = entry.path();
        let is_dir = entry.file_type().map_err(failed("read", &path))?.is_dir();
        let removed = if is_dir { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(failed("remove", &path))?;
    }
    Ok(())
}
