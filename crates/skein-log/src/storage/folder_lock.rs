//! Folders that a program makes its own: made if need be, and locked.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{LockHolder, Storage, StorageLock};
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

/// How long a folder that is in use is waited for, unless an option says otherwise: a process that was killed holds its folder until
/// the system has taken its memory apart, which takes seconds for a large one.
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Locks a folder by its file `name`, which is made if need be, until the lock is dropped. If another process has it, waits up to `wait` for it;
/// what this process has itself is not waited for.
///
/// # Errors
/// Another process, or this one, has it; or the system refuses.
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
