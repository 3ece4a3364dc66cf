//! Folders that a program makes its own: made if need be, and locked.

use std::io;
use std::path::Path;

use super::{Storage, StorageLock};
use crate::{LogError, Result};

/// Makes a folder, and those above it, as far as they are missing.
///
/// # Errors
/// There is a file in its place, or the system refuses.
pub fn make_folder(storage: &dyn Storage, folder: &Path) -> Result<()> {
    storage.create_dir_all(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            LogError::NotAFolder { path: folder.to_owned() }
        }
        _ => LogError::io("create the folder", folder, &error),
    })
}

/// Whether a folder has a file of this name.
///
/// # Errors
/// The system refuses to say.
pub fn has_file(storage: &dyn Storage, folder: &Path, name: &str) -> Result<bool> {
    let path = folder.join(name);
    match storage.open(&path, false) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(LogError::io("open", &path, &error)),
    }
}

/// Locks a folder by its file `name`, which is made if need be, until the lock is dropped.
///
/// # Errors
/// Another process, or this one, has it; or the system refuses.
pub fn lock_folder(storage: &dyn Storage, folder: &Path, name: &str) -> Result<Box<dyn StorageLock>> {
    let path = folder.join(name);
    storage.lock(&path).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => LogError::Locked { path: folder.to_owned() },
        _ => LogError::io("lock", &path, &error),
    })
}
