//! The statistics of a server since their last reset, and the memory that it uses.

use std::sync::atomic::Ordering::Relaxed;

use skein_sync::locks::lock;

use super::ServerShared;
use crate::observe::CommandTotals;
use skein_data::StoreStats;

/// Defines the counts, with the function that reads each one.
macro_rules! counts {
    ($($field:ident: $read:expr,)*) => {
        /// Counts that CONFIG RESETSTAT resets.
        #[derive(Debug, Default, Clone, Copy)]
        pub(crate) struct ServerCounts {
            $(pub $field: u64,)*
        }

        impl ServerCounts {
            /// Returns the counts since the start.
            pub(crate) fn now(shared: &ServerShared, store: &StoreStats) -> Self {
                $(let $field: fn(&ServerShared, &StoreStats) -> u64 = $read;)*
                Self { $($field: $field(shared, store),)* }
            }

            /// Returns the difference to earlier counts. The later ones may have been read before them.
            fn since(&self, before: &Self) -> Self {
                Self { $($field: self.$field.saturating_sub(before.$field),)* }
            }
        }
    };
}

counts! {
    accepted: |shared, _| shared.clients.accepted.load(Relaxed),
    refused: |shared, _| shared.clients.refused.load(Relaxed),
    requests: |shared, _| shared.workers.total(|counts| &counts.requests),
    bytes_in: |shared, _| shared.workers.total(|counts| &counts.bytes_in),
    bytes_out: |shared, _| shared.workers.total(|counts| &counts.bytes_out),
    reads: |shared, _| shared.workers.total(|counts| &counts.reads),
    writes: |shared, _| shared.workers.total(|counts| &counts.writes),
    hits: |shared, _| shared.workers.total(|counts| &counts.hits),
    misses: |shared, _| shared.workers.total(|counts| &counts.misses),
    expired: |_, store| store.expired,
    evicted: |_, store| store.evicted,
    freed_collections: |_, store| store.freed_collections,
    evicted_clients: |shared, _| shared.clients.eviction.evicted(),
}

/// The counts at the last reset of the statistics.
#[derive(Debug, Default)]
pub(super) struct ResetBaseline {
    counts: ServerCounts,
    seen: CommandTotals,
}

impl ServerShared {
    /// Returns the counts since the last reset.
    pub(crate) fn statistics(&self, store: &StoreStats) -> ServerCounts {
        // Counted under the lock, so that no reset happens between the two.
        let before = lock(&self.counted_before);
        ServerCounts::now(self, store).since(&before.counts)
    }

    pub(crate) fn reset_statistics(&self) {
        let mut before = lock(&self.counted_before);
        let counts = ServerCounts::now(self, &self.data.store.stats());
        *before = ResetBaseline { counts, seen: self.workers.observed() };
    }

    /// Returns the counts of commands since the last reset.
    pub(crate) fn seen(&self) -> CommandTotals {
        let before = lock(&self.counted_before);
        let mut seen = self.workers.observed();
        seen.subtract(&before.seen);
        seen
    }

    /// Returns all bytes that count as used: by the engine, the connections, and the logs of
    /// requests.
    pub(crate) fn used_bytes(&self, stats: &StoreStats) -> usize {
        stats.index_bytes
            + stats.row_bytes
            + stats.unreclaimed_bytes
            + stats.memory.buffers
            + self.memory_outside_store()
    }

    /// Returns the highest number of used bytes so far.
    pub(crate) fn peak_bytes(&self, stats: &StoreStats) -> usize {
        self.used_bytes(stats).max(stats.memory.peak)
    }

    /// Returns all memory that counts towards the limit, besides the store's.
    pub(crate) fn memory_outside_store(&self) -> usize {
        self.workers.buffer_bytes()
            + self.observing.slowlog.memory()
            + self.acl.log.memory()
            + self.scripts.cache.bytes()
            + self.scripts.functions.bytes()
            + self.notices.key_observer.tracking.memory()
    }
}
