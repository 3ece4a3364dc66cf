//! Checkpoints: all rows, written while requests run, so that old log segments may go (section 5).
//!
//! ```text
//!   DIR/checkpoint-<begin epoch, 16 hex digits>/
//!       part-0000 …      the rows of one range of keys each, in order
//!       manifest         renamed into place last; without it the checkpoint does not count
//! ```
//!
//! 1. An epoch is closed and made durable; what comes after it begins epoch B.
//! 2. Threads scan ranges of keys and write parts. Rows change meanwhile. Where the index has snapshots the threads scan one, which is taken
//!    here and dropped when the parts are written: the parts are one moment of epoch B or later. Elsewhere they are no picture of one moment.
//! 3. The present epoch N is closed and made durable, hence every row that a part may hold.
//! 4. The manifest is written. Recovery loads the parts and replays the log from B on, by versions.
//! 5. Older checkpoints and the segments that end before B are removed.
//!
//! While the log's disk is full no epoch becomes durable, so 1 and 3 would wait for the room that 5 makes. Then writes are refused anyhow, and
//! the checkpoint is written at a standstill (`skein_log::Standstill`): B is the present epoch, and the end is the one before it.
//!
//! At durability `None` there is no log to replay. A checkpoint taken while writes run then holds, of a snapshot, all keys as they were at its
//! moment, with batches whole; without one, every key as it was at some moment of the checkpoint. The one that a clean close writes is
//! exact.

pub(crate) mod load;
pub(crate) mod manifest;
mod pace;
mod part;
pub(crate) mod schedule;
pub(crate) mod write;

use std::path::{Path, PathBuf};

use skein_log::storage::Storage;

use crate::{Error, Result};

/// How the folders of checkpoints are named.
const PREFIX: &str = "checkpoint-";

/// What a checkpoint wrote.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// The epoch from which on the log is needed.
    pub begin_epoch: u64,
    /// The last epoch of which the checkpoint may hold something.
    pub end_epoch: u64,
    /// Rows written.
    pub rows: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Log segments that it let go.
    pub segments_removed: usize,
    /// How long it took.
    pub took: std::time::Duration,
}

fn folder_name(begin: u64) -> String {
    format!("{PREFIX}{begin:016x}")
}

fn part_name(part: usize) -> String {
    format!("part-{part:04}")
}

/// The folders of checkpoints in a data folder, whole or not: begin epoch and path, newest first.
pub(crate) fn folders(storage: &dyn Storage, path: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let entries = storage.list(path).map_err(|error| Error::io("list", path, &error))?;
    let mut found: Vec<(u64, PathBuf)> = entries
        .iter()
        .filter_map(|entry| {
            let begin = u64::from_str_radix(entry.name.strip_prefix(PREFIX)?, 16).ok()?;
            Some((begin, path.join(&entry.name)))
        })
        .collect();
    found.sort_unstable();
    found.reverse();
    Ok(found)
}

/// Removes all checkpoints but the one that begins at `keep`, whole or not.
pub(crate) fn remove_others(storage: &dyn Storage, path: &Path, keep: Option<u64>) -> Result<()> {
    for (begin, folder) in folders(storage, path)? {
        if Some(begin) != keep {
            remove(storage, &folder)?;
        }
    }
    Ok(())
}

/// Removes a checkpoint, the manifest first, so that it stops counting before it stops being whole.
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
