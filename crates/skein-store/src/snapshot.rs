//! Snapshots of a store: all keys as they were at one moment, while writers continue.
//!
//! ```text
//!   put a   ──┤a├──────────────────────────────►
//!   apply   ─────────┤c        d├──────────────►   a whole group is before or after the moment
//!   moment  ───────────────────────┤t├─────────►   waits for running groups, and they wait for it
//!   put a   ────────────────────────────┤a├────►   the value of a at t is kept for the snapshot
//! ```
//!
//! The index provides the moments: a moment contains every earlier write and no later one
//! (`skein_index::skip_list`). A group of writes (`apply`, MSET) has one moment per key. So a group
//! holds a lock while it writes, and no snapshot is taken meanwhile. Single writes take no lock.
//!
//! Design: `docs/design/store.md`.
//!
//! # Invariants
//! 1. No moment is taken while a group writes: each group holds `groups` shared from before its
//!    first write until after its last, and a snapshot holds `groups` exclusively while it takes a
//!    moment. A holder of the shared lock waits for no epoch and no stripe, so no thread waits
//!    long.
//! 2. A published row never changes (`row`), and the index retires no row that a live snapshot
//!    sees. The version is part of the row, so a snapshot shows the version of its moment, too.
//! 3. At most `limit` snapshots are live, besides the one of a running checkpoint.

use std::ops::ControlFlow;
use std::sync::{Arc, RwLock, RwLockReadGuard};

use skein_index::{SkipList, skip_list};
use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::{alone, shared};

use crate::expiry::OperationTime;
use crate::index::{IndexView, KeyBounds, StoreIndex, scan_moment};
use crate::row::{Row, RowRef};
use crate::session::active_writes;
use crate::store::{KeyEntry, StoreCore, gather};
use crate::{Error, Result, ScanDirection, Store};

/// The snapshots of a store. Present only if the index supports snapshots.
#[derive(Debug)]
pub(crate) struct StoreSnapshots {
    list: Arc<SkipList<Row>>,
    /// See invariant 1.
    groups: RwLock<()>,
    /// The number of live snapshots, without the one of a checkpoint.
    live: AtomicUsize,
    limit: usize,
}

impl StoreSnapshots {
    /// Returns the registry for `index`, or `None` if the index has no snapshots.
    pub(crate) fn of(index: &StoreIndex, limit: usize) -> Option<Self> {
        let StoreIndex::SkipList(list) = index else { return None };
        Some(Self { list: list.clone(), groups: RwLock::new(()), live: AtomicUsize::new(0), limit })
    }

    /// Prevents new snapshots until the guard is dropped, for the writes of a group.
    pub(crate) fn group(&self) -> RwLockReadGuard<'_, ()> {
        shared(&self.groups)
    }

    /// Takes the moment of a checkpoint. There is at most one at a time.
    pub(crate) fn for_checkpoint(&self) -> Result<IndexView<'_>> {
        let _no_groups = alone(&self.groups);
        Ok(IndexView::Moment(self.list.snapshot()?))
    }

    /// Returns the number of live snapshots and the age of the oldest, including that of a
    /// checkpoint.
    pub(crate) fn numbers(&self) -> skip_list::SkipListSnapshots {
        self.list.snapshots()
    }

    /// Counts one more snapshot. Errors at the limit.
    fn admit(&self) -> Result<()> {
        // Relaxed: a count; it orders nothing.
        let more = |live| (live < self.limit).then_some(live + 1);
        let admitted = self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        admitted.map(drop).map_err(|live| Error::TooManySnapshots { live, limit: self.limit })
    }

    fn release_slot(&self) {
        // Relaxed: as in `admit`.
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

impl StoreCore {
    /// Returns the snapshots. Errors if the index has none.
    fn snapshots(&self) -> Result<&StoreSnapshots> {
        self.snapshots.as_ref().ok_or(Error::NoSnapshots { index: self.options.index })
    }
}

/// All keys of a [`Store`] as they were at one moment; see [`Store::snapshot`].
///
/// Expiry is judged by that moment, too: a key that was present then stays in the snapshot after
/// its time. The members of sorted sets and [spread columns](crate::Session::spread_columns) are
/// not part of the row, so a snapshot shows them as they are when they are read; they are empty if
/// they were removed.
///
/// A snapshot is a handle of the store, as a [`Session`](crate::Session) is, and many threads may
/// use it. While it lives, every replaced or removed row that it shows stays in memory (at most one
/// per key and snapshot), so drop it soon.
pub struct Snapshot {
    /// Dropped before its slot is released and before the store.
    moment: skip_list::SkipListSnapshot<'static, Row>,
    /// The time of the snapshot, by which keys expire.
    taken: u64,
    place: SnapshotSlot,
}

/// One of the limited number of live snapshots.
struct SnapshotSlot(Store);

impl Drop for SnapshotSlot {
    fn drop(&mut self) {
        if let Some(snapshots) = &self.0.core().snapshots {
            snapshots.release_slot();
        }
    }
}

impl Store {
    /// Takes a snapshot. It contains every write that returned before this call, and no write that
    /// is called after it.
    ///
    /// A batch ([`apply`](Self::apply), MSET) is in the snapshot whole or not at all. Several
    /// writes of one [`Session::write`](crate::Session::write), or of a
    /// [`remove_range`](Self::remove_range), are separate writes: the first of them may be in the
    /// snapshot without the rest. Like a read, a snapshot may show writes that are not durable yet.
    ///
    /// The call waits for batches that are being written. Only the index `skip-list` supports
    /// snapshots.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// let options = StoreOptions { index: IndexKind::SkipList, ..StoreOptions::default() };
    /// let store = Store::open(folder.path(), options)?;
    /// store.put(b"goose", b"grey")?;
    /// let before = store.snapshot()?;
    /// store.put(b"goose", b"bean")?;
    /// store.put(b"swan", b"mute")?;
    /// let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    /// let entries = before.range(all, ScanDirection::Forward, 10);
    /// assert_eq!(entries.len(), 1);
    /// assert_eq!(entries[0].value.as_deref(), Some(&b"grey"[..]));
    /// assert_eq!(store.stats().snapshots, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `NoSnapshots` if the index has none, `TooManySnapshots` at the limit of live snapshots.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let snapshots = self.core().snapshots()?;
        active_writes::check_group(self.core(), "`snapshot`")?;
        snapshots.admit()?;
        let place = SnapshotSlot(self.clone());
        let _no_groups = alone(&snapshots.groups);
        let taken = self.options().clock.now();
        Ok(Snapshot { moment: snapshots.list.snapshot_owned()?, taken, place })
    }
}

