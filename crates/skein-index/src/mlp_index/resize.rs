//! Growing and shrinking of the table, a few buckets at a time.
//!
//! A bucket can be split by its nodes alone: node and bucket give the name (`name.rs`), and so the
//! place in a larger table. One step locks two buckets and moves at most four nodes. Two kinds of
//! operations take steps:
//!
//! - A writer that found no room in either bucket of a new node, if the table has reached its
//!   target load or if nodes cannot be moved to make room.
//! - A removal that leaves the table far below its target load.
//!
//! So no operation waits for a whole table to be moved. Source: linear hashing (Litwin, VLDB 1980).
//! The paper's table has a fixed size.

use skein_sync::mutex::{lock, try_lock};
use skein_sync::spin::Backoff;

use super::MlpIndexVariant;
use super::image::SLOTS;
use super::levels::{BATCH_SHIFT, LevelCounts, ONE_IN, ONE_IN_BATCH};
use super::node::level_in;
use super::table::{LEAST, MOST};
use super::transaction::{MlpAbort, MlpTransaction};
use super::variant::MlpSettings;
use crate::buckets::{LinearHashSize, split_from};
use crate::index::IndexError;
use crate::slot::Slot;

const BUCKETS_AT_ONCE: u32 = if cfg!(skein_loom) { 1 } else { 8 };
/// The load, in percent, above which the table grows. The paper has 90 for a table that is filled
/// once. Until a table that grows by single buckets has doubled, the buckets that are not split yet
/// hold twice the nodes of the others.
const GROW_PERCENT: usize = 70;
const SHRINK_PERCENT: usize = 45;
/// How often to make room for a merge before it is postponed.
const MERGE_TRIES: usize = 4;

/// The data of the holder of the right to change the size.
#[derive(Debug, Default)]
pub(super) struct ResizeState(LevelCounts);

impl ResizeState {
    /// Returns the levels that matter to a lookup, and in the upper half those that matter to a
    /// batch.
    pub(super) fn levels(&self) -> u32 {
        self.0.that_matter(ONE_IN) | self.0.that_matter(ONE_IN_BATCH) << BATCH_SHIFT
    }
}

impl<S: Slot, V: MlpSettings> MlpIndexVariant<S, V> {
    fn has_load(&self, share: usize) -> bool {
        100 * self.engine.table.used.sum() >= share * self.engine.table.size().buckets() as usize * SLOTS
    }

    /// Returns how many times a node has moved to another bucket, either to make room or because
    /// the table grew or shrank. The count is exact while no thread writes.
    pub fn moved(&self) -> usize {
        self.engine.table.moved.sum()
    }

    /// Adds some buckets if those of a new key were full (`crowded`) and the load is at the limit,
    /// unless another thread is resizing.
    pub(super) fn grow_after_insert(&self, crowded: bool) {
        if V::BUCKET_PER_KEY {
            self.follow_keys();
        } else if crowded
            && self.has_load(GROW_PERCENT)
            && let Some(mut sizing) = try_lock(&self.engine.table.sizing)
        {
            // At its greatest size the table fills up further, until a write finds no room.
            let _ = self.add_some(&mut sizing, BUCKETS_AT_ONCE);
        }
    }

    /// Resizes the table to one bucket per key beyond the least size.
    fn follow_keys(&self) {
        let mut sizing = lock(&self.engine.table.sizing);
        let (size, wanted) = (self.engine.table.size().buckets(), LEAST + self.base.len.sum() as u32);
        if size < wanted {
            // The table may already have its greatest size.
            let _ = self.add_some(&mut sizing, wanted - size);
        }
        self.remove_buckets_while(|size| size > wanted);
    }

    /// Adds some buckets, or lets another thread do so.
    pub(super) fn grow(&self) -> Result<(), IndexError> {
        let Some(mut sizing) = try_lock(&self.engine.table.sizing) else {
            Backoff::new().wait();
            return Ok(());
        };
        // If a mostly empty table has no room, a larger one will not have room either.
        let hopeless = !V::CROWDED
            && self.engine.table.size().buckets() > 64 * LEAST
            && !self.has_load(SHRINK_PERCENT / 4);
        if hopeless { Err(self.full()) } else { self.add_some(&mut sizing, BUCKETS_AT_ONCE) }
    }

    fn add_some(&self, sizing: &mut ResizeState, count: u32) -> Result<(), IndexError> {
        let size = self.engine.table.size().buckets();
        if size == if V::FIXED { LEAST } else { MOST } {
            return Err(self.full());
        }
        let wanted = (size + count).min(MOST);
        self.engine.table.prepare(wanted);
        for new in size..wanted {
            self.engine.table.prefetch_bucket(split_from(new));
            self.engine.table.prefetch_bucket(new);
        }
        for new in size..wanted {
            let mut backoff = Backoff::new();
            while self.split(new, sizing).is_err() {
                backoff.wait();
            }
        }
        // Relaxed: a hint, which orders nothing.
        self.engine.table.levels.store(sizing.levels(), skein_sync::atomic::Ordering::Relaxed);
        Ok(())
    }

    /// Splits a bucket into itself and the one after the last.
    fn split(&self, size: u32, sizing: &mut ResizeState) -> Result<(), MlpAbort> {
        let mut transaction = MlpTransaction::new(&self.engine.table);
        let (old, new) = (transaction.take(split_from(size))?, transaction.take(size)?);
        let image = transaction.image_of(split_from(size));
        transaction.split(old, new, LinearHashSize::of(size + 1));
        transaction.buckets.apply_with_size(size + 1)?;
        image.heads().for_each(|(_, head)| sizing.0.count(level_in(head)));
        Ok(())
    }

    /// Removes some buckets if the load is low, unless another thread is resizing.
    pub(super) fn shrink(&self) {
        if V::BUCKET_PER_KEY {
            return self.follow_keys();
        }
        if self.engine.table.size().buckets() == LEAST || self.has_load(SHRINK_PERCENT) {
            return;
        }
        let Some(_sizing) = try_lock(&self.engine.table.sizing) else { return };
        let size = self.engine.table.size().buckets();
        // A table that crowded keys made large must be small again when the index is empty.
        let steps = BUCKETS_AT_ONCE.max(size / (self.base.len.sum() as u32 + 1));
        let wanted = size.saturating_sub(steps);
        self.remove_buckets_while(|size| size > wanted && !self.has_load(SHRINK_PERCENT));
    }

    /// Removes buckets while there are too many and their nodes have room. The caller must hold the
    /// right to change the size.
    fn remove_buckets_while(&self, too_many: impl Fn(u32) -> bool) {
        let mut size = self.engine.table.size().buckets();
        while size > LEAST && too_many(size) && self.merge_last(size - 1) {
            size -= 1;
        }
        self.engine.table.prepare(size);
    }

    /// Merges the last bucket into the one it was split from. Returns false if there is no room for
    /// its nodes.
    fn merge_last(&self, last: u32) -> bool {
        for _ in 0..MERGE_TRIES {
            match self.merge(last, split_from(last)) {
                Ok(()) => return true,
                Err(MlpAbort::Changed) => Backoff::new().wait(),
                Err(MlpAbort::Crowded) => return false,
            }
        }
        false
    }

    fn merge(&self, last: u32, into: u32) -> Result<(), MlpAbort> {
        let mut transaction = MlpTransaction::for_size(&self.engine.table, LinearHashSize::of(last));
        let (old, new) = (transaction.take(last)?, transaction.take(into)?);
        transaction.move_all(old, new)?;
        Ok(transaction.buckets.apply_with_size(last)?)
    }
}
