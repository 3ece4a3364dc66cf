//! Snapshots of a store: all keys as they were at one moment, while writers continue.
//!
//! ```text
//!   put a   ──┤a├──────────────────────────────►
//!   apply   ─────────┤c        d├──────────────►   a whole group is before or after the moment
//!   moment  ───────────────────────┤m│m+1├─────►   waits for the writes that have begun
//!   put a   ────────────────────────────┤a├────►   the row of a at m is kept for the snapshot
//! ```
//!
//! The moments are those of the log's epoch gate (`skein_log::Log::close_moment`): every write
//! belongs to one moment, and a group stays within one. A snapshot is a closed moment. It contains
//! the writes up to that moment.
//!
//! The index has only the present rows. While a snapshot is live, writers keep each row that they
//! replace or remove beside the index (`kept_rows`). A reader of a snapshot reads the index first,
//! and then the kept rows, which take precedence. While no snapshot is live, writers keep nothing,
//! and readers of the present never look at kept rows.
//!
//! Collections: the main row that a snapshot shows stands for a frozen collection, which reads its
//! members at the moment in the same way (`collection::frozen`). The members of a collection that
//! dies stay in the member index until no live snapshot can show them (`sweep_queue`).
//!
//! # Files
//! `live` has the registry, `kept_rows` the kept rows, `occupied` which of its shards have some,
//! `keeping` the protocol of writers, `scan`
//! the merged scan. `store/snapshot.rs` has the public types.
//!
//! # Invariants
//! 1. A writer that is inside the epoch gate has read, after it entered, whether a snapshot is
//!    live. A snapshot that is the only one registers itself and then waits until all writers
//!    inside have left; only then it closes its moment. So every write of a later moment keeps the
//!    row that it replaces.
//! 2. While snapshots are live, a change of a collection is a group. So all its members, and its
//!    main row, are written in one moment.
//! 3. A published row never changes (`row`). The version is part of the row, so a snapshot shows
//!    the version of its moment, too.
//! 4. At most `limit` snapshots are live, besides the one of a running checkpoint. Each has a
//!    moment of its own.
//!
//! Design: `docs/design/store.md`.

mod keeping;
mod kept_rows;
mod live;
mod occupied;
mod scan;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use skein_model::RowRef;
use skein_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use skein_sync::locks::lock;

pub(crate) use keeping::{RowKeeper, compute_at};
pub(crate) use kept_rows::KeptRow;
use kept_rows::KeptRows;
use live::{LiveSnapshots, SnapshotNumbers};

use skein_log::Log;

use crate::collection::MemberIndex;
use crate::index::{KeyBounds, StoreIndex};
use crate::options::StoreLimits;
use crate::{Error, Result, ScanDirection};

/// The number of kept rows that a writer frees at a time while they exceed their limit.
const FREED_AT_ONCE: usize = 256;

/// Without a limit of their own, kept rows may use this part of the memory limit.
const PART_OF_MEMORY: usize = 4;

/// The snapshots of a store, and the rows that are kept for them.
#[derive(Debug)]
pub(crate) struct StoreSnapshots {
    live: LiveSnapshots,
    /// Held while a snapshot is taken.
    taking: Mutex<()>,
    /// Kept rows of the main index and of the member index.
    rows: KeptRows,
    members: KeptRows,
    /// Bytes of dead collections with members that live snapshots may show.
    held: AtomicUsize,
    /// Snapshots that were ended because of the limit, and that still have rows to free.
    ending: Mutex<Vec<u64>>,
    limit: usize,
    /// The limit of the options for kept rows.
    bytes_limit: Option<usize>,
    /// The largest number of bytes that may be kept. It follows the memory limit, if the options
    /// have no limit for kept rows.
    bytes_max: AtomicUsize,
}

/// The moment of a snapshot, without its handle.
#[derive(Debug)]
pub(crate) struct TakenMoment {
    pub(crate) moment: u64,
    ended: Arc<AtomicBool>,
}

impl TakenMoment {
    /// Errors if the snapshot has ended, so that earlier reads may have missed rows.
    pub(crate) fn check(&self, snapshots: &StoreSnapshots) -> Result<()> {
        // Acquire: pairs with the Release in `LiveSnapshots::end`. A reader that has missed a freed
        // row has acquired the flag with the lock of the row's shard.
        if self.ended.load(Ordering::Acquire) {
            return Err(Error::SnapshotEnded { limit: snapshots.bytes_max() });
        }
        Ok(())
    }
}

impl StoreSnapshots {
    pub(crate) fn new(limits: &StoreLimits) -> Arc<Self> {
        let snapshots = Self {
            live: LiveSnapshots::default(),
            taking: Mutex::new(()),
            rows: KeptRows::new(),
            members: KeptRows::new(),
            held: AtomicUsize::new(0),
            ending: Mutex::default(),
            limit: limits.snapshots,
            bytes_limit: limits.snapshot_bytes,
            bytes_max: AtomicUsize::new(usize::MAX),
        };
        snapshots.set_memory_limit(limits.memory_bytes);
        Arc::new(snapshots)
    }

