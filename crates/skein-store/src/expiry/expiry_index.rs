//! The expiry index: keys that expire, ordered by time. It is derived from the rows and exists only
//! in memory.
//!
//! ```text
//!   key of an entry:   expires at, 8 bytes, big-endian │ the user's key         no value
//! ```
//!
//! A writer that has replaced, inserted or removed an expiring row updates the index afterwards,
//! under a lock for the stripe of the key. It reads the time of the row that is present *by then*.
//! It removes the entry of the replaced row, unless that has the same time, and adds the entry of
//! the present row. Two writers of a key may do this in either order: the last one sees the last
//! row.
//!
//! # Invariants
//! 1. An entry is added only while its lock is held and the key's row has that time. A writer that
//!    replaces the row takes the lock later and removes the entry. So when all writers are done,
//!    the entries match the rows.
//! 2. A holder of the lock waits for nothing but the latches of this index.
//! 3. `sums` has, for each stripe, the sum of the times of its entries.

use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Mutex};

use skein_index::memory::CachePadded;
use skein_index::page_tree::PackPass;
use skein_index::{Inline, LocalGuard, MemoryUsage, OrderedIndex, PageTree, ScanDirection, walk};
use skein_model::{KeyspaceChange, KeyspaceTotals, RowRef, StoredKeyspace};
use skein_sync::locks::lock;

use crate::index::StoreIndex;

const TIME: usize = size_of::<u64>();

/// The number of stripes of keys. With some dozens of threads two seldom meet, and never for long.
const STRIPES: usize = 64;

/// The keys that expire, by time.
#[derive(Debug)]
pub(crate) struct ExpiryIndex {
    /// Any index that allows long keys would do. This one takes the least memory.
    entries: PageTree<Inline<()>>,
    sums: Box<[CachePadded<Mutex<u128>>]>,
    /// The numbers of the keyspaces of databases.
    keyspaces: Arc<KeyspaceTotals>,
}

/// Statistics of the keys that expire and have not expired yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExpiryStats {
    pub(crate) keys: usize,
    pub(crate) average_ttl_ms: u64,
}

/// Returns the bounds of the entries with a time before `end`.
fn before(end: &[u8; TIME]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Unbounded, Bound::Excluded(&end[..]))
}

fn entry(at: u64, key: &[u8]) -> Vec<u8> {
    [&at.to_be_bytes()[..], key].concat()
}

/// Splits an entry into time and key.
pub(crate) fn parts(entry: &[u8]) -> (u64, &[u8]) {
    entry.split_first_chunk().map_or((0, entry), |(time, key)| (u64::from_be_bytes(*time), key))
}

impl ExpiryIndex {
    /// Continues a pass of packing, as [`StoreIndex::pack`].
    pub(crate) fn pack(&self, pass: &mut PackPass, pages: usize) -> bool {
        self.entries.pack(pass, pages, &self.entries.collector().enter())
    }

    pub(crate) fn new(keyspaces: Arc<KeyspaceTotals>) -> Self {
        let sums = (0..STRIPES).map(|_| CachePadded::default()).collect();
        Self { entries: PageTree::new(), sums, keyspaces }
    }

    /// Returns the number of keys that expire, including expired ones that are not removed yet.
    pub(crate) fn len(&self) -> usize {
        OrderedIndex::<Inline<()>>::len(&self.entries)
    }

    /// Returns the number of keys that expire after `now`, and their average remaining time. Exact
    /// while no thread writes.
    pub(crate) fn numbers(&self, now: u64) -> ExpiryStats {
        let (mut past, mut past_sum) = (0, 0);
        self.walk(now, |at, _| {
            past += 1;
            past_sum += u128::from(at);
            ControlFlow::Continue(())
        });
        let sum: u128 = self.sums.iter().map(|sum| *lock(sum)).sum();
        let keys = self.len().saturating_sub(past);
        let ahead = sum.saturating_sub(past_sum).saturating_sub(u128::from(now) * keys as u128);
        let average = ahead.checked_div(keys as u128).unwrap_or(0);
        ExpiryStats { keys, average_ttl_ms: u64::try_from(average).unwrap_or(u64::MAX) }
    }

    pub(crate) fn memory(&self) -> MemoryUsage {
        OrderedIndex::<Inline<()>>::memory(&self.entries)
    }

    /// As [`OrderedIndex::allocated_bytes`].
    pub(crate) fn allocated_bytes(&self) -> usize {
        OrderedIndex::<Inline<()>>::allocated_bytes(&self.entries)
    }

