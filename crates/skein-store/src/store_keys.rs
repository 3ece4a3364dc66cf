//! All keys of a store in memory: rows, their indexes, and the structures derived from them.
//!
//! ```text
//!   index         key ──► row, or the main row of a collection
//!   members       collection id and member ──► row
//!   expiry_index  time and key, of the keys that expire
//!   snapshots     rows that were replaced while snapshots are live
//!   stripes       the version floors of removed keys, and the latches of batches
//! ```
//!
//! This part of a store does not know how rows become durable. `loader` fills it from a checkpoint
//! and logs, before another thread uses it.

mod loader;

use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Mutex};

use skein_model::{
    AFTER_RESERVED, KeyspaceChange, KeyspaceStats, KeyspaceTotals, RESERVED, RowAllocator, RowRef,
    StoredKeyspace,
};
use skein_sync::locks::lock;

use crate::ScanDirection;
use crate::collection::MemberIndex;
use crate::expiry::{ExpiryIndex, OperationTime};
use crate::index::StoreIndex;
use crate::index::{IndexKind, KeyBounds};
use crate::options::StoreLimits;
use crate::snapshot::StoreSnapshots;
use crate::stripes::Stripes;

pub(crate) use loader::{Loader, LoaderGuards};

/// The keys of a store; see the module head.
pub(crate) struct StoreKeys {
    pub(crate) index: StoreIndex,
    /// The snapshots, and the rows that are kept for them.
    pub(crate) snapshots: Arc<StoreSnapshots>,
    pub(crate) rows: RowAllocator,
    /// The members of all collections. Their rows are allocated in `rows`, too.
    pub(crate) members: Arc<MemberIndex>,
    /// The keys that expire, by time.
    pub(crate) expiry_index: ExpiryIndex,
    /// Held while overdue keys are removed. A removal changes first `index` and then
    /// `expiry_index`.
    pub(crate) removing_overdue: Mutex<()>,
    pub(crate) stripes: Stripes,
    /// The numbers of keys of the keyspaces of databases.
    pub(crate) totals: Arc<KeyspaceTotals>,
    never_evicted: Option<Vec<u8>>,
}

impl StoreKeys {
    /// Makes the indexes, without keys.
    pub(crate) fn new(kind: IndexKind, limits: &StoreLimits) -> Self {
        let index = StoreIndex::new(kind);
        let rows = if index.embeds_rows() { RowAllocator::for_embedding() } else { RowAllocator::new() };
        let snapshots = StoreSnapshots::new(limits);
        let totals = Arc::<KeyspaceTotals>::default();
        let members = MemberIndex::new(kind, snapshots.clone(), rows.clone());
        Self {
            index,
            snapshots,
            rows,
            members,
            expiry_index: ExpiryIndex::new(totals.clone()),
            removing_overdue: Mutex::new(()),
            stripes: Stripes::new(),
            totals,
            never_evicted: limits.never_evicted.clone(),
        }
    }

    /// Returns whether a key may be evicted.
    pub(crate) fn is_evictable(&self, key: &[u8]) -> bool {
        self.never_evicted.as_ref().is_none_or(|prefix| !key.starts_with(prefix))
    }

    /// Returns the number of keys at this time. It is exact while no thread writes; the thread that
    /// removes expired keys may run.
    pub(crate) fn len(&self, time: OperationTime<'_>) -> usize {
        if !self.rows.any_expiring() {
            return self.index.len();
        }
        let _none = lock(&self.removing_overdue);
        self.index.len().saturating_sub(self.expiry_index.count_before(time.now()))
    }

    /// Notes that a write has added or removed a reserved key.
    #[cold]
    pub(crate) fn note_key(&self, key: &[u8], existed: bool, exists: bool) {
        let keys = i64::from(exists) - i64::from(existed);
        self.totals.note(key, KeyspaceChange { keys, ..KeyspaceChange::default() });
    }

    /// Counts the reserved keys, after a recovery.
    pub(crate) fn count_reserved(&self) {
        let bounds = (Bound::Included(&RESERVED[..]), Bound::Excluded(&AFTER_RESERVED[..]));
        self.index.scan(bounds, ScanDirection::Forward, |key, _| {
            self.note_key(key, false, true);
            ControlFlow::Continue(())
        });
    }

    /// Returns the numbers of a keyspace: the default one, or that of a database. They are exact
    /// while no thread writes.
    pub(crate) fn keyspace_stats(&self, keyspace: StoredKeyspace, time: OperationTime<'_>) -> KeyspaceStats {
        let _none = lock(&self.removing_overdue);
        let now = time.now();
        let overdue = self.expiry_index.overdue_in(keyspace, now);
        if !keyspace.is_default() {
            return self.totals.of(keyspace).stats(overdue, now);
        }
        let (reserved, expiring) = (self.totals.reserved(), self.expiry_index.totals());
        let keys = (self.index.len() as u64).cast_signed() - reserved.keys;
        let (expires, times) = (expiring.expires - reserved.expires, expiring.times - reserved.times);
        KeyspaceChange { keys, expires, times }.stats(overdue, now)
    }

    /// As [`StoreIndex::scan`], without expired rows.
    pub(crate) fn scan(
        &self,
        time: OperationTime<'_>,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        self.index.scan(bounds, direction, self.live(time, each));
    }

    /// Wraps `each` so that it skips expired rows. While no key expires, a caller that needs only
    /// keys reads no row.
    pub(crate) fn live<'s>(
        &'s self,
        time: OperationTime<'s>,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()> + 's,
    ) -> impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()> + 's {
        move |key, row| {
            let gone = self.rows.any_expiring() && !time.shows(row);
            if gone { ControlFlow::Continue(()) } else { each(key, row) }
        }
    }

    /// Notes the use of a row.
    #[inline]
    pub(crate) fn used(&self, row: Option<RowRef<'_>>) {
        if let Some(row) = row {
            row.touch(self.rows.ages().now());
        }
    }

    /// Returns the version that a write to `key` takes. REQUIRES: called under the key's latch.
    #[inline]
    pub(crate) fn next_version(&self, key: &[u8], current: Option<RowRef<'_>>) -> u64 {
        current.map_or_else(|| self.stripes.first_version(key), |row| row.version() + 1)
    }

    /// Returns an upper bound of the live bytes, with a few reads. It is nearly equal if few keys
    /// were removed.
    pub(crate) fn allocated_bytes(&self) -> usize {
        self.index.allocated_bytes()
            + self.expiry_index.allocated_bytes()
            + self.members.index.allocated_bytes()
            + self.rows.allocated_bytes()
            + self.members.bytes()
            + self.snapshots.outside()
    }
}
