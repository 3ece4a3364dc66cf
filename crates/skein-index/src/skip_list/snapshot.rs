//! Snapshots: views of the whole list as it was at one moment.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_sync::mutex::{Mutex, lock};
use skein_sync::reclaim::{Collector, Guard, check_guard};

use super::SkipListVariant;
use super::cursor::SkipListCursor;
use super::retained_versions::{RetainedVersion, RetentionNotes, RetentionSlot};
use super::snapshot_gate::{LiveSnapshot, SLOTS};
use super::variant::{SkipListSettings, SkipListStandard};
use crate::index::OrderedIndex;
use crate::slot::Slot;

/// The maximum number of live snapshots, unless `SkipList::with_snapshot_limit` sets another.
pub const SNAPSHOTS: usize = 64;
/// The highest limit that `SkipList::with_snapshot_limit` accepts.
pub const SNAPSHOTS_MAX: usize = SLOTS;

/// The error of a call that would exceed the limit of live snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{live} snapshots are live, which is the limit of {limit}; drop one, or raise the limit (at most {SNAPSHOTS_MAX})"
)]
pub struct TooManySnapshots {
    /// The number of live snapshots.
    pub live: usize,
    /// The limit.
    pub limit: usize,
}

/// The live snapshots of a list: their number, and the age of the oldest. Old versions are kept for
/// that long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkipListSnapshots {
    /// The number of live snapshots.
    pub count: usize,
    /// The age of the oldest, if there is one.
    pub oldest: Option<Duration>,
}

/// The live snapshots, oldest first, and the slots that hold their notes.
#[derive(Debug)]
pub(super) struct SnapshotRegistry<V: SkipListSettings> {
    live: Mutex<Vec<(LiveSnapshot, Instant)>>,
    slots: Box<[RetentionSlot<V>]>,
}

impl<V: SkipListSettings> SnapshotRegistry<V> {
    pub(super) fn new(limit: usize) -> Self {
        let slots = (0..limit.clamp(1, SNAPSHOTS_MAX)).map(|_| RetentionSlot::closed()).collect();
        Self { live: Mutex::new(Vec::new()), slots }
    }

    /// Returns the slot of a snapshot that is live or was live a moment ago.
    pub(super) fn slot(&self, holder: LiveSnapshot) -> &RetentionSlot<V> {
        &self.slots[holder.slot]
    }

    /// Returns all slots.
    pub(super) fn slots(&self) -> &[RetentionSlot<V>] {
        &self.slots
    }

    /// Calls `leave` with the slot of the newest live snapshot that sees a version, or with `None`.
    /// That snapshot is not dropped meanwhile.
    pub(super) fn with_holder<R>(
        &self,
        kept: RetainedVersion<V>,
        leave: impl FnOnce(Option<&RetentionSlot<V>>) -> R,
    ) -> R {
        let live = lock(&self.live);
        let before = live.partition_point(|(holder, _)| holder.moment < kept.until);
        let newest = live[..before].last().filter(|(holder, _)| holder.moment >= kept.stamp);
        leave(newest.map(|&(holder, _)| self.slot(holder)))
    }
}

