//! How much memory a store has, how much it may have, and which keys go when it has no more.
//!
//! ```text
//!   count    arenas of the indexes and of the rows, orders by score, buffers of the logs ──► MemoryUse, by part        here
//!   limit    a write asks for room ─┬─ there is room ─────────────────────────► it is done
//!                                   ├─ none, and no key may go ───────────────► refused before anything changes
//!                                   └─ none, and keys may go ─┬─ Lru: a hand goes round the keys, and takes what was not used for long     `hand`, `ages`
//!                                                             └─ Ttl: the first of the order by time
//! ```
//!
//! The count is of live bytes, as the allocators have rounded them. It takes a look at some hundred counters; so a write looks first at what is never less, the
//! spans that the arenas have taken, which is a few reads. What was replaced or removed and waits for its readers counts, too, but no other keys go for it.
//!
//! An eviction is a removal as a client's: with a version, a record in the log, and an end in the order by time. So a key that went does not come back after a crash.

pub(crate) mod age_clock;
mod balance;
mod clock_hand;

use std::sync::Mutex;

use skein_sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

pub(crate) use balance::MemoryBalance;
pub(crate) use clock_hand::ClockHand;

use crate::options::StoreLimits;
use crate::store::StoreCore;
use crate::{Error, Result};

/// Which keys go when there is no more memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Eviction {
    /// None: writes that add are refused.
    #[default]
    None,
    /// Those that were not used for long: about the least recently used of all.
    Lru,
    /// Of those that expire, the ones that do so first.
    Ttl,
}

impl Eviction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Lru, Self::Ttl];

    /// Its name, which is Redis's.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "noeviction",
            Self::Lru => "allkeys-lru",
            Self::Ttl => "volatile-ttl",
        }
    }
}

impl std::str::FromStr for Eviction {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(|one| format!("{:?}", one.name())).join(", ");
            Error::BadOption {
                name: "eviction",
                why: format!("there is none named {name:?}; those known are {known}"),
            }
        })
    }
}

impl std::fmt::Display for Eviction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Live bytes of a store, by part; the allocators' rounding is included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Nodes of the indexes.
    pub nodes: usize,
    /// Sorted sets and hashes of many columns: the orders of their members, and what is known of each.
    pub orders: usize,
    /// Bytes of keys and members outside the nodes.
    pub keys: usize,
    /// Rows: values, columns, and what surrounds them.
    pub rows: usize,
    /// Buffers of the logs.
    pub buffers: usize,
    /// Replaced or removed, but maybe still seen by a reader. (Rows are told apart only where memory has a limit.)
    pub unreclaimed: usize,
    /// What the allocators hold for all this, in whole spans of 64 KiB: never less than the sum of the rest.
    pub held: usize,
    /// Address space taken from the system for it, in whole regions of 2 MiB: never less than that.
    pub reserved: usize,
    /// The most live bytes that there were when they were counted, since the store was opened.
    pub peak: usize,
}

impl MemoryUse {
    /// All live bytes.
    pub fn total(&self) -> usize {
        self.nodes + self.orders + self.keys + self.rows + self.buffers + self.unreclaimed
    }
}

/// Bytes that a key takes in nodes, about.
pub(crate) const NODE_SHARE: usize = 48;

/// What a write may add to a key without a look at the limit, if it was admitted by what it brought.
const GROWTH_MIN: usize = 64 << 10;

/// No limit. A limit of 0 bytes is one of 1: neither lets anything in.
const UNLIMITED: usize = 0;

/// How much there may be.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit: AtomicUsize,
    eviction: AtomicU8,
    /// The most that was ever counted.
    peak: AtomicUsize,
    /// Keys that were evicted.
    pub(crate) evicted: AtomicU64,
    /// One for each log: sessions of different logs do not meet.
    pub(crate) hands: Box<[Mutex<ClockHand>]>,
}

impl MemoryBudget {
    pub(crate) fn new(logs: usize) -> Self {
        Self {
            limit: AtomicUsize::new(UNLIMITED),
            eviction: AtomicU8::new(0),
            peak: AtomicUsize::new(0),
            evicted: AtomicU64::new(0),
            hands: (0..logs).map(|_| Mutex::default()).collect(),
        }
    }

