//! Transactions of the index: which nodes a write adds, changes and moves.
//!
//! ```text
//!   take ─► copy, with its version
//!   set, remove, place ─► change the copies
//!   lock ─► lock every bucket, if it is still as it was copied
//!   apply ─► write all, unlock all
//! ```
//!
//! `crate::buckets` has the copies, the locks and their invariants. The protocol for many threads
//! is ours; the paper's index has one thread.
//!
//! # Invariants
//! 1. A transaction relies only on buckets that it took. These are the buckets of the nodes that it
//!    changes, both buckets of each name that it adds, and the buckets of the nodes from which it
//!    copies the least key. Unlocking counts as a change of all of them. So if one of two
//!    transactions relies on a bucket that the other changes, one of them fails.
//! 2. The least key of an inner node is that of its first child. A removal copies it from a child
//!    whose bucket it holds. An insert that lowers the least key of that child changes the child,
//!    so one of the two fails. An insert that does not lower it needs no change above the child.
//! 3. A search reads nodes one after the other, from the top. If a transaction relies on the least
//!    key of a node above that stays unchanged, it checks that node again after it has copied
//!    everything that it holds. Then all of this was there at one moment. A writer that changes
//!    that key later must take a bucket that is held here.

use arrayvec::ArrayVec;

use super::displacement;
use super::image::MlpBucketImage;
use super::name::{HEADER, MlpBucketPair, NodeName, SECONDARY, places, places_of, rotated};
use super::node::{MlpNode, level_in, moved};
use super::search::FoundRawNode;
use super::table::MlpTable;
use super::variant::MlpSettings;
use super::versions::{StripeVersions, VersionStripe};
use crate::buckets::{BucketChanged, BucketCopy, BucketTable, BucketTransaction, LinearHashSize, TableSize};
use crate::counter::Counter;

const BUCKETS_MAX: usize = 48;
/// The room in `placed` that moves leave for nodes still to be placed: two places for each of three
/// nodes, and two for the move itself.
const PLACES_KEPT: usize = 2 + 2 * 3;

/// Why a transaction cannot be completed as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MlpAbort {
    /// A bucket has changed: plan anew.
    Changed,
    /// There is no room for a node nearby.
    Crowded,
}

impl From<BucketChanged> for MlpAbort {
    fn from(_: BucketChanged) -> Self {
        Self::Changed
    }
}

impl<V: MlpSettings> BucketTable for MlpTable<V> {
    type Image = MlpBucketImage;
    type Note = ();
    /// The bits that determine the bucket of a node, and its number.
    type Placement = (u32, u32);
    /// The locked stripes, with their versions.
    type Locks = ArrayVec<(VersionStripe, u64), BUCKETS_MAX>;

    #[inline(always)]
    fn table_size(&self) -> &TableSize {
        &self.size
    }

    fn moved(&self) -> &Counter {
        &self.moved
    }

    #[inline(always)]
    fn copy(&self, bucket: u32) -> (MlpBucketImage, u64) {
        self.image(bucket)
    }

    #[inline(always)]
    fn is_at_home(&(bits, bucket): &(u32, u32), size: LinearHashSize) -> bool {
        size.bucket_of(bits) == bucket
    }

    #[inline(always)]
    fn lock(&self, copies: &[BucketCopy<Self>], locks: &mut Self::Locks) -> bool {
        copies.iter().all(|copy| {
            let stripe = StripeVersions::stripe(copy.number);
            match locks.iter().find(|(locked, _)| *locked == stripe) {
                Some((_, seen)) => *seen == copy.seen,
                None if self.versions.lock(stripe, copy.seen) => {
                    locks.push((stripe, copy.seen));
                    true
                }
                None => false,
            }
        })
    }

    #[inline(always)]
    fn write(&self, copies: &[BucketCopy<Self>]) {
        copies.iter().filter(|copy| copy.dirty).for_each(|copy| self.write_bucket(copy.number, &copy.image));
    }

    #[inline(always)]
    fn unlock(&self, _: &[BucketCopy<Self>], locks: &mut Self::Locks, applied: bool) {
        for (stripe, seen) in locks.drain(..) {
            self.versions.unlock(stripe, seen, applied);
        }
    }
}

/// The slot of a node in a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct MlpSlot {
    held: usize,
    slot: usize,
    is_secondary: bool,
}

#[derive(Debug)]
pub(super) struct MlpTransaction<'t, V: MlpSettings> {
    pub(super) buckets: BucketTransaction<'t, MlpTable<V>, BUCKETS_MAX, { 2 * BUCKETS_MAX }>,
    /// How many slots become used, and how many become free.
    taken: usize,
    given: usize,
}

impl<'t, V: MlpSettings> MlpTransaction<'t, V> {
    #[inline(always)]
    pub(super) fn new(table: &'t MlpTable<V>) -> Self {
        Self::for_size(table, table.size())
    }

