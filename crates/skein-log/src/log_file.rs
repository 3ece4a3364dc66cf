//! The files of one log: the active segment and the segments before it.
//!
//! ```text
//!   closed ── closed ── full, not yet synced ── active
//!                                      durable ──▲  ▲── end: everything before it is written or reserved
//! ```
//!
//! The log's file lock protects all changes. A writer reserves positions under the lock and writes
//! to them later. So a commit can sync without the lock while the writer thread drains later
//! records.
//!
//! If the disk is full, either nothing is reserved ([`LogFile::make_room`]), or the reserved bytes
//! are written to the same position when there is space. These are the same bytes, so a failed
//! attempt leaves only bytes that belong there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::SYNC;
use crate::log_room::LogRoom;
use crate::record::{LogPosition, Mark, Participant, SegmentLink};
use crate::segment::{NewSegment, SEGMENT_HEADER, numbers_of};
use crate::segment_allocator::SegmentAllocator;
use crate::segment_manifest::SegmentManifests;
use crate::storage::{Storage, StorageFile};
use crate::{LogError, Result};

/// The operation that errors of a segment's write name.
const WRITE: &str = "write to the log segment";

/// A segment that receives no more records.
#[derive(Debug, Clone)]
pub struct ClosedSegment {
    pub path: PathBuf,
    /// Bytes up to the end of its records.
    pub bytes: u64,
    /// The greatest epoch of its records.
    pub last_epoch: u64,
}

/// An open segment file with its path: for errors, and for a sync without the lock.
#[derive(Debug, Clone)]
pub struct OpenSegment {
    path: Arc<Path>,
    file: Arc<dyn StorageFile>,
}

#[derive(Debug)]
struct ActiveSegment {
    number: u64,
    segment: OpenSegment,
    capacity: u64,
    end: u64,
}

/// The files of one log.
#[derive(Debug)]
pub struct LogFile {
    log: usize,
    seed: u32,
    room: Arc<LogRoom>,
    active: Option<ActiveSegment>,
    /// The contents of the next segment's link: the present end of the records and their greatest
    /// epoch.
    link: SegmentLink,
    durable: LogPosition,
    /// The next segment, if the disk was full when it was to be begun.
    next: Option<NewSegment>,
    /// A reserved position and its bytes, if the disk was full when they were to be written.
    unwritten: Option<(OpenSegment, u64, Vec<u8>)>,
    /// Full segments with records that are not synced.
    unsynced: Vec<OpenSegment>,
    closed: Vec<ClosedSegment>,
}

/// One log's part of a commit. Its position is reserved; it must be written and synced.
#[derive(Debug)]
pub struct CommitPart {
    pub log: usize,
    bytes: Vec<u8>,
    segment: OpenSegment,
    start: u64,
    also_sync: Vec<OpenSegment>,
    own_durable: LogPosition,
    /// The position of the mark's record.
    pub mark: LogPosition,
    end: LogPosition,
    seed: u32,
    /// The bytes already end with the mark.
    marked: bool,
}

impl OpenSegment {
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.file.write_at(bytes, offset).map_err(|error| LogError::io(WRITE, &self.path, &error))
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| LogError::io(SYNC, &self.path, &error))
    }
}

