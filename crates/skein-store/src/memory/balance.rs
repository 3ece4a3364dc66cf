//! Memory in use compared with the limit, at one moment.

use skein_log::Log;

use super::MemoryBudget;
use crate::Error;
use crate::options::Eviction;
use crate::store_keys::StoreKeys;

/// The limit and the memory in use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryBalance {
    pub(crate) limit: usize,
    /// Bytes that count against new keys.
    pub(crate) used: usize,
    /// Bytes that were removed but may still be seen by readers; 0 if they were not counted because
    /// there is room in any case.
    pub(crate) waiting: usize,
    /// Bytes of dead collections, which are removed step by step; 0 if they were not counted.
    pub(crate) dying: usize,
    /// Whether keys may be evicted. If so, removed memory must not cause further evictions.
    pub(crate) evicts: bool,
}

impl MemoryBalance {
    /// Returns whether more than the limit waits for readers. Then evictions would only add to it.
    pub(crate) fn is_stuck(self) -> bool {
        self.evicts && self.waiting > self.limit
    }

    /// Returns whether writes that add memory must be rejected.
    pub(crate) fn is_used_up(self) -> bool {
        self.is_stuck() || self.left() == 0
    }

    /// Returns the bytes that may be added.
    pub(crate) fn left(self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// Returns the error for a write that adds memory while memory is used up.
    pub(crate) fn refusal(self) -> Error {
        let unreclaimed = if self.is_stuck() { self.waiting } else { 0 };
        Error::OverBudget { used: self.used + unreclaimed, budget: self.limit }
    }

    /// Returns the excess over the limit after `wanted` bytes are added, including the rest of dead
    /// collections.
    pub(crate) fn over(self, wanted: usize) -> usize {
        let dying = if self.evicts { self.dying } else { 0 };
        self.missing(wanted.saturating_add(dying))
    }

    /// Returns the bytes that must be freed so that `wanted` bytes may be added.
    pub(crate) fn missing(self, wanted: usize) -> usize {
        self.used.saturating_add(wanted).saturating_sub(self.limit)
    }
}

impl MemoryBudget {
    /// Compares the memory in use, plus `caller_bytes`, with `limit`.
    ///
    /// If there is much more room than `wanted`, this takes a few reads and returns the spans that
    /// the allocators hold. Otherwise it counts live bytes: `wanted` may fit within these spans.
    pub(crate) fn balance(
        &self,
        keys: &StoreKeys,
        log: &Log,
        wanted: usize,
        caller_bytes: usize,
        limit: usize,
    ) -> MemoryBalance {
        let allocated = keys.allocated_bytes().saturating_add(caller_bytes);
        let evicts = self.eviction() != Eviction::None;
        if allocated.saturating_add(wanted) < limit.saturating_sub(Self::margin(limit)) {
            return MemoryBalance { limit, used: allocated, waiting: 0, dying: 0, evicts };
        }
        let memory = self.count(keys, log);
        let total = memory.limited().saturating_add(caller_bytes);
        // Collections that snapshots show wait for the end of the snapshots.
        let (waiting, dying) = (memory.unreclaimed + keys.snapshots.held(), keys.members.dying());
        let used = if evicts { total.saturating_sub(waiting + dying) } else { total };
        MemoryBalance { limit, used, waiting, dying, evicts }
    }
}
