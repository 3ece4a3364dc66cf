//! Checks a data folder without opening it: lists its contents and its damage. It changes nothing.

use std::path::{Path, PathBuf};

use skein_log::storage::Storage;
use skein_log::{LogRecoveryReport, OpenProgress, RecordProgress, Recovered};
use skein_model::RowAllocator;

use crate::checkpoint::{self, load, manifest::CheckpointManifest};
use crate::identity::{Identity, absolute, check_no_identity_lost};
use crate::log_folders;
use crate::record::{self, RecordEffect, StoreRecord};
use crate::{Error, Result};

/// A checkpoint in a data folder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckpointFound {
    /// The folder of the checkpoint.
    pub folder: PathBuf,
    /// The epoch in which it began.
    pub begin_epoch: u64,
    /// The epoch in which it ended; `None` if it was not finished and so does not count.
    pub end_epoch: Option<u64>,
    /// The number of rows, by its manifest.
    pub rows: u64,
    /// The number of bytes, by its manifest.
    pub bytes: u64,
}

/// The contents of a data folder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreInspection {
    /// The store's id, in hexadecimal.
    pub store_id: String,
    /// The folders of its logs.
    pub log_folders: Vec<PathBuf>,
    /// Its checkpoints, newest first.
    pub checkpoints: Vec<CheckpointFound>,
    /// The recovered part of the logs; `None` if they are damaged, or a log folder is missing.
    pub logs: Option<LogRecoveryReport>,
    /// The number of records that opening would replay.
    pub log_records: u64,
    /// Damaged or missing files; empty if the store would open.
    pub damage: Vec<Error>,
}

/// Reads a whole data folder, verifies every checksum, and returns its contents. No process may
/// write to the folder meanwhile. The data folder knows its log folders, so they need not be named
/// here.
///
/// # Errors
/// There is no store in the folder, or a file cannot be read. Damage is not an error here; it is
/// part of the answer.
pub fn inspect(path: impl AsRef<Path>, storage: &dyn Storage) -> Result<StoreInspection> {
    inspect_with(path, storage, &OpenProgress::default())
}

/// Does the same, and counts the bytes, rows and records that were read. `progress` may cancel it.
///
/// # Errors
/// As for [`inspect`], and [`Error::Cancelled`].
pub fn inspect_with(
    path: impl AsRef<Path>,
    storage: &dyn Storage,
    progress: &OpenProgress,
) -> Result<StoreInspection> {
    let path = &absolute(path.as_ref())?;
    let Some(identity) = Identity::read(storage, path)? else {
        check_no_identity_lost(storage, path)?;
        let cause = std::io::Error::other("it has no identity file; name a data folder");
        return Err(Error::io("find a store in", path, &cause));
    };
    let mut found = StoreInspection {
        store_id: identity.id.to_string(),
        log_folders: identity.log_folders.iter().map(|folder| folder.path.clone()).collect(),
        checkpoints: Vec::new(),
        logs: None,
        log_records: 0,
        damage: Vec::new(),
    };
    let newest = checkpoints(storage, path, &identity, progress, &mut found)?;
    match log_folders::missing(storage, &identity) {
        Ok(missing) if missing.is_empty() => logs(storage, newest.as_ref(), progress, &mut found)?,
        // The other folders are not damaged, but they are not complete either, so they are not
        // checked.
        Ok(missing) => found.damage.extend(missing.into_iter().map(|(_, error)| error)),
        Err(error) => found.damage.push(error),
    }
    Ok(found)
}

/// Checks the checkpoints. Returns the newest one that counts, if it could be read.
fn checkpoints(
    storage: &dyn Storage,
    path: &Path,
    identity: &Identity,
    progress: &OpenProgress,
    found: &mut StoreInspection,
) -> Result<Option<CheckpointManifest>> {
    for (begin, folder) in checkpoint::folders(storage, path)? {
        let mut checkpoint = CheckpointFound {
            folder: folder.clone(),
            begin_epoch: begin,
            end_epoch: None,
            rows: 0,
            bytes: 0,
        };
        // If it is damaged, `CheckpointManifest::newest` below reports it in the same way as
        // opening does.
        if let Ok(Some(manifest)) = CheckpointManifest::read(storage, &folder) {
            (checkpoint.rows, checkpoint.bytes) = (manifest.rows(), manifest.bytes());
            checkpoint.end_epoch = Some(manifest.end);
        }
        found.checkpoints.push(checkpoint);
    }
    match CheckpointManifest::newest(storage, path, identity.id, identity.checkpoint) {
        Ok(Some((manifest, folder))) => {
            progress.expect(manifest.bytes());
            match load::verify(storage, &manifest, &folder, progress) {
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                verified => found.damage.extend(verified.err()),
            }
            Ok(Some(manifest))
        }
        Ok(None) => Ok(None),
        Err(error) => {
            found.damage.push(error);
            Ok(None)
        }
    }
}

fn logs(
    storage: &dyn Storage,
    newest: Option<&CheckpointManifest>,
    progress: &OpenProgress,
    found: &mut StoreInspection,
) -> Result<()> {
    let epochs = newest.map(CheckpointManifest::epochs);
    let replayed = Recovered::inspect(storage, &found.log_folders, epochs, progress);
    let replayed = replayed.and_then(|recovered| {
        found.logs = Some(recovered.report().clone());
        let rows = RowAllocator::new();
        let begin = newest.map_or(0, |manifest| manifest.begin);
        let counted = RecordProgress::new(progress);
        recovered.replay(1, begin, |_, record| {
            check_payload(&rows, record.payload)?;
            counted.count(record.payload)
        })
    });
    if progress.is_cancelled() {
        return Err(Error::Cancelled);
    }
    match replayed {
        Ok(replayed) => {
            found.log_records = replayed.records;
            progress.complete();
        }
        Err(error) => found.damage.push(error.into()),
    }
    Ok(())
}

fn check_payload(rows: &RowAllocator, payload: &[u8]) -> std::result::Result<(), String> {
    let record =
        StoreRecord::parse(payload).ok_or("the record is whole but not one that this program writes")?;
    if record.member && !record::is_member_key(record.key) {
        return Err(record::NO_MEMBER.into());
    }
    match record.effect {
        RecordEffect::Columns(tables) => record::row_of_tables(rows, tables, record.expires)
            .map(drop)
            .ok_or_else(|| "its columns are not well-formed".into()),
        RecordEffect::Value(_)
        | RecordEffect::Collection(..)
        | RecordEffect::Packed(_)
        | RecordEffect::Remove
        | RecordEffect::Delta(_) => Ok(()),
    }
}
