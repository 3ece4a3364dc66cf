//! Changes: copies of some buckets, changed in private, then put in place all at once.
//!
//! ```text
//!   take ─► copy, with its version       set, remove, place ─► the copies       lock ─► all of them, each only if it is as it was copied
//!                                                                               apply ─► write all, unlock all
//! ```
//!
//! Every write is one such change. A lock is never waited for: if one cannot be had, the change is given up, its locks are given back, and the writer
//! plans anew; so there is no deadlock. The protocol for many threads is ours (the paper's index has one).
//!
//! # Invariants
//! 1. All that a change relies on is in buckets that it took: the nodes that it changes, both buckets of each name that it adds, and the nodes that
//!    it takes a least key from. Unlocking counts as a change of all of them. So of two changes of which one relies on what the other one did,
//!    one is given up.
//! 2. The least key of an inner node is that of its first child. A removal takes it from a child that it holds; an insert below that child which
//!    would make it less changes the child, and so one of both is given up. An insert that leaves the child as it is has a
//!    greater key than the child's least one, and needs no change above.
//! 3. Nodes are read one after the other, from above. Before a change relies on a least key above that stays what it is, it looks whether that is
//!    still so, after all that it holds was read: then all of it was there at one moment, and who changes that key later has to take what is held.

use arrayvec::ArrayVec;

use super::displacement;
use super::image::MlpBucketImage;
use super::name::{HEADER, MlpBucketPair, NodeName, SECONDARY, places, places_of, turned};
use super::node::{MlpNode, level_in, moved};
use super::search::FoundRawNode;
use super::table::MlpTable;
use super::versions::{StripeVersions, VersionStripe};
use crate::linear_hashing::LinearHashSize;

/// Buckets in a change.
const BUCKETS_MAX: usize = 48;
/// Places that moves leave for the nodes that are to be placed yet: two for each of three.
const PLACES_KEPT: usize = 2 + 2 * 3;

/// Why a change cannot be made as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MlpAbort {
    /// Something has changed: plan anew.
    Changed,
    /// There is no room for a node near by.
    Crowded,
}

#[derive(Debug)]
struct MlpBucketCopy {
    bucket: u32,
    seen: u64,
    image: MlpBucketImage,
    dirty: bool,
}

/// Where in a change a node is.
#[derive(Clone, Copy, Debug)]
pub(super) struct MlpSlot {
    held: usize,
    slot: usize,
    is_secondary: bool,
}

/// A change under way.
#[derive(Debug)]
pub(super) struct MlpTransaction<'t, const V: usize> {
    table: &'t MlpTable<V>,
    size: LinearHashSize,
    held: ArrayVec<MlpBucketCopy, BUCKETS_MAX>,
    /// The stripes that are locked, with their versions.
    locked: ArrayVec<(VersionStripe, u64), BUCKETS_MAX>,
    /// Where nodes were put: the bits of the place, and the bucket that they meant.
    places: ArrayVec<(u32, u32), { 2 * BUCKETS_MAX }>,
    /// How many slots are taken, and how many given up.
    taken: usize,
    given: usize,
    /// How many nodes go to another bucket.
    moved: u32,
    /// Whether there was no room for a node.
    pub(super) crowded: bool,
}

impl<'t, const V: usize> MlpTransaction<'t, V> {
    #[inline(always)]
    pub(super) fn new(table: &'t MlpTable<V>) -> Self {
        Self::for_size(table, table.size())
    }

    /// A change that puts nodes where they belong in a table of a size, which is the table's own unless the change makes it so.
    #[inline(always)]
    pub(super) fn for_size(table: &'t MlpTable<V>, size: LinearHashSize) -> Self {
        Self {
            table,
            size,
            held: ArrayVec::new(),
            locked: ArrayVec::new(),
            places: ArrayVec::new(),
            taken: 0,
            given: 0,
            moved: 0,
            crowded: false,
        }
    }

    /// Copies a bucket, unless it was copied before.
    pub(super) fn take(&mut self, bucket: u32) -> Result<usize, MlpAbort> {
        if let Some(held) = self.held.iter().position(|held| held.bucket == bucket) {
            return Ok(held);
        }
        let (image, seen) = self.table.image(bucket);
        self.held
            .try_push(MlpBucketCopy { bucket, seen, image, dirty: false })
            .map_err(|_| MlpAbort::Crowded)?;
        Ok(self.held.len() - 1)
    }

    /// Takes the bucket of a node, which must be as the node was found; returns where it is.
    pub(super) fn take_found(&mut self, seen: &FoundRawNode) -> Result<MlpSlot, MlpAbort> {
        let held = self.take(seen.bucket)?;
        if self.held[held].seen != seen.version {
            return Err(MlpAbort::Changed);
        }
        let head = seen.what.head();
        let slot = self.held[held].image.slot_of(head).ok_or(MlpAbort::Changed)?;
        Ok(MlpSlot { held, slot, is_secondary: head & SECONDARY != 0 })
    }

