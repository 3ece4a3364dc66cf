//! Changes: copies of some buckets, changed in private, then put in place all at once.
//!
//! ```text
//!   take ─► copy, with its version       place, set, clear ─► the copies       lock ─► all of them, each only if it is as it was copied
//!                                                                              apply ─► mark all, write all, unlock all
//! ```
//!
//! Every write to the trie is one such change (Cuckoo Trie, section 5: the lock set is taken by compare-and-swap on the version words, and so
//! verified in one go). A lock is never waited for: if one cannot be had, the change is given up, its locks are given back,
//! and the writer plans anew; so there is no deadlock.
//!
//! A new node whose two buckets are full takes the slot of an entry that has room in its other bucket, or can have it by one more move: these moves are
//! part of the same change, with a bucket or two more (`way.rs`). Only if there is no such way, the change is given up, and entries are moved along a
//! longer one first (`room.rs`). An entry whose place the
//! plan relies on, because it was taken as a node or set, is pinned, and stays where it is. That the color of a new node is free is seen in both of its buckets, so
//! both are locked; an entry that moves is the same in the same two buckets, so its color needs no look.
//!
//! The paper's writers let readers see entries while others of the same change are not written yet, and mark leaves whose pointers are stale. Here
//! all buckets of a change are marked before the first is written, and unlocked after the last: a reader that has seen an old one and then a new one
//! notices by the version of the old one.

use arrayvec::ArrayVec;

use super::bucket::Bucket;
use super::entry::{COLORS, CuckooEntry, CuckooNodeBody, lane};
use super::image::CuckooBucketImage;
use super::lanes::{Lanes, SLOTS, SlotBits};
use super::search::FoundNode;
use super::short_displacement;
use super::table::{CuckooBucketPair, CuckooTable, LinearHashSize};
use crate::hash::peelable::EMPTY_HASH;

/// Buckets in a change: those of [`NODES_MAX`] new nodes, two more for each that others make way for, and those of a few old ones.
const BUCKETS_MAX: usize = 4 * NODES_MAX + 6;
/// New nodes in a change.
pub(super) const NODES_MAX: usize = 9;

/// Why a change cannot be made as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CuckooAbort {
    /// Something has changed: plan anew.
    Changed,
    /// Both buckets of this hash are full.
    Crowded(u32),
    /// Too many names have this hash.
    OutOfColors,
}

#[derive(Debug)]
struct CuckooBucketCopy<'t> {
    bucket: Bucket<'t>,
    number: u32,
    /// The first word of the bucket when it was copied.
    seen: u64,
    image: CuckooBucketImage,
    /// The slots that the plan knows by their place, a bit for each: their entries do not make way for others.
    pinned: u8,
    dirty: bool,
}

/// A place in a change: which of its buckets, and which slot there.
#[derive(Clone, Copy, Debug)]
pub(super) struct CuckooSlot {
    pub(super) held: usize,
    pub(super) slot: usize,
}

/// A change under way.
#[derive(Debug)]
pub(super) struct CuckooTransaction<'t, const V: usize> {
    pub(super) table: &'t CuckooTable<V>,
    held: ArrayVec<CuckooBucketCopy<'t>, BUCKETS_MAX>,
    /// The size of the table that it is planned for.
    pub(super) size: LinearHashSize,
    /// The entries that it puts in place.
    placed: ArrayVec<(u32, CuckooBucketPair), { 3 * NODES_MAX }>,
    /// How many of `held` are locked; 0 again once they are unlocked.
    locked: usize,
    /// How many entries it moves to other buckets.
    moved: u32,
    /// How many entries it adds.
    added: i64,
    /// Whether both buckets of a new node were full.
    crowded: bool,
}

impl<'t, const V: usize> CuckooTransaction<'t, V> {
    pub(super) fn new(table: &'t CuckooTable<V>) -> Self {
        Self {
            table,
            held: ArrayVec::new(),
            size: table.places(),
            placed: ArrayVec::new(),
            locked: 0,
            moved: 0,
            added: 0,
            crowded: false,
        }
    }

