//! Disconnects the largest clients while all clients together take more memory than
//! `maxmemory-clients`.
//!
//! ```text
//!   a worker, after a turn: clients over the limit? ─► the largest by its record ─► its worker closes it
//!                                                   └► the next largest, until the rest fits
//! ```
//!
//! Each worker compares the sum once a turn, which is a few reads. Only above the limit it visits
//! the records of all clients. A client that was chosen counts no more, although its worker frees
//! it later. Clients with `CLIENT NO-EVICT` are counted and never chosen.
//!
//! Source: Redis's documentation of
//! [client eviction](https://redis.io/docs/latest/develop/reference/clients/).

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use crate::clients::client_registry::ClientRecord;
use crate::shared::ServerShared;

/// The smallest limit that takes effect, as in Redis: below it, no client could work.
const LIMIT_MIN: usize = 128 << 10;

/// The memory that all clients may take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientMemoryLimit {
    /// Clients are never disconnected for their memory.
    #[default]
    Unlimited,
    /// This number of bytes, at least 128 KiB.
    Bytes(usize),
    /// Percent of the store's memory limit, at most 100. Without such a limit, clients have no
    /// limit.
    Percent(u8),
}

/// As CONFIG shows it: bytes, percent of `maxmemory`, or 0.
impl std::fmt::Display for ClientMemoryLimit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unlimited => out.write_str("0"),
            Self::Bytes(bytes) => bytes.fmt(out),
            Self::Percent(percent) => write!(out, "{percent}%"),
        }
    }
}

/// The limit, which CONFIG SET changes, and the count of disconnected clients.
#[derive(Debug, Default)]
pub(crate) struct ClientEviction {
    /// Bytes; percent if negative; 0 for no limit.
    limit: AtomicI64,
    evicted: AtomicU64,
    /// Held by the worker that chooses.
    choosing: Mutex<()>,
}

impl ClientEviction {
    pub(crate) fn new(limit: ClientMemoryLimit) -> Self {
        let eviction = Self::default();
        eviction.set(limit);
        eviction
    }

    pub(crate) fn set(&self, limit: ClientMemoryLimit) {
        let number = match limit {
            ClientMemoryLimit::Unlimited => 0,
            ClientMemoryLimit::Bytes(bytes) => i64::try_from(bytes).unwrap_or(i64::MAX),
            ClientMemoryLimit::Percent(percent) => -i64::from(percent),
        };
        self.limit.store(number, Ordering::Relaxed);
    }

    pub(crate) fn limit(&self) -> ClientMemoryLimit {
        match self.limit.load(Ordering::Relaxed) {
            0 => ClientMemoryLimit::Unlimited,
            bytes @ 1.. => ClientMemoryLimit::Bytes(usize::try_from(bytes).unwrap_or(usize::MAX)),
            percent => ClientMemoryLimit::Percent(percent.unsigned_abs().min(100) as u8),
        }
    }

    /// Returns the number of clients that were disconnected since the start.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }
}

/// Returns the limit in bytes, if there is one.
fn limit_bytes(shared: &ServerShared) -> Option<usize> {
    let bytes = match shared.clients.eviction.limit() {
        ClientMemoryLimit::Unlimited => return None,
        ClientMemoryLimit::Bytes(bytes) => bytes,
        // The division is first, so that the product cannot overflow.
        ClientMemoryLimit::Percent(percent) => {
            shared.data.store.memory_limit().0? / 100 * usize::from(percent)
        }
    };
    Some(bytes.max(LIMIT_MIN))
}

/// Disconnects the largest clients until the others are within the limit.
#[inline]
pub(crate) fn evict_clients(shared: &ServerShared) {
    if shared.clients.eviction.limit.load(Ordering::Relaxed) != 0 {
        evict_over_limit(shared);
    }
}

#[cold]
fn evict_over_limit(shared: &ServerShared) {
    let Some(limit) = limit_bytes(shared).filter(|limit| shared.workers.buffer_bytes() > *limit) else {
        return;
    };
    // Another worker that chooses does the work of this one, too.
    let _choosing = match shared.clients.eviction.choosing.try_lock() {
        Ok(choosing) => choosing,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    let mut clients = shared.clients.registry.all();
    let mut used: usize = clients.iter().map(|client| client.sizes.total()).sum();
    clients.retain(|client| !client.attributes().no_evict);
    clients.sort_unstable_by_key(|client| client.sizes.total());
    while used > limit
        && let Some(largest) = clients.pop()
    {
        used = used.saturating_sub(disconnect(shared, &largest));
    }
}

/// Disconnects a client. Returns its bytes.
fn disconnect(shared: &ServerShared, client: &Arc<ClientRecord>) -> usize {
    let bytes = client.sizes.total();
    if shared.disconnect(client) {
        tracing::warn!(
            client = client.place.client,
            bytes,
            "a client is disconnected: all clients together take more than maxmemory-clients"
        );
        shared.clients.eviction.evicted.fetch_add(1, Ordering::Relaxed);
    }
    bytes
}