    /// The copy of a bucket, to be changed.
    pub(super) fn image(&mut self, held: usize) -> &mut MlpBucketImage {
        let held = &mut self.held[held];
        held.dirty = true;
        &mut held.image
    }

    /// Gives those nodes another least key, from the last one upward, whose own one `goes`. The first one above whose own stays is as it was seen
    /// (invariant 3).
    pub(super) fn set_leasts(
        &mut self,
        above: &[FoundRawNode],
        goes: impl Fn(u64) -> bool,
        bits: u64,
    ) -> Result<(), MlpAbort> {
        for seen in above.iter().rev() {
            if !goes(seen.node(&self.table.seeds).bits) {
                let is_stale = self.table.versions.changed(seen.bucket, seen.version);
                return if is_stale { Err(MlpAbort::Changed) } else { Ok(()) };
            }
            self.set_least(seen, bits)?;
        }
        Ok(())
    }

    /// Gives an inner node another least key.
    fn set_least(&mut self, seen: &FoundRawNode, bits: u64) -> Result<(), MlpAbort> {
        let MlpSlot { held, slot, .. } = self.take_found(seen)?;
        let head = &mut self.image(held).0[2 * slot];
        *head = *head & HEADER | turned(bits, level_in(*head)) & !HEADER;
        Ok(())
    }

    /// Gives the leaf at a spot its value.
    #[inline(always)]
    pub(super) fn set_value(&mut self, spot: MlpSlot, value: u64) {
        self.image(spot.held).0[2 * spot.slot + 1] = value;
    }

    /// Takes a node out.
    pub(super) fn remove(&mut self, seen: &FoundRawNode) -> Result<(), MlpAbort> {
        let MlpSlot { held, slot, .. } = self.take_found(seen)?;
        let words = self.image(held).remove(slot);
        self.given += words.len() / 2;
        Ok(())
    }

    /// Puts a node in the place of another one of the same name, in the same bucket if there is room.
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

    /// Adds a node, in one of its buckets; returns where it is, until the change moves others.
    pub(super) fn place(&mut self, node: &MlpNode) -> Result<MlpSlot, MlpAbort> {
        let (key, level) = (node.key(), node.level);
        let (name, places) = (NodeName::of(key, level), places(key, level, &self.table.seeds));
        let pair = MlpBucketPair::of(places, self.size);
        let (first, second) = (self.take(pair.primary)?, self.take(pair.secondary)?);
        let is_there = |held: usize, secondary| self.held[held].image.find(&name, secondary).is_some();
        if is_there(first, false) || is_there(second, true) {
            return Err(MlpAbort::Changed);
        }
        self.note_places(places, pair);
        let need = node.slots();
        let held = self.bucket_with_room(first, second, need).ok_or(MlpAbort::Crowded)?;
        // Where both are the same bucket, the node is there as in its primary one.
        let is_secondary = held != first;
        let slot = self.image(held).put(&node.words(is_secondary)).ok_or(MlpAbort::Crowded)?;
        self.taken += need;
        Ok(MlpSlot { held, slot, is_secondary })
    }

    fn note_places(&mut self, places: u64, pair: MlpBucketPair) {
        self.places.extend([(places as u32, pair.primary), ((places >> 32) as u32, pair.secondary)]);
    }

    /// One of two buckets, with so many free slots, which may have to be made.
    fn bucket_with_room(&mut self, first: usize, second: usize, need: usize) -> Option<usize> {
        // The primary one if it can be: who looks up many keys asks for those first (`batch.rs`).
        let held = if self.free(first) < need { second } else { first };
        if self.free(held) >= need {
            return Some(held);
        }
        self.crowded = true;
        displacement::make(self, [first, second], need)
    }

    /// How many slots of a bucket that was taken are free, as it is to be.
    pub(super) fn free(&self, held: usize) -> usize {
        self.held[held].image.free()
    }

    /// The number of a bucket that was taken.
    pub(super) fn number(&self, held: usize) -> u32 {
        self.held[held].bucket
    }

    /// A bucket as it is to be if it was taken; a hint otherwise.
    pub(super) fn image_of(&self, bucket: u32) -> MlpBucketImage {
        match self.held.iter().find(|held| held.bucket == bucket) {
            Some(held) => held.image,
            None => self.table.glance(bucket),
        }
    }

    /// Asks for the buckets of a node that is to be placed.
    pub(super) fn ask(&self, node: &MlpNode) {
        self.table.prefetch(self.table.pair(node.key(), node.level, self.size));
    }

    /// Asks for a bucket.
    pub(super) fn prefetch(&self, bucket: u32) {
        self.table.prefetch_bucket(bucket);
    }

