//! Snapshots: a view of the whole list as it was at one moment.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_sync::mutex::{Mutex, lock};
use skein_sync::reclaim::{Collector, Guard, check_guard};

use super::SkipList;
use super::cursor::SkipListCursor;
use super::retained_versions::{RetainedVersion, RetentionNotes, RetentionSlot};
use super::snapshot_gate::{LiveSnapshot, SLOTS};
use super::variant::{BARE, DEFAULT, has};
use crate::index::OrderedIndex;
use crate::slot::Slot;

/// How many snapshots may be live at once, unless [`SkipList::with_snapshot_limit`] says otherwise.
pub const SNAPSHOTS: usize = 64;
/// The most that it may say.
pub const SNAPSHOTS_MAX: usize = SLOTS;

/// Why there is no further snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{live} snapshots are live, which is the limit of {limit}; drop one, or raise the limit (at most {SNAPSHOTS_MAX})"
)]
pub struct TooManySnapshots {
    /// How many are live.
    pub live: usize,
    /// How many may be.
    pub limit: usize,
}

/// The live snapshots of a list: how many, and the age of the oldest, for as long as which old versions are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkipListSnapshots {
    /// How many are live.
    pub count: usize,
    /// How long ago the oldest was taken, if there is one.
    pub oldest: Option<Duration>,
}

/// The live snapshots, oldest first, and where notes for them are left.
#[derive(Debug)]
pub(super) struct SnapshotRegistry<const V: usize> {
    live: Mutex<Vec<(LiveSnapshot, Instant)>>,
    slots: Box<[RetentionSlot<V>]>,
}

impl<const V: usize> SnapshotRegistry<V> {
    pub(super) fn new(limit: usize) -> Self {
        let slots = (0..limit.clamp(1, SNAPSHOTS_MAX)).map(|_| RetentionSlot::closed()).collect();
        Self { live: Mutex::new(Vec::new()), slots }
    }

    /// The slot of a live snapshot, or of one that was live a moment ago.
    pub(super) fn slot(&self, holder: LiveSnapshot) -> &RetentionSlot<V> {
        &self.slots[holder.slot]
    }

    /// All slots.
    pub(super) fn slots(&self) -> &[RetentionSlot<V>] {
        &self.slots
    }

    /// Runs `leave` with the newest live snapshot that sees a version, if there is one; that one is not dropped meanwhile.
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

impl<S: Slot, const V: usize> SkipList<S, V> {
    /// Takes a snapshot: every write that returned before this call is in it, none that is called after it, and with a write each one
    /// that somebody saw before.
    ///
    /// It waits for writes that are just being published, and they for it, a few dozen instructions long. While it lives, versions
    /// that it sees are kept; [`snapshots`](Self::snapshots) says for how long by now.
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
    /// [`TooManySnapshots`].
    pub fn snapshot(&self) -> Result<SkipListSnapshot<'_, S, V>, TooManySnapshots> {
        Ok(SkipListSnapshot(SnapshotLease {
            holder: self.register_snapshot()?,
            list: SnapshotList::Borrowed(self),
            notes: None,
        }))
    }

    /// The same, for a snapshot that keeps the list alive and may go wherever the list may.
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
    /// let seen = std::thread::spawn(move || snapshot.get(b"goose", &snapshot.collector().enter()));
    /// assert_eq!(seen.join().unwrap(), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TooManySnapshots`].
    pub fn snapshot_owned(self: &Arc<Self>) -> Result<SkipListSnapshot<'static, S, V>, TooManySnapshots> {
        Ok(SkipListSnapshot(SnapshotLease {
            holder: self.register_snapshot()?,
            list: SnapshotList::Owned(self.clone()),
            notes: None,
        }))
    }

    /// Takes a moment, and keeps from then on what a snapshot of it sees.
    fn register_snapshot(&self) -> Result<LiveSnapshot, TooManySnapshots> {
        const { assert!(!has(V, BARE), "a bare list has no snapshots") };
        let mut live = lock(&self.snapshots.live);
        let limit = self.snapshots.slots.len();
        let is_free = |&slot: &usize| live.iter().all(|(holder, _)| holder.slot != slot);
        let Some(slot) = (0..limit).find(is_free) else {
            return Err(TooManySnapshots { live: live.len(), limit });
        };
        self.snapshots.slots[slot].open();
        let holder = LiveSnapshot { moment: self.gate.take_moment(slot), slot };
        live.push((holder, Instant::now()));
        Ok(holder)
    }

    /// Keeps nothing more for a snapshot; gives the notes of what was kept.
    fn end(&self, ended: LiveSnapshot) -> RetentionNotes<V> {
        let mut live = lock(&self.snapshots.live);
        live.retain(|&(holder, _)| holder != ended);
        self.gate.set_newest(live.last().map(|&(holder, _)| holder));
        self.snapshots.slot(ended).close()
    }

    /// How many snapshots are live, and how old the oldest is.
    pub fn snapshots(&self) -> SkipListSnapshots {
        let live = lock(&self.snapshots.live);
        SkipListSnapshots { count: live.len(), oldest: live.first().map(|(_, taken)| taken.elapsed()) }
    }
}

