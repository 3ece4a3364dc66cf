//! Recovery: what is durable in the folders, and durably voiding the rest. "Reading logs back" in `docs/format.md`.
//!
//! ```text
//!   find ──► scan (parallel) ──► chain ──► decide ──► void
//!   files,   records, marks,     segments  D, or      cut behind D,
//!   headers  what lies behind    of a log  damage     sync
//!            the stop
//! ```
//!
//! Nothing is changed before everything was read and judged, and the rosters say what is kept: an error leaves the
//! folders as they were.

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

/// A segment, or the part of it, that is kept.
#[derive(Debug, Clone)]
pub struct KeptSegment {
    pub segment: Arc<FoundSegment>,
    /// Where the kept records end.
    pub end: u64,
    /// The greatest epoch in it.
    pub last_epoch: u64,
}

/// What is kept of one log.
#[derive(Debug, Clone, Default)]
pub struct KeptLog {
    pub log: u32,
    /// Oldest first.
    pub segments: Vec<KeptSegment>,
    /// What the link of its next segment says.
    pub link: SegmentLink,
    /// The greatest segment number seen, kept or not.
    pub last_number: u64,
}

/// What recovery found.
#[derive(Debug, Default)]
pub struct LogRecoveryOutcome {
    /// What is kept, and what is to be done for that; nothing of it was done yet.
    pub plan: DiscardPlan,
    /// The database id that the segments or the rosters carry, if there are any.
    pub database: Option<[u8; 16]>,
    /// The greatest epoch seen, durable or not.
    pub last_epoch: u64,
    pub report: LogRecoveryReport,
}

/// Log folders, and for each its roster if it has one.
pub type LogFolders<'a> = (&'a [PathBuf], &'a [Option<SegmentManifest>]);

/// Reads the folders and plans how to void, durably, what is not durable. Changes nothing.
///
/// # Errors
/// A failed file operation, an unknown format, damage, `Cancelled`.
pub fn recover(
    storage: &dyn Storage,
    folders: LogFolders<'_>,
    checkpoint: CheckpointEpochs,
    progress: &OpenProgress,
) -> Result<LogRecoveryOutcome> {
    let segments = found_segments::find(storage, folders)?;
    segment_manifest::check(folders.0, folders.1, |log, number| segments.holds(log, number))?;
    let database = database_of(&segments, folders.1);
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
        voided_epochs: verdict.voided,
    };
    // What is not kept is not replayed.
    progress.forgo(scanned.saturating_sub(report.bytes));
    Ok(LogRecoveryOutcome { plan, database, last_epoch: verdict.last_epoch, report })
}

/// Plans to drop whatever the logs hold: for logs of which a part was lost, so that nobody can say what is durable.
///
/// # Errors
/// A failed file operation, a segment whose header cannot be read, `Cancelled`.
pub fn give_up(
    storage: &dyn Storage,
    folders: LogFolders<'_>,
    checkpoint: CheckpointEpochs,
    progress: &OpenProgress,
) -> Result<LogRecoveryOutcome> {
    let segments = found_segments::find(storage, folders)?;
    let database = database_of(&segments, folders.1);
    let count = segments.count();
    let all = segments.all();
    let (scanned, bytes) = log_chain::scan_all(&all, checkpoint.begin, progress)?;
    progress.forgo(bytes);
    // New epochs are above all that were seen, so that nothing of before is ever taken for something of after.
    let epochs = scanned.iter().flat_map(|one| one.scan.recent_epochs.iter().chain([&one.scan.last_epoch]));
    let last_epoch = epochs.copied().fold(checkpoint.end, u64::max);
    let listed = folders.1.iter().flatten().flat_map(SegmentManifest::segments);
    let plan = discard::plan_giving_up(&all, listed, segments.leftovers);
    let report =
        LogRecoveryReport { durable_epoch: checkpoint.end, segments: count, ..LogRecoveryReport::default() };
    Ok(LogRecoveryOutcome { plan, database, last_epoch, report })
}

fn database_of(
    segments: &found_segments::FoundSegments,
    rosters: &[Option<SegmentManifest>],
) -> Option<[u8; 16]> {
    let of_segments = segments.found.values().flatten().map(|segment| segment.header.database);
    of_segments.chain(rosters.iter().flatten().map(|roster| roster.database)).next()
}

/// The folder of a segment file.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
