//! Chains the segments of a log: finds the first one that is needed, and the end of the records
//! that follow each other without a gap.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::{into_inner, lock};
use skein_sync::threads;

use super::found_segments::FoundSegment;
use super::scan::{self, ScanProgress, SegmentScan};
use crate::record::{LogPosition, LogRecordKind, SegmentLink};
use crate::recovery::record_reader::RecordReader;
use crate::{LogError, OpenProgress, Result};

/// A segment and the result of its scan.
#[derive(Debug)]
pub struct ScannedSegment {
    pub segment: Arc<FoundSegment>,
    pub scan: SegmentScan,
}

/// The segments of one log.
#[derive(Debug)]
pub struct LogChain {
    pub log: u32,
    /// Segments that follow each other without a gap, oldest first. Never empty, but the first one
    /// may have no records.
    pub held: Vec<ScannedSegment>,
    /// Segments behind the stop.
    pub behind: Vec<ScannedSegment>,
    /// Segments before the first: the checkpoint covers all their epochs.
    pub obsolete: Vec<Arc<FoundSegment>>,
}

impl LogChain {
    /// Returns the end of the valid records.
    pub fn stop(&self) -> LogPosition {
        self.held.last().map_or_else(LogPosition::default, |last| LogPosition {
            segment: last.segment.header.number,
            offset: last.scan.stop,
        })
    }

    /// Returns the greatest segment number.
    pub fn last_number(&self) -> u64 {
        let all = self.held.iter().chain(&self.behind).map(|scanned| scanned.segment.header.number);
        all.max().unwrap_or(0)
    }
}

/// Reads all segments that are needed from epoch `begin` on, in parallel, and chains them. Also
/// returns the number of bytes read.
pub fn read(
    logs: BTreeMap<u32, Vec<Arc<FoundSegment>>>,
    begin: u64,
    progress: &OpenProgress,
) -> Result<(Vec<LogChain>, u64)> {
    let mut needed = Vec::new();
    let mut obsolete_of = BTreeMap::new();
    for (log, mut segments) in logs {
        let start = first_needed(&segments, begin)?;
        let rest = segments.split_off(start);
        obsolete_of.insert(log, segments);
        needed.extend(rest);
    }
    let (scans, bytes) = scan_all(&needed, begin, progress)?;
    let mut scans = scans.into_iter().peekable();
    let mut chains = Vec::new();
    for (log, obsolete) in obsolete_of {
        let mut all = Vec::new();
        while let Some(scanned) = scans.next_if(|scanned| scanned.segment.header.log == log) {
            all.push(scanned);
        }
        chains.push(chain(log, all, obsolete)?);
    }
    Ok((chains, bytes))
}

/// Returns the index in `segments` of the first segment that is needed.
fn first_needed(segments: &[Arc<FoundSegment>], begin: u64) -> Result<usize> {
    for (place, segment) in segments.iter().enumerate().rev() {
        let Some(link) = link_of(segment)? else { continue };
        let first_of_all = place == 0 && link.previous.segment == 0;
        if first_of_all || (link.previous.segment > 0 && link.last_epoch < begin) {
            return Ok(place);
        }
    }
    if let Some(segment) = segments.first()
        && let Some(link) = link_of(segment)?
    {
        let missing = crate::segment::file_name(segment.header.log, link.previous.segment);
        return Err(LogError::Damaged {
            path: segment.path.with_file_name(missing),
            offset: 0,
            what: format!(
                "the file is missing, and no checkpoint covers its epochs (up to {}); searched all log folders",
                link.last_epoch
            ),
        });
    }
    Ok(0)
}

/// Returns the link of a segment, if its first record is a link.
fn link_of(segment: &FoundSegment) -> Result<Option<SegmentLink>> {
    let file = segment.open(false)?;
    let mut reader = RecordReader::new(&*file, segment.header.seed, segment.header.first_epoch, segment.len);
    let first = reader.next().map_err(|error| LogError::io("read the log segment", &segment.path, &error))?;
    Ok(first
        .ok()
        .filter(|found| found.header.kind == LogRecordKind::Link)
        .and_then(|found| SegmentLink::parse(found.payload)))
}

/// Scans segments in parallel. Also returns the number of their bytes. `progress` expects these
/// bytes twice: for the scan and for the replay.
pub fn scan_all(
    segments: &[Arc<FoundSegment>],
    begin: u64,
    progress: &OpenProgress,
) -> Result<(Vec<ScannedSegment>, u64)> {
    let bytes = segments.iter().map(|segment| segment.len).sum();
    progress.expect(bytes);
    progress.expect(bytes);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Result<ScannedSegment>>>> =
        Mutex::new(segments.iter().map(|_| None).collect());
    threads::share(threads::cores().min(segments.len()), |_| {
        loop {
            // Relaxed: the threads share only the number itself; results are passed under the lock.
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(segment) = segments.get(place) else { return };
            let result = scan_one(segment, begin, progress);
            lock(&done)[place] = Some(result);
        }
    });
    let scanned: Result<_> = into_inner(done).into_iter().flatten().collect();
    Ok((scanned?, bytes))
}

fn scan_one(segment: &Arc<FoundSegment>, begin: u64, progress: &OpenProgress) -> Result<ScannedSegment> {
    let file = segment.open(false)?;
    let read = ScanProgress::new(progress);
    match scan::scan(&*file, &segment.header, segment.len, begin, read) {
        Ok(Some(scan)) => Ok(ScannedSegment { segment: segment.clone(), scan }),
        Ok(None) => Err(LogError::Cancelled),
        Err(error) => Err(LogError::io("read the log segment", &segment.path, &error)),
    }
}

fn chain(log: u32, all: Vec<ScannedSegment>, obsolete: Vec<Arc<FoundSegment>>) -> Result<LogChain> {
    let mut chain = LogChain { log, held: Vec::new(), behind: Vec::new(), obsolete };
    for scanned in all {
        let joined = match (chain.held.is_empty(), &scanned.scan.link) {
            (true, _) => true,
            (false, Some(link)) if chain.behind.is_empty() => joins(&chain, &scanned, link)?,
            _ => false,
        };
        if joined {
            chain.held.push(scanned);
        } else {
            chain.behind.push(scanned);
        }
    }
    Ok(chain)
}

/// Returns whether a segment follows the end of the chain.
fn joins(chain: &LogChain, next: &ScannedSegment, link: &SegmentLink) -> Result<bool> {
    let stop = chain.stop();
    if link.previous.segment == stop.segment && link.previous.offset < stop.offset {
        let previous = chain.held.last().unwrap_or(next);
        return Err(LogError::Damaged {
            path: previous.segment.path.clone(),
            offset: link.previous.offset,
            what: format!(
                "there are records past the end that the link in {} names",
                next.segment.path.display()
            ),
        });
    }
    Ok(link.previous == stop)
}
