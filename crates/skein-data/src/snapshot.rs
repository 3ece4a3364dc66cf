//! Snapshots of either engine: all keys as they were at one moment.

use std::ops::ControlFlow;
use std::sync::Arc;

use skein_disk::{DiskSnapshot, DiskSnapshotRelease};
use skein_store::StoredKeyspace;

use crate::disk::{DiskEngine, DiskRowReader, RowReads, SnapshotPlace};
use crate::keys::{Flow, KeyOrder, Visit};
use crate::keyspace_ranges::scan_pieces;
use crate::{EngineBounds, Result, RowView, ScanDirection};

/// All keys as they were at one moment, while writers continue. It keeps the rows that writers
/// replace, so end it soon.
#[derive(Debug)]
pub enum EngineSnapshot {
    /// Of the engine in memory.
    Memory(skein_store::Snapshot),
    /// Of the disk engine.
    Disk(DiskEngineSnapshot),
}

/// A snapshot of the disk engine.
#[derive(Debug)]
pub struct DiskEngineSnapshot {
    snapshot: Arc<DiskSnapshot>,
    /// The time that decides which keys have expired.
    taken: u64,
    #[expect(dead_code, reason = "kept for its drop")]
    place: SnapshotPlace,
}

impl DiskEngineSnapshot {
    pub(crate) fn new(engine: &DiskEngine) -> Result<Self> {
        let place = engine.admit_snapshot()?;
        let taken = engine.now();
        Ok(Self { snapshot: Arc::new(engine.store().snapshot()?), taken, place })
    }

    fn reads<'r>(&self, reader: &'r mut DiskRowReader) -> RowReads<'r, Arc<DiskSnapshot>> {
        RowReads { reads: self.snapshot.clone(), reader, now: self.taken }
    }
}

impl EngineSnapshot {
    /// Calls `look` with the row that a key had.
    ///
    /// # Errors
    /// The snapshot has ended (see [`check`](Self::check)), a page cannot be read or is damaged, or
    /// the store is closed.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowView<'_>>) -> R) -> Result<R> {
        match self {
            Self::Memory(snapshot) => Ok(snapshot.get_with(key, |row| look(row.map(RowView::from)))?),
            Self::Disk(snapshot) => {
                snapshot.reads(&mut DiskRowReader::default()).get_with(key, |row| Ok(look(row?)))
            }
        }
    }

    /// Calls `each` with the rows that were within bounds, in order, until it breaks. `most` is the
    /// number of keys that it wants at most.
    ///
    /// # Errors
    /// Keys have no order, a page cannot be read or is damaged, or the store is closed.
    pub fn scan(
        &self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.visit(Visit { bounds, order: KeyOrder::Sorted(direction), most }, each)
    }

    /// Does the same as [`scan`](Self::scan) with the names of a keyspace; the bounds are names,
    /// too.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn scan_keyspace(
        &self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let scan = |piece: EngineBounds<'_>, each: &mut dyn FnMut(&[u8], RowView<'_>) -> ControlFlow<()>| {
            self.scan(piece, direction, most, each)
        };
        scan_pieces(keyspace, bounds, direction, each, scan)
    }

    /// Does the same as [`scan`](Self::scan), forward only. If keys have no order, calls `each`
    /// with all rows in no particular order, starting behind the key that the lower bound excludes.
    ///
    /// # Errors
    /// If keys have no order and there are other bounds; otherwise as [`scan`](Self::scan).
    pub fn walk(
        &self,
        bounds: EngineBounds<'_>,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.visit(Visit { bounds, order: KeyOrder::Any, most }, each)
    }

    fn visit(&self, visit: Visit<'_>, mut each: impl FnMut(&[u8], RowView<'_>) -> Flow) -> Result<()> {
        match self {
            Self::Memory(snapshot) => {
                Ok(snapshot.scan(visit.bounds, visit.order.direction(), |key, row| each(key, row.into()))?)
            }
            Self::Disk(snapshot) => snapshot.reads(&mut DiskRowReader::default()).visit(visit, each),
        }
    }

    /// Checks that the snapshot has not ended. The engine in memory ends the oldest one if all keep
    /// too much together.
    ///
    /// # Errors
    /// It has ended.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Memory(snapshot) => Ok(snapshot.check()?),
            Self::Disk(_) => Ok(()),
        }
    }

    /// Ends the snapshot and frees the kept rows step by step, for callers that must not be
    /// delayed.
    pub fn release(self) -> SnapshotRelease {
        match self {
            Self::Memory(snapshot) => SnapshotRelease::Memory(snapshot.release()),
            // A reader of a collection may hold the snapshot for a moment; its end frees the rest.
            Self::Disk(DiskEngineSnapshot { snapshot, .. }) => {
                SnapshotRelease::Disk(Arc::into_inner(snapshot).map(DiskSnapshot::release))
            }
        }
    }
}

/// The values that an ended snapshot kept; see [`EngineSnapshot::release`].
#[derive(Debug)]
pub enum SnapshotRelease {
    /// Of the engine in memory.
    Memory(skein_store::SnapshotRelease),
    /// Of the disk engine; `None` if another holder frees it.
    Disk(Option<DiskSnapshotRelease>),
}

impl SnapshotRelease {
    /// Frees up to `most` rows or pages. Returns whether there are more.
    pub fn step(&mut self, most: usize) -> bool {
        match self {
            Self::Memory(rest) => rest.step(most),
            Self::Disk(rest) => rest.as_mut().is_some_and(|rest| rest.step(most)),
        }
    }
}
