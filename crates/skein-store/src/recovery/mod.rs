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
use std::time::Instant;

use skein_log::Recovered;

use crate::checkpoint::{load, manifest::CheckpointManifest};
use crate::collection;
use crate::index::ranges;
use crate::record::StoreRecord;
use crate::store::{RecoveryReport, StoreCore};
use crate::{Error, Result, ScanDirection};

/// The number of expiring keys that are sorted and inserted into the expiry index together, so that
/// neighbouring entries are inserted one after the other.
const ENTRIES_TOGETHER: usize = 1 << 15;

/// Fills the index of a store that no other thread uses yet.
pub(crate) fn recover(
    core: &StoreCore,
    newest: Option<&(CheckpointManifest, PathBuf)>,
    recovered: &Recovered,
) -> Result<RecoveryReport> {
    let threads = core.options.recovery_threads;
    let mut report = RecoveryReport::default();
    let progress = &core.options.progress;
    let started = Instant::now();
    let mut begin = 0;
    if let Some((manifest, folder)) = newest {
        load::load(core, manifest, folder, threads)?;
        core.stripes.raise_all(manifest.floor);
        report.checkpoint_rows = manifest.rows();
        begin = manifest.begin;
    }
    report.load_took = started.elapsed();

    let started = Instant::now();
    let replay = replay::Replay::new(core, threads);
    let replayed = recovered
        .replay(threads, begin, |thread, record| replay.take(thread, record.payload))
        .map_err(Error::from)
        .and_then(|replayed| match replay.finish() {
            Ok(()) => Ok(replayed),
            Err(why) => Err(Error::damaged(&core.folder.path, 0, why)),
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
    collection::recover::rebuild(core, threads)?;
    rebuild_order(core, threads);
    if progress.is_cancelled() {
        return Err(Error::Cancelled);
    }
    progress.complete();
    report.replay_took = started.elapsed();

    let found = recovered.report();
    report.epoch = found.durable_epoch;
    report.torn_tails = found.torn_tails.iter().map(|tail| (tail.path.clone(), tail.bytes)).collect();
    report.log_folders_given_up = core.folder.given_up.iter().map(|folder| folder.path.clone()).collect();
    report.voided_epochs.clone_from(&found.voided_epochs);
    report.keys = core.len(core.time(None));
    Ok(report)
}

/// Builds the expiry index; each range of keys is scanned by one thread.
fn rebuild_order(core: &StoreCore, threads: usize) {
    if !core.rows.any_expiring() {
        return;
    }
    let cuts = core.index.split_points(ranges::parts(threads));
    ranges::share(threads, &cuts, |bounds| {
        let mut found = Vec::new();
        core.index.scan(bounds, ScanDirection::Forward, |key, row| {
            found.extend(row.expires_at().map(|at| (at, key.to_vec())));
            if found.len() == ENTRIES_TOGETHER {
                core.expiry_index.load(&mut found);
            }
            ControlFlow::Continue(())
        });
        core.expiry_index.load(&mut found);
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