    /// Copies a bucket, unless it was copied before.
    #[inline(always)]
    pub(super) fn take(&mut self, number: u32) -> usize {
        match self.held.iter().position(|held| held.number == number) {
            Some(held) => held,
            None => self.copy(number),
        }
    }

    #[inline(always)]
    fn copy(&mut self, number: u32) -> usize {
        let bucket = self.table.bucket(number);
        let image = bucket.image();
        self.held.push(CuckooBucketCopy {
            bucket,
            number,
            seen: image.first(),
            image,
            pinned: 0,
            dirty: false,
        });
        self.held.len() - 1
    }

    /// Copies the bucket of a node, which must be as the node was found. Nodes are taken before others are placed, and then stay where they are.
    pub(super) fn take_node(&mut self, node: &FoundNode) -> Result<CuckooSlot, CuckooAbort> {
        debug_assert!(self.placed.is_empty(), "the node may have made way for another one");
        let held = self.take(node.bucket);
        if self.held[held].image.version() != node.version {
            return Err(CuckooAbort::Changed);
        }
        self.held[held].pinned |= 1 << node.slot;
        Ok(CuckooSlot { held, slot: node.slot })
    }

    pub(super) fn image(&self, held: usize) -> &CuckooBucketImage {
        &self.held[held].image
    }

    pub(super) fn entry(&self, spot: CuckooSlot) -> CuckooEntry {
        self.image(spot.held).get(spot.slot)
    }

    pub(super) fn set(&mut self, spot: CuckooSlot, entry: CuckooEntry) {
        let held = &mut self.held[spot.held];
        held.image.set(spot.slot, entry);
        held.pinned |= 1 << spot.slot;
        held.dirty = true;
    }

    /// Gives a branch other children, or a leaf another record.
    #[inline(always)]
    pub(super) fn set_low(&mut self, spot: CuckooSlot, low: u64) {
        let held = &mut self.held[spot.held];
        held.image.set_low(spot.slot, low);
        held.pinned |= 1 << spot.slot;
        held.dirty = true;
    }

    /// Makes the node at a spot another one of the same name.
    pub(super) fn set_body(&mut self, spot: CuckooSlot, body: CuckooNodeBody) {
        self.set(spot, self.entry(spot).with_body(body));
    }

    /// Removes an entry.
    pub(super) fn clear(&mut self, spot: CuckooSlot) {
        self.set(spot, CuckooEntry::NONE);
        self.added -= 1;
    }

    /// Puts an entry, as it is, into a free slot of a bucket that was taken; none if there is no such slot.
    pub(super) fn put(&mut self, held: usize, entry: CuckooEntry) -> Option<CuckooSlot> {
        let slot = self.image(held).free().first()?;
        let spot = CuckooSlot { held, slot };
        self.set(spot, entry);
        self.added += 1;
        Some(spot)
    }

    /// Moves an entry to its other bucket, which is to be this one.
    pub(super) fn move_to(&mut self, from: CuckooSlot, number: u32) -> Result<(), CuckooAbort> {
        let (entry, old) = (self.entry(from), self.held[from.held].number);
        let (home, other) = (
            CuckooTable::<V>::home(entry.lane, old, self.size),
            CuckooTable::<V>::other_at(entry.lane, old, self.size),
        );
        if entry.is_none() || (home, other) != (old, number) {
            return Err(CuckooAbort::Changed);
        }
        let to = self.take(number);
        let slot = self.image(to).free().first().ok_or(CuckooAbort::Changed)?;
        self.copy_to_other_bucket(from, CuckooSlot { held: to, slot });
        self.set(from, CuckooEntry::NONE);
        Ok(())
    }

