//! Recovery: finds the last durable epoch in the log folders and durably discards all later
//! records.
//!
//! ```text
//!   find ──► scan (parallel) ──► chain ──► decide ──► discard
//!   files,   records, marks,     segments  D, or      cut behind D,
//!   headers  bytes behind the    of a log  damage     sync
//!            stop
//! ```
//!
//! Recovery changes nothing before it has read and checked everything, and until the manifests
//! contain exactly the kept segments. So an error leaves the folders as they were.
//!
//! Read `found_segments.rs`, `record_reader.rs`, `scan.rs`, `log_chain.rs`, `last_durable_epoch.rs`
//! and `discard.rs`, in this order. The rules are in `docs/format.md`, "Reading logs back". Design:
//! `docs/design/log.md`.

mod discard;
mod found_segments;
mod last_durable_epoch;
mod log_chain;
pub mod record_reader;
mod scan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use discard::DiscardPlan;
pub use found_segments::FoundSegment;

use crate::record::SegmentLink;
use crate::segment_manifest::{self, SegmentManifest};
use crate::storage::Storage;
use crate::{CheckpointEpochs, LogRecoveryReport, OpenProgress, Result};

/// A kept segment, or the kept part of one.
#[derive(Debug, Clone)]
pub struct KeptSegment {
    pub segment: Arc<FoundSegment>,
    /// The end of the kept records.
    pub end: u64,
    /// Their greatest epoch.
    pub last_epoch: u64,
}

/// The kept part of one log.
#[derive(Debug, Clone, Default)]
pub struct KeptLog {
    pub log: u32,
    /// Oldest first.
    pub segments: Vec<KeptSegment>,
    /// The contents of the next segment's link.
    pub link: SegmentLink,
    /// The greatest segment number found, kept or not.
    pub last_number: u64,
}

/// The result of a recovery's reading part.
#[derive(Debug, Default)]
pub struct LogRecoveryOutcome {
    /// The records to keep, and the changes to make. Nothing has been changed yet.
    pub plan: DiscardPlan,
    /// The database id of the segments or the manifests, if there are any.
    pub database: Option<[u8; 16]>,
    /// The greatest epoch found, durable or not.
    pub last_epoch: u64,
    pub report: LogRecoveryReport,
}

/// The log folders, and the manifest of each folder that has one, in the same order.
#[derive(Debug, Clone, Copy)]
pub struct LogFolders<'a> {
    pub paths: &'a [PathBuf],
    pub manifests: &'a [Option<SegmentManifest>],
}

/// Reads the folders and plans how to discard, durably, all records that are not durable. Changes
/// nothing.
///
/// # Errors
/// Returns an error if a file operation fails, a format is unknown, a file is damaged, or the
/// opening is cancelled.
pub fn recover(
    storage: &dyn Storage,
    folders: LogFolders<'_>,
    checkpoint: CheckpointEpochs,
    progress: &OpenProgress,
) -> Result<LogRecoveryOutcome> {
    let segments = found_segments::find(storage, folders)?;
    segment_manifest::check(folders.paths, folders.manifests, |log, number| segments.holds(log, number))?;
    let database = database_of(&segments, folders.manifests);
    let count = segments.count();
    let (chains, scanned) = log_chain::read(segments.found, checkpoint.begin, progress)?;
    let verdict = last_durable_epoch::decide_last_durable_epoch(&chains, checkpoint)?;
    let plan = discard::plan(&chains, &verdict, segments.leftovers);
    let report = LogRecoveryReport {
        durable_epoch: verdict.durable,
        segments: count,
        records: plan.records,
        bytes: plan.logs.iter().flat_map(|log| &log.segments).map(|kept| kept.end).sum(),
        torn_tails: plan.torn_tails.clone(),
        voided_epochs: verdict.discarded,
    };
    // Discarded bytes are not replayed.
    progress.forgo(scanned.saturating_sub(report.bytes));
    Ok(LogRecoveryOutcome { plan, database, last_epoch: verdict.last_epoch, report })
}

/// Plans to discard everything in the logs. For logs that have lost a part, so that nobody can know
/// which records are durable.
///
/// # Errors
/// Returns an error if a file operation fails, a segment's header cannot be read, or the opening is
/// cancelled.
pub fn give_up(
    storage: &dyn Storage,
    folders: LogFolders<'_>,
    checkpoint: CheckpointEpochs,
    progress: &OpenProgress,
) -> Result<LogRecoveryOutcome> {
    let segments = found_segments::find(storage, folders)?;
    let database = database_of(&segments, folders.manifests);
    let count = segments.count();
    let all = segments.all();
    let (scanned, bytes) = log_chain::scan_all(&all, checkpoint.begin, progress)?;
    progress.forgo(bytes);
    // New epochs must be above all epochs found, so that an old record never counts as a new one.
    let epochs = scanned.iter().flat_map(|one| one.scan.recent_epochs.iter().chain([&one.scan.last_epoch]));
    let last_epoch = epochs.copied().fold(checkpoint.end, u64::max);
    let listed = folders.manifests.iter().flatten().flat_map(SegmentManifest::segments);
    let plan = discard::plan_giving_up(&all, listed, segments.leftovers);
    let report =
        LogRecoveryReport { durable_epoch: checkpoint.end, segments: count, ..LogRecoveryReport::default() };
    Ok(LogRecoveryOutcome { plan, database, last_epoch, report })
}

fn database_of(
    segments: &found_segments::FoundSegments,
    manifests: &[Option<SegmentManifest>],
) -> Option<[u8; 16]> {
    let of_segments = segments.found.values().flatten().map(|segment| segment.header.database);
    of_segments.chain(manifests.iter().flatten().map(|manifest| manifest.database)).next()
}

/// Returns the folder of a segment file.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
