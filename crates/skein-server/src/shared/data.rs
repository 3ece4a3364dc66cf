//! What a server stores, for the workers that read and write it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::UNIX_EPOCH;

use crate::ServerOptions;
use crate::request::databases::Databases;
use crate::request::scan_cursors::ScanCursors;
use crate::shared::checkpoint_requests::CheckpointRequests;
use crate::shared::migrations::Migrations;
use skein_data::{Durability, Engine, KeyspaceStats, StoreStats, StoredKeyspace, Ticket};

/// The stored data of a server.
#[derive(Debug)]
pub(crate) struct StoredData {
    pub store: Engine,
    pub durability: Durability,
    pub databases: Arc<Databases>,
    pub cursors: ScanCursors,
    pub eviction_attempts: EvictionAttempts,
    /// The checkpoints that clients wait for.
    pub checkpoints: CheckpointRequests,
    /// The keys that move to other servers.
    pub migrations: Migrations,
}

/// The attempts that are left after a change of the limit; 0 if nothing is to be evicted.
#[derive(Debug, Default)]
pub(crate) struct EvictionAttempts(pub AtomicU32);

impl EvictionAttempts {
    /// The number of attempts that may evict nothing, one after the other: removed memory may wait for
    /// readers, or no key may be evicted.
    pub(crate) const VAIN_MAX: u32 = 100;

    /// Lets a worker evict keys, until memory is within its limit.
    pub(crate) fn begin(&self) {
        // Relaxed: a worker that sees it late begins late.
        self.0.store(Self::VAIN_MAX, Ordering::Relaxed);
    }
}

impl StoredData {
    pub(crate) fn new(store: Engine, databases: Arc<Databases>, options: &ServerOptions) -> Self {
        let seed = UNIX_EPOCH.elapsed().map_or(1, |since| since.as_millis() as u64);
        Self {
            durability: store.durability(),
            store,
            databases,
            cursors: ScanCursors::new(
                options.scan_cursors_max,
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12,
            ),
            eviction_attempts: EvictionAttempts::default(),
            checkpoints: CheckpointRequests::default(),
            migrations: Migrations::default(),
        }
    }

    /// Returns the epoch that replies to these writes must wait for: only level `sync` promises
    /// durability before the reply.
    #[inline]
    pub(crate) fn epoch_to_wait_for(&self, ticket: Ticket) -> Option<u64> {
        (self.durability == Durability::Sync && ticket.epoch > 0).then_some(ticket.epoch)
    }

    /// Returns the numbers of each database that has keys, from those of its keyspace.
    pub(crate) fn keyspaces(
        &self,
        mut stats: impl FnMut(StoredKeyspace) -> KeyspaceStats,
    ) -> Vec<(u32, KeyspaceStats)> {
        let of = |database| (database, stats(self.databases.keyspace(database)));
        (0..self.databases.count()).map(of).filter(|(_, stats)| stats.keys > 0).collect()
    }

    /// Returns the statistics of the engine with the keys of all databases, without rows of the
    /// server's own and of other keyspaces.
    pub(crate) fn store_stats(&self) -> StoreStats {
        let mut stats = self.store.stats();
        let keyspaces = self.keyspaces(|keyspace| self.store.keyspace_stats(keyspace));
        stats.keys = keyspaces.iter().map(|(_, stats)| stats.keys).sum();
        stats
    }
}
