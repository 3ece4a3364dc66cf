//! The data folder: who may use it, what it must hold, and which log folders belong to it.
//!
//! ```text
//!   DIR/lock             held (flock) by the one process that uses the folder
//!   DIR/identity         the store's id, its log folders, its newest checkpoint
//!   DIR/checkpoint-…/    see `checkpoint`
//!   DIR/log/             the logs, unless other folders are named
//! ```
//!
//! The identity is what makes loss show: a log folder or a checkpoint that it names has to be there. `docs/format.md`,
//! "The data folder", draws the bytes; `log_folders` has the rules for log folders.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use skein_log::random_id;
use skein_log::storage::{Storage, StorageLock, has_file, lock_folder, make_folder};
use skein_sync::locks::lock;

use crate::identity::{Identity, LogFolder, StoreId};
use crate::log_folders::{self, ResolvedLogFolders};
use crate::{Error, Result, StoreOptions};

/// The file that a folder of the disk engine has (`docs/format.md`).
const DISK_FILE: &str = "data.skein";

/// A data folder, locked.
#[derive(Debug)]
pub(crate) struct DataFolder {
    /// Absolute, so that it stays the same folder wherever the process goes.
    pub(crate) path: PathBuf,
    pub(crate) id: StoreId,
    pub(crate) storage: Arc<dyn Storage>,
    /// What the identity file says.
    identity: Mutex<Identity>,
    /// Missing log folders whose contents are given up; still named by the identity.
    pub(crate) given_up: Vec<LogFolder>,
}

impl DataFolder {
    /// Locks the folder, creating it if need be, and makes sure that its log folders are there.
    pub(crate) fn open(path: &Path, options: &StoreOptions) -> Result<(Self, Box<dyn StorageLock>)> {
        let storage = options.storage.clone();
        let path = &absolute(path)?;
        make_folder(&*storage, path)?;
        let lock = lock_folder(&*storage, path, "lock", options.lock_wait)?;
        if has_file(&*storage, path, DISK_FILE)? {
            return Err(Error::OtherEngine { path: path.clone() });
        }
        let known = if let Some(identity) = Identity::read(&*storage, path)? {
            identity
        } else {
            // The id first: a crash before the log folders are entered leaves folders of this store, not foreign ones.
            let fresh = Identity::fresh(StoreId(random_id()));
            fresh.write(&*storage, path)?;
            fresh
        };
        let ResolvedLogFolders { identity, given_up } =
            log_folders::resolve(&*storage, path, &known, options)?;
        if identity != known {
            identity.write(&*storage, path)?;
        }
        let folder =
            Self { path: path.clone(), id: identity.id, storage, identity: Mutex::new(identity), given_up };
        Ok((folder, lock))
    }

    fn identity(&self) -> MutexGuard<'_, Identity> {
        lock(&self.identity)
    }

    /// Folders that get new segments, and those that are only read.
    pub(crate) fn log_folders(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let identity = self.identity();
        let there = identity.log_folders.iter().filter(|folder| !self.given_up.contains(folder));
        let (active, others): (Vec<&LogFolder>, Vec<_>) = there.partition(|folder| folder.active);
        let paths =
            |folders: Vec<&LogFolder>| folders.into_iter().map(|folder| folder.path.clone()).collect();
        (paths(active), paths(others))
    }

    /// The begin epoch of the newest checkpoint that must be there.
    pub(crate) fn checkpoint(&self) -> u64 {
        self.identity().checkpoint
    }

    /// Notes that the checkpoint that began at `begin` counts; older ones may go then.
    pub(crate) fn note_checkpoint(&self, begin: u64) -> Result<()> {
        self.change(|identity| identity.checkpoint = begin)
    }

    /// Strikes off the folders that are given up, and notes that what is written from now on is of today's version. REQUIRES: the logs could be read, and what
    /// those held that are given up is dropped.
    pub(crate) fn take_over(&self) -> Result<()> {
        let kept = |folder: &LogFolder| !self.given_up.contains(folder);
        self.change(|identity| {
            identity.log_folders.retain(kept);
            identity.renew();
        })
    }

    /// Changes the identity, on disk first.
    fn change(&self, change: impl FnOnce(&mut Identity)) -> Result<()> {
        let mut identity = self.identity();
        let mut new = identity.clone();
        change(&mut new);
        if new != *identity {
            new.write(&*self.storage, &self.path)?;
            *identity = new;
        }
        Ok(())
    }
}

/// What the path means, wherever the process goes later.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::io("find out what is meant by", path, &error))
}
