//! The durable records that a recovery found, ready for replay.

use std::path::PathBuf;
use std::sync::Mutex;

use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::{into_inner, lock};
use skein_sync::threads;

use crate::record::{LogRecordKind, RECORD_HEADER};
use crate::recovery::record_reader::RecordReader;
use crate::recovery::{self, KeptSegment, LogFolders, LogRecoveryOutcome};
use crate::storage::Storage;
use crate::{CheckpointEpochs, LogError, OpenProgress, Result, segment_manifest};

/// A torn tail that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// The segment file.
    pub path: PathBuf,
    /// The position of the cut.
    pub offset: u64,
    /// Bytes of whole or torn records behind the cut.
    pub bytes: u64,
}

/// The report of an opening.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LogRecoveryReport {
    /// The last durable epoch. All records up to it are kept.
    pub durable_epoch: u64,
    /// Segment files found.
    pub segments: usize,
    /// Records kept, from the checkpoint's begin epoch on.
    pub records: u64,
    /// Bytes kept.
    pub bytes: u64,
    /// Torn tails that were cut off.
    pub torn_tails: Vec<TornTail>,
    /// Epochs that were on disk but not durable. They were durably discarded.
    pub voided_epochs: Vec<u64>,
}

/// The figures of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Records passed to the caller.
    pub records: u64,
    /// Their bytes in the logs, counted like
    /// [`LogStats::appended_bytes`](crate::LogStats::appended_bytes).
    pub bytes: u64,
}

/// A record during replay.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// The record's epoch.
    pub epoch: u64,
    /// The payload that the caller appended.
    pub payload: &'a [u8],
}

/// The durable records of the logs that were opened.
#[derive(Debug)]
pub struct Recovered {
    kept: Vec<KeptSegment>,
    sealed: Vec<PathBuf>,
    database: Option<[u8; 16]>,
    report: LogRecoveryReport,
}

impl Recovered {
    /// Reads logs without changing anything. Returns the records that
    /// [`Log::open`](crate::Log::open) would find and keep. As for an opening, `progress` expects
    /// the bytes of the logs twice: for this reading, and for a replay.
    ///
    /// REQUIRES: nobody writes to the logs meanwhile.
    ///
    /// # Errors
    /// Returns the same errors as opening.
    pub fn inspect(
        storage: &dyn Storage,
        folders: &[PathBuf],
        checkpoint: Option<CheckpointEpochs>,
        progress: &OpenProgress,
    ) -> Result<Self> {
        let manifests = segment_manifest::read_all(storage, folders)?;
        Ok(Self::new(&recovery::recover(
            storage,
            LogFolders { paths: folders, manifests: &manifests },
            CheckpointEpochs::or_none(checkpoint),
            progress,
        )?))
    }

    pub(crate) fn new(outcome: &LogRecoveryOutcome) -> Self {
        Self {
            kept: outcome.plan.logs.iter().flat_map(|log| log.segments.iter().cloned()).collect(),
            sealed: outcome.plan.sealed(),
            database: outcome.database,
            report: outcome.report.clone(),
        }
    }

    /// Returns the report of the opening.
    pub fn report(&self) -> &LogRecoveryReport {
        &self.report
    }

    /// Returns the database id of the logs, or `None` if there are no segments.
    pub fn database(&self) -> Option<[u8; 16]> {
        self.database
    }

    /// Returns the segments that no opening writes to any more: the next opening and all later ones
    /// only read or remove them. Their records are all proven durable, and another segment follows.
    pub fn sealed(&self) -> &[PathBuf] {
        &self.sealed
    }

    fn kept_from(&self, from_epoch: u64) -> impl Iterator<Item = &KeptSegment> {
        self.kept.iter().filter(move |kept| kept.last_epoch >= from_epoch)
    }

    /// Passes every durable record from epoch `from_epoch` on to `apply`, on up to `threads`
    /// threads. The first argument of `apply` is the thread's number, counted from 0.
    ///
    /// With several threads the order of the records is arbitrary, even within one log: the caller
    /// must decide by its versions. With one thread the records of one log arrive in the order of
    /// appending. If `apply` returns an error, the replay reports it as damage at that record.
    ///
    /// # Errors
    /// Returns an error if a read fails or `apply` returns an error.
    pub fn replay(
        &self,
        threads: usize,
        from_epoch: u64,
        apply: impl Fn(usize, RecordRef<'_>) -> std::result::Result<(), String> + Sync,
    ) -> Result<ReplayReport> {
        let needed: Vec<&KeptSegment> = self.kept_from(from_epoch).collect();
        let next = AtomicUsize::new(0);
        let total = Mutex::new((ReplayReport::default(), None));
        threads::share(threads.min(needed.len()), |worker| {
            loop {
                // Relaxed: the threads share only the number itself.
                let Some(kept) = needed.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                let result = replay_segment(kept, from_epoch, |record| apply(worker, record));
                let mut total = lock(&total);
                match result {
                    Ok(part) => {
                        total.0.records += part.records;
                        total.0.bytes += part.bytes;
                    }
                    Err(error) => {
                        total.1.get_or_insert(error);
                        // Makes the other threads stop at their next segment.
                        next.store(needed.len(), Ordering::Relaxed);
                    }
                }
            }
        });
        match into_inner(total) {
            (report, None) => Ok(report),
            (_, Some(error)) => Err(error),
        }
    }
}

fn replay_segment(
    kept: &KeptSegment,
    from_epoch: u64,
    apply: impl Fn(RecordRef<'_>) -> std::result::Result<(), String>,
) -> Result<ReplayReport> {
    let segment = &*kept.segment;
    let damaged = |offset, what: String| LogError::Damaged { path: segment.path.clone(), offset, what };
    let mut report = ReplayReport::default();
    let file = segment.open(false)?;
    let mut reader = RecordReader::new(&*file, segment.header.seed, segment.header.first_epoch, kept.end);
    while reader.at() < kept.end {
        let at = reader.at();
        let read =
            reader.next().map_err(|error| LogError::io("read the log segment", &segment.path, &error))?;
        // The scan has checked every record of the segment before.
        let found = read.map_err(|why| damaged(at, format!("{why}, although the scan found it whole")))?;
        if found.header.kind != LogRecordKind::Data || found.header.epoch < from_epoch {
            continue;
        }
        let record = RecordRef { epoch: found.header.epoch, payload: found.payload };
        apply(record).map_err(|why| damaged(found.at, why))?;
        report.records += 1;
        report.bytes += (RECORD_HEADER + found.payload.len()) as u64;
    }
    Ok(report)
}
