//! Recovery: what is durable in the folders, and durably voiding the rest. "Reading logs back" in `docs/format.md`.
//!
//! ```text
//!   find ──► scan (parallel) ──► chain ──► decide ──► void
//!   files,   records, marks,     segments  D, or      cut behind D,
//!   headers  what lies behind    of a log  damage     sync
//!            the stop
//! ```
//!
//! Nothing is changed before everything was read and judged: an error leaves the folders as they were.

mod chain;
mod decide;
mod find;
pub mod reader;
mod scan;
mod void;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use find::Segment;

use crate::record::Link;
use crate::storage::Storage;
use crate::{CheckpointEpochs, RecoveryReport, Result};

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
    pub logs: Vec<KeptLog>,
    /// The database id that the segments carry, if there are any.
    pub database: Option<[u8; 16]>,
    /// The greatest epoch seen, durable or not.
    pub last_epoch: u64,
    pub report: RecoveryReport,
}

/// Reads the folders and, with `repair`, durably voids what is not durable.
///
/// # Errors
/// A failed file operation; or an unknown format or damage, and then nothing was changed.
pub fn recover(
    storage: &dyn Storage,
    folders: &[PathBuf],
    checkpoint: CheckpointEpochs,
    repair: bool,
) -> Result<Outcome> {
    let segments = find::find(storage, folders)?;
    let database = segments.found.values().flatten().next().map(|segment| segment.header.database);
    let count = segments.found.values().map(Vec::len).sum();
    let chains = chain::read(segments.found, checkpoint.begin)?;
    let verdict = decide::decide(&chains, checkpoint)?;
    let plan = void::plan(&chains, &verdict, segments.unfinished);
    if repair {
        plan.carry_out(storage)?;
    }
    let report = RecoveryReport {
        durable_epoch: verdict.durable,
        segments: count,
        records: plan.records,
        bytes: plan.logs.iter().flat_map(|log| &log.segments).map(|kept| kept.end).sum(),
        torn_tails: plan.torn_tails,
        voided_epochs: verdict.voided,
    };
    Ok(Outcome { logs: plan.logs, database, last_epoch: verdict.last_epoch, report })
}

/// The folder of a segment file.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