    /// Copies an entry to a place in its other bucket. What it leaves is for the caller to set.
    #[inline(always)]
    pub(super) fn copy_to_other_bucket(&mut self, from: CuckooSlot, to: CuckooSlot) {
        let (entry, old, new) = (self.entry(from), self.held[from.held].number, self.held[to.held].number);
        let pair = if entry.is_secondary() {
            CuckooBucketPair { primary: new, secondary: old }
        } else {
            CuckooBucketPair { primary: old, secondary: new }
        };
        let hash = CuckooTable::<V>::hash_of(entry.lane, old);
        self.set(to, entry.moved());
        self.placed.push((hash, pair));
        self.moved += 1;
    }

    /// Moves those entries of a bucket whose lanes `goes` says, as they are, to an empty one, which gets this version.
    pub(super) fn split(&mut self, from: usize, to: usize, version: u32, goes: impl Fn(u32) -> bool) {
        let (kept, gone) = self.image(from).split(goes);
        self.moved += SLOTS as u32 - gone.free().len();
        for (held, image) in [(from, kept), (to, gone.with_version(version))] {
            self.held[held].image = image;
            self.held[held].dirty = true;
        }
    }

    /// Moves all entries of a bucket, as they are, to another one.
    pub(super) fn move_all(&mut self, from: usize, to: usize) -> Result<(), CuckooAbort> {
        let image = *self.image(from);
        for (slot, entry) in image.entries() {
            self.clear(CuckooSlot { held: from, slot });
            let hash = CuckooTable::<V>::hash_of(entry.lane, self.held[from].number);
            self.put(to, entry).ok_or(CuckooAbort::Crowded(hash))?;
            self.moved += 1;
        }
        Ok(())
    }

    /// Adds a node: chooses its bucket and its color. `hash` is that of its name, whose last symbol is `symbol`.
    pub(super) fn place(
        &mut self,
        hash: u32,
        symbol: u8,
        parent: u8,
        body: CuckooNodeBody,
    ) -> Result<(CuckooSlot, u8), CuckooAbort> {
        let pair = CuckooBucketPair::of::<V>(hash, self.size);
        let (first, second) = (self.take(pair.primary), self.take(pair.secondary));
        let lanes = (self.image(first).lanes(), self.image(second).lanes());
        let tag = CuckooTable::<V>::tag(hash);
        let color = if hash == EMPTY_HASH || lanes.0.may_have_tag(tag) || lanes.1.may_have_tag(tag) {
            self.free_color(hash, first, second)?
        } else {
            0
        };
        let spot = match free_slot((first, lanes.0.free()), (second, lanes.1.free())) {
            Some(spot) => spot,
            None => self.displace_entry(first, second).ok_or(CuckooAbort::Crowded(hash))?,
        };
        // Where both are the same bucket, the entry is there as in its primary one.
        let lane = lane(tag, spot.held != first, symbol, parent);
        self.set(spot, CuckooEntry::new(lane, color, body));
        self.added += 1;
        self.placed.push((hash, pair));
        Ok((spot, color))
    }

    /// The least color that no other node has whose name has this hash.
    #[cold]
    fn free_color(&self, hash: u32, first: usize, second: usize) -> Result<u8, CuckooAbort> {
        // The root has the first color, and no place in the table.
        let mut taken = u8::from(hash == EMPTY_HASH);
        for CuckooBucketCopy { image, number, .. } in [first, second].map(|held| &self.held[held]) {
            for (_, entry) in image.entries() {
                if CuckooTable::<V>::hash_of(entry.lane, *number) == hash {
                    taken |= 1 << entry.color();
                }
            }
        }
        let color = taken.trailing_ones() as u8;
        if color < COLORS { Ok(color) } else { Err(CuckooAbort::OutOfColors) }
    }

    /// Moves entries out of one of two full buckets, if there is room near by; returns a slot there to be set.
    #[inline(never)]
    fn displace_entry(&mut self, first: usize, second: usize) -> Option<CuckooSlot> {
        self.crowded = true;
        short_displacement::make(self, [first, second])
    }

