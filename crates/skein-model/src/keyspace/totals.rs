//! The numbers of keys in the keyspaces of databases: all keys, and those that expire.
//!
//! ```text
//!   a write changes a key ─► reserved? ─┬─ no: nothing
//!                                       └─ yes: `all`, and the entry of its database
//!   keys of database 0 = all keys of the store - `all`
//! ```
//!
//! # Invariants
//! 1. While no thread writes, the totals equal the numbers that a scan of the keys finds.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock};

use skein_index::memory::CachePadded;
use skein_sync::locks::lock;

use super::{DATABASES_MAX, StoredKeyspace, is_reserved};

/// The numbers of keys of one keyspace at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyspaceStats {
    /// The number of keys.
    pub keys: usize,
    /// The number of keys that expire.
    pub expires: usize,
    /// The average remaining time of those, in milliseconds.
    pub average_ttl_ms: u64,
}

/// The change that a write makes to the numbers of a keyspace, or the numbers themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyspaceChange {
    /// Keys that were added, less those that were removed.
    pub keys: i64,
    /// The same of keys that expire.
    pub expires: i64,
    /// The same of their times, in milliseconds since 1970.
    pub times: i128,
}

impl KeyspaceChange {
    /// Adds another change.
    pub fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.expires += other.expires;
        self.times += other.times;
    }

    /// Returns the change by a key with the expiry time `old` before and `new` after it.
    pub fn of_times(old: Option<u64>, new: Option<u64>) -> Self {
        let count = |time: Option<u64>| i64::from(time.is_some());
        let sum = |time: Option<u64>| i128::from(time.unwrap_or(0));
        Self { keys: 0, expires: count(new) - count(old), times: sum(new) - sum(old) }
    }

    /// Returns these numbers as of a time at which `overdue` of the keys have expired.
    pub fn stats(self, overdue: Self, now: u64) -> KeyspaceStats {
        let count = |all: i64, gone: i64| usize::try_from(all - gone).unwrap_or(0);
        let expires = count(self.expires, overdue.expires);
        let ahead = self.times - overdue.times - i128::from(now) * expires as i128;
        let average = u64::try_from(ahead.max(0)).unwrap_or(u64::MAX).checked_div(expires as u64);
        KeyspaceStats { keys: count(self.keys, overdue.keys), expires, average_ttl_ms: average.unwrap_or(0) }
    }
}

/// The totals of one keyspace.
#[derive(Debug, Default)]
pub struct KeyspaceTotal {
    keys: AtomicI64,
    /// Keys that expire, and the sum of their times.
    expiring: Mutex<(i64, i128)>,
}

impl KeyspaceTotal {
    fn add(&self, change: KeyspaceChange) {
        // Relaxed: a count.
        self.keys.fetch_add(change.keys, Ordering::Relaxed);
        if change.expires != 0 || change.times != 0 {
            let mut expiring = lock(&self.expiring);
            expiring.0 += change.expires;
            expiring.1 += change.times;
        }
    }

    fn sum(&self) -> KeyspaceChange {
        let (expires, times) = *lock(&self.expiring);
        KeyspaceChange { keys: self.keys.load(Ordering::Relaxed), expires, times }
    }
}

/// The totals of all reserved keys, and of the keyspaces of databases.
///
/// ```
/// use skein_model::{KeyspaceChange, KeyspaceTotals, StoredKeyspace};
///
/// let (totals, third) = (KeyspaceTotals::default(), StoredKeyspace::of_database(3));
/// let one = KeyspaceChange { keys: 1, ..KeyspaceChange::default() };
/// totals.note(&third.stored(b"goose"), one);
/// totals.note(b"a key of the default keyspace", one);
/// assert_eq!((totals.of(third).keys, totals.reserved().keys), (1, 1));
/// ```
#[derive(Debug, Default)]
pub struct KeyspaceTotals {
    all: KeyspaceTotal,
    /// By the number of the database; made by the first key.
    databases: OnceLock<Box<[CachePadded<KeyspaceTotal>]>>,
}

impl KeyspaceTotals {
    /// Notes a change of a key, if it is reserved.
    #[inline]
    pub fn note(&self, key: &[u8], change: KeyspaceChange) {
        if is_reserved(key) {
            self.note_reserved(StoredKeyspace::holding(key), change);
        }
    }

    /// Notes a change of a reserved key.
    #[cold]
    pub fn note_reserved(&self, keyspace: Option<StoredKeyspace>, change: KeyspaceChange) {
        self.all.add(change);
        let Some(database) = keyspace.and_then(StoredKeyspace::database) else { return };
        let make = || (0..DATABASES_MAX).map(|_| CachePadded::default()).collect();
        self.databases.get_or_init(make)[database as usize].add(change);
    }

    /// Returns the totals of all reserved keys.
    pub fn reserved(&self) -> KeyspaceChange {
        self.all.sum()
    }

    /// Returns the totals of the keyspace of a database. Other keyspaces are not counted by
    /// themselves.
    pub fn of(&self, keyspace: StoredKeyspace) -> KeyspaceChange {
        let databases = keyspace.database().zip(self.databases.get());
        databases.map_or_else(KeyspaceChange::default, |(at, all)| all[at as usize].sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_over_the_keys_that_have_not_expired() {
        let mut total = KeyspaceChange { keys: 5, ..KeyspaceChange::default() };
        for time in [500, 1100, 1300] {
            total.add(KeyspaceChange::of_times(None, Some(time)));
        }
        let overdue = KeyspaceChange { keys: 1, ..KeyspaceChange::of_times(None, Some(500)) };
        let expected = KeyspaceStats { keys: 4, expires: 2, average_ttl_ms: 200 };
        assert_eq!(total.stats(overdue, 1000), expected);
        total.add(KeyspaceChange::of_times(Some(1100), None));
        assert_eq!(total.stats(overdue, 1000).average_ttl_ms, 300);
    }

    #[test]
    fn rows_outside_of_databases_count_together_only() {
        let (totals, change) = (KeyspaceTotals::default(), KeyspaceChange { keys: 1, ..Default::default() });
        for key in [&b"\xffSK\0\0\0\0\0"[..], b"\xffSK\0\0\0\0\x07k", b"plain", b"\xff"] {
            totals.note(key, change);
        }
        assert_eq!((totals.reserved().keys, totals.of(StoredKeyspace::of_number(7)).keys), (2, 0));
    }
}
