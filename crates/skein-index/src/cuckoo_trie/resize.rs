//! Growing and shrinking, a few buckets at a time.
//!
//! A bucket is split by its entries alone (`table.rs`): a step locks two buckets and moves four entries at most. Steps are taken by
//! writers that found both buckets of a new entry full while the table is loaded to its aim, after their change is made, or before it if there is no
//! room otherwise; and by removals that leave the table far from its aim. So the load stays where it is wanted, and an operation pays for
//! [`STEPS`] of them each time; only the removal of the last key takes all that is left. Source: linear hashing (Litwin, VLDB 1980).

use skein_sync::spin::Backoff;

use super::CuckooTrie;
use super::bucket::WORDS;
use super::lanes::SLOTS;
use super::table::{CuckooTable, LinearHashSize};
use super::transaction::{CuckooAbort, CuckooTransaction};
use crate::index::IndexError;
use crate::linear_hashing::split_from;
use crate::slot::Slot;

/// Buckets that are added or taken away at a time.
const STEPS: u32 = if cfg!(skein_loom) { 1 } else { 8 };
/// The share of slots in use, in hundredths, above which the table grows. The paper has 85. Here entries make way for one insert in two.
const FULL: usize = 82;
/// The same where keys share much: they have two entries each and more, so that memory counts for more, and an insert is mostly its search.
const FULL_OF_LONG: usize = 88;
/// How much less the share may be if a new entry found no way to a place. Before the table has doubled, the buckets that were not split yet have twice
/// the entries to bear that the others have, and are full; it is then that this comes into play.
const TIGHTER: usize = 2;
/// The share below which it shrinks.
const EMPTY: usize = 50;
/// Tries to make room for a merge before it is put off.
const TRIES: usize = if cfg!(skein_loom) { SLOTS } else { 2 * SLOTS };

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// The share of slots in use above which the table grows.
    fn full_share(&self) -> usize {
        if self.table.depths.start().is_some() { FULL } else { FULL_OF_LONG }
    }

    /// Whether so many hundredths of the slots are in use, or more.
    fn has_load(&self, share: usize) -> bool {
        100 * self.entries.sum() >= share * self.table.size() as usize * SLOTS
    }

    /// How many times an entry has gone to another bucket so far: to make room for another, or because the table grew or shrank. Exact while
    /// nobody writes.
    pub fn moved(&self) -> usize {
        self.table.moved.sum()
    }

    /// Makes room for so many more keys at once, so that the table does not grow while they are added: each is taken to need as many entries as
    /// those that are there do, or, if there are none, one and a half, which is enough for random keys. Removals may give the room back.
    ///
    /// # Errors
    /// If the memory budget does not allow it, or the table would be larger than it may be; room may have been made for a part of them.
    pub fn reserve(&self, keys: usize) -> Result<(), IndexError> {
        let (there, entries) = (self.base.len.sum(), self.entries.sum());
        let more = match there {
            0 => keys.saturating_add(keys / 2),
            _ => keys.saturating_mul(entries) / there,
        };
        let slots = entries.saturating_add(more).saturating_mul(100) / self.full_share();
        let size = slots.div_ceil(SLOTS);
        let missing = size.saturating_sub(self.table.size() as usize);
        self.base.check_write(&[], 0, || missing.saturating_mul(size_of::<[u64; WORDS]>()))?;
        while (self.table.size() as usize) < size {
            match self.table.try_lock() {
                Some(mut added) => self.add_some(&mut added)?,
                None => Backoff::new().wait(),
            }
        }
        Ok(())
    }

    /// Whether the table should grow before entries are moved about.
    pub(super) fn is_tight(&self) -> bool {
        self.has_load(self.full_share() - TIGHTER)
    }

    /// Adds some buckets if the table is loaded, unless another thread is at it.
    pub(super) fn grow_if_loaded(&self) {
        if self.has_load(self.full_share())
            && let Some(mut added) = self.table.try_lock()
        {
            // At its greatest size the table just gets fuller, until a write finds no place.
            let _ = self.add_some(&mut added);
        }
    }

    /// Adds some buckets, or lets another thread do so.
    pub(super) fn grow(&self) -> Result<(), IndexError> {
        if let Some(mut added) = self.table.try_lock() {
            // A table that is mostly empty and still has no place is no better when it is larger.
            let hopeless = self.table.size() > 64 * CuckooTable::<V>::LEAST && !self.has_load(EMPTY / 4);
            return if hopeless { Err(self.full()) } else { self.add_some(&mut added) };
        }
        Backoff::new().wait();
        Ok(())
    }

    fn add_some(&self, added: &mut u32) -> Result<(), IndexError> {
        let size = self.table.size();
        if size == CuckooTable::<V>::MOST {
            return Err(self.full());
        }
        let wanted = (size + STEPS).min(CuckooTable::<V>::MOST);
        self.table.reserve(wanted);
        for new in size..wanted {
            self.table.prefetch_bucket(split_from(new));
            self.table.prefetch_bucket(new);
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
        let mut change = CuckooTransaction::new(&self.table);
        let (old, new) = (change.take(from), change.take(size));
        let grown = LinearHashSize::of(size + 1);
        change.split(old, new, version, |lane| CuckooTable::<V>::home(lane, from, grown) == size);
        change.lock()?;
        change.apply_with(|| self.table.set_size(size + 1));
        Ok(())
    }

    /// Takes away some buckets if few are needed, unless another thread is at it.
    pub(super) fn shrink(&self) {
        if self.table.size() == CuckooTable::<V>::LEAST || self.has_load(EMPTY) {
            return;
        }
        let Some(_resizing) = self.table.try_lock() else { return };
        let mut steps = 0..STEPS;
        // Merges may have failed, or been another thread's to do; after the last key nobody comes to make up for them.
        while steps.next().is_some() || self.entries.sum() == 0 {
            let size = self.table.size();
            if size == CuckooTable::<V>::LEAST || self.has_load(EMPTY) || !self.merge_last(size - 1) {
                break;
            }
        }
        self.table.release();
    }

    /// Merges the last bucket into the one it was split from; false if there is no room for its entries.
    ///
    /// Entries of either bucket make way. If only those of the one that stays did, entries whose two buckets
    /// are just these two would keep it full, and the table from shrinking, until one of their keys went.
    fn merge_last(&self, last: u32) -> bool {
        let into = split_from(last);
        for _ in 0..TRIES {
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
        let mut change = CuckooTransaction::new(&self.table);
        let (old, new) = (change.take(last), change.take(into));
        change.move_all(old, new)?;
        change.lock()?;
        change.apply_with(|| self.table.set_size(last));
        Ok(())
    }
}
