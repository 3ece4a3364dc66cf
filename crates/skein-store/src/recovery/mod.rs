//! Recovery: the newest checkpoint, then the logs from the epoch in which it began (section 5).
//!
//! Parts of the checkpoint are loaded in parallel, records replayed in parallel and in any order: a record counts
//! if its version is greater than its key's. A removal leaves a tombstone until the replay is over, so that an older
//! put that comes later does not bring the key back. Removals raise the floors of versions, and the
//! checkpoint's floor covers those that no log has any more.

mod pending;
mod replay;

use std::path::PathBuf;
use std::time::Instant;

use skein_log::Recovered;

use crate::checkpoint::{load, manifest::Manifest};
use crate::record::Record;
use crate::store::{Inner, RecoveryReport};
use crate::{Error, Result};

/// Fills the index of a store that nobody else knows yet.
pub(crate) fn recover(
    inner: &Inner,
    newest: Option<&(Manifest, PathBuf)>,
    recovered: &Recovered,
) -> Result<RecoveryReport> {
    let threads = inner.options.recovery_threads;
    let mut report = RecoveryReport::default();
    let started = Instant::now();
    let mut begin = 0;
    if let Some((manifest, folder)) = newest {
        load::load(&inner.folder, (manifest, folder), &inner.index, &inner.rows, threads)?;
        inner.stripes.raise_all(manifest.floor);
        report.checkpoint_rows = manifest.rows();
        begin = manifest.begin;
    }
    report.load_took = started.elapsed();

    let started = Instant::now();
    let replay = replay::Replay::new(inner, threads);
    let replayed = recovered
        .replay(threads, begin, |thread, record| replay.take(thread, record.payload))
        .map_err(Error::from)
        .and_then(|replayed| match replay.finish() {
            Ok(()) => Ok(replayed),
            Err(why) => Err(Error::damaged(&inner.folder.path, 0, why)),
        });
    let replayed = match replay.refused() {
        Some(refused) => return Err(locate(recovered, begin, &refused)),
        None => replayed?,
    };
    report.log_records = replayed.records;
    report.log_bytes = replayed.bytes;
    report.replay_took = started.elapsed();

    let found = recovered.report();
    report.epoch = found.durable_epoch;
    report.torn_tails = found.torn_tails.iter().map(|tail| (tail.path.clone(), tail.bytes)).collect();
    report.log_folders_given_up = inner.folder.given_up.iter().map(|folder| folder.path.clone()).collect();
    report.voided_epochs.clone_from(&found.voided_epochs);
    report.keys = inner.index.len();
    Ok(report)
}

/// The error for a record that could not be applied, with its place: batches do not keep places, so it is looked for.
fn locate(recovered: &Recovered, begin: u64, refused: &replay::Refused) -> Error {
    let is_it = |record: &Record<'_>| record.key == refused.key && record.version == refused.version;
    let found = recovered.replay(1, begin, |_, record| match Record::parse(record.payload) {
        Some(record) if is_it(&record) => Err(refused.why.clone()),
        _ => Ok(()),
    });
    match found {
        Err(error) => error.into(),
        Ok(_) => Error::Io {
            doing: "find again in the logs the record of",
            path: String::from_utf8_lossy(&refused.key).into_owned().into(),
            cause: refused.why.clone(),
            kind: std::io::ErrorKind::NotFound,
        },
    }
}
