//! Growing and shrinking, a few buckets at a time.
//!
//! A bucket is split by its nodes alone: each says its name, with what the bucket says (`name.rs`), and so its place in a larger table. A step locks two
//! buckets and moves four nodes at most. Steps are taken by writers that found no room in either bucket of a new node while the table is loaded to
//! its aim, or no way to make room; and by removals that leave the table far from its aim. So no operation waits for a whole
//! table to be moved. Source: linear hashing (Litwin, VLDB 1980); the paper's table has one size.

use skein_sync::mutex::{lock, try_lock};
use skein_sync::spin::Backoff;

use super::MlpIndex;
use super::image::SLOTS;
use super::levels::{BATCH_SHIFT, LevelCounts, ONE_IN, ONE_IN_BATCH};
use super::node::level_in;
use super::table::{LEAST, MOST};
use super::transaction::{MlpAbort, MlpTransaction};
use super::variant::{BUCKET_PER_KEY, CROWDED, FIXED, has};
use crate::index::IndexError;
use crate::linear_hashing::{LinearHashSize, split_from};
use crate::slot::Slot;

/// Buckets that are added or taken away at a time.
const STEPS: u32 = if cfg!(skein_loom) { 1 } else { 8 };
/// The share of slots in use, in hundredths, above which the table grows; the paper has 90 for a table that is filled once. Before a table that grows by
/// single buckets has doubled, those that were not split yet have twice the nodes to bear that the others have.
const FULL: usize = 70;
/// The share below which it shrinks.
const EMPTY: usize = 45;
/// Tries to make room for a merge before it is put off.
const TRIES: usize = 4;

/// What the holder of the right to change the size knows.
#[derive(Debug, Default)]
pub(super) struct ResizeState(LevelCounts);

impl ResizeState {
    /// The levels that matter, and in the upper half those that matter to a batch.
    pub(super) fn levels(&self) -> u32 {
        self.0.that_matter(ONE_IN) | self.0.that_matter(ONE_IN_BATCH) << BATCH_SHIFT
    }
}

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// Whether so many hundredths of the slots are in use, or more.
    fn has_load(&self, share: usize) -> bool {
        100 * self.table.used.sum() >= share * self.table.size().buckets() as usize * SLOTS
    }

    /// How many times a node has gone to another bucket so far: to make room for another, or because the table grew or shrank. Exact while nobody
    /// writes.
    pub fn moved(&self) -> usize {
        self.table.moved.sum()
    }

    /// Adds some buckets if a new key's were full (`crowded`) and the table is loaded, unless another thread is at it.
    pub(super) fn grow_after_insert(&self, crowded: bool) {
        if has(V, BUCKET_PER_KEY) {
            self.follow_keys();
        } else if crowded
            && self.has_load(FULL)
            && let Some(mut sizing) = try_lock(&self.table.sizing)
        {
            // At its greatest size the table just gets fuller, until a write finds no place.
            let _ = self.add_some(&mut sizing, STEPS);
        }
    }

    /// Makes as many buckets beyond the least size as there are keys.
    fn follow_keys(&self) {
        let mut sizing = lock(&self.table.sizing);
        let (size, wanted) = (self.table.size().buckets(), LEAST + self.base.len.sum() as u32);
        if size < wanted {
            // At its greatest size there is no more to be had.
            let _ = self.add_some(&mut sizing, wanted - size);
        }
        self.take_away_while(|size| size > wanted);
    }

    /// Adds some buckets, or lets another thread do so.
    pub(super) fn grow(&self) -> Result<(), IndexError> {
        let Some(mut sizing) = try_lock(&self.table.sizing) else {
            Backoff::new().wait();
            return Ok(());
        };
        // A table that is mostly empty and still has no place is no better when it is larger.
        let hopeless =
            !has(V, CROWDED) && self.table.size().buckets() > 64 * LEAST && !self.has_load(EMPTY / 4);
        if hopeless { Err(self.full()) } else { self.add_some(&mut sizing, STEPS) }
    }

    fn add_some(&self, sizing: &mut ResizeState, count: u32) -> Result<(), IndexError> {
        let size = self.table.size().buckets();
        if size == if has(V, FIXED) { LEAST } else { MOST } {
            return Err(self.full());
        }
        let wanted = (size + count).min(MOST);
        self.table.ready(wanted);
        for new in size..wanted {
            self.table.prefetch_bucket(split_from(new));
            self.table.prefetch_bucket(new);
        }
        for new in size..wanted {
            let mut backoff = Backoff::new();
            while self.split(new, sizing).is_err() {
                backoff.wait();
            }
        }
        // Relaxed: advice, that orders nothing.
        self.table.levels.store(sizing.levels(), skein_sync::atomic::Ordering::Relaxed);
        Ok(())
    }

    /// Splits a bucket into itself and the one after the last.
    fn split(&self, size: u32, sizing: &mut ResizeState) -> Result<(), MlpAbort> {
        let mut change = MlpTransaction::new(&self.table);
        let (old, new) = (change.take(split_from(size))?, change.take(size)?);
        let image = change.image_of(split_from(size));
        change.split(old, new, LinearHashSize::of(size + 1));
        change.lock_buckets()?;
        change.apply_with(|| self.table.set_size(size + 1));
        image.heads().for_each(|(_, head)| sizing.0.meet(level_in(head)));
        Ok(())
    }

    /// Takes away some buckets if few are needed, unless another thread is at it.
    pub(super) fn shrink(&self) {
        if has(V, BUCKET_PER_KEY) {
            return self.follow_keys();
        }
        if self.table.size().buckets() == LEAST || self.has_load(EMPTY) {
            return;
        }
        let Some(_sizing) = try_lock(&self.table.sizing) else { return };
        let size = self.table.size().buckets();
        // A table that crowded keys have made large is empty again together with the index.
        let steps = STEPS.max(size / (self.base.len.sum() as u32 + 1));
        let wanted = size.saturating_sub(steps);
        self.take_away_while(|size| size > wanted && !self.has_load(EMPTY));
    }

    /// Takes away buckets while they are too many and there is room for their nodes. The caller has the right to change the size.
    fn take_away_while(&self, too_many: impl Fn(u32) -> bool) {
        let mut size = self.table.size().buckets();
        while size > LEAST && too_many(size) && self.merge_last(size - 1) {
            size -= 1;
        }
        self.table.ready(size);
    }

    /// Merges the last bucket into the one it was split from; false if there is no room for its nodes.
    fn merge_last(&self, last: u32) -> bool {
        for _ in 0..TRIES {
            match self.merge(last, split_from(last)) {
                Ok(()) => return true,
                Err(MlpAbort::Changed) => Backoff::new().wait(),
                Err(MlpAbort::Crowded) => return false,
            }
        }
        false
    }

    fn merge(&self, last: u32, into: u32) -> Result<(), MlpAbort> {
        let mut change = MlpTransaction::for_size(&self.table, LinearHashSize::of(last));
        let (old, new) = (change.take(last)?, change.take(into)?);
        change.move_all(old, new)?;
        change.lock_buckets()?;
        change.apply_with(|| self.table.set_size(last));
        Ok(())
    }
}
