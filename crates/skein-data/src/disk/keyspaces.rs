//! The numbers of keys of the keyspaces of databases, for the disk engine.
//!
//! ```text
//!   write_main_row ─► pending: the changes of the open transaction
//!   commit         ─► totals += pending             no commit ─► dropped by the next transaction
//!   open           ─► totals: counted, if there are reserved keys
//! ```
//!
//! The page file has no such numbers. An ordered trie finds the reserved keys by one search. A hash
//! trie would have to be read whole, so its first write to another database than 0 leaves a row
//! ([`DATABASES_KEY`]), and only a folder with this row is read.
//!
//! # Invariants
//! 1. There is one transaction at a time, and it is begun by [`DiskEngine::begin`]. So `pending` is
//!    that of the open transaction.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Mutex;

use skein_disk::{DiskStore, DiskTransaction, ScanRequest, WalkDirection};
use skein_store::{
    AFTER_RESERVED, KeyspaceChange, KeyspaceStats, KeyspaceTotals, RESERVED, RowBuffer, RowRef,
    StoredKeyspace, encode_value, is_reserved,
};
use skein_sync::locks::lock;

use super::keys::parse_expiry_key;
use super::{DiskEngine, ExpiryEntries};
use crate::keyspace_ranges::DATABASES_KEY;
use crate::{Result, Ticket};

/// Rows that are read at once.
const ROWS: usize = 256;
const ROW_BYTES: usize = 1 << 20;
/// Entries of the expiry index that are read at once.
const ENTRIES: u64 = 256;

/// The changes of a transaction, by keyspace; `None` for reserved keys of no keyspace.
type PendingChanges = HashMap<Option<StoredKeyspace>, KeyspaceChange>;

/// The totals, and those of the open transaction.
#[derive(Debug, Default)]
pub(super) struct DiskKeyspaces {
    totals: KeyspaceTotals,
    pending: Mutex<PendingChanges>,
}

impl DiskKeyspaces {
    /// Counts the reserved keys of a store.
    ///
    /// # Errors
    /// A page cannot be read or is damaged.
    pub(super) fn count(store: &DiskStore) -> Result<Self> {
        let counted = Self::default();
        let is_ordered = store.shape().is_ordered();
        if !is_ordered && store.get(DATABASES_KEY)?.is_none() {
            return Ok(counted);
        }
        let reserved: (Bound<&[u8]>, Bound<&[u8]>) =
            (Bound::Included(&RESERVED[..]), Bound::Excluded(&AFTER_RESERVED[..]));
        let (first, upper) = if is_ordered { reserved } else { (Bound::Unbounded, Bound::Unbounded) };
        let mut after: Option<Vec<u8>> = None;
        loop {
            let mut found = store.walk(&ScanRequest {
                lower: after.as_deref().map_or(first, Bound::Excluded),
                upper,
                direction: WalkDirection::Forward,
                keys: ROWS,
                bytes: ROW_BYTES,
                values: true,
            })?;
            let mut row = RowBuffer::default();
            for stored in found.entries.iter().filter(|stored| is_reserved(&stored.key)) {
                let expires = row.read(stored.version, &stored.value).and_then(RowRef::expires_at);
                let change = KeyspaceChange { keys: 1, ..KeyspaceChange::of_times(None, expires) };
                counted.totals.note(&stored.key, change);
            }
            match found.entries.pop().filter(|_| found.more) {
                Some(last) => after = Some(last.key),
                None => return Ok(counted),
            }
        }
    }
}

/// The totals of a keyspace and of all reserved keys, with the changes of a transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PendingTotals {
    keyspace: KeyspaceChange,
    reserved: KeyspaceChange,
}