    /// Creates a transaction that puts nodes where they belong in a table of this size. The size
    /// must be the table's, unless the transaction itself changes it.
    #[inline(always)]
    pub(super) fn for_size(table: &'t MlpTable<V>, size: LinearHashSize) -> Self {
        Self { buckets: BucketTransaction::new(table, size), taken: 0, given: 0 }
    }

    /// Copies a bucket, unless it was copied before. Returns its index in the transaction.
    pub(super) fn take(&mut self, bucket: u32) -> Result<usize, MlpAbort> {
        self.buckets.take(bucket).ok_or(MlpAbort::Crowded)
    }

    /// Copies the bucket of a node, which must be unchanged since it was found. Returns the node's
    /// slot.
    #[inline]
    pub(super) fn take_found(&mut self, seen: &FoundRawNode) -> Result<MlpSlot, MlpAbort> {
        let held = self.take(seen.bucket)?;
        if self.buckets.held[held].seen != seen.version {
            return Err(MlpAbort::Changed);
        }
        let head = seen.what.head();
        let slot = self.buckets.held[held].image.slot_of(head).ok_or(MlpAbort::Changed)?;
        Ok(MlpSlot { held, slot, is_secondary: head & SECONDARY != 0 })
    }

    /// Returns the copy of a bucket, to be changed.
    pub(super) fn image(&mut self, held: usize) -> &mut MlpBucketImage {
        let held = &mut self.buckets.held[held];
        held.dirty = true;
        &mut held.image
    }

    /// Sets the least key of the nodes `above` to `bits`, from the last one upward, while their own
    /// one satisfies `moves`. The first node that does not must be unchanged since it was read
    /// (invariant 3).
    pub(super) fn set_leasts(
        &mut self,
        above: &[FoundRawNode],
        moves: impl Fn(u64) -> bool,
        bits: u64,
    ) -> Result<(), MlpAbort> {
        for seen in above.iter().rev() {
            if !moves(seen.node(&self.buckets.table.seeds).bits) {
                let is_stale = self.buckets.table.versions.changed(seen.bucket, seen.version);
                return if is_stale { Err(MlpAbort::Changed) } else { Ok(()) };
            }
            self.set_least(seen, bits)?;
        }
        Ok(())
    }

    fn set_least(&mut self, seen: &FoundRawNode, bits: u64) -> Result<(), MlpAbort> {
        let MlpSlot { held, slot, .. } = self.take_found(seen)?;
        let head = &mut self.image(held).0[2 * slot];
        *head = *head & HEADER | rotated(bits, level_in(*head)) & !HEADER;
        Ok(())
    }

    #[inline(always)]
    pub(super) fn set_value(&mut self, spot: MlpSlot, value: u64) {
        self.image(spot.held).0[2 * spot.slot + 1] = value;
    }

    pub(super) fn remove(&mut self, seen: &FoundRawNode) -> Result<(), MlpAbort> {
        let MlpSlot { held, slot, .. } = self.take_found(seen)?;
        let words = self.image(held).remove(slot);
        self.given += words.len() / 2;
        Ok(())
    }

    /// Replaces a node by another one with the same name, in the same bucket if there is room.
    pub(super) fn replace(&mut self, seen: &FoundRawNode, node: &MlpNode) -> Result<(), MlpAbort> {
        let MlpSlot { held, slot, is_secondary } = self.take_found(seen)?;
        let words = node.words(is_secondary);
        let image = self.image(held);
        let before = image.slots(slot);
        if before == node.slots() {
            image.set(slot, &words);
            return Ok(());
        }
        image.remove(slot);
        let put = image.put(&words);
        self.given += before;
        if put.is_none() {
            return self.place(node).map(|_| ());
        }
        self.taken += node.slots();
        Ok(())
    }

    /// Adds a node in one of its buckets. Returns its slot, which is valid until the transaction
    /// moves other nodes.
    pub(super) fn place(&mut self, node: &MlpNode) -> Result<MlpSlot, MlpAbort> {
        let (key, level) = (node.key(), node.level);
        let (name, places) = (NodeName::of(key, level), places(key, level, &self.buckets.table.seeds));
        let pair = MlpBucketPair::of(places, self.buckets.size);
        let (first, second) = (self.take(pair.primary)?, self.take(pair.secondary)?);
        let is_there =
            |held: usize, secondary| self.buckets.held[held].image.find(&name, secondary).is_some();
        if is_there(first, false) || is_there(second, true) {
            return Err(MlpAbort::Changed);
        }
        self.note_places(places, pair);
        let need = node.slots();
        let held = self.bucket_with_room(first, second, need).ok_or(MlpAbort::Crowded)?;
        // If both buckets are the same one, the node counts as being in its primary bucket.
        let is_secondary = held != first;
        let slot = self.image(held).put(&node.words(is_secondary)).ok_or(MlpAbort::Crowded)?;
        self.taken += need;
        Ok(MlpSlot { held, slot, is_secondary })
    }