impl LogFile {
    /// Creates the files of log number `log`. Its records of earlier runs end where `link` says.
    pub fn new(log: usize, seed: u32, link: SegmentLink, room: Arc<LogRoom>) -> Self {
        Self {
            log,
            seed,
            room,
            active: None,
            link,
            durable: link.previous,
            next: None,
            unwritten: None,
            unsynced: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Returns whether this run has written to the log.
    pub fn is_used(&self) -> bool {
        self.active.is_some()
    }

    /// Returns whether there are written records that no commit has synced.
    pub fn has_unsynced(&self) -> bool {
        self.link.previous > self.durable
    }

    /// Returns the number of segments and their bytes up to the ends of their records.
    pub fn size(&self) -> (usize, u64) {
        let closed: u64 = self.closed.iter().map(|segment| segment.bytes).sum();
        (
            self.closed.len() + usize::from(self.active.is_some()),
            closed + self.active.as_ref().map_or(0, |active| active.end),
        )
    }

    /// Writes the bytes that were reserved but not written because the disk was full.
    pub fn catch_up(&mut self) -> Result<()> {
        if let Some((segment, start, bytes)) = &self.unwritten {
            segment.write_at(bytes, *start)?;
            self.unwritten = None;
        }
        Ok(())
    }

    /// Writes records of the open epoch, without a sync. The caller must call
    /// [`make_room`](Self::make_room) first.
    pub fn drain(&mut self, epoch: u64, bytes: &[u8]) -> Result<()> {
        let (segment, start) = self.reserve(epoch, bytes.len() as u64)?;
        let written = segment.write_at(bytes, start);
        if written.is_err() {
            self.unwritten = Some((segment, start, bytes.to_vec()));
        }
        written
    }

    /// Reserves the position of a commit's part: the last records of `epoch` and its mark. The
    /// caller must call [`make_room`](Self::make_room) first, for this length and
    /// [`Mark::record_len`].
    pub fn begin_part(&mut self, epoch: u64, bytes: Vec<u8>, participants: usize) -> Result<CommitPart> {
        let len = bytes.len() as u64;
        let (segment, start) = self.reserve(epoch, len + Mark::record_len(participants) as u64)?;
        let end = self.link.previous;
        Ok(CommitPart {
            log: self.log,
            bytes,
            segment,
            start,
            also_sync: std::mem::take(&mut self.unsynced),
            own_durable: self.durable,
            mark: LogPosition { segment: end.segment, offset: start + len },
            end,
            seed: self.seed,
            marked: false,
        })
    }

    /// Notes that a part was synced.
    pub fn end_part(&mut self, part: &CommitPart) {
        debug_assert!(self.durable <= part.end, "parts become durable in the order of their positions");
        self.durable = part.end;
    }

    /// Changes to the next segment if `len` bytes for records of `epoch` do not fit into the active
    /// one. If the disk is full, nothing is reserved, and the caller may try again.
    ///
    /// A segment is full at its capacity, but may become longer: a record larger than a whole
    /// segment extends it.
    pub fn make_room(&mut self, allocator: &SegmentAllocator, epoch: u64, len: u64) -> Result<()> {
        let begun = (SEGMENT_HEADER + SegmentLink::RECORD_LEN) as u64;
        let fits = |active: &ActiveSegment| active.end + len <= active.capacity || active.end == begun;
        if self.active.as_ref().is_some_and(fits) { Ok(()) } else { self.rotate(allocator, epoch) }
    }

    /// Reserves `len` bytes for records of `epoch` in the active segment.
    fn reserve(&mut self, epoch: u64, len: u64) -> Result<(OpenSegment, u64)> {
        // The buffer promises this by its invariants 1 and 3, and recovery relies on it.
        debug_assert!(epoch >= self.link.last_epoch, "records reach the file in the order of epochs");
        let active = self.active.as_mut().ok_or(LogError::Closed)?;
        let start = active.end;
        active.end += len;
        self.room.set_active(active.capacity, active.end);
        self.link = SegmentLink {
            previous: LogPosition { segment: active.number, offset: active.end },
            last_epoch: self.link.last_epoch.max(epoch),
        };
        Ok((active.segment.clone(), start))
    }

    fn rotate(&mut self, allocator: &SegmentAllocator, epoch: u64) -> Result<()> {
        let new = match self.next.take() {
            Some(next) => next,
            None => allocator.take(self.log, self.size().1)?,
        };
        let mut link = Vec::with_capacity(SegmentLink::RECORD_LEN);
        self.link.append(&mut link, self.seed, epoch);
        if let Err(error) = new.file.write_at(&link, SEGMENT_HEADER as u64) {
            let failed = LogError::io(WRITE, &new.path, &error);
            self.next = Some(new);
            return Err(failed);
        }
        let segment = OpenSegment { path: new.path.into(), file: new.file.into() };
        let end = (SEGMENT_HEADER + SegmentLink::RECORD_LEN) as u64;
        let active = ActiveSegment { number: new.number, segment, capacity: new.capacity, end };
        self.room.set_active(active.capacity, end);
        if let Some(full) = self.active.replace(active) {
            self.closed.push(ClosedSegment {
                path: full.segment.path.to_path_buf(),
                bytes: full.end,
                last_epoch: self.link.last_epoch,
            });
            self.unsynced.push(full.segment);
        }
        Ok(())
    }

    /// Returns the segments of this run as far as they are durable, oldest first.
    pub fn durable_segments(&self) -> Vec<ClosedSegment> {
        let active = self.active.as_ref().map(|active| ClosedSegment {
            path: active.segment.path.to_path_buf(),
            bytes: active.end,
            last_epoch: self.link.last_epoch,
        });
        let number = |segment: &ClosedSegment| numbers_of(&segment.path).map_or(0, |(_, number)| number);
        let mut durable: Vec<_> = self.closed.iter().cloned().chain(active).collect();
        durable.retain(|segment| number(segment) <= self.durable.segment);
        // Records of the next epoch may lie behind the last mark.
        if let Some(last) = durable.last_mut().filter(|last| number(last) == self.durable.segment) {
            last.bytes = self.durable.offset;
        }
        durable
    }

    /// Takes out the segments that have only records of epochs before `epoch`, oldest first.
    pub fn take_released(&mut self, epoch: u64) -> Vec<ClosedSegment> {
        debug_assert!(self.closed.is_sorted_by_key(|segment| segment.last_epoch), "oldest first");
        let keep = self.closed.iter().position(|segment| segment.last_epoch >= epoch);
        self.closed.drain(..keep.unwrap_or(self.closed.len())).collect()
    }

    /// Puts back the segments that could not be removed.
    pub fn put_back(&mut self, mut segments: Vec<ClosedSegment>) {
        segments.append(&mut self.closed);
        self.closed = segments;
    }

    /// Frees the space that was reserved and not used. Optional, because recovery reads reserved
    /// zeros and the end of the file in the same way.
    pub fn trim(&self) {
        if let Some(active) = &self.active {
            let _ = active.segment.file.set_len(active.end);
        }
    }
}

impl CommitPart {
    /// Appends the mark, writes and syncs. If the disk was full, the caller may call it again with
    /// the same arguments.
    pub fn write(&mut self, epoch: u64, durable_before: u64, participants: &[Participant]) -> Result<()> {
        if !self.marked {
            let mark = Mark {
                epoch,
                durable_before,
                own_durable: self.own_durable,
                participants: participants.to_vec(),
            };
            mark.append(&mut self.bytes, self.seed);
            self.marked = true;
        }
        debug_assert_eq!(
            self.start + self.bytes.len() as u64,
            self.end.offset,
            "a part fills the bytes that were reserved for it"
        );
        self.segment.write_at(&self.bytes, self.start)?;
        for full in &self.also_sync {
            full.sync()?;
        }
        self.segment.sync()
    }

    /// Takes the byte vector out, for reuse.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

/// Removes released segments, oldest first: from the manifests, then from the disk. Returns how
/// many were removed, the rest, and the error.
pub fn remove_segments(
    storage: &dyn Storage,
    manifests: &SegmentManifests,
    segments: Vec<ClosedSegment>,
) -> (usize, Vec<ClosedSegment>, Option<LogError>) {
    let paths: Vec<&Path> = segments.iter().map(|segment| segment.path.as_path()).collect();
    if let Err(error) = manifests.remove(&paths) {
        return (0, segments, Some(error));
    }
    let mut removed = 0;
    let mut rest = segments.into_iter();
    while let Some(segment) = rest.next() {
        match storage.remove(&segment.path) {
            Ok(()) => removed += 1,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => removed += 1,
            Err(error) => {
                let failed = LogError::io("remove the log segment", &segment.path, &error);
                return (removed, std::iter::once(segment).chain(rest).collect(), Some(failed));
            }
        }
    }
    (removed, Vec::new(), None)
}
