//! Kept rows: the rows of one index that were replaced or removed while snapshots were live.
//!
//! ```text
//!   shards, by hash of the key, each with a lock
//!     rows    key ──► [ until 7: row A ][ until 9: absent ][ pending: row B ]
//!     notes   snapshot 6 ──► row A       snapshot 8 ──► absent, row B
//! ```
//!
//! A kept row says: "until this moment, and since that one, the key had this row (or was absent)".
//! Its note lies with the newest snapshot that sees it. So the end of a snapshot visits only its
//! own notes: the rows that an older snapshot sees move to the notes of that one, and other rows
//! are dropped (`kept_rows/notes`). `rows_of_key` has the kept rows of one key, `attempt` the
//! writer's side. Each key is kept at most once for each snapshot.
//!
//! # Invariants
//! 1. A kept row is added as pending, before its writer takes the latch of the key. Under the latch
//!    the writer verifies that the key still has this row and that the moment has not moved, and
//!    only then sets `until`. So a row with `until` = m is the row that the key had at the end of
//!    the moment before m. Readers ignore pending rows.
//! 2. A writer that changes a key without keeping its row has found, at the present moment, a kept
//!    row that was set after the newest live snapshot was taken, or no live snapshot. It too
//!    verifies the moment under the latch.
//! 3. So for a live snapshot s the kept row with the smallest `until` > s has the row that the key
//!    had at s. If no kept row has such an `until`, no write after s is visible, and the index has
//!    the row that the key had at s.
//! 4. Locks are taken in this order: a shard, then the registry of live snapshots.
//!
//! Design: `docs/design/store.md`.

mod attempt;
#[cfg(all(test, skein_loom))]
mod models;
mod notes;
mod rows_of_key;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use skein_model::{Row, RowRef};
use skein_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use skein_sync::mutex::{Mutex, lock};

pub(super) use attempt::KeepAttempt;
use notes::SnapshotNotes;
use rows_of_key::RowsOfKey;

use super::live::LiveSnapshots;
use super::occupied::{OccupiedShards, SHARDS_MAX};
use crate::ScanDirection;

/// The number of shards: enough that writers rarely meet, few enough that a scan can visit all.
const SHARDS: usize = if cfg!(skein_loom) { 2 } else { 32 };
const _: () = assert!(SHARDS <= SHARDS_MAX);

/// Bytes of a kept row besides its key and its row: its parts of the maps, the counts, and the
/// allocator's overhead.
const KEPT_ROW: usize = 192;

/// `until` of a row that its writer has not verified.
const PENDING: u64 = u64::MAX;