impl DiskEngine {
    /// Begins a transaction.
    pub(crate) fn begin(&self) -> DiskTransaction<'_> {
        let transaction = self.store().begin();
        let mut pending = lock(&self.core().keyspaces.pending);
        if !pending.is_empty() {
            pending.clear();
        }
        drop(pending);
        transaction
    }

    /// Commits a transaction that [`begin`](Self::begin) has returned.
    pub(super) fn commit(&self, transaction: DiskTransaction<'_>) -> Result<Ticket> {
        let keyspaces = &self.core().keyspaces;
        let changes = std::mem::take(&mut *lock(&keyspaces.pending));
        let ticket = transaction.commit()?;
        for (keyspace, change) in changes {
            keyspaces.totals.note_reserved(keyspace, change);
        }
        Ok(ticket)
    }

    /// Notes the change of a reserved key by the open transaction.
    pub(super) fn note_reserved(
        &self,
        transaction: &mut DiskTransaction<'_>,
        key: &[u8],
        change: KeyspaceChange,
    ) -> Result<()> {
        let keyspace = StoredKeyspace::holding(key);
        lock(&self.core().keyspaces.pending).entry(keyspace).or_default().add(change);
        let is_first = change.keys > 0 && keyspace.is_some() && !self.store().shape().is_ordered();
        if is_first && transaction.get(DATABASES_KEY)?.is_none() {
            let mut row = Vec::new();
            encode_value(b"", None, &mut row);
            transaction.set(DATABASES_KEY, &row)?;
            let one = KeyspaceChange { keys: 1, ..KeyspaceChange::default() };
            lock(&self.core().keyspaces.pending).entry(None).or_default().add(one);
        }
        Ok(())
    }

    /// Returns the numbers of keys of a keyspace: of the default one, or of that of a database.
    pub(crate) fn keyspace_stats(&self, keyspace: StoredKeyspace) -> KeyspaceStats {
        let mut store = self.store();
        self.keyspace_stats_with(keyspace, store.len(), None, self.now(), &mut store)
    }

    /// Returns the changes of the open transaction to a keyspace. `REQUIRES:` the caller has it.
    pub(crate) fn pending_totals(&self, keyspace: StoredKeyspace) -> PendingTotals {
        let pending = lock(&self.core().keyspaces.pending);
        let mut totals = PendingTotals::default();
        for (of, change) in &*pending {
            totals.reserved.add(*change);
            if *of == Some(keyspace) {
                totals.keyspace.add(*change);
            }
        }
        totals
    }

    /// Returns the numbers of a keyspace of a store with this number of keys.
    pub(crate) fn keyspace_stats_with(
        &self,
        keyspace: StoredKeyspace,
        keys: u64,
        pending: Option<PendingTotals>,
        now: u64,
        entries: &mut impl ExpiryEntries,
    ) -> KeyspaceStats {
        let (totals, pending) = (&self.core().keyspaces.totals, pending.unwrap_or_default());
        if !keyspace.is_default() {
            let mut total = totals.of(keyspace);
            total.add(pending.keyspace);
            let any = total.expires > 0;
            let overdue =
                if any { self.overdue_in(keyspace, now, entries) } else { KeyspaceChange::default() };
            return total.stats(overdue, now);
        }
        let mut reserved = totals.reserved();
        reserved.add(pending.reserved);
        let overdue = if reserved.expires > 0 {
            self.overdue_in(keyspace, now, entries)
        } else {
            let expired = self.count_overdue(now, entries).cast_signed();
            KeyspaceChange { keys: expired, expires: expired, times: 0 }
        };
        let expiring = entries.expiring_in(keyspace, now);
        let keys = keys.cast_signed() - reserved.keys;
        let expires = expiring.count.cast_signed() - reserved.expires;
        let stats = KeyspaceChange { keys, expires, times: 0 }.stats(overdue, now);
        KeyspaceStats { average_ttl_ms: expiring.average_ttl_ms, ..stats }
    }

    /// Returns the numbers of the keys of a keyspace that have expired and are not removed yet. There
    /// are few unless the cleaner falls behind. Entries that cannot be read do not count.
    fn overdue_in(
        &self,
        keyspace: StoredKeyspace,
        now: u64,
        entries: &mut impl ExpiryEntries,
    ) -> KeyspaceChange {
        let (mut overdue, mut position) = (KeyspaceChange::default(), 0);
        let all = self.count_overdue(now, entries);
        while position < all {
            let most = (all - position).min(ENTRIES);
            let Ok(found) = entries.entries_from(position, most as usize) else { break };
            for (at, key) in found.iter().filter_map(|entry| parse_expiry_key(entry)) {
                if StoredKeyspace::holding(key) == Some(keyspace) {
                    overdue.add(KeyspaceChange { keys: 1, ..KeyspaceChange::of_times(None, Some(at)) });
                }
            }
            position += most;
        }
        overdue
    }

    /// Returns the number of all keys that have expired and are not removed yet, by their rank in the
    /// expiry index. If this fails, they count as keys.
    pub(super) fn count_overdue(&self, now: u64, entries: &mut impl ExpiryEntries) -> u64 {
        if self.has_references() { entries.expired(now).unwrap_or(0) } else { 0 }
    }
}
