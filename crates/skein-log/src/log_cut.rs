//! A cut through all logs: their files up to one durable epoch, for a copy that is made while
//! writers go on.
//!
//! ```text
//!   log 0   ├─ segment 3 ─┤├─ segment 4 ──── mark of E ┊ records of E + 1 ...
//!   log 1   ├─ segment 7 ───────────── mark of E - 2 ┊
//!                                                    ┊ cut: nothing behind it is copied
//!   copy 0  ├─ segment 3 ─┤├─ segment 4 ──── mark of E ├ mark of E + 1 ┤
//!   copy 1  ├─ segment 7 ───────────── mark of E - 2 ──├ mark of E + 1 ┤
//! ```
//!
//! 1. A log is cut behind its last mark of an epoch up to E, as recovery cuts it. So the copy has
//!    all records of the epochs up to E, and no others.
//! 2. The copy gets one epoch more, without data, in which all of its logs take part: the marks of
//!    a clean close. They prove the whole of every log durable, so that a lost or damaged end of
//!    the copy is noticed as damage, and is not taken for a torn tail.
//! 3. Each log's last segment in the copy ends with such a mark, which says that the log was
//!    durable up to the cut in this segment. So an opening of the copy may write to this segment,
//!    and only reads or removes the segments before it
//!    ([`Recovered::sealed`](crate::Recovered::sealed)). These are the segments that copies may
//!    share.
//! 4. Segments are taken by their place in the log, and shared after a comparison of their bytes. A
//!    number does not identify a segment: two copies that were opened both go on with the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::log_file::ClosedSegment;
use crate::record::{LogPosition, Mark, Participant};
use crate::segment::{SEGMENT_HEADER, SegmentHeader, file_name, numbers_of};
use crate::storage::{FileCopier, Storage, make_folder};
use crate::{LogError, Result, SegmentManifest};

/// The files of all logs up to one durable epoch. See [`Log::cut`](crate::Log::cut).
#[derive(Debug)]
pub struct LogCut {
    epoch: u64,
    database: [u8; 16],
    /// The path of each segment and its length up to the cut, by log and segment number.
    segments: BTreeMap<(u32, u64), (PathBuf, u64)>,
}

impl LogCut {
    /// Makes a cut from lists of segments, each of one log and oldest first: those of earlier runs,
    /// then those of this run. Leaves out segments that have only records of epochs before
    /// `needed_from`.
    pub(crate) fn new(
        epoch: u64,
        database: [u8; 16],
        needed_from: u64,
        lists: impl Iterator<Item = Vec<ClosedSegment>>,
    ) -> Self {
        let needed = by_log(lists).into_values().flat_map(|log| {
            // A log has no gaps, so only its first segments may be left out.
            log.into_iter().skip_while(move |segment| segment.last_epoch < needed_from)
        });
        let named = needed.filter_map(|segment| Some((numbers_of(&segment.path)?, segment)));
        let segments = named.map(|(name, segment)| (name, (segment.path, segment.bytes))).collect();
        Self { epoch, database, segments }
    }

    /// Returns the epoch that the cut ends with.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the bytes of the segments up to the cut.
    pub fn bytes(&self) -> u64 {
        self.segments.values().map(|(_, bytes)| bytes).sum()
    }

    /// Copies the logs into `folder`, which has no segments yet, with a segment manifest.
    /// Everything in the folder is durable when this returns. `sealed` has segments of an earlier
    /// copy, to be shared if they are equal.
    ///
    /// REQUIRES: no segment of the cut is removed meanwhile, and no process writes to the files
    /// `sealed` in place, now or later.
    ///
    /// # Errors
    /// A file operation failed, a segment's header is damaged, or the copy was cancelled.
    pub fn copy_to(
        &self,
        copier: &mut FileCopier<'_>,
        folder: &Path,
        sealed: &[PathBuf],
    ) -> Result<SegmentManifest> {
        let target = copier.target();
        make_folder(target, folder)?;
        let ends = self.ends();
        let sealed: BTreeMap<_, &PathBuf> =
            sealed.iter().filter_map(|path| Some((numbers_of(path)?, path))).collect();
        for ((log, number), (path, bytes)) in &self.segments {
            let to = folder.join(file_name(*log, *number));
            if ends[log].segment == *number {
                copier.copy(path, *bytes, &self.closing_mark(copier.source(), path, &ends, *log)?, &to)?;
            } else {
                let earlier = sealed.get(&(*log, *number)).map(|path| path.as_path());
                copier.share_or_copy(earlier, path, *bytes, &to)?;
            }
        }
        let names: BTreeSet<_> = self.segments.keys().copied().collect();
        // This also syncs the names in the folder.
        SegmentManifest::create_with(target, folder, self.database, names)
    }

    /// Returns where each log is cut.
    fn ends(&self) -> BTreeMap<u32, LogPosition> {
        let ends = self.segments.iter().map(|((log, segment), (_, bytes))| {
            // The greatest segment number comes last, and stays.
            (*log, LogPosition { segment: *segment, offset: *bytes })
        });
        ends.collect()
    }

    /// Returns the record of invariant 2 for the end of `log`, in the segment `path`.
    fn closing_mark(
        &self,
        source: &dyn Storage,
        path: &Path,
        ends: &BTreeMap<u32, LogPosition>,
        log: u32,
    ) -> Result<Vec<u8>> {
        let participants = ends.iter().map(|(log, mark)| Participant { log: *log, mark: *mark });
        let mark = Mark {
            epoch: self.epoch + 1,
            durable_before: self.epoch,
            own_durable: ends[&log],
            participants: participants.collect(),
        };
        let mut record = Vec::new();
        mark.append(&mut record, header_of(source, path)?.seed);
        Ok(record)
    }
}

/// Joins the lists of each log.
fn by_log(lists: impl Iterator<Item = Vec<ClosedSegment>>) -> BTreeMap<u32, Vec<ClosedSegment>> {
    let mut logs: BTreeMap<u32, Vec<ClosedSegment>> = BTreeMap::new();
    for segments in lists {
        if let Some((log, _)) = segments.first().and_then(|first| numbers_of(&first.path)) {
            logs.entry(log).or_default().extend(segments);
        }
    }
    logs
}

fn header_of(source: &dyn Storage, path: &Path) -> Result<SegmentHeader> {
    let failed = |error| LogError::io("read the log segment", path, &error);
    let mut head = [0; SEGMENT_HEADER];
    source.open(path, false).and_then(|file| file.read_at(&mut head, 0)).map_err(failed)?;
    SegmentHeader::parse(&head).map_err(|_| LogError::damaged(path, 0, "its header is damaged"))
}
