//! Writing a checkpoint with several threads.

use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use skein_log::{Log, LogError, Standstill};
use skein_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use skein_sync::locks::{into_inner, lock};
use skein_sync::threads;

use super::manifest::{CheckpointManifest, PartInfo};
use super::pace::CheckpointPace;
use super::part::PartWriter;
use super::{CheckpointReport, folder_name, part_name};
use crate::index::{IndexView, StoreIndex};
use crate::snapshot::StoreSnapshots;
use crate::store::StoreCore;
use crate::{Error, Result, ScanDirection};

/// Rows that a part should have at least.
const ROWS_PER_PART_MIN: usize = 10_000;

/// Parts per thread: more than one, so that a slow range does not keep the others waiting.
const PARTS_PER_THREAD: usize = 8;

/// Writes a checkpoint; the caller makes sure that there is one at a time.
pub(crate) fn write(inner: &StoreCore, threads: usize) -> Result<CheckpointReport> {
    let started = Instant::now();
    let storage = &*inner.folder.storage;
    let boundary = CheckpointBoundary::of(&inner.log)?;
    let begin = boundary.begin;
    let folder = inner.folder.path.join(folder_name(begin));
    let written = write_counted(inner, &folder, &boundary, threads);
    let manifest = match written {
        Ok(manifest) => manifest,
        Err(error) => {
            // It has no manifest, so it does not count; what cannot be removed now is removed at the next open.
            if let Err(left) = super::remove(storage, &folder) {
                tracing::debug!("an unfinished checkpoint stays: {left}");
            }
            return Err(error);
        }
    };
    inner.folder.note_checkpoint(begin)?;
    super::remove_others(storage, &inner.folder.path, Some(begin))?;
    let segments_removed = inner.log.release_before(begin)?;
    Ok(CheckpointReport {
        begin_epoch: begin,
        end_epoch: manifest.end,
        rows: manifest.rows(),
        bytes: manifest.bytes(),
        segments_removed,
        took: started.elapsed(),
    })
}

/// Where a checkpoint begins, and how it ends.
struct CheckpointBoundary<'l> {
    begin: u64,
    /// The log's disk is full. Then no epoch becomes durable, and nobody writes until the checkpoint is done, or given up.
    still: Option<Standstill<'l>>,
}

impl<'l> CheckpointBoundary<'l> {
    fn of(log: &'l Log) -> Result<Self> {
        let no_room = match log.commit() {
            Ok(epoch) => return Ok(Self { begin: epoch + 1, still: None }),
            Err(error @ LogError::NoRoom { .. }) => error,
            Err(error) => return Err(error.into()),
        };
        let still = log.stand_still().ok_or(no_room)?;
        Ok(Self { begin: still.epoch(), still: Some(still) })
    }

    /// The last epoch of which a part may hold something that the logs are asked for.
    fn end(&self, log: &Log) -> Result<u64> {
        if self.still.is_some() { Ok(self.begin - 1) } else { Ok(log.commit()?) }
    }
}

fn write_counted(
    inner: &StoreCore,
    folder: &Path,
    boundary: &CheckpointBoundary<'_>,
    threads: usize,
) -> Result<CheckpointManifest> {
    let storage = &*inner.folder.storage;
    storage.create_dir_all(folder).map_err(|error| Error::io("create", folder, &error))?;
    let begin = boundary.begin;
    let parts = write_parts(inner, folder, begin, threads)?;
    storage.sync_dir(folder).map_err(|error| Error::io("sync", folder, &error))?;
    // After the scan: a removal up to `begin` has raised its floor by now, and a greater floor does no harm.
    let floor = inner.stripes.greatest_floor();
    let end = boundary.end(&inner.log)?;
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let manifest = CheckpointManifest { id: inner.folder.id, begin, end, floor, unix_s, parts };
    manifest.write(storage, folder)?;
    Ok(manifest)
}

