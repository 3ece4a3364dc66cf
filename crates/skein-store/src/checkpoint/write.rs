//! Writes a checkpoint with several threads.

use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use skein_log::{Log, LogError, OpenProgress, Standstill};
use skein_model::RowRef;
use skein_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use skein_sync::locks::{into_inner, lock};
use skein_sync::threads;

use super::manifest::{CheckpointManifest, PartInfo};
use super::pace::CheckpointPace;
use super::part::PartWriter;
use super::{CheckpointReport, CheckpointSource, folder_name, part_name};
use crate::index::StoreIndex;
use crate::snapshot::{IndexAtMoment, TakenMoment};
use crate::{Durability, Error, Result, ScanDirection};

/// The smallest number of rows of a part.
const ROWS_PER_PART_MIN: usize = 10_000;

/// Parts per thread: more than one, so that a slow range does not delay the other threads.
const PARTS_PER_THREAD: usize = 8;

/// The begin and end of the checkpoint of a copy: no log has records for it.
const EPOCH_OF_COPY: u64 = 1;

/// Writes a checkpoint, unless the newest one, `last`, has everything. Then it only completes the
/// steps that `last` may have left undone. `last` becomes the new checkpoint as soon as this is
/// complete. The caller ensures that only one checkpoint is written at a time.
pub(crate) fn write(
    source: &CheckpointSource<'_>,
    last: &mut Option<CheckpointManifest>,
    threads: usize,
) -> Result<CheckpointReport> {
    let started = Instant::now();
    let newest = last.as_ref().map_or(0, |manifest| manifest.begin).max(source.folder.checkpoint());
    let boundary = CheckpointBoundary::of(&source.commit.log, newest)?;
    let manifest = match last {
        Some(manifest) if manifest.begin == boundary.begin => manifest,
        _ => last.insert(write_new(source, &boundary, threads)?),
    };
    source.folder.note_checkpoint(manifest.begin)?;
    let segments_removed = source.copies.remove_outdated(source, manifest.begin)?;
    Ok(CheckpointReport { segments_removed, ..report(manifest, started) })
}

/// Writes a complete checkpoint. On an error it removes the folder that it has made.
fn write_new(
    source: &CheckpointSource<'_>,
    boundary: &CheckpointBoundary<'_>,
    threads: usize,
) -> Result<CheckpointManifest> {
    let folder = super::make_folder(source.folder, boundary.begin)?;
    write_counted(source, &folder, boundary, threads).inspect_err(|_| {
        // Without a manifest the checkpoint does not count. If it cannot be removed now, a later
        // checkpoint or the next open removes it.
        if let Err(left) = super::remove(&*source.folder.storage, &folder) {
            tracing::debug!("an unfinished checkpoint stays: {left}");
        }
    })
}

/// Writes a checkpoint of one moment into the folder of another store, which has no logs, and
/// enters it there.
pub(crate) fn write_copy(source: &CheckpointSource<'_>, threads: usize) -> Result<CheckpointReport> {
    let (started, storage, epoch) = (Instant::now(), &*source.folder.storage, EPOCH_OF_COPY);
    let folder = source.folder.path.join(folder_name(epoch));
    storage.create_dir_all(&folder).map_err(|error| Error::io("create", &folder, &error))?;
    let moment = CheckpointMoment::now(source)?;
    let parts = write_parts_at(source, &folder, epoch, Some(&moment), threads)?;
    drop(moment);
    let manifest = finish(source, &folder, epoch, parts, || Ok(epoch))?;
    source.folder.note_checkpoint(epoch)?;
    Ok(report(&manifest, started))
}

fn report(manifest: &CheckpointManifest, started: Instant) -> CheckpointReport {
    CheckpointReport {
        begin_epoch: manifest.begin,
        end_epoch: manifest.end,
        rows: manifest.rows(),
        bytes: manifest.bytes(),
        segments_removed: 0,
        took: started.elapsed(),
    }
}

/// The begin of a checkpoint, and the means to find its end.
struct CheckpointBoundary<'l> {
    begin: u64,
    /// Present if the log's disk is full. Then no epoch becomes durable, and no thread writes until
    /// the checkpoint is done or abandoned.
    still: Option<Standstill<'l>>,
}

