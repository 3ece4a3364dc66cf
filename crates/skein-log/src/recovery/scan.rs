//! Scans one segment: finds its valid records, the proofs in its marks, and marks behind the stop.

use std::collections::BTreeMap;
use std::io;

use super::record_reader::{NoRecord, RecordReader};
use crate::OpenProgress;
use crate::record::{LogPosition, LogRecordKind, MARK_MAGIC, Mark, RECORD_HEADER, RecordHeader, SegmentLink};
use crate::segment::SegmentHeader;
use crate::storage::StorageFile;

/// The number of bytes per read in the search behind a stop.
const PIECE: usize = 256 << 10;

/// A mark and its position in the segment.
#[derive(Debug, Clone)]
pub struct MarkAt {
    pub mark: Mark,
    /// The begin and the end of its record.
    pub at: u64,
    pub end: u64,
    /// The number of data records in the segment before it.
    pub records: u64,
}

/// The result of a scan.
#[derive(Debug, Clone, Default)]
pub struct SegmentScan {
    /// The first record, if it is a link.
    pub link: Option<SegmentLink>,
    /// The end of the valid records, and the reason for it.
    pub stop: u64,
    pub why: NoRecord,
    /// The end of the bytes that are not zero.
    pub content_end: u64,
    /// The last mark before the stop, and the one before that.
    pub last_mark: Option<MarkAt>,
    pub mark_before: Option<MarkAt>,
    /// Data records before the stop.
    pub records: u64,
    /// The greatest epoch before the stop.
    pub last_epoch: u64,
    /// The epochs of the last mark, of the records behind it, and of the marks behind the stop.
    pub recent_epochs: Vec<u64>,
    /// For each log, the position up to which marks of this segment prove it durable. A mark counts
    /// if another one follows it.
    pub required: BTreeMap<u32, LogPosition>,
    /// The greatest "durable before" of all marks, including those behind the stop.
    pub proven: u64,
    /// The position up to which this log was durable, by the marks before the stop, and by those
    /// behind it.
    pub own_durable: LogPosition,
    pub own_durable_behind: LogPosition,
}

/// The number of bytes read between two reports to the progress.
const TOLD_TOGETHER: u64 = 1 << 20;

/// The progress in one segment.
#[derive(Debug)]
pub struct ScanProgress<'p> {
    all: &'p OpenProgress,
    /// The position that was reported to `all`.
    told: u64,
}

impl<'p> ScanProgress<'p> {
    pub fn new(all: &'p OpenProgress) -> Self {
        Self { all, told: 0 }
    }

    /// Notes that the segment was read up to `at`. Returns false if the opening should end.
    fn reach(&mut self, at: u64) -> bool {
        at < self.told + TOLD_TOGETHER || self.tell(at)
    }

    fn tell(&mut self, at: u64) -> bool {
        let more = at - std::mem::replace(&mut self.told, at);
        self.all.advance(more, 0)
    }
}

/// Scans a segment of `len` bytes. Returns `None` if the opening should end. Epochs before `begin`
/// need no proof.
pub fn scan(
    file: &dyn StorageFile,
    header: &SegmentHeader,
    len: u64,
    begin: u64,
    mut progress: ScanProgress<'_>,
) -> io::Result<Option<SegmentScan>> {
    let mut found = SegmentScan::default();
    let mut reader = RecordReader::new(file, header.seed, header.first_epoch, len);
    loop {
        let record = match reader.next()? {
            Ok(record) => record,
            Err(why) => {
                found.why = why;
                break;
            }
        };
        let (epoch, first) = (record.header.epoch, found.last_epoch == 0);
        let end = record.at + (RECORD_HEADER + record.payload.len()) as u64;
        let held = match record.header.kind {
            LogRecordKind::Data | LogRecordKind::Mark if first => {
                Err("the segment does not begin with a link record")
            }
            LogRecordKind::Data => {
                found.records += u64::from(epoch >= begin);
                Ok(())
            }
            LogRecordKind::Link if first => {
                found.link = SegmentLink::parse(record.payload);
                found.link.map(|_| ()).ok_or("a link is malformed")
            }
            LogRecordKind::Link => Err("a link is not at the start of its segment"),
            LogRecordKind::Mark => match Mark::parse(epoch, record.payload) {
                Some(mark) => found.add_mark(mark, record.at, end, begin),
                None => Err("a mark is malformed"),
            },
        };
        if let Err(why) = held {
            (found.stop, found.why) = (record.at, why);
            break;
        }
        if found.recent_epochs.last() != Some(&epoch) {
            found.recent_epochs.push(epoch);
        }
        (found.last_epoch, found.stop) = (epoch, end);
        if !progress.reach(end) {
            return Ok(None);
        }
    }
    if found.stop == 0 {
        found.stop = reader.at();
    }
    found.content_end = found.stop;
    let goes_on = search_behind(file, header, len, &mut progress, &mut found)? && progress.tell(len);
    Ok(goes_on.then_some(found))
}