impl Snapshot {
    fn time(&self) -> OperationTime<'_> {
        self.place.0.core().time(Some(self.taken))
    }

    /// Calls `look` with the row that `key` had, without copying it.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        let guard = self.moment.collector().enter();
        look(self.time().live(self.moment.get(key, &guard)))
    }

    /// Returns the contents and the version that `key` had.
    pub fn get_entry(&self, key: &[u8]) -> Option<KeyEntry> {
        self.get_with(key, |row| row.map(|row| KeyEntry::new(key, row)))
    }

    /// Calls `each` with the rows that were within `bounds`, in order, until it breaks. A row is
    /// borrowed for the call only.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let options = StoreOptions { index: IndexKind::SkipList, ..StoreOptions::default() };
    /// # let store = Store::open(folder.path(), options)?;
    /// use std::ops::{Bound::Unbounded, ControlFlow};
    ///
    /// store.put(b"goose", b"grey")?;
    /// store.put(b"swan", b"mute")?;
    /// let snapshot = store.snapshot()?;
    /// // The scan continues as if nothing was written meanwhile.
    /// let mut seen = Vec::new();
    /// snapshot.scan((Unbounded, Unbounded), ScanDirection::Backward, |key, _| {
    ///     seen.push(key.to_vec());
    ///     store.remove(b"goose").expect("the store is open");
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(seen, [&b"swan"[..], b"goose"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(
        &self,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        let core = self.place.0.core();
        scan_moment(&self.moment, bounds, direction, core.live(self.time(), each));
    }

    /// Returns the rows that were within `bounds`, at most `limit`, in order.
    pub fn range(&self, bounds: KeyBounds<'_>, direction: ScanDirection, limit: usize) -> Vec<KeyEntry> {
        gather(limit, |each| self.scan(bounds, direction, each))
    }

    /// Ends the snapshot and frees its rows step by step, for callers that must not be delayed. A
    /// drop frees them all at once; it takes some hundred nanoseconds for each row that was kept
    /// for the snapshot.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let options = StoreOptions { index: IndexKind::SkipList, ..StoreOptions::default() };
    /// # let store = Store::open(folder.path(), options)?;
    /// let mut release = store.snapshot()?.release();
    /// while release.step(1_000) {
    ///     // Here is time for something else.
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release(self) -> SnapshotRelease {
        let Self { moment, place, .. } = self;
        SnapshotRelease { rest: moment.release(), _store: place.0.clone() }
    }

    /// Returns the store of this snapshot.
    pub fn store(&self) -> &Store {
        &self.place.0
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("moment", &self.moment).finish_non_exhaustive()
    }
}

/// The rows of a [`Snapshot`] that has ended; see [`Snapshot::release`]. A drop frees the rest at
/// once.
#[derive(Debug)]
pub struct SnapshotRelease {
    /// Dropped before the store, whose memory holds the rows.
    rest: skip_list::SkipListRelease<'static, Row>,
    _store: Store,
}

impl SnapshotRelease {
    /// Frees up to `most` rows. Returns whether there are more.
    pub fn step(&mut self, most: usize) -> bool {
        self.rest.step(most)
    }
}
