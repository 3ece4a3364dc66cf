//! Opens disk stores for commands.

use std::path::Path;

use skein_disk::{DiskError, DiskOptions, DiskStore, Durability, kind_of};
use skein_log::storage::OsStorage;

use crate::exit::{Exit, Failure};
use crate::target::{flag, store_failure};

/// Opens the disk store in a folder, or creates it.
pub fn open(folder: &Path, options: DiskOptions) -> Result<DiskStore, Failure> {
    DiskStore::open(folder, options).map_err(|error| failure(&error))
}

/// Opens an existing disk store, with the options that it was created with.
pub fn open_existing(folder: &Path, durability: Durability) -> Result<DiskStore, Failure> {
    let mut options = DiskOptions { durability, ..DiskOptions::default() };
    if let Some(kind) = kind_of(folder, &OsStorage).map_err(|error| failure(&error))? {
        (options.shape, options.values) = (kind.shape, kind.values);
    }
    open(folder, options)
}

/// Opens an existing disk store with the trie that it was created with, whatever trie the options
/// have.
pub fn open_with_own_trie(folder: &Path, mut options: DiskOptions) -> Result<DiskStore, DiskError> {
    if let Some(kind) = kind_of(folder, &OsStorage)? {
        options.shape = kind.shape;
    }
    DiskStore::open(folder, options)
}

/// Converts a disk store's error into a command's failure.
pub fn failure(error: &DiskError) -> Failure {
    match error {
        DiskError::LogMissing { .. } => {
            Failure { exit: Exit::Damage, message: format!("{error} (skein serve --give-up-log-dir DIR)") }
        }
        // A damaged version cannot be told from one of a newer program.
        DiskError::Damaged { .. }
        | DiskError::FileMissing { .. }
        | DiskError::TwoStores { .. }
        | DiskError::UnknownFormat { .. } => Failure { exit: Exit::Damage, message: error.to_string() },
        DiskError::Log(error) => store_failure(&error.clone().into()),
        DiskError::OtherEngine { .. } => Failure::new(format!("{error} (skein serve without --engine disk)")),
        DiskError::TrieDiffers { .. } => Failure::usage(format!("{error} (--trie, --trie-size)")),
        DiskError::BadOption { name, value, why } => Failure::usage(format!("{} {value}: {why}", flag(name))),
        _ => Failure::new(error.to_string()),
    }
}