impl<'l> CheckpointBoundary<'l> {
    /// Ends the present epoch, so that the checkpoint begins after `newest`. At a standstill this
    /// may be impossible because nothing was written since.
    fn of(log: &'l Log, newest: u64) -> Result<Self> {
        let no_room = match log.commit() {
            Ok(epoch) => return Ok(Self { begin: epoch + 1, still: None }),
            Err(error @ LogError::NoRoom { .. }) => error,
            Err(error) => return Err(error.into()),
        };
        let still = log.stand_still(newest).ok_or(no_room)?;
        Ok(Self { begin: still.epoch(), still: Some(still) })
    }

    /// Returns the last epoch whose writes a part may contain, if they are also in the logs.
    fn end(&self, log: &Log) -> Result<u64> {
        if self.still.is_some() { Ok(self.begin - 1) } else { Ok(log.commit()?) }
    }
}

fn write_counted(
    source: &CheckpointSource<'_>,
    folder: &Path,
    boundary: &CheckpointBoundary<'_>,
    threads: usize,
) -> Result<CheckpointManifest> {
    let begin = boundary.begin;
    let parts = write_parts(source, folder, begin, threads)?;
    finish(source, folder, begin, parts, || boundary.end(&source.commit.log))
}

/// Writes the manifest of a checkpoint whose parts are durable.
fn finish(
    source: &CheckpointSource<'_>,
    folder: &Path,
    begin: u64,
    parts: Vec<PartInfo>,
    end: impl FnOnce() -> Result<u64>,
) -> Result<CheckpointManifest> {
    let storage = &*source.folder.storage;
    storage.sync_dir(folder).map_err(|error| Error::io("sync", folder, &error))?;
    // The floor is read after the scan: every removal up to `begin` has raised its version floor by
    // now, and a greater floor does no harm.
    let floor = source.keys.stripes.greatest_floor();
    let end = end()?;
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let manifest = CheckpointManifest { id: source.folder.id, begin, end, floor, unix_s, parts };
    manifest.write(storage, folder)?;
    Ok(manifest)
}

/// The moment of a copy, or of a checkpoint without a log, until it is dropped.
struct CheckpointMoment<'c> {
    source: &'c CheckpointSource<'c>,
    taken: TakenMoment,
}

impl<'c> CheckpointMoment<'c> {
    /// Takes the moment, if the checkpoint needs one. With a log, the records since the begin of
    /// the checkpoint repair a fuzzy scan; after the store was closed, nothing changes.
    fn take(source: &'c CheckpointSource<'c>) -> Result<Option<Self>> {
        if source.commit.durability != Durability::None || source.commit.is_closed() {
            return Ok(None);
        }
        Self::now(source).map(Some)
    }

    /// Takes the present moment.
    fn now(source: &'c CheckpointSource<'c>) -> Result<Self> {
        Ok(Self { source, taken: source.keys.snapshots.take(&source.commit.log, true)? })
    }

    /// Errors if the snapshot has ended, so that the parts may lack rows.
    fn check(&self) -> Result<()> {
        self.taken.check(&self.source.keys.snapshots)
    }
}

impl Drop for CheckpointMoment<'_> {
    fn drop(&mut self) {
        let (keys, moment) = (self.source.keys, self.taken.moment);
        keys.snapshots.end(&keys.members, moment);
        while keys.snapshots.give_back(moment, usize::MAX) {}
    }
}