impl<S: Slot, V: SkipListSettings> SkipListVariant<S, V> {
    /// Takes a snapshot. It contains every write that returned before this call and no write that
    /// starts after it. If it contains a write, it also contains every write that some thread had
    /// seen before that write.
    ///
    /// The call waits for the writes that are being published, and they wait for it: a few dozen
    /// instructions each. While the snapshot lives, the versions that it sees are kept;
    /// [`snapshots`](Self::snapshots) returns the age of the oldest.
    ///
    /// ```
    /// use skein_index::{Inline, OrderedIndex, SkipList, range};
    ///
    /// let list = SkipList::new();
    /// let guard = list.collector().enter();
    /// list.insert(b"goose", Inline(1_u64), &guard)?;
    /// let before = list.snapshot()?;
    /// list.insert(b"goose", Inline(2), &guard)?;
    /// list.insert(b"duck", Inline(3), &guard)?;
    /// assert_eq!((before.get(b"goose", &guard), before.get(b"duck", &guard)), (Some(1), None));
    /// assert_eq!(list.get(b"goose", &guard), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`TooManySnapshots`] if as many snapshots are live as the limit allows.
    pub fn snapshot(&self) -> Result<SkipListSnapshot<'_, S, V>, TooManySnapshots> {
        Ok(SkipListSnapshot(SnapshotLease {
            holder: self.register_snapshot()?,
            list: SnapshotList::Borrowed(self),
            notes: None,
        }))
    }

    /// Takes a snapshot as [`snapshot`](Self::snapshot) does, but one that keeps the list alive and
    /// may be sent wherever the list may.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use skein_index::{Inline, OrderedIndex, SkipList};
    ///
    /// let list = Arc::new(SkipList::new());
    /// list.insert(b"goose", Inline(1_u64), &list.collector().enter())?;
    /// let snapshot = list.snapshot_owned()?;
    /// drop(list);
    /// let look = move || snapshot.get(b"goose", &snapshot.collector().enter());
    /// assert_eq!(std::thread::spawn(look).join().unwrap(), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`TooManySnapshots`] if as many snapshots are live as the limit allows.
    pub fn snapshot_owned(self: &Arc<Self>) -> Result<SkipListSnapshot<'static, S, V>, TooManySnapshots> {
        Ok(SkipListSnapshot(SnapshotLease {
            holder: self.register_snapshot()?,
            list: SnapshotList::Owned(self.clone()),
            notes: None,
        }))
    }

    /// Takes a moment. From then on, the versions that a snapshot of this moment sees are kept.
    fn register_snapshot(&self) -> Result<LiveSnapshot, TooManySnapshots> {
        const { assert!(V::VERSIONS, "a bare list has no snapshots") };
        let mut live = lock(&self.engine.snapshots.live);
        let limit = self.engine.snapshots.slots.len();
        let is_free = |&slot: &usize| live.iter().all(|(holder, _)| holder.slot != slot);
        let Some(slot) = (0..limit).find(is_free) else {
            return Err(TooManySnapshots { live: live.len(), limit });
        };
        self.engine.snapshots.slots[slot].open();
        let holder = LiveSnapshot { moment: self.engine.gate.take_moment(slot), slot };
        live.push((holder, Instant::now()));
        Ok(holder)
    }

    /// Ends a snapshot and returns its notes.
    fn end(&self, ended: LiveSnapshot) -> RetentionNotes<V> {
        let mut live = lock(&self.engine.snapshots.live);
        live.retain(|&(holder, _)| holder != ended);
        self.engine.gate.set_newest(live.last().map(|&(holder, _)| holder));
        self.engine.snapshots.slot(ended).close()
    }

    /// Returns the number of live snapshots and the age of the oldest.
    pub fn snapshots(&self) -> SkipListSnapshots {
        let live = lock(&self.engine.snapshots.live);
        SkipListSnapshots { count: live.len(), oldest: live.first().map(|(_, taken)| taken.elapsed()) }
    }
}

/// The list of a snapshot.
enum SnapshotList<'i, S: Slot, V: SkipListSettings> {
    Borrowed(&'i SkipListVariant<S, V>),
    Owned(Arc<SkipListVariant<S, V>>),
}

impl<S: Slot, V: SkipListSettings> Deref for SnapshotList<'_, S, V> {
    type Target = SkipListVariant<S, V>;

    #[inline]
    fn deref(&self) -> &SkipListVariant<S, V> {
        match self {
            Self::Borrowed(list) => list,
            Self::Owned(list) => list,
        }
    }
}

/// The right to a moment. After the end of the snapshot, it holds the notes that are still to be
/// processed. Dropping it processes all of them.
struct SnapshotLease<'i, S: Slot, V: SkipListSettings> {
    list: SnapshotList<'i, S, V>,
    holder: LiveSnapshot,
    /// The notes that are still to be processed; `None` before the end of the snapshot.
    notes: Option<RetentionNotes<V>>,
}

