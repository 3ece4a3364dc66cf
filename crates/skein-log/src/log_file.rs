//! The files of one log: the segment that is being written, and those before it.
//!
//! ```text
//!   closed ── closed ── full, not yet synced ── active
//!                                      durable ──▲  ▲── end: everything before it is written or reserved
//! ```
//!
//! All changes happen under the log's file lock. Writing happens at positions that were reserved under it, so that a
//! commit may sync without holding it while the writer drains what comes after.
//!
//! Without room on the disk nothing is reserved ([`LogFile::make_room`]), or what was reserved is written to the same place when there is room: the
//! bytes are the same, so that what a failed attempt left there is part of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::SYNC;
use crate::record::{LogPosition, Mark, Participant, SegmentLink};
use crate::segment::{NewSegment, SEGMENT_HEADER};
use crate::segment_allocator::SegmentAllocator;
use crate::segment_manifest::SegmentManifests;
use crate::storage::{Storage, StorageFile};
use crate::{LogError, Result};

/// What an error of a segment's write says was being done.
const WRITE: &str = "write to the log segment";

/// A segment that is written no more.
#[derive(Debug, Clone)]
pub struct ClosedSegment {
    pub path: PathBuf,
    /// Bytes up to the end of its records.
    pub bytes: u64,
    /// The greatest epoch in it.
    pub last_epoch: u64,
}

/// An open segment file with its name, for errors and for syncing without the lock.
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
    active: Option<ActiveSegment>,
    /// What the next segment's link will say: where the records end now, and their greatest epoch.
    link: SegmentLink,
    durable: LogPosition,
    /// The next segment, made and not begun, for want of room.
    next: Option<NewSegment>,
    /// What was reserved and not written, for want of room.
    unwritten: Option<(OpenSegment, u64, Vec<u8>)>,
    /// Full segments with something that is not synced.
    unsynced: Vec<OpenSegment>,
    closed: Vec<ClosedSegment>,
}

/// A log's part in a commit: reserved, to be written and synced.
#[derive(Debug)]
pub struct CommitPart {
    pub log: usize,
    bytes: Vec<u8>,
    segment: OpenSegment,
    start: u64,
    also_sync: Vec<OpenSegment>,
    own_durable: LogPosition,
    /// Where the mark's record begins.
    pub mark: LogPosition,
    end: LogPosition,
    seed: u32,
    /// The mark is among the bytes.
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
    /// The files of log number `log`, whose records of earlier runs end as `link` says.
    pub fn new(log: usize, seed: u32, link: SegmentLink) -> Self {
        Self {
            log,
            seed,
            active: None,
            link,
            durable: link.previous,
            next: None,
            unwritten: None,
            unsynced: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Whether this run has written to the log.
    pub fn is_used(&self) -> bool {
        self.active.is_some()
    }

    /// Whether something is written that no commit has synced.
    pub fn has_unsynced(&self) -> bool {
        self.link.previous > self.durable
    }

    /// Segments, and bytes up to the ends of their records.
    pub fn size(&self) -> (usize, u64) {
        let closed: u64 = self.closed.iter().map(|segment| segment.bytes).sum();
        (
            self.closed.len() + usize::from(self.active.is_some()),
            closed + self.active.as_ref().map_or(0, |active| active.end),
        )
    }

    /// Writes what there was no room for.
    pub fn catch_up(&mut self) -> Result<()> {
        if let Some((segment, start, bytes)) = &self.unwritten {
            segment.write_at(bytes, *start)?;
            self.unwritten = None;
        }
        Ok(())
    }

    /// Writes records of the open epoch, without a sync, after [`make_room`](Self::make_room).
    pub fn drain(&mut self, epoch: u64, bytes: &[u8]) -> Result<()> {
        let (segment, start) = self.reserve(epoch, bytes.len() as u64)?;
        let written = segment.write_at(bytes, start);
        if written.is_err() {
            self.unwritten = Some((segment, start, bytes.to_vec()));
        }
        written
    }

    /// Reserves the place of a commit's part: the last records of `epoch`, and its mark. After [`make_room`](Self::make_room) for that many bytes and
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
        self.durable = part.end;
    }

    /// Goes on to the next segment if `len` bytes for records of `epoch` do not fit into the active one. If there is no room on the disk, nothing is
    /// reserved, and all is well for another try.
    ///
    /// A segment's capacity is where it is full, not a bound: what is larger than a whole segment makes it longer.
    pub fn make_room(&mut self, maker: &SegmentAllocator, epoch: u64, len: u64) -> Result<()> {
        let begun = (SEGMENT_HEADER + SegmentLink::RECORD_LEN) as u64;
        let fits = |active: &ActiveSegment| active.end + len <= active.capacity || active.end == begun;
        if self.active.as_ref().is_some_and(fits) { Ok(()) } else { self.rotate(maker, epoch) }
    }

    /// Reserves `len` bytes for records of `epoch` in the active segment.
    fn reserve(&mut self, epoch: u64, len: u64) -> Result<(OpenSegment, u64)> {
        let active = self.active.as_mut().ok_or(LogError::Closed)?;
        let start = active.end;
        active.end += len;
        self.link = SegmentLink {
            previous: LogPosition { segment: active.number, offset: active.end },
            last_epoch: self.link.last_epoch.max(epoch),
        };
        Ok((active.segment.clone(), start))
    }

    fn rotate(&mut self, maker: &SegmentAllocator, epoch: u64) -> Result<()> {
        let new = match self.next.take() {
            Some(next) => next,
            None => maker.take(self.log)?,
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

    /// Takes out the segments in which all is of epochs before `epoch`, oldest first.
    pub fn take_released(&mut self, epoch: u64) -> Vec<ClosedSegment> {
        let keep = self.closed.iter().position(|segment| segment.last_epoch >= epoch);
        self.closed.drain(..keep.unwrap_or(self.closed.len())).collect()
    }

    /// Puts back what could not be removed.
    pub fn put_back(&mut self, mut segments: Vec<ClosedSegment>) {
        segments.append(&mut self.closed);
        self.closed = segments;
    }

    /// Gives back the room that was reserved and not used. Only for tidiness: the zeros mean the same.
    pub fn trim(&self) {
        if let Some(active) = &self.active {
            let _ = active.segment.file.set_len(active.end);
        }
    }
}

impl CommitPart {
    /// Appends the mark, writes and syncs. May be called again, likewise, when there was no room.
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
        self.segment.write_at(&self.bytes, self.start)?;
        for full in &self.also_sync {
            full.sync()?;
        }
        self.segment.sync()
    }

    /// The buffer, to be used again.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

/// Removes released segments, oldest first, from the rosters and then from disk; returns those that are left, with the
/// error.
pub fn remove_segments(
    storage: &dyn Storage,
    rosters: &SegmentManifests,
    segments: Vec<ClosedSegment>,
) -> (usize, Vec<ClosedSegment>, Option<LogError>) {
    let paths: Vec<&Path> = segments.iter().map(|segment| segment.path.as_path()).collect();
    if let Err(error) = rosters.remove(&paths) {
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
