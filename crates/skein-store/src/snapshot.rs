//! Snapshots of a store: all keys as they were at one moment, while writers go on.
//!
//! ```text
//!   put a   ──┤a├─────────────────────────────────────────►
//!   apply   ─────────┤c        d├─────────────────────────►      a group is before the moment or after it, whole
//!   moment  ───────────────────────┤t├────────────────────►      waits for groups under way, and they for it
//!   put a   ────────────────────────────┤a├───────────────►      what a held at t is kept as long as the snapshot lives
//! ```
//!
//! The index has the moments: what is written before one is in it, and nothing of what is written after it (`skein_index::skip_list`). A group
//! of writes (`apply`, MSET) takes a moment for each key, so it says that it is under way, and no snapshot is taken meanwhile. Single
//! writes say nothing.
//!
//! # Invariants
//! 1. No moment is taken while a group writes: `groups` is held shared by each group from before its first write until after its last, and alone
//!    while a moment is taken. Who holds it shared waits for no epoch and no stripe, so nobody waits long.
//! 2. Rows never change once they are published (`row`), and the index retires none that a live snapshot sees: a row's version is part of it, so
//!    it is the moment's too.
//! 3. At most `limit` snapshots are live besides the one of the checkpoint that is being written.

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

/// What a store keeps for its snapshots; there is one where the index has snapshots.
#[derive(Debug)]
pub(crate) struct StoreSnapshots {
    list: Arc<SkipList<Row>>,
    /// See invariant 1.
    groups: RwLock<()>,
    /// Live snapshots, without the checkpoint's.
    live: AtomicUsize,
    limit: usize,
}

impl StoreSnapshots {
    /// Those of `index`, if it has any.
    pub(crate) fn of(index: &StoreIndex, limit: usize) -> Option<Self> {
        let StoreIndex::SkipList(list) = index else { return None };
        Some(Self { list: list.clone(), groups: RwLock::new(()), live: AtomicUsize::new(0), limit })
    }

    /// Keeps moments from being taken, for the time of a group's writes.
    pub(crate) fn group(&self) -> RwLockReadGuard<'_, ()> {
        shared(&self.groups)
    }

    /// The moment of a checkpoint, of which there is one at a time.
    pub(crate) fn for_checkpoint(&self) -> Result<IndexView<'_>> {
        let _no_groups = alone(&self.groups);
        Ok(IndexView::Moment(self.list.snapshot()?))
    }

    /// How many are live, and how old the oldest is; the checkpoint's is counted.
    pub(crate) fn numbers(&self) -> skip_list::SkipListSnapshots {
        self.list.snapshots()
    }

    /// Room for one more, unless the limit is reached.
    fn admit(&self) -> Result<()> {
        // Relaxed: a count, ordered with nothing.
        let more = |live| (live < self.limit).then_some(live + 1);
        let admitted = self.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        admitted.map(drop).map_err(|live| Error::TooManySnapshots { live, limit: self.limit })
    }

    fn leave(&self) {
        // Relaxed: as in `admit`.
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

impl StoreCore {
    /// What is kept for snapshots, or why there are none.
    fn snapshots(&self) -> Result<&StoreSnapshots> {
        self.snapshots.as_ref().ok_or(Error::NoSnapshots { index: self.options.index })
    }
}

/// All keys of a [`Store`] as they were at one moment; see [`Store::snapshot`].
///
/// That goes for what expires, too: a key that was there at the moment is there in the snapshot, also after its time. It does not go for what lies elsewhere than in the
/// key's row, sorted sets and [many columns](crate::Session::spread_columns): they are shown as they are when they are read, empty if they are gone.
///
/// It is a handle of the store, as a [`Session`](crate::Session) is, and may be used by many threads. What is replaced or removed while it
/// lives stays in memory until it is dropped (each key once per snapshot at most): drop it soon.
pub struct Snapshot {
    /// Dropped before its place is given up and before the store.
    moment: skip_list::SkipListSnapshot<'static, Row>,
    /// The time at which it was taken, by which keys expire.
    taken: u64,
    place: SnapshotSlot,
}

/// One of so many that may be live.
struct SnapshotSlot(Store);

impl Drop for SnapshotSlot {
    fn drop(&mut self) {
        if let Some(snapshots) = &self.0.inner().snapshots {
            snapshots.leave();
        }
    }
}

impl Store {
    /// Takes a snapshot: every write that returned before this call is in it, and none that is called after it. A batch
    /// ([`apply`](Self::apply), MSET) is in it whole or not at all; several writes of one [`Session::write`](crate::Session::write), a
    /// [`remove_range`](Self::remove_range) and the like are not one write, and may be in it in part, in their order. Like a read, it may show what
    /// is not durable yet.
    ///
    /// It waits for batches that are being written. Only the index `skip-list` has snapshots.
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
    /// let entries = before.range((std::ops::Bound::Unbounded, std::ops::Bound::Unbounded), Direction::Forward, 10);
    /// assert_eq!(entries.len(), 1);
    /// assert_eq!(entries[0].value.as_deref(), Some(&b"grey"[..]));
    /// assert_eq!(store.stats().snapshots, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `NoSnapshots` where the index has none, `TooManySnapshots` where as many are live as may be.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let snapshots = self.inner().snapshots()?;
        active_writes::check_group(self.inner(), "`snapshot`")?;
        snapshots.admit()?;
        let place = SnapshotSlot(self.clone());
        let _no_groups = alone(&snapshots.groups);
        let taken = self.options().clock.now();
        Ok(Snapshot { moment: snapshots.list.snapshot_owned()?, taken, place })
    }
}

