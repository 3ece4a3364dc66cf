//! Checkpoints: all rows, written while requests run, so that old log segments can be removed
//! (section 5).
//!
//! ```text
//!   DIR/checkpoint-<begin epoch, 16 hex digits>/
//!       part-0000 …      the rows of one range of keys each, in order
//!       manifest         renamed into place last; without it the checkpoint does not count
//! ```
//!
//! 1. An epoch is closed and made durable. The next epoch is B, the begin epoch.
//! 2. Threads scan ranges of keys and write parts, while rows change. At durability `None` they
//!    scan a snapshot that is taken here and dropped after the last part. Otherwise the parts do
//!    not show one moment.
//! 3. The present epoch N is closed and made durable. So every row in the parts is durable in the
//!    log.
//! 4. The manifest is written. Recovery loads the parts and replays the log from B on, by versions.
//! 5. Older checkpoints, and segments that end before B, are removed. Those that are being copied
//!    are removed at the end of the copy.
//!
//! While the log's disk is full no epoch becomes durable, so steps 1 and 3 would wait for the space
//! that step 5 frees. Writes are refused then anyway. So the checkpoint is written at a standstill
//! (`skein_log::Standstill`): B is the present epoch, and the end is the one before it. If the
//! newest checkpoint was written at a standstill of the same epoch, nothing was written since, and
//! it is the result.
//!
//! No call removes a checkpoint that may count. An error removes only the folder that the same call
//! made. A later call removes only folders that are older than the checkpoint in `identity`, or
//! that never became complete.
//!
//! At durability `None` there is no log to replay. A checkpoint that is taken while writes run then
//! holds all keys and members as they were at the moment of its snapshot, with whole batches. If
//! that snapshot ends because too much is kept for it, the checkpoint holds each key as it was at
//! some moment of the checkpoint. The checkpoint of a clean close is exact.
//!
//! A copy of a store in another folder is a checkpoint of one moment there, at any durability. It
//! is of another store, which has no logs.
//!
//! # Files
//!
//! `checkpointer` decides and counts: one checkpoint at a time, when one is due, when it is given
//! up. `leases` keeps files that are being copied. `write` and `part` write a checkpoint, `load`
//! reads it. `schedule` has the thread, `pace` slows it, `manifest` has the list of parts. Design:
//! `docs/design/store.md`.

mod checkpointer;
mod leases;
pub(crate) mod load;
pub(crate) mod manifest;
mod pace;
mod part;
pub(crate) mod schedule;
mod write;

use std::path::{Path, PathBuf};

use skein_log::OpenProgress;
use skein_log::storage::Storage;

pub(crate) use checkpointer::{CheckpointStop, Checkpointer, LogVolume};
pub(crate) use leases::FileLeases;
pub(crate) use write::write_copy;

use crate::commit_log::CommitLog;
use crate::data_folder::DataFolder;
use crate::store_keys::StoreKeys;
use crate::{Error, Result};

/// The prefix of checkpoint folders.
const PREFIX: &str = "checkpoint-";

/// The result of a checkpoint.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// The epoch from which on the log is needed.
    pub begin_epoch: u64,
    /// The last epoch whose writes the checkpoint may contain.
    pub end_epoch: u64,
    /// Rows written.
    pub rows: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Log segments that the checkpoint removed.
    pub segments_removed: usize,
    /// The time that the checkpoint took.
    pub took: std::time::Duration,
}

/// The parts of a store that a checkpoint is written from.
#[derive(Clone, Copy)]
pub(crate) struct CheckpointSource<'s> {
    pub(crate) keys: &'s StoreKeys,
    pub(crate) commit: &'s CommitLog,
    pub(crate) folder: &'s DataFolder,
    pub(crate) stop: &'s CheckpointStop,
    pub(crate) copies: &'s FileLeases,
    /// Whether the checkpoint is useless if it is not of one moment.
    pub(crate) of_one_moment: bool,
    /// Reports the progress, and can cancel the checkpoint.
    pub(crate) progress: Option<&'s OpenProgress>,
}

pub(crate) fn folder_name(begin: u64) -> String {
    format!("{PREFIX}{begin:016x}")
}

/// Returns the begin epoch in the name of a checkpoint folder; `None` for any other name.
pub(crate) fn begin_of(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()
}

pub(crate) fn part_name(part: usize) -> String {
    format!("part-{part:04}")
}

/// Returns the checkpoint folders in a data folder, complete or not: begin epoch and path, newest
/// first.
pub(crate) fn folders(storage: &dyn Storage, path: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let entries = storage.list(path).map_err(|error| Error::io("list", path, &error))?;
    let mut found: Vec<(u64, PathBuf)> = entries
        .iter()
        .filter_map(|entry| {
            let begin = begin_of(&entry.name)?;
            Some((begin, path.join(&entry.name)))
        })
        .collect();
    found.sort_unstable();
    found.reverse();
    Ok(found)
}

/// Removes all checkpoints, complete or not, except those that begin at `keep`. REQUIRES: no other
/// one counts.
pub(crate) fn remove_others(storage: &dyn Storage, path: &Path, keep: &[u64]) -> Result<()> {
    remove_those(storage, path, |begin| !keep.contains(&begin))
}

/// Removes the checkpoints before `newest`, complete or not, except those that begin at `keep`.
/// REQUIRES: the checkpoint that begins at `newest` counts.
fn remove_before(storage: &dyn Storage, path: &Path, newest: u64, keep: &[u64]) -> Result<()> {
    remove_those(storage, path, |begin| begin < newest && !keep.contains(&begin))
}

fn remove_those(storage: &dyn Storage, path: &Path, is_outdated: impl Fn(u64) -> bool) -> Result<()> {
    for (begin, folder) in folders(storage, path)? {
        if is_outdated(begin) {
            remove(storage, &folder)?;
        }
    }
    Ok(())
}

/// Makes the folder of the checkpoint that begins at `begin`. Removes the files that a failed
/// attempt has left there.
///
/// # Panics
/// Panics if the checkpoint counts. The caller knows the newest one.
fn make_folder(folder: &DataFolder, begin: u64) -> Result<PathBuf> {
    assert!(begin > folder.checkpoint(), "the checkpoint of epoch {begin} counts and is not written again");
    let path = folder.path.join(folder_name(begin));
    match folder.storage.list(&path) {
        Ok(_) => remove(&*folder.storage, &path)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("list", &path, &error)),
    }
    folder.storage.create_dir_all(&path).map_err(|error| Error::io("create", &path, &error))?;
    Ok(path)
}

/// Makes a complete checkpoint durable that the process before may have left in the middle of that.
pub(crate) fn make_durable(storage: &dyn Storage, folder: &Path) -> Result<()> {
    storage.sync_dir(folder).map_err(|error| Error::io("sync", folder, &error))
}

/// Removes a checkpoint, the manifest first, so that it does not count any more before its parts
/// are removed.
fn remove(storage: &dyn Storage, folder: &Path) -> Result<()> {
    let io = |doing, path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| Error::io(doing, &path, &error)
    };
    let mut entries = storage.list(folder).map_err(io("list", folder))?;
    entries.sort_unstable_by_key(|entry| entry.name != manifest::NAME);
    for entry in entries {
        let path = folder.join(&entry.name);
        storage.remove(&path).map_err(io("remove", &path))?;
        if entry.name == manifest::NAME {
            storage.sync_dir(folder).map_err(io("sync", folder))?;
        }
    }
    storage.remove_dir(folder).map_err(io("remove", folder))
}