/// The key range of one part, in the main index or in the member index.
struct PartRange {
    member: bool,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

/// Divides an index into ranges, one per part.
fn ranges(index: &StoreIndex, member: bool, threads: usize) -> Vec<PartRange> {
    let wanted = (index.len() / ROWS_PER_PART_MIN).clamp(1, threads * PARTS_PER_THREAD);
    let mut lower = Bound::Unbounded;
    let mut found = Vec::new();
    for cut in index.split_points(wanted) {
        let upper = Bound::Excluded(cut.clone());
        found.push(PartRange { member, lower: std::mem::replace(&mut lower, Bound::Included(cut)), upper });
    }
    found.push(PartRange { member, lower, upper: Bound::Unbounded });
    found
}

/// Writes all rows, as of one moment if the checkpoint needs it. If the snapshot ends meanwhile,
/// writes the parts once more, each row as it is, unless that is useless.
fn write_parts(
    source: &CheckpointSource<'_>,
    folder: &Path,
    begin: u64,
    threads: usize,
) -> Result<Vec<PartInfo>> {
    let moment = CheckpointMoment::take(source)?;
    let written = write_parts_at(source, folder, begin, moment.as_ref(), threads);
    let Err(error @ Error::SnapshotEnded { .. }) = written else { return written };
    if source.of_one_moment {
        return Err(error);
    }
    tracing::warn!("the checkpoint is not of one moment: {error}");
    drop(moment);
    let storage = &*source.folder.storage;
    super::remove(storage, folder)?;
    storage.create_dir_all(folder).map_err(|error| Error::io("create", folder, &error))?;
    write_parts_at(source, folder, begin, None, threads)
}

/// Writes the rows of the main index, then those of the member index. So without a log every main
/// row of a collection has its members.
fn write_parts_at(
    source: &CheckpointSource<'_>,
    folder: &Path,
    begin: u64,
    moment: Option<&CheckpointMoment<'_>>,
    threads: usize,
) -> Result<Vec<PartInfo>> {
    let main = ranges(&source.keys.index, false, threads);
    let mut parts = write_ranges(source, folder, begin, 0, &main, moment, threads)?;
    if source.keys.members.any() {
        let rest = ranges(&source.keys.members.index, true, threads);
        parts.extend(write_ranges(source, folder, begin, parts.len(), &rest, moment, threads)?);
    }
    moment.map_or(Ok(()), CheckpointMoment::check)?;
    Ok(parts)
}

/// Writes the ranges with several threads; the first range is part number `first`.
fn write_ranges(
    source: &CheckpointSource<'_>,
    folder: &Path,
    begin: u64,
    first: usize,
    ranges: &[PartRange],
    moment: Option<&CheckpointMoment<'_>>,
    threads: usize,
) -> Result<Vec<PartInfo>> {
    let parts: Vec<Mutex<Option<Result<PartInfo>>>> = ranges.iter().map(|_| Mutex::new(None)).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    threads::share(threads.min(parts.len()), |_| {
        while !failed.load(Ordering::Relaxed) {
            // Relaxed: a ticket; the mutexes and the join of the threads publish the results.
            let part = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = parts.get(part) else { return };
            let result = write_part(source, folder, begin, first + part, &ranges[part], moment);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            *lock(slot) = Some(result);
        }
    });
    // A part that no thread took is after a failed part, and `collect` stops at the failure.
    parts.into_iter().filter_map(into_inner).collect()
}

fn write_part(
    source: &CheckpointSource<'_>,
    folder: &Path,
    begin: u64,
    part: usize,
    range: &PartRange,
    moment: Option<&CheckpointMoment<'_>>,
) -> Result<PartInfo> {
    let path = folder.join(part_name(part));
    let mut writer = PartWriter::create(&*source.folder.storage, path, source.folder.id, begin, part)?;
    let mut pace = CheckpointPace::new();
    let (mut done, mut progress) = (Ok(()), PartProgress { of: source.progress, told: PartInfo::NONE });
    let bounds = (range.lower.as_ref().map(Vec::as_slice), range.upper.as_ref().map(Vec::as_slice));
    let write = |key: &[u8], row: RowRef<'_>| {
        let looks = pace.count_row(|| source.commit.is_written());
        let given_up = source.stop.is_set() || (looks && source.stop.is_late());
        let told = if looks { progress.tell(writer.written()) } else { Ok(()) };
        done = if given_up {
            Err(Error::Closed)
        } else {
            told.and_then(|()| writer.row(range.member, key, row))
        };
        if done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let moment = moment.map(|moment| moment.taken.moment);
    let (forward, index) =
        (ScanDirection::Forward, if range.member { &source.keys.members.index } else { &source.keys.index });
    match moment {
        None => index.scan(bounds, forward, write),
        Some(moment) if range.member => {
            IndexAtMoment::members(&source.keys.members, moment).scan(bounds, forward, write);
        }
        Some(moment) => {
            IndexAtMoment::main(index, &source.keys.snapshots, moment).scan(bounds, forward, write);
        }
    }
    done?;
    let info = writer.finish()?;
    progress.tell(info)?;
    Ok(info)
}

/// The reported progress of a part.
struct PartProgress<'p> {
    of: Option<&'p OpenProgress>,
    told: PartInfo,
}

impl PartProgress<'_> {
    /// Reports the rows and bytes written since the last call. Errors if the checkpoint was
    /// cancelled.
    fn tell(&mut self, written: PartInfo) -> Result<()> {
        let Some(progress) = self.of else { return Ok(()) };
        let goes_on = progress.advance(written.bytes - self.told.bytes, written.rows - self.told.rows);
        self.told = written;
        if goes_on { Ok(()) } else { Err(Error::Cancelled) }
    }
}