    /// Adapts the limit for kept rows to this memory limit of the store.
    pub(crate) fn set_memory_limit(&self, limit: Option<usize>) {
        let part = || limit.map(|limit| limit / PART_OF_MEMORY);
        // Relaxed: seen soon; it orders nothing.
        self.bytes_max.store(self.bytes_limit.or_else(part).unwrap_or(usize::MAX), Ordering::Relaxed);
    }

    /// Returns whether writers must keep the rows that they replace. Read it inside the epoch gate
    /// (invariant 1).
    #[inline]
    pub(crate) fn are_live(&self) -> bool {
        self.newest() != 0
    }

    /// Returns the moment of the newest live snapshot, or 0 if no snapshot is live.
    #[inline]
    pub(crate) fn newest(&self) -> u64 {
        self.live.newest()
    }

    pub(crate) fn numbers(&self) -> SnapshotNumbers {
        self.live.numbers()
    }

    /// Returns the bytes that are kept for snapshots.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes() + self.members.bytes() + self.held()
    }

    /// Returns the part of the kept bytes that is in no index and in no arena of rows.
    pub(crate) fn outside(&self) -> usize {
        self.rows.outside() + self.members.outside()
    }

    /// Returns about how many bytes the held dead collections use.
    pub(crate) fn held(&self) -> usize {
        // It may be negative for a moment, while a decrement is visible before its increment.
        usize::try_from(self.held.load(Ordering::Relaxed).cast_signed()).unwrap_or(0)
    }

    /// Counts a change of the bytes of dead collections that are held.
    pub(crate) fn account_held(&self, before: usize, after: usize) {
        // Relaxed: a count. It may wrap below 0 and back.
        self.held.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Takes a snapshot. REQUIRES: the thread is not inside the epoch gate.
    pub(crate) fn take(&self, log: &Log, of_checkpoint: bool) -> Result<TakenMoment> {
        let _taking = lock(&self.taking);
        let limit = self.limit;
        let taken = self.live.take(log, of_checkpoint, limit);
        let (moment, ended) = taken.map_err(|live| Error::TooManySnapshots { live, limit })?;
        Ok(TakenMoment { moment, ended })
    }

    /// Ends a snapshot: its rows may be freed, and dead collections of `members` that only it could
    /// show. Does nothing if it has ended.
    pub(crate) fn end(&self, members: &MemberIndex, moment: u64) {
        self.live.end(moment);
        members.release_held();
    }

    /// Returns the moment of the oldest live snapshot.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.live.oldest()
    }

    /// Frees up to `most` rows that were kept for an ended snapshot. Returns whether there are
    /// more.
    pub(crate) fn give_back(&self, moment: u64, most: usize) -> bool {
        let left = self.rows.give_back(&self.live, moment, most);
        self.members.give_back(&self.live, moment, left);
        self.rows.has_notes(moment) || self.members.has_notes(moment)
    }

    /// Returns the largest number of bytes that may be kept.
    fn bytes_max(&self) -> usize {
        // Relaxed: as in `set_memory_limit`.
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// If more is kept than allowed, ends the oldest snapshot, or frees some rows of an ended one.
    fn enforce_limit(&self, members: &MemberIndex) {
        if self.bytes() <= self.bytes_max() {
            return;
        }
        let mut ending = lock(&self.ending);
        let Some(moment) = ending.last().copied().or_else(|| self.live.oldest()) else { return };
        if ending.is_empty() {
            ending.push(moment);
            self.end(members, moment);
        }
        if !self.give_back(moment, FREED_AT_ONCE) {
            ending.pop();
        }
    }
}

/// One of the indexes of a store with its kept rows, as a snapshot sees them.
#[derive(Clone, Copy)]
pub(crate) struct IndexAtMoment<'i> {
    index: &'i StoreIndex,
    kept: &'i KeptRows,
    moment: u64,
}

impl<'i> IndexAtMoment<'i> {
    pub(crate) fn main(index: &'i StoreIndex, snapshots: &'i StoreSnapshots, moment: u64) -> Self {
        Self { index, kept: &snapshots.rows, moment }
    }

    pub(crate) fn members(members: &'i MemberIndex, moment: u64) -> Self {
        Self { index: &members.index, kept: &members.snapshots.members, moment }
    }

    /// Returns the kept row of a key, which takes precedence over the row in the index. REQUIRES:
    /// the caller has looked the key up in the index before.
    pub(crate) fn kept(&self, key: &[u8]) -> Option<Arc<KeptRow>> {
        self.kept.at(key, self.moment)
    }

    /// Calls `each` with the rows of the moment within `bounds`, in order, until it breaks.
    pub(crate) fn scan(
        &self,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        scan::scan(self, bounds, direction, each);
    }
}
