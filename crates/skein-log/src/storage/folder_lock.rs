//! Creates and locks the folders that belong to one process.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{LockHolder, Storage, StorageLock};
use crate::{LogError, Result};

/// Creates a folder and all missing folders above it.
///
/// # Errors
/// Returns an error if a file has this path, or the system refuses.
pub fn make_folder(storage: &dyn Storage, folder: &Path) -> Result<()> {
    storage.create_dir_all(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            LogError::NotAFolder { path: folder.to_owned() }
        }
        _ => LogError::io("create the folder", folder, &error),
    })
}

/// Returns whether a folder has a file of this name. Returns `false` for a path that is not a
/// folder.
///
/// # Errors
/// Returns an error if the system refuses.
pub fn has_file(storage: &dyn Storage, folder: &Path, name: &str) -> Result<bool> {
    let path = folder.join(name);
    match storage.open(&path, false) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(error) => Err(LogError::io("open", &path, &error)),
    }
}

/// The default time to wait for a folder in use. A killed process keeps its folder until the system
/// has freed its memory, which takes seconds for a large process.
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The pause between two attempts.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Locks a folder by its file `name`, which is created if it is missing. The lock ends when it is
/// dropped. If another process holds the lock, this waits for up to `wait`; it does not wait for a
/// lock of this process.
///
/// # Errors
/// Returns an error if another process, or this one, holds the lock, or if the system refuses.
pub fn lock_folder(
    storage: &dyn Storage,
    folder: &Path,
    name: &str,
    wait: Duration,
) -> Result<Box<dyn StorageLock>> {
    let (path, began) = (folder.join(name), Instant::now());
    let mut told = false;
    loop {
        match storage.lock(&path) {
            Ok(lock) => return Ok(lock),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(LogError::io("lock", &path, &error)),
        }
        let (holder, waited) = (storage.lock_holder(&path), began.elapsed());
        if waited >= wait || holder == LockHolder::Own {
            return Err(LogError::Locked { path: folder.to_owned(), holder, waited });
        }
        if !std::mem::replace(&mut told, true) {
            tracing::info!(path = %folder.display(), %holder, "the folder is in use; waiting for it");
        }
        std::thread::sleep(BETWEEN_TRIES.min(wait.saturating_sub(waited)));
    }
}
