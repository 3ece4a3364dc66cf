//! Looking at a data folder without opening it: what is there, and what is damaged. Changes nothing.

use std::path::{Path, PathBuf};

use skein_log::storage::Storage;
use skein_log::{Recovered, RecoveryReport as LogReport};

use crate::checkpoint::{self, load, manifest::Manifest};
use crate::record::{self, Effect, Record};
use crate::row::Rows;
use crate::{Error, Result, folder};

/// A checkpoint in a data folder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CheckpointFound {
    /// Its folder.
    pub folder: PathBuf,
    /// The epoch in which it began.
    pub begin_epoch: u64,
    /// The epoch in which it ended; `None` if it was not finished, and so does not count.
    pub end_epoch: Option<u64>,
    /// Rows, by its manifest.
    pub rows: u64,
    /// Bytes, by its manifest.
    pub bytes: u64,
}

/// What a data folder holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inspection {
    /// The store's id, in hexadecimal.
    pub store_id: String,
    /// Where its logs lie.
    pub log_folders: Vec<PathBuf>,
    /// Its checkpoints, newest first.
    pub checkpoints: Vec<CheckpointFound>,
    /// What opening the logs would find and keep; `None` if they are damaged.
    pub logs: Option<LogReport>,
    /// Records that opening would replay.
    pub log_records: u64,
    /// What is damaged; nothing, if the store would open.
    pub damage: Vec<Error>,
}

/// Reads all of a data folder, checks every checksum, and says what is there. Nobody may write to it meanwhile.
///
/// # Errors
/// There is no store in the folder, or a file cannot be read. Damage is not an error here, it is in the answer.
pub fn inspect(path: impl AsRef<Path>, storage: &dyn Storage) -> Result<Inspection> {
    let path = path.as_ref();
    let identity = folder::read_identity(storage, path)?.ok_or_else(|| {
        Error::io(
            "find a store in",
            path,
            &std::io::Error::other("it has no identity file; name a data folder"),
        )
    })?;
    let mut found = Inspection {
        store_id: identity.id.to_string(),
        log_folders: identity.log_folders.iter().map(|folder| path.join(folder)).collect(),
        checkpoints: Vec::new(),
        logs: None,
        log_records: 0,
        damage: Vec::new(),
    };
    let mut newest = None;
    for (begin, folder) in checkpoint::folders(storage, path)? {
        let mut checkpoint = CheckpointFound {
            folder: folder.clone(),
            begin_epoch: begin,
            end_epoch: None,
            rows: 0,
            bytes: 0,
        };
        match Manifest::read(storage, &folder) {
            Ok(None) => {}
            Ok(Some(manifest)) => {
                (checkpoint.rows, checkpoint.bytes) = (manifest.rows(), manifest.bytes());
                checkpoint.end_epoch = Some(manifest.end);
                if newest.is_none() {
                    found.damage.extend(load::verify(storage, &manifest, &folder).err());
                    newest = Some(manifest);
                }
            }
            Err(error) => found.damage.push(error),
        }
        found.checkpoints.push(checkpoint);
    }
    match Recovered::inspect(storage, &found.log_folders, newest.as_ref().map(Manifest::epochs)) {
        Ok(recovered) => {
            found.logs = Some(recovered.report().clone());
            let rows = Rows::new();
            let begin = newest.as_ref().map_or(0, |manifest| manifest.begin);
            match recovered.replay(1, begin, |_, record| check_payload(&rows, record.payload)) {
                Ok(replayed) => found.log_records = replayed.records,
                Err(error) => found.damage.push(error.into()),
            }
        }
        Err(error) => found.damage.push(error.into()),
    }
    Ok(found)
}

fn check_payload(rows: &Rows, payload: &[u8]) -> std::result::Result<(), String> {
    let record = Record::parse(payload).ok_or("the record is whole but not one that this program writes")?;
    match record.effect {
        Effect::Columns(tables) => record::row_of_tables(rows, tables)
            .map(drop)
            .ok_or_else(|| "its columns are not well-formed".into()),
        Effect::Value(_) | Effect::Remove | Effect::Merge(_) => Ok(()),
    }
}
