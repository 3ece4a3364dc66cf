//! Disk stores, as commands open them.

use std::path::Path;

use skein_disk::{DiskError, DiskOptions, DiskStore, Durability, shape_of};
use skein_log::LogError;
use skein_log::storage::OsStorage;

use crate::exit::{Exit, Failure};

/// Opens the disk store in a folder, as the trie that it is.
pub fn open(folder: &Path, durability: Durability) -> Result<DiskStore, Failure> {
    let failed = |error| failure(&error);
    let mut options = DiskOptions { durability, ..DiskOptions::default() };
    if let Some(shape) = shape_of(folder, &OsStorage).map_err(failed)? {
        options.shape = shape;
    }
    DiskStore::open(folder, options).map_err(failed)
}

/// A disk store's error as a command's.
pub fn failure(error: &DiskError) -> Failure {
    let exit = match error {
        DiskError::Damaged { .. } | DiskError::Log(LogError::Damaged { .. }) => Exit::Damage,
        _ => Exit::Failed,
    };
    Failure { exit, message: error.to_string() }
}