    /// The lanes of a bucket, as it is to be, and which of its slots are pinned.
    #[inline(always)]
    pub(super) fn lanes(&self, number: u32) -> (Lanes, u8) {
        match self.held.iter().find(|held| held.number == number) {
            Some(held) => (held.image.lanes(), held.pinned),
            None => (self.table.bucket(number).lanes(), 0),
        }
    }

    /// Whether a bucket has a free slot, as it is and as it is to be.
    #[inline(always)]
    pub(super) fn has_room(&self, number: u32) -> bool {
        self.table.bucket(number).lanes().has_room() && self.lanes(number).0.has_room()
    }

    /// The number of a bucket that was taken.
    #[inline(always)]
    pub(super) fn number(&self, held: usize) -> u32 {
        self.held[held].number
    }

    /// Whether both buckets of a new node were full.
    pub(super) fn crowded(&self) -> bool {
        self.crowded
    }

    /// Locks all buckets of the change; afterwards nobody else changes them. If one is not as it was, none is locked.
    pub(super) fn lock(&mut self) -> Result<(), CuckooAbort> {
        while let Some(held) = self.held.get(self.locked) {
            if !held.bucket.lock(held.seen) {
                self.unlock();
                return Err(CuckooAbort::Changed);
            }
            self.locked += 1;
        }
        // The table may have grown since: then a place may be another one by now. The bucket that it would be taken from is locked.
        let size = self.table.places();
        let is_elsewhere =
            |&(hash, pair): &(u32, CuckooBucketPair)| CuckooBucketPair::of::<V>(hash, size) != pair;
        if size.buckets() != self.size.buckets() && self.placed.iter().any(is_elsewhere) {
            self.unlock();
            return Err(CuckooAbort::Changed);
        }
        Ok(())
    }

    /// Puts the locked buckets in place, calls `published`, and unlocks them.
    pub(super) fn apply_with(&mut self, published: impl FnOnce()) -> i64 {
        debug_assert_eq!(self.locked, self.held.len());
        let dirty = || self.held.iter().filter(|held| held.dirty);
        dirty().for_each(|held| held.bucket.mark(&held.image));
        dirty().for_each(|held| held.bucket.write(&held.image));
        published();
        for held in &self.held {
            if held.dirty {
                held.bucket.unlock_changed(&held.image);
            } else {
                held.bucket.unlock_unchanged(held.seen);
            }
        }
        self.locked = 0;
        // Models do without: it orders nothing, and is one more step to interleave.
        if self.moved > 0 && !cfg!(skein_loom) {
            self.table.moved.add(self.held[0].number as usize, self.moved.into());
        }
        self.added
    }

    /// Puts the locked buckets in place; returns how many entries there are more.
    pub(super) fn apply(&mut self) -> i64 {
        self.apply_with(|| ())
    }

    /// A node that the change has put in place, as it is from that moment on: who relies on it notices if it is not any more.
    pub(super) fn applied(&self, spot: CuckooSlot) -> FoundNode {
        let held = &self.held[spot.held];
        debug_assert!(held.dirty && self.locked == 0);
        let version = held.image.as_next_version().version();
        FoundNode { bucket: held.number, slot: spot.slot, version, entry: held.image.get(spot.slot) }
    }

    /// Gives the locks back; the buckets are as they were.
    pub(super) fn unlock(&mut self) {
        for held in &self.held[..self.locked] {
            held.bucket.unlock_unchanged(held.seen);
        }
        self.locked = 0;
    }
}

impl<const V: usize> Drop for CuckooTransaction<'_, V> {
    fn drop(&mut self) {
        self.unlock();
    }
}

/// A free slot in one of two buckets, in the one that has more of them.
#[inline(always)]
fn free_slot(first: (usize, SlotBits), second: (usize, SlotBits)) -> Option<CuckooSlot> {
    let (held, free) = if second.1.len() > first.1.len() { second } else { first };
    free.first().map(|slot| CuckooSlot { held, slot })
}
