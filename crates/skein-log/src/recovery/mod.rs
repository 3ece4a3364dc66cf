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

mod chain;
mod decide;
mod find;
pub mod reader;
mod scan;
mod void;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use find::Segment;
pub use void::Plan;

use crate::record::Link;
use crate::roster::{self, Roster};
use crate::storage::Storage;
use crate::{CheckpointEpochs, OpenProgress, RecoveryReport, Result};

/// A segment, or the part of it, that is kept.
#[derive(Debug, Clone)]
pub struct Kept {
    pub segment: Arc<Segment>,
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
    pub segments: Vec<Kept>,
    /// What the link of its next segment says.
    pub link: Link,
    /// The greatest segment number seen, kept or not.
    pub last_number: u64,
}

/// What recovery found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What is kept, and what is to be done for that; nothing of it was done yet.
    pub plan: Plan,
    /// The database id that the segments or the rosters carry, if there are any.
    pub database: Option<[u8; 16]>,
    /// The greatest epoch seen, durable or not.
    pub last_epoch: u64,
    pub report: RecoveryReport,
}

/// Log folders, and for each its roster if it has one.
pub type Folders<'a> = (&'a [PathBuf], &'a [Option<Roster>]);

/// Reads the folders and plans how to void, durably, what is not durable. Changes nothing.
///
/// # Errors
/// A failed file operation, an unknown format, damage, `Cancelled`.
pub fn recover(
    storage: &dyn Storage,
    folders: Folders<'_>,
    checkpoint: CheckpointEpochs,
    progress: &OpenProgress,
) -> Result<Outcome> {
    let segments = find::find(storage, folders)?;
    roster::check(folders.0, folders.1, |log, number| segments.holds(log, number))?;
    let database = database_of(&segments, folders.1);
    let count = segments.count();
    let (chains, scanned) = chain::read(segments.found, checkpoint.begin, progress)?;
    let verdict = decide::decide(&chains, checkpoint)?;
    let plan = void::plan(&chains, &verdict, segments.leftovers);
    let report = RecoveryReport {
        durable_epoch: verdict.durable,
        segments: count,
        records: plan.records,
        bytes: plan.logs.iter().flat_map(|log| &log.segments).map(|kept| kept.end).sum(),
        torn_tails: plan.torn_tails.clone(),
        voided_epochs: verdict.voided,
    };
    // What is not kept is not replayed.
    progress.forgo(scanned.saturating_sub(report.bytes));
    Ok(Outcome { plan, database, last_epoch: verdict.last_epoch, report })
}

/// Plans to drop whatever the logs hold: for logs of which a part was lost, so that nobody can say what is durable.
///
/// # Errors
/// A failed file operation, a segment whose header cannot be read, `Cancelled`.
pub fn give_up(
    storage: &dyn Storage,
    folders: Folders<'_>,
    checkpoint: CheckpointEpochs,
    progress: &OpenProgress,
) -> Result<Outcome> {
    let segments = find::find(storage, folders)?;
    let database = database_of(&segments, folders.1);
    let count = segments.count();
    let all = segments.all();
    let (scanned, bytes) = chain::scan_all(&all, checkpoint.begin, progress)?;
    progress.forgo(bytes);
    // New epochs are above all that were seen, so that nothing of before is ever taken for something of after.
    let epochs = scanned.iter().flat_map(|one| one.scan.recent_epochs.iter().chain([&one.scan.last_epoch]));
    let last_epoch = epochs.copied().fold(checkpoint.end, u64::max);
    let listed = folders.1.iter().flatten().flat_map(Roster::segments);
    let plan = void::plan_giving_up(&all, listed, segments.leftovers);
    let report =
        RecoveryReport { durable_epoch: checkpoint.end, segments: count, ..RecoveryReport::default() };
    Ok(Outcome { plan, database, last_epoch, report })
}

fn database_of(segments: &find::Segments, rosters: &[Option<Roster>]) -> Option<[u8; 16]> {
    let of_segments = segments.found.values().flatten().map(|segment| segment.header.database);
    of_segments.chain(rosters.iter().flatten().map(|roster| roster.database)).next()
}

/// The folder of a segment file.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