#[cfg(test)]
thread_local! {
    /// The number of kept rows with an `until` that this thread has read, for tests that bound the
    /// cost of a search.
    static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A row that a key had until a moment; see the module head.
#[derive(Debug)]
pub(crate) struct KeptRow {
    key: Arc<[u8]>,
    /// `None` if the key was absent.
    row: Option<Row>,
    /// No earlier live snapshot sees the row.
    since: u64,
    until: AtomicU64,
}

/// A kept row that its writer has not verified, and the snapshot that has its note.
#[derive(Debug)]
pub(super) struct PendingRow {
    kept: Arc<KeptRow>,
    snapshot: u64,
}

#[derive(Debug, Default)]
struct KeptShard {
    rows: BTreeMap<Arc<[u8]>, RowsOfKey>,
    /// By snapshot.
    notes: BTreeMap<u64, SnapshotNotes>,
}

/// The kept rows of one index.
#[derive(Debug)]
pub(crate) struct KeptRows {
    shards: Box<[Mutex<KeptShard>]>,
    occupied: OccupiedShards,
    /// Bytes of kept rows with their keys.
    bytes: AtomicUsize,
    /// The part of these bytes that is not in the arena of rows.
    outside: AtomicUsize,
}

impl KeptRow {
    /// Returns the row, or `None` if the key was absent.
    pub(crate) fn row(&self) -> Option<RowRef<'_>> {
        self.row.as_ref().map(Row::as_ref)
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    fn until(&self) -> u64 {
        #[cfg(test)]
        LOOKS.with(|looks| looks.set(looks.get() + 1));
        // Acquire: pairs with the Release in `PendingRow::verified`.
        self.until.load(Ordering::Acquire)
    }

    fn outside(&self) -> usize {
        KEPT_ROW + self.key.len()
    }

    fn weight(&self) -> usize {
        self.outside() + self.row().map_or(0, RowRef::memory)
    }
}

impl PendingRow {
    /// Sets the moment until which the key had the row. REQUIRES: the latch of the key is held, and
    /// invariant 1 is verified.
    pub(super) fn verified(&self, moment: u64) {
        // Release: pairs with the Acquire in `until`. The latch orders it before the new row: a
        // reader that has seen that row in the index finds the moment.
        self.kept.until.store(moment, Ordering::Release);
    }
}

impl KeptShard {
    /// Returns the moment since which a row that is about to be replaced may be visible, if the
    /// newest live snapshot sees it.
    fn needs(&self, key: &[u8], newest: u64) -> Option<u64> {
        let since = self.rows.get(key).map_or(0, RowsOfKey::last_until);
        (newest > 0 && since <= newest).then_some(since)
    }

    fn remove(&mut self, kept: &Arc<KeptRow>) {
        if let Some(rows) = self.rows.get_mut(&kept.key) {
            rows.remove(kept);
            if rows.is_empty() {
                self.rows.remove(&kept.key);
            }
        }
    }
}

/// The kept rows of a part of a range, in the order of a scan.
#[derive(Debug, Default)]
pub(super) struct KeptRange {
    pub(super) rows: Vec<Arc<KeptRow>>,
    /// The last key of the part, if it is not the whole range.
    pub(super) last: Option<Arc<[u8]>>,
}

impl KeptRows {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            occupied: OccupiedShards::default(),
            bytes: AtomicUsize::new(0),
            outside: AtomicUsize::new(0),
        }
    }

    fn shard_of(key: &[u8]) -> usize {
        crc32c::crc32c(key) as usize % SHARDS
    }

    /// Returns the bytes of all kept rows with their keys.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the part of [`bytes`](Self::bytes) that is not in the arena of rows.
    pub(super) fn outside(&self) -> usize {
        self.outside.load(Ordering::Relaxed)
    }

    /// Keeps the row `seen` of a key (`None` if it is absent), as pending, if the newest live
    /// snapshot sees it. `copy` makes a copy of the row.
    ///
    /// REQUIRES: the caller read the moment first, then the row, and verifies both under the latch.
    pub(super) fn keep(
        &self,
        live: &LiveSnapshots,
        key: &[u8],
        copy: impl FnOnce() -> Option<Row>,
    ) -> Option<PendingRow> {
        let shard = Self::shard_of(key);
        lock(&self.shards[shard]).needs(key, live.newest())?;
        // Without the lock, because the row may be long.
        let row = copy();
        let mut held = lock(&self.shards[shard]);
        self.occupied.set(shard);
        let snapshot = live.newest();
        let Some(since) = held.needs(key, snapshot) else {
            self.changed(shard, &held);
            return None;
        };
        let shared = held.rows.get_key_value(key).map(|(key, _)| key.clone());
        let key = shared.unwrap_or_else(|| key.into());
        let kept = Arc::new(KeptRow { key, row, since, until: AtomicU64::new(PENDING) });
        // Relaxed, both: counts.
        self.bytes.fetch_add(kept.weight(), Ordering::Relaxed);
        self.outside.fetch_add(kept.outside(), Ordering::Relaxed);
        held.rows.entry(kept.key.clone()).or_default().push(kept.clone());
        held.notes.entry(snapshot).or_default().add(kept.clone());
        Some(PendingRow { kept, snapshot })
    }

    /// Drops a pending row after its writer found another row, or another moment.
    pub(super) fn void(&self, PendingRow { kept, snapshot }: PendingRow) {
        let shard = Self::shard_of(&kept.key);
        let mut held = lock(&self.shards[shard]);
        held.remove(&kept);
        // Without its note here, the row is or was with an older snapshot. The end of that snapshot
        // counts it.
        if held.notes.get_mut(&snapshot).is_some_and(|notes| notes.remove(&kept)) {
            self.count_dropped(&kept);
        }
        self.changed(shard, &held);
    }

    /// Clears the bit of a shard if it is empty now.
    fn changed(&self, shard: usize, held: &KeptShard) {
        if held.rows.is_empty() && held.notes.is_empty() {
            self.occupied.clear(shard);
        }
    }

    fn count_dropped(&self, kept: &KeptRow) {
        self.bytes.fetch_sub(kept.weight(), Ordering::Relaxed);
        self.outside.fetch_sub(kept.outside(), Ordering::Relaxed);
    }

    /// Returns the kept row of a key that a snapshot sees. The caller has looked the key up in the
    /// index before; without a kept row, that answer counts.
    pub(super) fn at(&self, key: &[u8], snapshot: u64) -> Option<Arc<KeptRow>> {
        let shard = Self::shard_of(key);
        if !self.occupied.has(shard) {
            return None;
        }
        let held = lock(&self.shards[shard]);
        held.rows.get(key)?.seen_at(snapshot).cloned()
    }

    /// Returns the kept rows that a snapshot sees, in the order of a scan from `near` to `far`.
    /// Visits at most `most` keys of each shard, so the answer may be for the first part of the
    /// range only.
    pub(super) fn range(
        &self,
        (near, far): (Bound<&[u8]>, Bound<&[u8]>),
        direction: ScanDirection,
        snapshot: u64,
        most: usize,
    ) -> KeptRange {
        let mut found = KeptRange::default();
        let (lower, upper) = direction.near_and_far((near, far));
        if is_empty_range(lower, upper) {
            return found;
        }
        for (shard, rows) in self.shards.iter().enumerate() {
            if !self.occupied.has(shard) {
                continue;
            }
            let held = lock(rows);
            let rows = held.rows.range::<[u8], _>((lower, upper));
            let last = match direction {
                ScanDirection::Forward => gather(rows, snapshot, most, &mut found.rows),
                ScanDirection::Backward => gather(rows.rev(), snapshot, most, &mut found.rows),
            };
            let is_nearer = |last: &Arc<[u8]>| {
                found.last.as_ref().is_none_or(|other| direction_cmp(direction, last, other).is_lt())
            };
            found.last = last.filter(is_nearer).or(found.last);
        }
        found.rows.sort_unstable_by(|a, b| direction_cmp(direction, &a.key, &b.key));
        if let Some(last) = &found.last {
            let within =
                found.rows.partition_point(|kept| !direction_cmp(direction, &kept.key, last).is_gt());
            found.rows.truncate(within);
        }
        found
    }

    /// Drops the rows that were kept for an ended snapshot, and moves those that an older live
    /// snapshot sees to its notes. Drops at most `most` rows. Returns how many more it might have
    /// dropped.
    pub(super) fn give_back(&self, live: &LiveSnapshots, ended: u64, most: usize) -> usize {
        let mut left = most;
        for shard in self.occupied.of_ended() {
            if left == 0 {
                break;
            }
            let mut held = lock(&self.shards[shard]);
            let Some(mut notes) = held.notes.remove(&ended) else { continue };
            // The older snapshot is looked up under the lock of the shard: a snapshot that is still
            // live visits its notes here only after this.
            let older = live.newest_before(ended);
            let gone = notes.take_unseen(older, left);
            left -= gone.len();
            for kept in &gone {
                held.remove(kept);
                self.count_dropped(kept);
            }
            if notes.has_unseen(older) {
                held.notes.insert(ended, notes);
            } else if let Some(older) = older.filter(|_| !notes.is_empty()) {
                held.notes.entry(older).or_default().merge(notes);
            }
            self.changed(shard, &held);
            // Rows are freed without the lock.
            drop(held);
            drop(gone);
        }
        left
    }

    /// Returns whether rows are kept for a snapshot that has ended.
    pub(super) fn has_notes(&self, snapshot: u64) -> bool {
        self.occupied.of_ended().any(|shard| lock(&self.shards[shard]).notes.contains_key(&snapshot))
    }
}

/// Adds the rows that a snapshot sees to `found`. Returns the last visited key if there may be
/// more.
fn gather<'s>(
    rows: impl Iterator<Item = (&'s Arc<[u8]>, &'s RowsOfKey)>,
    snapshot: u64,
    most: usize,
    found: &mut Vec<Arc<KeptRow>>,
) -> Option<Arc<[u8]>> {
    for (visited, (key, rows)) in rows.enumerate() {
        found.extend(rows.seen_at(snapshot).cloned());
        if visited + 1 == most {
            return Some(key.clone());
        }
    }
    None
}

/// Compares keys in the order of a scan.
pub(super) fn direction_cmp(direction: ScanDirection, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    match direction {
        ScanDirection::Forward => a.cmp(b),
        ScanDirection::Backward => b.cmp(a),
    }
}

/// Returns whether no key is within the bounds, which `BTreeMap::range` may reject.
fn is_empty_range(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Excluded(upper))
        | (Bound::Excluded(lower), Bound::Included(upper)) => lower >= upper,
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
    }
}