impl<S: Slot, V: SkipListSettings> SnapshotLease<'_, S, V> {
    /// Ends the snapshot if it has not ended, and processes up to `most` notes. Returns true if
    /// notes are left.
    fn process_notes(&mut self, most: usize) -> bool {
        let Self { list, holder, notes } = self;
        let notes = notes.get_or_insert_with(|| list.end(*holder));
        let guard = list.base.collector.enter();
        for kept in notes.by_ref().take(most) {
            list.pass_on(kept, &guard);
        }
        guard.flush();
        !notes.is_empty()
    }
}

impl<S: Slot, V: SkipListSettings> Drop for SnapshotLease<'_, S, V> {
    fn drop(&mut self) {
        self.process_notes(usize::MAX);
    }
}

/// A view of a [`SkipList`](crate::SkipList) as it was at one moment. Reads need a guard; the
/// snapshot itself does not.
///
/// Dropping the snapshot releases the versions that were kept for it alone. That takes some hundred
/// nanoseconds for each write that superseded a version which it shows. [`release`](Self::release)
/// does the same work in steps.
pub struct SkipListSnapshot<'i, S: Slot, V: SkipListSettings = SkipListStandard>(SnapshotLease<'i, S, V>);

impl<'i, S: Slot, V: SkipListSettings> SkipListSnapshot<'i, S, V> {
    /// Returns the collector whose guards the snapshot accepts: the list's own.
    pub fn collector(&self) -> &Collector {
        self.0.list.collector()
    }

    /// Returns the value that `key` had, or `None` if it was absent.
    ///
    /// # Panics
    /// Panics if the guard is not of the list's own collector.
    pub fn get<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        check_guard(&self.0.list.base.collector, guard);
        let node = self.0.list.node_of(key)?;
        let word = node.state().at(self.0.holder.moment).value(node)?;
        // SAFETY: the word is in the list of versions. If it is retired, then under this guard or a
        // later one.
        Some(unsafe { S::borrow(word) })
    }

    /// Returns a cursor over the keys of the snapshot, before the first key.
    /// [`walk`](crate::walk()) visits a range with it.
    ///
    /// # Panics
    /// Panics if the guard is not of the list's own collector.
    pub fn cursor<'g, G: Guard>(&'g self, guard: &'g G) -> SkipListCursor<'g, S, G, V> {
        check_guard(&self.0.list.base.collector, guard);
        SkipListCursor::new(&self.0.list, self.0.holder.moment, guard)
    }

    /// Ends the snapshot and returns an object that releases its versions step by step, for threads
    /// that must not block for long.
    ///
    /// ```
    /// use skein_index::{Inline, OrderedIndex, SkipList};
    ///
    /// let list = SkipList::new();
    /// let guard = list.collector().enter();
    /// list.insert(b"goose", Inline(1_u64), &guard)?;
    /// let snapshot = list.snapshot()?;
    /// list.insert(b"goose", Inline(2), &guard)?;
    /// let mut release = snapshot.release();
    /// while release.step(1_000) {
    ///     // Do other work between two steps.
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release(self) -> SkipListRelease<'i, S, V> {
        let mut lease = self.0;
        lease.process_notes(0);
        SkipListRelease(lease)
    }
}

impl<S: Slot, V: SkipListSettings> fmt::Debug for SkipListSnapshot<'_, S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("moment", &self.0.holder.moment).finish_non_exhaustive()
    }
}

/// The versions that were kept for an ended snapshot. Dropping it releases all that are left.
pub struct SkipListRelease<'i, S: Slot, V: SkipListSettings = SkipListStandard>(SnapshotLease<'i, S, V>);

impl<S: Slot, V: SkipListSettings> SkipListRelease<'_, S, V> {
    /// Releases up to `most` versions. Returns true if versions are left.
    pub fn step(&mut self, most: usize) -> bool {
        self.0.process_notes(most)
    }
}

impl<S: Slot, V: SkipListSettings> fmt::Debug for SkipListRelease<'_, S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Release").field("moment", &self.0.holder.moment).finish_non_exhaustive()
    }
}