impl SegmentScan {
    fn add_mark(&mut self, mark: Mark, at: u64, end: u64, begin: u64) -> Result<(), NoRecord> {
        if let Some(previous) = &self.last_mark {
            if mark.durable_before < previous.mark.epoch {
                return Err("a mark says that the mark before it was not durable");
            }
            if previous.mark.epoch >= begin {
                require(&mut self.required, &previous.mark);
            }
        }
        self.proven = self.proven.max(mark.durable_before);
        self.own_durable = self.own_durable.max(mark.own_durable);
        self.recent_epochs.clear();
        self.mark_before = self.last_mark.replace(MarkAt { mark, at, end, records: self.records });
        Ok(())
    }
}

/// Notes that a mark that is proven durable needs the marks of all its participants.
pub fn require(required: &mut BTreeMap<u32, LogPosition>, mark: &Mark) {
    for participant in &mark.participants {
        let place = required.entry(participant.log).or_default();
        *place = (*place).max(participant.mark);
    }
}

/// Searches the bytes behind the stop for marks. The checksum's seed shows that a mark belongs to
/// this segment. Returns false if the opening should end.
fn search_behind(
    file: &dyn StorageFile,
    header: &SegmentHeader,
    len: u64,
    progress: &mut ScanProgress<'_>,
    found: &mut SegmentScan,
) -> io::Result<bool> {
    let mut piece = vec![0; PIECE];
    let mut at = found.stop;
    while at < len {
        let want = (len - at).min(PIECE as u64) as usize;
        let read = file.read_at(&mut piece[..want], at)?;
        if read == 0 {
            break;
        }
        let bytes = &piece[..read];
        if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
            found.content_end = at + last as u64 + 1;
            for place in places_of(bytes, MARK_MAGIC) {
                let payload = at + place as u64;
                if payload >= found.stop + RECORD_HEADER as u64
                    && let Some(mark) = mark_at(file, header.seed, payload - RECORD_HEADER as u64, len)?
                {
                    found.proven = found.proven.max(mark.durable_before);
                    found.own_durable_behind = found.own_durable_behind.max(mark.own_durable);
                    found.recent_epochs.push(mark.epoch);
                }
            }
        }
        // The magic number may cross the end of a piece, so pieces overlap.
        let overlap = if at + (read as u64) < len { (MARK_MAGIC.len() - 1).min(read - 1) } else { 0 };
        at += (read - overlap) as u64;
        if !progress.reach(at) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the positions of `needle`.
fn places_of(bytes: &[u8], needle: [u8; 8]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(next) = bytes[from..].iter().position(|byte| *byte == needle[0]) {
        let place = from + next;
        if bytes[place..].starts_with(&needle) {
            places.push(place);
        }
        from = place + 1;
    }
    places
}

/// Returns the mark at `at`, if a valid one begins there.
fn mark_at(file: &dyn StorageFile, seed: u32, at: u64, len: u64) -> io::Result<Option<Mark>> {
    let mut head = [0; RECORD_HEADER];
    if file.read_at(&mut head, at)? < RECORD_HEADER {
        return Ok(None);
    }
    let Some(header) = RecordHeader::parse(&head) else { return Ok(None) };
    let end = at + (RECORD_HEADER + header.len) as u64;
    if header.kind != LogRecordKind::Mark || end > len {
        return Ok(None);
    }
    let mut record = vec![0; RECORD_HEADER + header.len];
    if file.read_at(&mut record, at)? < record.len() || !header.holds(seed, &record) {
        return Ok(None);
    }
    Ok(Mark::parse(header.epoch, &record[RECORD_HEADER..]))
}