    fn note_places(&mut self, places: u64, pair: MlpBucketPair) {
        self.buckets.placed.extend([(places as u32, pair.primary), ((places >> 32) as u32, pair.secondary)]);
    }

    /// Returns one of two buckets with `need` free slots. Moves other nodes if necessary.
    fn bucket_with_room(&mut self, first: usize, second: usize, need: usize) -> Option<usize> {
        // Prefers the primary bucket, because batches of lookups read it first (`batch.rs`).
        let held = if self.free(first) < need { second } else { first };
        if self.free(held) >= need {
            return Some(held);
        }
        self.buckets.crowded = true;
        displacement::make_room(self, [first, second], need)
    }

    /// Returns the number of free slots of a copied bucket.
    pub(super) fn free(&self, held: usize) -> usize {
        self.buckets.held[held].image.free()
    }

    /// Returns the planned state of a bucket if it was copied, else a hint of its present state.
    pub(super) fn image_of(&self, bucket: u32) -> MlpBucketImage {
        match self.buckets.copy_of(bucket) {
            Some(held) => held.image,
            None => self.buckets.table.glance(bucket),
        }
    }

    pub(super) fn prefetch_node(&self, node: &MlpNode) {
        self.buckets.table.prefetch(self.buckets.table.pair(node.key(), node.level, self.buckets.size));
    }

    pub(super) fn prefetch(&self, bucket: u32) {
        self.buckets.table.prefetch_bucket(bucket);
    }

    /// Moves the node with this first word from its bucket to its other one. Returns false if there
    /// is no such node any more, or no room for it.
    pub(super) fn move_node(&mut self, from: u32, head: u64, to: u32) -> bool {
        let (Ok(old), Ok(new)) = (self.take(from), self.take(to)) else { return false };
        let found = self.buckets.held[old].image.slot_of(head);
        let Some(slot) = found.filter(|_| self.buckets.placed.remaining_capacity() >= PLACES_KEPT) else {
            return false;
        };
        let mut words = self.buckets.held[old].image.words(slot);
        if self.free(new) * 2 < words.len() {
            return false;
        }
        let places = places_of(head, from, &self.buckets.table.seeds);
        self.note_places(places, MlpBucketPair::of(places, self.buckets.size));
        words[0] = moved(head);
        self.image(old).remove(slot);
        self.image(new).put(&words);
        self.buckets.moved += 1;
        true
    }

    #[inline(always)]
    pub(super) fn other(&self, head: u64, bucket: u32) -> u32 {
        home_of(places_of(head, bucket, &self.buckets.table.seeds), moved(head), self.buckets.size)
    }

    /// Moves the nodes that belong to bucket `to` in a table of this size to that bucket, which
    /// must be empty.
    pub(super) fn split(&mut self, from: usize, to: usize, size: LinearHashSize) {
        let (bucket, new) = (self.buckets.held[from].number, self.buckets.held[to].number);
        let moves = |head| home_of(places_of(head, bucket, &self.buckets.table.seeds), head, size) == new;
        let ([stay, go], moved) = self.buckets.held[from].image.parted(moves);
        (*self.image(from), *self.image(to)) = (stay, go);
        self.buckets.moved += moved;
    }

    /// Moves all nodes of a bucket, unchanged, to another bucket.
    pub(super) fn move_all(&mut self, from: usize, to: usize) -> Result<(), MlpAbort> {
        let image = self.buckets.held[from].image;
        displacement::make_room(self, [to, to], image.used()).ok_or(MlpAbort::Crowded)?;
        for (slot, _) in image.heads() {
            self.image(to).put(&image.words(slot)).ok_or(MlpAbort::Crowded)?;
            self.buckets.moved += 1;
        }
        *self.image(from) = MlpBucketImage::default();
        Ok(())
    }

    /// Writes the locked buckets, calls `published`, and unlocks them.
    pub(super) fn apply_with(&mut self, published: impl FnOnce()) {
        self.buckets.apply_with(published);
        // Models skip this: it orders nothing and would add a step to interleave.
        if self.taken != self.given && !cfg!(skein_loom) {
            let added = self.taken.cast_signed() as i64 - self.given.cast_signed() as i64;
            self.buckets.table.used.add(self.buckets.thread(), added);
        }
    }
}

/// Returns the bucket of a node, from a result of [`places`] and the node's first word.
#[inline(always)]
fn home_of(places: u64, head: u64, size: LinearHashSize) -> u32 {
    size.bucket_of(if head & SECONDARY == 0 { places } else { places >> 32 } as u32)
}