    /// The limit in bytes, if there is one.
    #[inline]
    pub(crate) fn limit(&self) -> Option<usize> {
        // Relaxed: seen soon; ordered with nothing.
        Some(self.limit.load(Ordering::Relaxed)).filter(|limit| *limit != UNLIMITED)
    }

    pub(crate) fn eviction(&self) -> Eviction {
        // Relaxed: as above.
        let at = self.eviction.load(Ordering::Relaxed) as usize;
        Eviction::ALL.get(at).copied().unwrap_or_default()
    }

    /// What is left free when keys are evicted, so that not every write has to.
    pub(crate) fn margin(limit: usize) -> usize {
        (limit / 64).min(4 << 20)
    }
}

impl StoreCore {
    /// Sets the limit and what goes beyond it.
    pub(crate) fn set_limit(&self, limit: Option<usize>, eviction: Eviction) {
        let ages = self.rows.ages();
        let at = Eviction::ALL.iter().position(|one| *one == eviction).unwrap_or(0);
        self.budget.eviction.store(at as u8, Ordering::Relaxed);
        let bytes = limit.map_or(UNLIMITED, |limit| limit.max(1));
        self.budget.limit.store(bytes, Ordering::Relaxed);
        ages.note_use(limit.is_some() && eviction == Eviction::Lru);
        ages.count_left(limit.is_some());
    }

    /// The limits that the options give.
    pub(crate) fn set_limits(&self, limits: &StoreLimits) {
        self.set_limit(limits.memory_bytes, limits.eviction);
    }

    /// Live bytes by part. Looks at some hundred counters, and takes the lock of each log for a moment.
    pub(crate) fn memory(&self) -> MemoryUse {
        let (index, order, members) = (self.index.memory(), self.order.memory(), self.members.index.memory());
        let (rows, left) = self.rows.live_and_left();
        let (collections, buffers) = (self.members.bytes(), self.log.buffer_bytes());
        let mut memory = MemoryUse {
            nodes: index.nodes + order.nodes + members.nodes,
            orders: collections,
            keys: index.keys + order.keys + members.keys,
            rows,
            buffers,
            unreclaimed: index.unreclaimed + order.unreclaimed + members.unreclaimed + left,
            held: self.memory_taken() + buffers,
            reserved: index.reserved
                + order.reserved
                + members.reserved
                + self.rows.reserved()
                + collections
                + buffers,
            peak: 0,
        };
        // Relaxed: a statistic.
        memory.peak = self.budget.peak.fetch_max(memory.total(), Ordering::Relaxed).max(memory.total());
        memory
    }

    /// Live bytes that count toward the limit: all but the buffers of the logs, which bound them themselves.
    fn memory_used(&self) -> usize {
        let memory = self.memory();
        memory.total() - memory.buffers
    }

    /// Never less than [`memory_used`](Self::memory_used), and nearly as much where few keys were removed. A few reads.
    pub(crate) fn memory_taken(&self) -> usize {
        self.index.taken()
            + self.order.taken()
            + self.members.index.taken()
            + self.rows.taken()
            + self.members.bytes()
    }

    /// The refusal of a write that adds much at once to a key that has `before` bytes, where no key may go for it; for writers that were admitted by what was
    /// sent to them.
    #[inline]
    pub(crate) fn admit_growth(&self, before: usize, after: usize) -> Result<()> {
        let growth = after.saturating_sub(before);
        if growth < GROWTH_MIN { Ok(()) } else { self.admit_much(growth) }
    }

    #[cold]
    fn admit_much(&self, growth: usize) -> Result<()> {
        match self.budget.limit() {
            Some(budget) if self.budget.eviction() == Eviction::None => {
                let used = self.memory_used();
                if used.saturating_add(growth) > budget {
                    Err(Error::OverBudget { used, budget })
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for one in Eviction::ALL {
            assert_eq!(one.name().parse::<Eviction>().ok(), Some(one));
        }
        let error = "lru".parse::<Eviction>().unwrap_err().to_string();
        assert!(error.contains("\"lru\"") && error.contains("\"allkeys-lru\""), "{error}");
    }
}
