//! The data folder: its lock, its required contents, and its log folders.
//!
//! ```text
//!   DIR/lock             held (flock) by the one process that uses the folder
//!   DIR/identity         the store's id, its log folders, its newest checkpoint
//!   DIR/checkpoint-…/    see `checkpoint`
//!   DIR/log/             the logs, unless other folders are named
//! ```
//!
//! The identity file makes losses visible: a log folder or checkpoint that it names must be
//! present. `docs/format.md`, "The data folder", draws the bytes; `log_folders` has the rules for
//! log folders.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use skein_log::random_id;
use skein_log::storage::{Storage, StorageLock, has_file, lock_folder, make_folder};
use skein_sync::locks::lock;

use crate::identity::{Identity, LogFolder, StoreId, absolute, check_no_identity_lost};
use crate::log_folders::{self, ResolvedLogFolders};
use crate::{Error, Result, StoreOptions};

/// The file that marks a folder of the disk engine (`docs/format.md`).
const DISK_FILE: &str = "data.skein";

/// A locked data folder.
#[derive(Debug)]
pub(crate) struct DataFolder {
    /// Absolute, so that a change of the current folder does not matter.
    pub(crate) path: PathBuf,
    pub(crate) id: StoreId,
    pub(crate) storage: Arc<dyn Storage>,
    /// The contents of the identity file.
    identity: Mutex<Identity>,
    /// Missing log folders that were given up with their contents. The identity still names them.
    pub(crate) given_up: Vec<LogFolder>,
}

impl DataFolder {
    /// Locks the folder, creates it if it is absent, and checks that its log folders are present.
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
            check_no_identity_lost(&*storage, path)?;
            // The id is written first: after a crash before the log folders are entered, those
            // folders already belong to this store.
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

    /// Makes the folder of a new store without logs. Its first checkpoint writes the identity, so
    /// before this there is no store.
    pub(crate) fn of_copy(path: &Path, storage: Arc<dyn Storage>) -> Result<Self> {
        let path = absolute(path)?;
        make_folder(&*storage, &path)?;
        let names = storage.list(&path).map_err(|error| Error::io("list", &path, &error))?;
        if let Some(name) = names.first().map(|entry| &entry.name) {
            let why = format!("{} has contents ({name}); name an empty one", path.display());
            return Err(Error::BadOption { name: "folder", why });
        }
        let identity = Identity::fresh(StoreId(random_id()));
        Ok(Self { path, id: identity.id, storage, identity: Mutex::new(identity), given_up: Vec::new() })
    }

    fn identity(&self) -> MutexGuard<'_, Identity> {
        lock(&self.identity)
    }

    /// Returns the folders that get new segments, and the folders that are only read.
    pub(crate) fn log_folders(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let identity = self.identity();
        let there = identity.log_folders.iter().filter(|folder| !self.given_up.contains(folder));
        let (active, others): (Vec<&LogFolder>, Vec<_>) = there.partition(|folder| folder.active);
        let paths =
            |folders: Vec<&LogFolder>| folders.into_iter().map(|folder| folder.path.clone()).collect();
        (paths(active), paths(others))
    }

    /// Returns the begin epoch of the newest checkpoint that must be present.
    pub(crate) fn checkpoint(&self) -> u64 {
        self.identity().checkpoint
    }

    /// Notes that the checkpoint that began at `begin` counts. Afterwards older ones may be
    /// removed.
    pub(crate) fn note_checkpoint(&self, begin: u64) -> Result<()> {
        self.change(|identity| identity.checkpoint = begin)
    }

    /// Removes the given-up folders from the identity. REQUIRES: the logs could be read, and the
    /// records that depend on a given-up folder are dropped.
    pub(crate) fn take_over(&self) -> Result<()> {
        let kept = |folder: &LogFolder| !self.given_up.contains(folder);
        self.change(|identity| identity.log_folders.retain(kept))
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
