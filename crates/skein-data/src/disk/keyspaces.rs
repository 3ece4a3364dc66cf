//! The numbers of keys of the keyspaces of databases, for the disk engine.
//!
//! The store counts the reserved keys: it changes the counts with each publication, and keeps them
//! in its checkpoints. So no opening has to visit the keys. The numbers of the default keyspace are
//! those of the whole store without the reserved keys.

use skein_disk::{DiskTransaction, ReservedCount};
use skein_model::{KeyspaceChange, KeyspaceStats, StoredKeyspace};

use super::keys::parse_expiry_key;
use super::{DiskEngine, ExpiryEntries};

/// Entries of the expiry index that are read at once.
const ENTRIES: u64 = 256;

/// Returns the number under which the store counts the reserved keys that matter to a keyspace: all
/// of them for the default one. Keyspaces that are not of a database are not counted by themselves.
pub(crate) fn counted_under(keyspace: StoredKeyspace) -> Option<u32> {
    (!keyspace.is_default()).then(|| keyspace.number())
}

fn change_of(count: ReservedCount) -> KeyspaceChange {
    let ReservedCount { keys, expiring: expires, times } = count;
    KeyspaceChange { keys, expires, times }
}

impl DiskEngine {
    /// Begins a transaction.
    pub(crate) fn begin(&self) -> DiskTransaction<'_> {
        self.store().begin()
    }

    /// Returns the numbers of keys of a keyspace: of the default one, or of that of a database.
    pub(crate) fn keyspace_stats(&self, keyspace: StoredKeyspace) -> KeyspaceStats {
        let store = self.store();
        let reserved = store.reserved_count(counted_under(keyspace));
        self.keyspace_stats_with(keyspace, store.len(), reserved, self.now(), &store)
    }

    /// Returns the numbers of a keyspace of a store with this number of keys. `reserved` are the
    /// reserved keys that are [`counted_under`] it.
    pub(crate) fn keyspace_stats_with(
        &self,
        keyspace: StoredKeyspace,
        keys: u64,
        reserved: ReservedCount,
        now: u64,
        entries: &impl ExpiryEntries,
    ) -> KeyspaceStats {
        if !keyspace.is_default() {
            let total = change_of(reserved);
            let any = total.expires > 0;
            let overdue =
                if any { self.overdue_in(keyspace, now, entries) } else { KeyspaceChange::default() };
            return total.stats(overdue, now);
        }
        let reserved = change_of(reserved);
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

    /// Returns the numbers of the keys of a keyspace that have expired and are not removed yet.
    /// There are few unless the cleaner falls behind. Entries that cannot be read do not count.
    fn overdue_in(&self, keyspace: StoredKeyspace, now: u64, entries: &impl ExpiryEntries) -> KeyspaceChange {
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

    /// Returns the number of all keys that have expired and are not removed yet, by their rank in
    /// the expiry index. If this fails, they count as keys.
    pub(super) fn count_overdue(&self, now: u64, entries: &impl ExpiryEntries) -> u64 {
        if self.has_references() { entries.expired(now).unwrap_or(0) } else { 0 }
    }
}
