//! The parts of a store that reads and writes need: the keys in memory, the log that makes writes
//! durable, and the memory budget.
//!
//! Files and background threads are not part of it; see `store`.

use std::sync::{Arc, OnceLock};

use skein_index::{ComputeAction, Computed, IndexError, LocalGuard};
use skein_model::{EXPIRING_KEY_BYTES_MAX, KEY_BYTES_MAX, Row, RowRef, is_reserved};
use skein_sync::atomic::{AtomicBool, AtomicU64};

use crate::commit_log::CommitLog;
use crate::expiry::OperationTime;
use crate::index::IndexPlace;
use crate::memory::{MemoryBalance, MemoryBudget, MemoryUse};
use crate::options::{StoreLimits, StoreOptions};
use crate::removal_observer::RemovalObserver;
use crate::snapshot::{self, RowKeeper};
use crate::store_keys::StoreKeys;
use crate::{Error, Result};

/// The state that reads and writes of a store share.
pub(crate) struct StoreCore {
    pub(crate) keys: StoreKeys,
    pub(crate) commit: CommitLog,
    pub(crate) budget: MemoryBudget,
    /// The number of expired keys that the expiry thread has removed.
    pub(crate) expired: AtomicU64,
    /// The expiry thread leaves expired keys where they are.
    pub(crate) expiry_paused: AtomicBool,
    /// Hears which expired keys are removed.
    pub(crate) removal_observer: OnceLock<Arc<dyn RemovalObserver>>,
    /// What a test does in the middle of the next write.
    #[cfg(feature = "interference")]
    pub(crate) interference: crate::interference::Interference,
    pub(crate) options: StoreOptions,
}

impl StoreCore {
    pub(crate) fn new(keys: StoreKeys, commit: CommitLog, options: StoreOptions) -> Self {
        let budget = MemoryBudget::new(commit.log.logs());
        let StoreLimits { memory_bytes, eviction, .. } = options.limits;
        budget.set_limit(&keys, memory_bytes, eviction, &options.clock);
        let (expired, expiry_paused) = (AtomicU64::new(0), AtomicBool::new(false));
        Self {
            keys,
            commit,
            budget,
            expired,
            expiry_paused,
            removal_observer: OnceLock::new(),
            #[cfg(feature = "interference")]
            interference: crate::interference::Interference::default(),
            options,
        }
    }

    /// Returns the time of an operation: the present, or the frozen time.
    #[inline]
    pub(crate) fn time(&self, frozen: Option<u64>) -> OperationTime<'_> {
        OperationTime::new(&self.options.clock, frozen)
    }

    /// Changes a key of the main index as
    /// [`StoreIndex::compute_at`](crate::index::StoreIndex::compute_at) does. If the writer `keeps`
    /// replaced rows, the row is kept for the live snapshots.
    ///
    /// # Safety
    /// As for `StoreIndex::compute_at`.
    #[inline]
    pub(crate) unsafe fn change_row<'g>(
        &'g self,
        keeps: bool,
        key: &[u8],
        place: Option<IndexPlace>,
        change: impl FnOnce(Option<RowRef<'_>>) -> ComputeAction<Row>,
        guard: &'g LocalGuard<'_>,
    ) -> std::result::Result<Computed<'g, Row>, IndexError> {
        let (keys, log) = (&self.keys, &self.commit.log);
        let keeper = keeps.then(|| RowKeeper::main(&keys.index, &keys.members, log));
        let mut removes = false;
        let change = |current: Option<RowRef<'_>>| {
            let action = change(current);
            removes = matches!(action, ComputeAction::Remove);
            action
        };
        // SAFETY: guaranteed by the caller.
        let done = unsafe { snapshot::compute_at(&keys.index, keeper, key, place, change, guard) }?;
        if done.changed && is_reserved(key) {
            keys.note_key(key, done.before.is_some(), !removes);
        }
        Ok(done)
    }

    /// Counts live bytes by part; see [`MemoryBudget::count`].
    pub(crate) fn memory(&self) -> MemoryUse {
        self.budget.count(&self.keys, &self.commit.log)
    }

    /// Compares the memory in use with `limit`; see [`MemoryBudget::balance`].
    pub(crate) fn balance(&self, wanted: usize, caller_bytes: usize, limit: usize) -> MemoryBalance {
        self.budget.balance(&self.keys, &self.commit.log, wanted, caller_bytes, limit)
    }

    /// Errors if a key or a value is over its limit.
    #[inline]
    pub(crate) fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<()> {
        let limits = &self.options.limits;
        within(key, limits.key_bytes.min(self.options.index.key_bytes_max()))?;
        Error::check_value_len(bytes, limits.value_bytes)
    }

    /// Errors if no store can hold the key. A key over the limit of the options may exist, from an
    /// earlier run.
    #[inline]
    pub(crate) fn check_key(key: &[u8]) -> Result<()> {
        within(key, KEY_BYTES_MAX)
    }

    /// Errors if the key is too long to expire.
    #[inline]
    pub(crate) fn check_expiry(key: &[u8], expires: Option<u64>) -> Result<()> {
        if expires.is_some() { within(key, EXPIRING_KEY_BYTES_MAX) } else { Ok(()) }
    }
}

#[inline]
fn within(key: &[u8], limit: usize) -> Result<()> {
    if key.len() > limit { Err(Error::KeyTooLong { len: key.len(), limit }) } else { Ok(()) }
}
