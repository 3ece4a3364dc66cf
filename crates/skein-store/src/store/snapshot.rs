//! The handle of a snapshot, and its end.

use std::ops::ControlFlow;

use skein_model::RowRef;

use super::Store;
use super::read::{KeyEntry, gather};
use crate::collection::Collection;
use crate::expiry::OperationTime;
use crate::index::KeyBounds;
use crate::session::active_writes;
use crate::snapshot::{IndexAtMoment, TakenMoment};
use crate::store_keys::StoreKeys;
use crate::{Result, ScanDirection};

/// All keys of a [`Store`] as they were at one moment; see [`Store::snapshot`].
///
/// Expiry is judged by that moment, too: a key that was present then stays in the snapshot after
/// its time. The members of sorted sets and [spread columns](crate::Session::spread_columns) are
/// those of the moment. A sorted set is put in order when it is first read, which takes O(n log n).
///
/// A snapshot is a handle of the store, as a [`Session`](crate::Session) is, and many threads may
/// use it. While it lives, each row that is replaced or removed stays in memory, once for each key
/// and snapshot, so drop it soon. If more is kept than
/// [`StoreLimits::snapshot_bytes`](crate::StoreLimits::snapshot_bytes) allows, the oldest snapshot
/// ends, and its reads return [`SnapshotEnded`](crate::Error::SnapshotEnded).
#[derive(Debug)]
pub struct Snapshot {
    taken: TakenMoment,
    /// The time of the snapshot, by which keys expire.
    now: u64,
    /// Ends the snapshot when it is dropped.
    kept: SnapshotRelease,
}

impl Store {
    /// Takes a snapshot. It contains every write that returned before this call, and no write that
    /// is called after it.
    ///
    /// A batch ([`apply`](Self::apply), MSET, [`open_batch`](crate::Session::open_batch)) and a
    /// change of a collection are in the snapshot whole or not at all. Several writes of one
    /// [`Session::write`](crate::Session::write), or of a [`remove_range`](Self::remove_range), are
    /// separate writes: the first of them may be in the snapshot without the rest. Like a read, a
    /// snapshot may show writes that are not durable yet.
    ///
    /// The call waits for the writes that have begun, but not for a disk.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// let before = store.snapshot()?;
    /// store.put(b"goose", b"bean")?;
    /// store.put(b"swan", b"mute")?;
    /// let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    /// let entries = before.range(all, ScanDirection::Forward, 10)?;
    /// assert_eq!(entries.len(), 1);
    /// assert_eq!(entries[0].value.as_deref(), Some(&b"grey"[..]));
    /// assert_eq!(store.stats().snapshots, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `TooManySnapshots` at the limit of live snapshots, `InsideWrite` if the calling thread is
    /// writing to the store.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let core = self.core();
        active_writes::check(core, "`snapshot`")?;
        let taken = core.keys.snapshots.take(&core.commit.log, false)?;
        let kept = SnapshotRelease { store: self.clone(), moment: taken.moment };
        let now = self.options().clock.now();
        Ok(Snapshot { taken, now, kept })
    }
}

impl Snapshot {
    fn keys(&self) -> &StoreKeys {
        &self.store().core().keys
    }

    fn time(&self) -> OperationTime<'_> {
        self.store().core().time(Some(self.now))
    }

    fn main(&self) -> IndexAtMoment<'_> {
        IndexAtMoment::main(&self.keys().index, &self.keys().snapshots, self.taken.moment)
    }

    /// Calls `look` with a row of the main index. The main row of a collection is replaced by one
    /// of the frozen collection.
    fn show<R>(&self, row: Option<RowRef<'_>>, look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        let Some((row, collection)) = row.and_then(|row| Some((row, row.collection::<Collection>()?))) else {
            return look(row);
        };
        let frozen = collection.frozen(self.taken.moment);
        let mut main_row = self.keys().rows.collection(frozen, row.expires_at());
        main_row.set_version(row.version());
        look(Some(main_row.as_ref()))
    }

    /// Calls `look` with the row that `key` had, without copying it.
    ///
    /// # Errors
    /// `SnapshotEnded`; then `look` may have been called, and its answer is dropped.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> Result<R> {
        let index = &self.keys().index;
        let guard = index.collector().enter();
        // The index first: see `KeptRows`.
        let present = index.get(key, &guard);
        let kept = self.main().kept(key);
        let row = kept.as_ref().map_or(present, |kept| kept.row());
        let answer = self.show(self.time().live(row), look);
        self.check().map(|()| answer)
    }

    /// Returns the contents and the version that `key` had.
    ///
    /// # Errors
    /// `SnapshotEnded`.
    pub fn get_entry(&self, key: &[u8]) -> Result<Option<KeyEntry>> {
        self.get_with(key, |row| row.map(|row| KeyEntry::new(key, row)))
    }

    /// Calls `each` with the rows that were within `bounds`, in order, until it breaks. A row is
    /// borrowed for the call only.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
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
    /// })?;
    /// assert_eq!(seen, [&b"swan"[..], b"goose"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `SnapshotEnded`; then the last row that `each` was called with may be wrong.
    pub fn scan(
        &self,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut checked = Ok(());
        let show = |key: &[u8], row: RowRef<'_>| {
            // Before the call, so that no row is shown after the end but the last one.
            checked = self.check();
            if checked.is_err() {
                return ControlFlow::Break(());
            }
            self.show(Some(row), |row| row.map_or(ControlFlow::Continue(()), |row| each(key, row)))
        };
        self.main().scan(bounds, direction, self.keys().live(self.time(), show));
        checked.and_then(|()| self.check())
    }

    /// Returns the rows that were within `bounds`, at most `limit`, in order.
    ///
    /// # Errors
    /// `SnapshotEnded`.
    pub fn range(
        &self,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        limit: usize,
    ) -> Result<Vec<KeyEntry>> {
        let mut scanned = Ok(());
        let entries = gather(limit, |each| scanned = self.scan(bounds, direction, each));
        scanned.map(|()| entries)
    }

    /// Returns `Ok` while the snapshot is complete. A view of a collection that was taken from a
    /// row of this snapshot shows the moment only if this returns `Ok` after the view was read.
    ///
    /// # Errors
    /// `SnapshotEnded`.
    pub fn check(&self) -> Result<()> {
        self.taken.check(&self.keys().snapshots)
    }

    /// Ends the snapshot and frees its rows step by step, for callers that must not be delayed. A
    /// drop frees them all at once; it takes about a microsecond for each row that was kept
    /// for the snapshot.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut release = store.snapshot()?.release();
    /// while release.step(1_000) {
    ///     // Here is time for something else.
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release(self) -> SnapshotRelease {
        self.kept.end();
        self.kept
    }

    /// Returns the store of this snapshot.
    pub fn store(&self) -> &Store {
        &self.kept.store
    }
}

/// The rows of a [`Snapshot`] that has ended; see [`Snapshot::release`]. A drop frees the rest at
/// once.
#[derive(Debug)]
pub struct SnapshotRelease {
    store: Store,
    moment: u64,
}

impl SnapshotRelease {
    fn end(&self) {
        let keys = &self.store.core().keys;
        keys.snapshots.end(&keys.members, self.moment);
    }

    /// Frees up to `most` rows. Returns whether there are more.
    pub fn step(&mut self, most: usize) -> bool {
        self.store.core().keys.snapshots.give_back(self.moment, most)
    }
}

impl Drop for SnapshotRelease {
    fn drop(&mut self) {
        self.end();
        while self.step(usize::MAX) {}
    }
}