    /// Updates the index to the present row of `key`, after a row that expired at `replaced` was
    /// replaced or removed, or an expiring row was put.
    pub(crate) fn refresh(
        &self,
        index: &StoreIndex,
        key: &[u8],
        replaced: Option<u64>,
        guard: &LocalGuard<'_>,
    ) {
        let mut sum = lock(self.sum_of(key));
        let present = index.get(key, guard).and_then(RowRef::expires_at);
        let own = self.entries.collector().enter();
        if let Some(at) = replaced.filter(|_| replaced != present)
            && self.entries.remove(&entry(at, key), &own).is_some()
        {
            *sum -= u128::from(at);
            self.keyspaces.note(key, KeyspaceChange::of_times(Some(at), None));
        }
        if let Some(at) = present
            && self.add(at, key, &own)
        {
            *sum += u128::from(at);
            self.keyspaces.note(key, KeyspaceChange::of_times(None, Some(at)));
        }
    }

    /// Returns the number of all keys that expire, and the sum of their times.
    pub(crate) fn totals(&self) -> KeyspaceChange {
        let sum: u128 = self.sums.iter().map(|sum| *lock(sum)).sum();
        let times = i128::try_from(sum).unwrap_or(i128::MAX);
        KeyspaceChange { keys: 0, expires: (self.len() as u64).cast_signed(), times }
    }

    /// Returns the numbers of the keys of a keyspace that have expired at `now` and are not removed
    /// yet.
    pub(crate) fn overdue_in(&self, keyspace: StoredKeyspace, now: u64) -> KeyspaceChange {
        let mut overdue = KeyspaceChange::default();
        self.walk(now, |at, key| {
            if StoredKeyspace::holding(key) == Some(keyspace) {
                overdue.add(KeyspaceChange { keys: 1, ..KeyspaceChange::of_times(None, Some(at)) });
            }
            ControlFlow::Continue(())
        });
        overdue
    }

    fn sum_of(&self, key: &[u8]) -> &Mutex<u128> {
        &self.sums[crc32c::crc32c(key) as usize % STRIPES]
    }

    /// Adds an entry. Returns whether it was absent.
    fn add(&self, at: u64, key: &[u8], own: &LocalGuard<'_>) -> bool {
        match self.entries.insert_if_absent(&entry(at, key), Inline(()), own) {
            Ok(before) => before.is_none(),
            // Keys that are too long cannot expire, and nothing else is refused. An expired key
            // would still be hidden.
            Err(refused) => {
                tracing::error!("the expiry index refused an expiring key: {refused}");
                false
            }
        }
    }

    /// Adds times and keys of rows and clears `found`. REQUIRES: no thread writes meanwhile, as
    /// during a recovery.
    pub(crate) fn load(&self, found: &mut Vec<(u64, Vec<u8>)>) {
        found.sort_unstable();
        let own = self.entries.collector().enter();
        for (at, key) in found.drain(..) {
            if self.add(at, &key, &own) {
                *lock(self.sum_of(&key)) += u128::from(at);
                self.keyspaces.note(&key, KeyspaceChange::of_times(None, Some(at)));
            }
        }
    }

    /// Calls `each` with time and key of the entries with a time before `end`, in order, until it
    /// breaks.
    fn walk(&self, end: u64, mut each: impl FnMut(u64, &[u8]) -> ControlFlow<()>) {
        let own = self.entries.collector().enter();
        let (end, mut cursor) = (end.to_be_bytes(), self.entries.cursor(&own));
        let (near, far) = before(&end);
        walk(&mut cursor, near, far, ScanDirection::Forward, |entry, ()| {
            let (at, key) = parts(entry);
            each(at, key)
        });
    }

    /// Returns the number of entries with a time before `end`, by visiting them. There are few
    /// unless the expiry thread falls behind.
    pub(crate) fn count_before(&self, end: u64) -> usize {
        let mut count = 0;
        self.walk(end, |_, _| {
            count += 1;
            ControlFlow::Continue(())
        });
        count
    }

    /// Returns entries that divide the index into about `count` ranges, in order.
    pub(crate) fn split_points(&self, count: usize) -> Vec<Vec<u8>> {
        let own = self.entries.collector().enter();
        OrderedIndex::<Inline<()>>::split_points(&self.entries, count, &own)
    }

    /// Returns the next entries after `place`, or the first ones if it is empty; at most `most`.
    pub(crate) fn entries_after(&self, place: &[u8], most: usize) -> Vec<Vec<u8>> {
        let own = self.entries.collector().enter();
        let (mut cursor, mut found) = (self.entries.cursor(&own), Vec::new());
        let near = if place.is_empty() { Bound::Unbounded } else { Bound::Excluded(place) };
        walk(&mut cursor, near, Bound::Unbounded, ScanDirection::Forward, |entry, ()| {
            found.push(entry.to_vec());
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        found
    }

    /// Returns the first entries with a time before `end`, at most `most`.
    pub(crate) fn first_before(&self, end: u64, most: usize) -> Vec<(u64, Vec<u8>)> {
        let mut found = Vec::new();
        self.walk(end, |at, key| {
            found.push((at, key.to_vec()));
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        found
    }
}