/// The list of a snapshot.
enum SnapshotList<'i, S: Slot, const V: usize> {
    Borrowed(&'i SkipList<S, V>),
    Owned(Arc<SkipList<S, V>>),
}

impl<S: Slot, const V: usize> Deref for SnapshotList<'_, S, V> {
    type Target = SkipList<S, V>;

    #[inline]
    fn deref(&self) -> &SkipList<S, V> {
        match self {
            Self::Borrowed(list) => list,
            Self::Owned(list) => list,
        }
    }
}

/// What keeps a moment, and then lets go what was kept for it; when dropped, all at once.
struct SnapshotLease<'i, S: Slot, const V: usize> {
    list: SnapshotList<'i, S, V>,
    holder: LiveSnapshot,
    /// What is still to be let go; `None` before the end.
    notes: Option<RetentionNotes<V>>,
}

impl<S: Slot, const V: usize> SnapshotLease<'_, S, V> {
    /// Ends the snapshot, if it has not ended, and looks at some notes; whether there are more.
    fn let_go(&mut self, most: usize) -> bool {
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

impl<S: Slot, const V: usize> Drop for SnapshotLease<'_, S, V> {
    fn drop(&mut self) {
        self.let_go(usize::MAX);
    }
}

/// A view of a [`SkipList`] as it was at one moment. What it gives is read under a guard, but it needs none to live.
///
/// When it is dropped, what was kept for it alone is let go, which takes some hundred nanoseconds for each write that superseded what it shows;
/// [`release`](Self::release) does that in steps.
pub struct SkipListSnapshot<'i, S: Slot, const V: usize = DEFAULT>(SnapshotLease<'i, S, V>);

impl<'i, S: Slot, const V: usize> SkipListSnapshot<'i, S, V> {
    /// The collector whose guards it takes: the list's own.
    pub fn collector(&self) -> &Collector {
        self.0.list.collector()
    }

    /// The value that `key` had.
    ///
    /// # Panics
    /// If the guard is not of the list's own collector.
    pub fn get<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        check_guard(&self.0.list.base.collector, guard);
        let node = self.0.list.node_of(key)?;
        let word = node.state().at(self.0.holder.moment).value(node)?;
        // SAFETY: the word is in the list of versions, and is retired, if at all, under this guard or a later one.
        Some(unsafe { S::borrow(word) })
    }

    /// A cursor over the keys that there were, before the first. [`walk`](crate::walk()) goes over a range with it.
    ///
    /// # Panics
    /// If the guard is not of the list's own collector.
    pub fn cursor<'g, G: Guard>(&'g self, guard: &'g G) -> SkipListCursor<'g, S, G, V> {
        check_guard(&self.0.list.base.collector, guard);
        SkipListCursor::new(&self.0.list, self.0.holder.moment, guard)
    }

    /// Ends the snapshot; what was kept for it is let go step by step, for who must not be held up.
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
    ///     // Here is time for something else.
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release(self) -> SkipListRelease<'i, S, V> {
        let mut lease = self.0;
        lease.let_go(0);
        SkipListRelease(lease)
    }
}

impl<S: Slot, const V: usize> fmt::Debug for SkipListSnapshot<'_, S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("moment", &self.0.holder.moment).finish_non_exhaustive()
    }
}

/// What was kept for a snapshot that has ended. When it is dropped, the rest is let go at once.
pub struct SkipListRelease<'i, S: Slot, const V: usize = DEFAULT>(SnapshotLease<'i, S, V>);

impl<S: Slot, const V: usize> SkipListRelease<'_, S, V> {
    /// Lets go up to `most` versions; whether there are more.
    pub fn step(&mut self, most: usize) -> bool {
        self.0.let_go(most)
    }
}

impl<S: Slot, const V: usize> fmt::Debug for SkipListRelease<'_, S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Release").field("moment", &self.0.holder.moment).finish_non_exhaustive()
    }
}