/// A range of one of the indexes, for one part.
struct PartRange<'i> {
    view: &'i IndexView<'i>,
    member: bool,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

/// The ranges of an index, each for a part.
fn ranges<'i>(
    index: &StoreIndex,
    view: &'i IndexView<'i>,
    member: bool,
    threads: usize,
) -> Vec<PartRange<'i>> {
    let wanted = (index.len() / ROWS_PER_PART_MIN).clamp(1, threads * PARTS_PER_THREAD);
    let mut lower = Bound::Unbounded;
    let mut found = Vec::new();
    for cut in index.split_points(wanted) {
        let upper = Bound::Excluded(cut.clone());
        found.push(PartRange {
            view,
            member,
            lower: std::mem::replace(&mut lower, Bound::Included(cut)),
            upper,
        });
    }
    found.push(PartRange { view, member, lower, upper: Bound::Unbounded });
    found
}

/// What a checkpoint shows of an index: a moment, if it has moments.
fn view<'i>(index: &'i StoreIndex, snapshots: Option<&'i StoreSnapshots>) -> Result<IndexView<'i>> {
    snapshots.map_or(Ok(IndexView::Now(index)), StoreSnapshots::for_checkpoint)
}

/// Writes the rows of the main index, then those of the members': so where there is no log, a row that stands for a collection has its members, too. What it keeps of the
/// moments that it shows goes with its end.
fn write_parts(inner: &StoreCore, folder: &Path, begin: u64, threads: usize) -> Result<Vec<PartInfo>> {
    let (index, members) = (&inner.index, &inner.members);
    let views = [view(index, inner.snapshots.as_ref())?, view(&members.index, members.snapshots.as_ref())?];
    let main = ranges(index, &views[0], false, threads);
    let mut parts = write_ranges(inner, (folder, begin, 0), &main, threads)?;
    if members.any() {
        let rest = ranges(&members.index, &views[1], true, threads);
        parts.extend(write_ranges(inner, (folder, begin, parts.len()), &rest, threads)?);
    }
    Ok(parts)
}

/// Lets threads take the ranges in turn, the first of which is part number `first`.
fn write_ranges(
    inner: &StoreCore,
    (folder, begin, first): (&Path, u64, usize),
    ranges: &[PartRange<'_>],
    threads: usize,
) -> Result<Vec<PartInfo>> {
    let parts: Vec<Mutex<Option<Result<PartInfo>>>> = ranges.iter().map(|_| Mutex::new(None)).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    threads::share(threads.min(parts.len()), |_| {
        while !failed.load(Ordering::Relaxed) {
            // Relaxed: a ticket; the results are handed over by the mutexes and the end of the scope.
            let part = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = parts.get(part) else { return };
            let result = write_part(inner, folder, begin, first + part, &ranges[part]);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            *lock(slot) = Some(result);
        }
    });
    // A part that nobody took stands behind one that failed; `collect` stops at the failure wherever it is.
    parts.into_iter().filter_map(into_inner).collect()
}

fn write_part(
    inner: &StoreCore,
    folder: &Path,
    begin: u64,
    part: usize,
    range: &PartRange<'_>,
) -> Result<PartInfo> {
    let path = folder.join(part_name(part));
    let mut writer = PartWriter::create(&*inner.folder.storage, path, inner.folder.id, begin, part)?;
    let mut pace = CheckpointPace::new();
    let mut done = Ok(());
    let bounds = (range.lower.as_ref().map(Vec::as_slice), range.upper.as_ref().map(Vec::as_slice));
    range.view.scan(bounds, ScanDirection::Forward, |key, row| {
        let looks = pace.row(|| inner.written_since_checkpoint());
        let given_up = inner.gives_up_checkpoints() || (looks && inner.is_late());
        done = if given_up { Err(Error::Closed) } else { writer.row(range.member, key, row) };
        if done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    done?;
    writer.finish()
}
