//! Recovery: loads the newest checkpoint, then replays the logs from the epoch in which it began
//! (section 5).
//!
//! The parts of the checkpoint are loaded in parallel. Records are replayed in parallel and in any
//! order: a record counts if its version is greater than that of its key. A removal leaves a
//! tombstone until the end of the replay, so that an older put that is replayed later does not
//! restore the key. Removals raise the version floors, and the checkpoint's floor covers removals
//! that are in no log any more.
//!
//! Then the score indexes of sorted sets are built (`collection::recover`).
//!
//! Rows that have expired meanwhile are loaded like others: they are hidden, and removed later. At
//! the end the expiry index is built from all rows.
//!
//! Read `replay` next, then `pending_deltas`. `index::ranges` divides the keys among threads.
//!
//! Design: `docs/design/store.md`.

mod pending_deltas;
mod replay;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use skein_log::Recovered;
use skein_log::storage::Storage;

use crate::checkpoint::{load, manifest::CheckpointManifest};
use crate::collection;
use crate::index::ranges;
use crate::record::StoreRecord;
use crate::store_keys::{Loader, StoreKeys};
use crate::{Error, Result, ScanDirection};

/// The number of expiring keys that are sorted and inserted into the expiry index together, so that
/// neighbouring entries are inserted one after the other.
const ENTRIES_TOGETHER: usize = 1 << 15;

/// The result of the recovery of a store.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Rows loaded from the checkpoint.
    pub checkpoint_rows: u64,
    /// Log records replayed.
    pub log_records: u64,
    /// Bytes of these records in the logs.
    pub log_bytes: u64,
    /// The last durable epoch.
    pub epoch: u64,
    /// Torn tails that were cut off: the file, and the number of bytes.
    pub torn_tails: Vec<(PathBuf, u64)>,
    /// Missing log folders that were given up. With them, all log records since the checkpoint were
    /// dropped.
    pub log_folders_given_up: Vec<PathBuf>,
    /// Epochs that were not durable and were discarded.
    pub voided_epochs: Vec<u64>,
    /// The number of keys after recovery.
    pub keys: usize,
    /// The time for loading the checkpoint.
    pub load_took: Duration,
    /// The time for replaying the logs.
    pub replay_took: Duration,
    /// The total time.
    pub took: Duration,
}

/// Fills the keys of a store that no other thread uses yet. The caller adds the given-up folders
/// and the number of keys to the report.
pub(crate) fn recover(
    loader: &Loader<'_>,
    storage: &dyn Storage,
    newest: Option<&(CheckpointManifest, PathBuf)>,
    recovered: &Recovered,
) -> Result<RecoveryReport> {
    let (keys, threads, progress) = (loader.keys, loader.threads, loader.progress);
    let mut report = RecoveryReport::default();
    let started = Instant::now();
    let mut begin = 0;
    if let Some((manifest, folder)) = newest {
        load::load(loader, storage, manifest, folder)?;
        keys.stripes.raise_all(manifest.floor);
        report.checkpoint_rows = manifest.rows();
        begin = manifest.begin;
    }
    report.load_took = started.elapsed();

    let started = Instant::now();
    let replay = replay::Replay::new(loader);
    let replayed = recovered
        .replay(threads, begin, |thread, record| replay.take(thread, record.payload))
        .map_err(Error::from)
        .and_then(|replayed| match replay.finish() {
            Ok(()) => Ok(replayed),
            Err(why) => Err(Error::damaged(loader.folder, 0, why)),
        });
    if progress.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let replayed = match replay.refused() {
        Some(refused) => return Err(locate(recovered, begin, &refused)),
        None => replayed?,
    };
    report.log_records = replayed.records;
    report.log_bytes = replayed.bytes;
    collection::recover::rebuild(&keys.index, &keys.members, &keys.stripes, threads)?;
    rebuild_order(keys, threads);
    keys.count_reserved();
    if progress.is_cancelled() {
        return Err(Error::Cancelled);
    }
    progress.complete();
    report.replay_took = started.elapsed();

    let found = recovered.report();
    report.epoch = found.durable_epoch;
    report.torn_tails = found.torn_tails.iter().map(|tail| (tail.path.clone(), tail.bytes)).collect();
    report.voided_epochs.clone_from(&found.voided_epochs);
    Ok(report)
}

/// Builds the expiry index; each range of keys is scanned by one thread.
fn rebuild_order(keys: &StoreKeys, threads: usize) {
    if !keys.rows.any_expiring() {
        return;
    }
    let cuts = keys.index.split_points(ranges::parts(threads));
    ranges::share(threads, &cuts, |bounds| {
        let mut found = Vec::new();
        keys.index.scan(bounds, ScanDirection::Forward, |key, row| {
            found.extend(row.expires_at().map(|at| (at, key.to_vec())));
            if found.len() == ENTRIES_TOGETHER {
                keys.expiry_index.load(&mut found);
            }
            ControlFlow::Continue(())
        });
        keys.expiry_index.load(&mut found);
    });
}

/// Returns the error for a record that could not be applied, with file and offset. Batches do not
/// keep the positions of records, so this searches the logs for it.
fn locate(recovered: &Recovered, begin: u64, refused: &replay::RefusedRecord) -> Error {
    let is_it = |record: &StoreRecord<'_>| record.key == refused.key && record.version == refused.version;
    let found = recovered.replay(1, begin, |_, record| match StoreRecord::parse(record.payload) {
        Some(record) if is_it(&record) => Err(refused.why.clone()),
        _ => Ok(()),
    });
    match found {
        Err(error) => error.into(),
        Ok(_) => Error::Io {
            doing: "find the log record of",
            path: String::from_utf8_lossy(&refused.key).into_owned().into(),
            cause: refused.why.clone(),
            kind: std::io::ErrorKind::NotFound,
        },
    }
}