    /// Moves a node, known by its first word, from its bucket to its other one; false if there is no such node any more, or no room for it.
    pub(super) fn move_node(&mut self, from: u32, head: u64, to: u32) -> bool {
        let (Ok(old), Ok(new)) = (self.take(from), self.take(to)) else { return false };
        let found = self.held[old].image.slot_of(head);
        let Some(slot) = found.filter(|_| self.places.remaining_capacity() >= PLACES_KEPT) else {
            return false;
        };
        let mut words = self.held[old].image.words(slot);
        if self.free(new) * 2 < words.len() {
            return false;
        }
        let places = places_of(head, from, &self.table.seeds);
        self.note_places(places, MlpBucketPair::of(places, self.size));
        words[0] = moved(head);
        self.image(old).remove(slot);
        self.image(new).put(&words);
        self.moved += 1;
        true
    }

    /// The other bucket of a node in a bucket.
    #[inline(always)]
    pub(super) fn other(&self, head: u64, bucket: u32) -> u32 {
        home_of(places_of(head, bucket, &self.table.seeds), moved(head), self.size)
    }

    /// Moves those nodes of a bucket whose place is `to` in a table of a size to that bucket, which is empty.
    pub(super) fn split(&mut self, from: usize, to: usize, size: LinearHashSize) {
        let (bucket, new) = (self.held[from].bucket, self.held[to].bucket);
        let goes = |head| home_of(places_of(head, bucket, &self.table.seeds), head, size) == new;
        let ([stay, go], moved) = self.held[from].image.parted(goes);
        (*self.image(from), *self.image(to)) = (stay, go);
        self.moved += moved;
    }

    /// Moves all nodes of a bucket to another one, as they are.
    pub(super) fn move_all(&mut self, from: usize, to: usize) -> Result<(), MlpAbort> {
        let image = self.held[from].image;
        displacement::make(self, [to, to], image.used()).ok_or(MlpAbort::Crowded)?;
        for (slot, _) in image.heads() {
            self.image(to).put(&image.words(slot)).ok_or(MlpAbort::Crowded)?;
            self.moved += 1;
        }
        *self.image(from) = MlpBucketImage::default();
        Ok(())
    }

    /// Locks all buckets of the change; afterwards nobody else changes them. If one is not as it was, none is locked.
    pub(super) fn lock(&mut self) -> Result<(), MlpAbort> {
        self.lock_buckets()?;
        // The table may have grown since: then a place may be another one by now. The bucket that it would be taken from is locked.
        let size = self.table.size();
        if size.buckets() != self.size.buckets()
            && self.places.iter().any(|&(bits, bucket)| size.bucket_of(bits) != bucket)
        {
            self.unlock(false);
            return Err(MlpAbort::Changed);
        }
        Ok(())
    }

    /// The same for who changes the size.
    pub(super) fn lock_buckets(&mut self) -> Result<(), MlpAbort> {
        for held in &self.held {
            let stripe = StripeVersions::stripe(held.bucket);
            let ours = self.locked.iter().find(|(locked, _)| *locked == stripe);
            let is_locked = match ours {
                Some((_, seen)) => *seen == held.seen,
                None => self.table.versions.lock(stripe, held.seen),
            };
            if !is_locked {
                self.unlock(false);
                return Err(MlpAbort::Changed);
            }
            if ours.is_none() {
                self.locked.push((stripe, held.seen));
            }
        }
        Ok(())
    }

    /// Puts the locked buckets in place, calls `published`, and unlocks them.
    pub(super) fn apply_with(&mut self, published: impl FnOnce()) {
        for held in self.held.iter().filter(|held| held.dirty) {
            self.table.write(held.bucket, &held.image);
        }
        published();
        self.unlock(true);
        // Models do without: it orders nothing, and is one more step to interleave.
        if !cfg!(skein_loom) {
            let thread = self.held.first().map_or(0, |held| held.bucket as usize);
            if self.taken != self.given {
                self.table
                    .used
                    .add(thread, self.taken.cast_signed() as i64 - self.given.cast_signed() as i64);
            }
            if self.moved != 0 {
                self.table.moved.add(thread, self.moved.into());
            }
        }
    }

    fn unlock(&mut self, changed: bool) {
        for (stripe, seen) in self.locked.drain(..) {
            self.table.versions.unlock(stripe, seen, changed);
        }
    }
}

/// The bucket where a node of these places with this first word belongs.
#[inline(always)]
fn home_of(places: u64, head: u64, size: LinearHashSize) -> u32 {
    size.bucket_of(if head & SECONDARY == 0 { places } else { places >> 32 } as u32)
}

impl<const V: usize> Drop for MlpTransaction<'_, V> {
    fn drop(&mut self) {
        self.unlock(false);
    }
}