impl Snapshot {
    /// The time of the moment.
    fn time(&self) -> OperationTime<'_> {
        self.place.0.inner().time(Some(self.taken))
    }

    /// Shows `look` the row that `key` had, in place.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        let guard = self.moment.collector().enter();
        look(self.time().live(self.moment.get(key, &guard)))
    }

    /// All that `key` held, with its version then.
    pub fn get_entry(&self, key: &[u8]) -> Option<KeyEntry> {
        self.get_with(key, |row| row.map(|row| KeyEntry::new(key, row)))
    }

    /// Shows `each` the rows that were within `bounds`, in order, until it breaks. A row is borrowed for the call only.
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
    /// // The scan goes on as if nothing was written meanwhile.
    /// let mut seen = Vec::new();
    /// snapshot.scan((Unbounded, Unbounded), Direction::Backward, |key, _| {
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
        let inner = self.place.0.inner();
        scan_moment(&self.moment, bounds, direction, inner.live(self.time(), each));
    }

    /// The rows that were within `bounds`, at most `limit`, in order.
    pub fn range(&self, bounds: KeyBounds<'_>, direction: ScanDirection, limit: usize) -> Vec<KeyEntry> {
        gather(limit, |each| self.scan(bounds, direction, each))
    }

    /// Ends the snapshot; what was kept for it is let go step by step, for who must not be held up. A drop does it at once, which takes some
    /// hundred nanoseconds for each write that replaced or removed what the snapshot shows.
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

    /// The store that it is of.
    pub fn store(&self) -> &Store {
        &self.place.0
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("moment", &self.moment).finish_non_exhaustive()
    }
}

/// What was kept for a [`Snapshot`] that has ended; see [`Snapshot::release`]. When it is dropped, the rest is let go at once.
#[derive(Debug)]
pub struct SnapshotRelease {
    /// Dropped before the store, in whose memory the rows lie.
    rest: skip_list::SkipListRelease<'static, Row>,
    _store: Store,
}

impl SnapshotRelease {
    /// Lets go up to `most` rows; whether there are more.
    pub fn step(&mut self, most: usize) -> bool {
        self.rest.step(most)
    }
}
