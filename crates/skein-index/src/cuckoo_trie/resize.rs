//! Growing and shrinking of the table, a few buckets at a time.
//!
//! A bucket can be split by its entries alone (`table.rs`). One step locks two buckets and moves at
//! most four entries. Two kinds of operations take steps:
//!
//! - A writer that found both buckets of a new entry full, if the table has reached its target
//!   load. It takes them after its own transaction, or before it if there is no other way to get
//!   room.
//! - A removal that leaves the table far below its target load.
//!
//! So the load stays near its target, and an operation pays for at most [`BUCKETS_AT_ONCE`] steps
//! each time. Only the removal of the last key takes all remaining steps. Source: linear hashing
//! (Litwin, VLDB 1980).

use skein_sync::spin::Backoff;

use super::CuckooTrieVariant;
use super::bucket::WORDS;
use super::lanes::SLOTS;
use super::table::{CuckooTable, LinearHashSize};
use super::transaction::{CuckooAbort, CuckooTransaction};
use super::variant::CuckooSettings;
use crate::buckets::split_from;
use crate::index::IndexError;
use crate::slot::Slot;

const BUCKETS_AT_ONCE: u32 = if cfg!(skein_loom) { 1 } else { 8 };
/// The load, in percent, above which the table grows. The paper has 85. At this load one insert in
/// two displaces entries.
const GROW_PERCENT: usize = 82;
/// The same for keys with long shared prefixes. They need two entries or more each, so memory
/// matters more, and most of an insert is its search.
const GROW_PERCENT_LONG_KEYS: usize = 88;
/// By how much the load limit is lower if no displacement path was found. Until the table has
/// doubled, the buckets that are not split yet hold twice the entries of the others, and are full.
/// That is when this matters.
const TIGHTER: usize = 2;
const SHRINK_PERCENT: usize = 50;
/// How often to make room for a merge before it is postponed.
const MERGE_TRIES: usize = if cfg!(skein_loom) { SLOTS } else { 2 * SLOTS };

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    fn grow_percent(&self) -> usize {
        if self.engine.table.depths.start().is_some() { GROW_PERCENT } else { GROW_PERCENT_LONG_KEYS }
    }

    fn has_load(&self, share: usize) -> bool {
        100 * self.engine.entries.sum() >= share * self.engine.table.size() as usize * SLOTS
    }

    /// Returns how many times an entry has moved to another bucket, either to make room or because
    /// the table grew or shrank. The count is exact while no thread writes.
    pub fn moved(&self) -> usize {
        self.engine.table.moved.sum()
    }

    /// Makes room for `keys` more keys, so that the table does not grow while they are inserted.
    /// Assumes that they need as many entries as the present keys, or one and a half each if the
    /// index is empty, which is enough for random keys. Removals may return the room.
    ///
    /// # Errors
    /// If the memory budget does not allow it, or the table would exceed its greatest size. Some
    /// room may have been made then.
    pub fn reserve(&self, keys: usize) -> Result<(), IndexError> {
        let (there, entries) = (self.base.len.sum(), self.engine.entries.sum());
        let more = match there {
            0 => keys.saturating_add(keys / 2),
            _ => keys.saturating_mul(entries) / there,
        };
        let slots = entries.saturating_add(more).saturating_mul(100) / self.grow_percent();
        let size = slots.div_ceil(SLOTS);
        let missing = size.saturating_sub(self.engine.table.size() as usize);
        self.base.check_write(&[], 0, || missing.saturating_mul(size_of::<[u64; WORDS]>()))?;
        while (self.engine.table.size() as usize) < size {
            match self.engine.table.try_lock() {
                Some(mut added) => self.add_some(&mut added)?,
                None => Backoff::new().wait(),
            }
        }
        Ok(())
    }

    /// Returns whether the table should grow before entries are moved.
    pub(super) fn is_tight(&self) -> bool {
        self.has_load(self.grow_percent() - TIGHTER)
    }

    /// Adds some buckets if the load is at the limit, unless another thread is resizing.
    pub(super) fn grow_if_loaded(&self) {
        if self.has_load(self.grow_percent())
            && let Some(mut added) = self.engine.table.try_lock()
        {
            // At its greatest size the table fills up further, until a write finds no room.
            let _ = self.add_some(&mut added);
        }
    }

    /// Adds some buckets, or lets another thread do so.
    pub(super) fn grow(&self) -> Result<(), IndexError> {
        if let Some(mut added) = self.engine.table.try_lock() {
            // If a mostly empty table has no room, a larger one will not have room either.
            let hopeless =
                self.engine.table.size() > 64 * CuckooTable::<V>::LEAST && !self.has_load(SHRINK_PERCENT / 4);
            return if hopeless { Err(self.full()) } else { self.add_some(&mut added) };
        }
        Backoff::new().wait();
        Ok(())
    }

    fn add_some(&self, added: &mut u32) -> Result<(), IndexError> {
        let size = self.engine.table.size();
        if size == CuckooTable::<V>::MOST {
            return Err(self.full());
        }
        let wanted = (size + BUCKETS_AT_ONCE).min(CuckooTable::<V>::MOST);
        self.engine.table.reserve(wanted);
        for new in size..wanted {
            self.engine.table.prefetch_bucket(split_from(new));
            self.engine.table.prefetch_bucket(new);
        }
        for new in size..wanted {
            let version = CuckooTable::<V>::next_version(added);
            let mut backoff = Backoff::new();
            while self.split(new, version).is_err() {
                backoff.wait();
            }
        }
        Ok(())
    }

    /// Splits a bucket into itself and the one after the last.
    fn split(&self, size: u32, version: u32) -> Result<(), CuckooAbort> {
        let from = split_from(size);
        let mut transaction = CuckooTransaction::new(&self.engine.table);
        let (old, new) = (transaction.take(from), transaction.take(size));
        let grown = LinearHashSize::of(size + 1);
        transaction.split(old, new, version, |lane| CuckooTable::<V>::home(lane, from, grown) == size);
        Ok(transaction.buckets.apply_with_size(size + 1)?)
    }

    /// Removes some buckets if the load is low, unless another thread is resizing.
    pub(super) fn shrink(&self) {
        if self.engine.table.size() == CuckooTable::<V>::LEAST || self.has_load(SHRINK_PERCENT) {
            return;
        }
        let Some(_resizing) = self.engine.table.try_lock() else { return };
        let mut steps = 0..BUCKETS_AT_ONCE;
        // Merges may have failed or been left to another thread. After the last key, no removal
        // follows that could catch up.
        while steps.next().is_some() || self.engine.entries.sum() == 0 {
            let size = self.engine.table.size();
            if size == CuckooTable::<V>::LEAST || self.has_load(SHRINK_PERCENT) || !self.merge_last(size - 1)
            {
                break;
            }
        }
        self.engine.table.release();
    }

    /// Merges the last bucket into the one it was split from. Returns false if there is no room for
    /// its entries.
    ///
    /// Entries of both buckets may move to make room. If only those of the remaining bucket moved,
    /// entries whose two buckets are exactly these two would keep it full. The table could not
    /// shrink until one of their keys was removed.
    fn merge_last(&self, last: u32) -> bool {
        let into = split_from(last);
        for _ in 0..MERGE_TRIES {
            match self.merge(last, into) {
                Ok(()) => return true,
                Err(CuckooAbort::Changed) => Backoff::new().wait(),
                Err(_) if self.free_a_slot(&[into], &[last], true) != Ok(false) => {}
                Err(_) if self.free_a_slot(&[last], &[into], true) == Ok(false) => return false,
                Err(_) => {}
            }
        }
        false
    }

    fn merge(&self, last: u32, into: u32) -> Result<(), CuckooAbort> {
        let mut transaction = CuckooTransaction::new(&self.engine.table);
        let (old, new) = (transaction.take(last), transaction.take(into));
        transaction.move_all(old, new)?;
        Ok(transaction.buckets.apply_with_size(last)?)
    }
}
