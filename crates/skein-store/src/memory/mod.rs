//! Memory: counts it, compares it with the limit, and selects the keys to evict.
//!
//! ```text
//!   count   arenas of indexes and rows, score indexes, log buffers ──► MemoryUse, by part
//!   limit   a write asks for room ─┬─ there is room ──────────────► it runs
//!                                  ├─ no room, no eviction ───────► rejected before any change
//!                                  └─ no room, eviction ─┬─ Ttl: first keys of the expiry index
//!                                                        └─ others: the clock hand finds keys,
//!                                                           unused for long or seldom used
//!                                                           (`clock_hand`)
//! ```
//!
//! The count is of live bytes, including the allocators' rounding. It reads some hundred counters.
//! So a write first reads an upper bound, the spans that the arenas have taken, which is a few
//! reads. Replaced and removed memory that waits for readers counts, too, but no key is evicted for
//! it.
//!
//! An eviction is a removal like that of a client: it has a version, a record in the log, and
//! updates the expiry index. So an evicted key does not reappear after a crash.
//!
//! Read `balance` next, then `clock_hand`. `row/age_clock.rs` has the ages of rows, and
//! `session/eviction.rs` evicts.
//!
//! Design: `docs/design/memory.md`.

mod balance;
mod clock_hand;

use std::sync::Mutex;

use skein_log::Log;
use skein_sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use skein_sync::locks::lock;

pub(crate) use balance::MemoryBalance;
pub(crate) use clock_hand::ClockHand;

use crate::clock::ExpiryClock;
use crate::options::Eviction;
use crate::store_keys::StoreKeys;
use crate::{Error, Result};

/// Live bytes of a store, by part, including the allocators' rounding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Nodes of the indexes.
    pub nodes: usize,
    /// Sorted sets and hashes of spread columns: score indexes and a header for each.
    pub orders: usize,
    /// Bytes of keys and members outside the nodes.
    pub keys: usize,
    /// Rows: values and columns, with their headers.
    pub rows: usize,
    /// Buffers of the logs.
    pub buffers: usize,
    /// Replaced or removed memory that a reader may still see, or that is kept for snapshots. Rows
    /// are counted here only if memory has a limit.
    pub unreclaimed: usize,
    /// Bytes that the allocators hold for the parts above, in whole spans of 64 KiB: never less
    /// than their sum.
    pub held: usize,
    /// Address space taken from the system, in whole regions of 2 MiB: never less than `held`.
    pub reserved: usize,
    /// The greatest number of live bytes that was ever counted since the store was opened.
    pub peak: usize,
}

impl MemoryUse {
    /// Returns all live bytes.
    pub fn total(&self) -> usize {
        self.nodes + self.orders + self.keys + self.rows + self.buffers + self.unreclaimed
    }

    /// Returns the live bytes that count toward the limit. These are all bytes but the buffers of
    /// the logs, which have their own bound, and which an eviction does not shrink.
    fn limited(&self) -> usize {
        self.total() - self.buffers
    }
}

/// The number of bytes that a write may add to a key without another check, if the caller made room
/// for the bytes of its request.
const GROWTH_MIN: usize = 64 << 10;

/// No limit. A limit of 0 bytes is stored as 1: neither allows any write.
const UNLIMITED: usize = 0;

/// The memory limit of a store and the state of its evictions.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    /// Held while the limit is set, so that the snapshots have the same one.
    setting: Mutex<()>,
    limit: AtomicUsize,
    /// Its position in `Eviction::ALL`; greater for the default.
    eviction: AtomicU8,
    /// The greatest number of live bytes that was ever counted.
    peak: AtomicUsize,
    pub(crate) evicted: AtomicU64,
    /// One clock hand per log, so that sessions of different logs do not meet.
    pub(crate) hands: Box<[Mutex<ClockHand>]>,
}

