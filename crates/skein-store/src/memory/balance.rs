//! What there may be and what there is, at one moment.

use super::{Eviction, MemoryBudget};
use crate::Error;
use crate::store::StoreCore;

/// What there may be, and what there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryBalance {
    pub(crate) limit: usize,
    /// What keeps others out.
    pub(crate) used: usize,
    /// What has gone, but may still be seen; 0 where that is not looked at, because there is room in any case.
    pub(crate) waiting: usize,
    /// What dead collections have left, and is removed bit by bit; likewise.
    pub(crate) dying: usize,
    /// Whether keys may go; then what has gone already is not to drive out others.
    pub(crate) evicts: bool,
}

impl MemoryBalance {
    /// As much waits for readers as there may be; evictions would only make it more.
    pub(crate) fn is_stuck(self) -> bool {
        self.evicts && self.waiting > self.limit
    }

    /// Whether writes that add are to be refused.
    pub(crate) fn is_used_up(self) -> bool {
        self.is_stuck() || self.left() == 0
    }

    /// Bytes that may be added.
    pub(crate) fn left(self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// What a write that adds is told when memory is used up.
    pub(crate) fn refusal(self) -> Error {
        let beside = if self.is_stuck() { self.waiting } else { 0 };
        Error::OverBudget { used: self.used + beside, budget: self.limit }
    }

    /// Bytes that the limit is passed by once `wanted` are added, with what dead collections have left.
    pub(crate) fn over(self, wanted: usize) -> usize {
        let dying = if self.evicts { self.dying } else { 0 };
        self.missing(wanted.saturating_add(dying))
    }

    /// Bytes that have to go so that `wanted` may be added.
    pub(crate) fn missing(self, wanted: usize) -> usize {
        self.used.saturating_add(wanted).saturating_sub(self.limit)
    }
}

impl StoreCore {
    /// What there is, with `beside` bytes besides the store's, of `limit`. If there is much more room than for `wanted`, it takes a few reads, and what is told is the
    /// spans that the allocators hold; what does not fit beside those may well fit within them, so then live bytes are counted.
    pub(crate) fn balance(&self, wanted: usize, beside: usize, limit: usize) -> MemoryBalance {
        let taken = self.memory_taken().saturating_add(beside);
        let evicts = self.budget.eviction() != Eviction::None;
        if taken.saturating_add(wanted) < limit.saturating_sub(MemoryBudget::margin(limit)) {
            return MemoryBalance { limit, used: taken, waiting: 0, dying: 0, evicts };
        }
        let memory = self.memory();
        // Logs bound their buffers themselves, and no key that goes makes them smaller.
        let total = (memory.total() - memory.buffers).saturating_add(beside);
        let (waiting, dying) = (memory.unreclaimed, self.members.dying());
        let used = if evicts { (total - waiting).saturating_sub(dying) } else { total };
        MemoryBalance { limit, used, waiting, dying, evicts }
    }
}
