//! Whether the parts of a folder belong together: the page file and the log of one store.
//!
//! ```text
//!   data.skein   header: database id ──┐ must be equal
//!   log/         log.roster: database id ┘
//! ```
//!
//! A store makes its page file first, then the log's segment manifest (`log.roster`), and only then
//! ends its first checkpoint. So a file with a checkpoint had a manifest, and a manifest had a
//! file. Without this check, a folder that lost its log would start with the state of its last
//! checkpoint, and a folder that lost its file would start empty.

use std::path::Path;

use skein_log::SegmentManifest;
use skein_log::storage::{Storage, has_file};

use super::{FILE, LOG};
use crate::page_file::FileHeader;
use crate::{DiskError, Result};

/// Checks that a folder with a log has a page file, before a new one is made.
///
/// # Errors
/// [`DiskError::FileMissing`], or the manifest cannot be read.
pub(super) fn check_file(storage: &dyn Storage, folder: &Path) -> Result<()> {
    if has_file(storage, folder, FILE)? || SegmentManifest::read(storage, &folder.join(LOG))?.is_none() {
        return Ok(());
    }
    Err(DiskError::FileMissing { path: folder.join(FILE), log: folder.join(LOG) })
}

/// Checks that the log belongs to the page file.
///
/// # Errors
/// [`DiskError::LogMissing`] without a log, unless `give_up` is set; [`DiskError::TwoStores`]; the
/// manifest cannot be read.
pub(super) fn check_log(
    storage: &dyn Storage,
    folder: &Path,
    header: &FileHeader,
    give_up: bool,
) -> Result<()> {
    let log = folder.join(LOG);
    match SegmentManifest::read(storage, &log)? {
        Some(manifest) if manifest.database != header.database => Err(DiskError::TwoStores {
            file: folder.join(FILE),
            file_store: store_id(header.database),
            log,
            log_store: store_id(manifest.database),
        }),
        Some(_) => Ok(()),
        // The creation of the store did not finish.
        None if header.sequence == 0 || give_up => Ok(()),
        None => Err(DiskError::LogMissing {
            path: log.join(SegmentManifest::NAME),
            file: folder.join(FILE),
            sequence: header.sequence,
        }),
    }
}

/// Returns the error of reading a folder's page file. If the folder has a store's log, damaged or
/// not, a file that does not look like a page file was one, and is damaged.
pub(super) fn damage_of_file(storage: &dyn Storage, folder: &Path, error: DiskError) -> DiskError {
    match (error, SegmentManifest::read(storage, &folder.join(LOG))) {
        (DiskError::NotADiskFile { path, why }, Ok(Some(_)) | Err(_)) => {
            DiskError::Damaged { path, offset: 0, what: why }
        }
        (error, _) => error,
    }
}

/// Returns the id of a store in hexadecimal.
pub(super) fn store_id(database: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(database))
}