impl MemoryBudget {
    pub(crate) fn new(logs: usize) -> Self {
        Self {
            setting: Mutex::new(()),
            limit: AtomicUsize::new(UNLIMITED),
            eviction: AtomicU8::new(u8::MAX),
            peak: AtomicUsize::new(0),
            evicted: AtomicU64::new(0),
            hands: (0..logs).map(|_| Mutex::default()).collect(),
        }
    }

    /// Returns the limit in bytes, if there is one.
    #[inline]
    pub(crate) fn limit(&self) -> Option<usize> {
        // Relaxed: seen soon; it orders nothing.
        Some(self.limit.load(Ordering::Relaxed)).filter(|limit| *limit != UNLIMITED)
    }

    pub(crate) fn eviction(&self) -> Eviction {
        // Relaxed: as above.
        let at = self.eviction.load(Ordering::Relaxed) as usize;
        Eviction::ALL.get(at).copied().unwrap_or_default()
    }

    /// Returns the bytes that an eviction frees in addition, so that not every write must evict.
    pub(crate) fn margin(limit: usize) -> usize {
        (limit / 64).min(4 << 20)
    }

    /// Sets the limit and the keys to evict at the limit.
    pub(crate) fn set_limit(
        &self,
        keys: &StoreKeys,
        limit: Option<usize>,
        eviction: Eviction,
        clock: &ExpiryClock,
    ) {
        let _setting = lock(&self.setting);
        let ages = keys.rows.ages();
        let at = Eviction::ALL.iter().position(|one| *one == eviction).unwrap_or(usize::MAX);
        self.eviction.store(at as u8, Ordering::Relaxed);
        let bytes = limit.map_or(UNLIMITED, |limit| limit.max(1));
        self.limit.store(bytes, Ordering::Relaxed);
        ages.note_use(eviction.notes(), limit.is_some() && eviction.is_by_use(), clock.now_s());
        ages.count_removed(limit.is_some());
        keys.snapshots.set_memory_limit(self.limit());
    }

    /// Counts live bytes by part. Reads some hundred counters, and takes the lock of each log
    /// briefly.
    pub(crate) fn count(&self, keys: &StoreKeys, log: &Log) -> MemoryUse {
        let (index, expiry, members) =
            (keys.index.memory(), keys.expiry_index.memory(), keys.members.index.memory());
        let (rows, removed) = keys.rows.live_and_removed();
        let (collections, buffers) = (keys.members.bytes(), log.buffer_bytes());
        let kept = keys.snapshots.outside();
        let mut memory = MemoryUse {
            nodes: index.nodes + expiry.nodes + members.nodes,
            orders: collections,
            keys: index.keys + expiry.keys + members.keys,
            rows,
            buffers,
            unreclaimed: index.unreclaimed + expiry.unreclaimed + members.unreclaimed + removed + kept,
            held: keys.allocated_bytes() + buffers,
            reserved: index.reserved
                + expiry.reserved
                + members.reserved
                + keys.rows.reserved()
                + collections
                + kept
                + buffers,
            peak: 0,
        };
        // Relaxed: a statistic.
        memory.peak = self.peak.fetch_max(memory.total(), Ordering::Relaxed).max(memory.total());
        memory
    }

    /// Rejects a write that adds much at once to a key with `before` bytes, if no key may be
    /// evicted for it. Writers call it if their caller made room only for the bytes of the request.
    #[inline]
    pub(crate) fn admit_growth(
        &self,
        keys: &StoreKeys,
        log: &Log,
        before: usize,
        after: usize,
    ) -> Result<()> {
        let growth = after.saturating_sub(before);
        if growth < GROWTH_MIN { Ok(()) } else { self.admit_much(keys, log, growth) }
    }

    #[cold]
    fn admit_much(&self, keys: &StoreKeys, log: &Log, growth: usize) -> Result<()> {
        match self.limit() {
            Some(budget) if self.eviction() == Eviction::None => {
                let used = self.count(keys, log).limited();
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
