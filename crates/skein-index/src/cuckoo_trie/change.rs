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
//! A new node whose two buckets are full takes the slot of an entry that has room in its other bucket: that move is part of the same change, with one
//! bucket more. Only if no entry has such room, the change is given up, and entries are moved along a path first (`room.rs`). An entry whose place the
//! plan relies on, because it was taken as a node or set, is pinned, and stays where it is. That the color of a new node is free is seen in both of its buckets, so
//! both are locked; an entry that moves is the same in the same two buckets, so its color needs no look.
//!
//! The paper's writers let readers see entries while others of the same change are not written yet, and mark leaves whose pointers are stale. Here
//! all buckets of a change are marked before the first is written, and unlocked after the last: a reader that has seen an old one and then a new one
//! notices by the version of the old one.

use arrayvec::ArrayVec;

use super::bucket::{Bucket, Image, SLOTS};
use super::entry::{Body, COLORS, Entry, lane};
use super::search::Node;
use super::table::{Pair, Table};
use crate::hash::peelable::EMPTY_HASH;

/// Buckets in a change: those of [`NODES_MAX`] new nodes, one more for each that another entry makes way for, and those of a few old ones.
const BUCKETS_MAX: usize = 3 * NODES_MAX + 6;
/// New nodes in a change.
pub(super) const NODES_MAX: usize = 9;

/// Why a change cannot be made as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Something has changed: plan anew.
    Changed,
    /// Both buckets of this hash are full.
    Crowded(u32),
    /// Too many names have this hash.
    OutOfColors,
}

#[derive(Debug)]
struct Held<'t> {
    bucket: Bucket<'t>,
    number: u32,
    /// The first word of the bucket when it was copied.
    seen: u64,
    image: Image,
    /// The slots that the plan knows by their place, a bit for each: their entries do not make way for others.
    pinned: u8,
    dirty: bool,
}

/// A place in a change: which of its buckets, and which slot there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) held: usize,
    pub(super) slot: usize,
}

/// A change under way.
#[derive(Debug)]
pub(super) struct Change<'t, const V: usize> {
    table: &'t Table<V>,
    held: ArrayVec<Held<'t>, BUCKETS_MAX>,
    /// The size of the table that it is planned for.
    size: u32,
    /// The entries that it puts in place.
    placed: ArrayVec<(u32, Pair), { 2 * NODES_MAX }>,
    /// How many of `held` are locked; 0 again once they are unlocked.
    locked: usize,
    /// How many entries it moves to other buckets.
    moved: u32,
    /// How many entries it adds.
    added: i64,
    /// Whether both buckets of a new node were full.
    crowded: bool,
}

impl<'t, const V: usize> Change<'t, V> {
    pub(super) fn new(table: &'t Table<V>) -> Self {
        let size = table.size();
        Self {
            table,
            held: ArrayVec::new(),
            size,
            placed: ArrayVec::new(),
            locked: 0,
            moved: 0,
            added: 0,
            crowded: false,
        }
    }

    /// Copies a bucket, unless it was copied before.
    pub(super) fn take(&mut self, number: u32) -> usize {
        if let Some(held) = self.held.iter().position(|held| held.number == number) {
            return held;
        }
        let bucket = self.table.bucket(number);
        let image = bucket.image();
        self.held.push(Held { bucket, number, seen: image.first(), image, pinned: 0, dirty: false });
        self.held.len() - 1
    }

    /// Copies the bucket of a node, which must be as the node was found. Nodes are taken before others are placed, and then stay where they are.
    pub(super) fn take_node(&mut self, node: &Node) -> Result<Spot, Obstacle> {
        debug_assert!(self.placed.is_empty(), "the node may have made way for another one");
        let held = self.take(node.bucket);
        if self.held[held].image.version() != node.version {
            return Err(Obstacle::Changed);
        }
        self.held[held].pinned |= 1 << node.slot;
        Ok(Spot { held, slot: node.slot })
    }

    pub(super) fn image(&self, held: usize) -> &Image {
        &self.held[held].image
    }

    pub(super) fn entry(&self, spot: Spot) -> Entry {
        self.image(spot.held).get(spot.slot)
    }

    pub(super) fn set(&mut self, spot: Spot, entry: Entry) {
        let held = &mut self.held[spot.held];
        held.image.set(spot.slot, entry);
        held.pinned |= 1 << spot.slot;
        held.dirty = true;
    }

    /// Gives a branch other children, or a leaf another record.
    #[inline(always)]
    pub(super) fn set_low(&mut self, spot: Spot, low: u64) {
        let held = &mut self.held[spot.held];
        held.image.set_low(spot.slot, low);
        held.pinned |= 1 << spot.slot;
        held.dirty = true;
    }

    /// Makes the node at a spot another one of the same name.
    pub(super) fn set_body(&mut self, spot: Spot, body: Body) {
        self.set(spot, self.entry(spot).with_body(body));
    }

    /// Removes an entry.
    pub(super) fn clear(&mut self, spot: Spot) {
        self.set(spot, Entry::NONE);
        self.added -= 1;
    }

    /// Puts an entry, as it is, into a free slot of a bucket that was taken; none if there is no such slot.
    pub(super) fn put(&mut self, held: usize, entry: Entry) -> Option<Spot> {
        let slot = self.image(held).free().first()?;
        let spot = Spot { held, slot };
        self.set(spot, entry);
        self.added += 1;
        Some(spot)
    }

    /// Moves an entry to its other bucket, which is to be this one.
    pub(super) fn move_to(&mut self, from: Spot, number: u32) -> Result<(), Obstacle> {
        let (entry, old) = (self.entry(from), self.held[from.held].number);
        if entry.is_none() {
            return Err(Obstacle::Changed);
        }
        let hash = Table::<V>::hash_of(entry, old);
        let pair = Table::<V>::pair_at(hash, self.size);
        if pair.of(entry) != (old, number) {
            return Err(Obstacle::Changed);
        }
        let to = self.take(number);
        let slot = self.image(to).free().first().ok_or(Obstacle::Changed)?;
        self.set(from, Entry::NONE);
        self.set(Spot { held: to, slot }, entry.moved());
        self.placed.push((hash, pair));
        self.moved += 1;
        Ok(())
    }

    /// Moves those entries of a bucket that `goes` says, as they are, to an empty one, which gets this version.
    pub(super) fn split(&mut self, from: usize, to: usize, version: u32, goes: impl Fn(Entry) -> bool) {
        let (kept, gone) = self.image(from).split(goes);
        self.moved += SLOTS as u32 - gone.free().len();
        for (held, image) in [(from, kept), (to, gone.with_version(version))] {
            self.held[held].image = image;
            self.held[held].dirty = true;
        }
    }

    /// Moves all entries of a bucket, as they are, to another one.
    pub(super) fn move_all(&mut self, from: usize, to: usize) -> Result<(), Obstacle> {
        let image = *self.image(from);
        for (slot, entry) in image.entries() {
            self.clear(Spot { held: from, slot });
            let hash = Table::<V>::hash_of(entry, self.held[from].number);
            self.put(to, entry).ok_or(Obstacle::Crowded(hash))?;
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
        body: Body,
    ) -> Result<(Spot, u8), Obstacle> {
        let pair = Table::<V>::pair_at(hash, self.size);
        let (first, second) = (self.take(pair.primary), self.take(pair.secondary));
        let color = self.free_color(hash, pair, (first, second))?;
        let free = (self.image(first).free(), self.image(second).free());
        let (mut held, free) = if free.1.len() > free.0.len() { (second, free.1) } else { (first, free.0) };
        let slot = if let Some(slot) = free.first() {
            slot
        } else {
            let way = self.make_way(first, second).ok_or(Obstacle::Crowded(hash))?;
            held = way.held;
            way.slot
        };
        // Where both are the same bucket, the entry is there as in its primary one.
        let lane = lane(Table::<V>::tag(hash), held != first, symbol, parent);
        let spot = Spot { held, slot };
        self.set(spot, Entry::new(lane, color, body));
        self.added += 1;
        self.placed.push((hash, pair));
        Ok((spot, color))
    }

    /// The least color that no other node has whose name has this hash.
    #[inline(always)]
    fn free_color(&self, hash: u32, pair: Pair, held: (usize, usize)) -> Result<u8, Obstacle> {
        // The root has the first color, and no place in the table.
        let mut taken = u8::from(hash == EMPTY_HASH);
        for (held, number) in [(held.0, pair.primary), (held.1, pair.secondary)] {
            for entry in self.image(held).with_tag(Table::<V>::tag(hash)) {
                if Table::<V>::hash_of(entry, number) == hash {
                    taken |= 1 << entry.color();
                }
            }
        }
        let color = taken.trailing_ones() as u8;
        if color < COLORS { Ok(color) } else { Err(Obstacle::OutOfColors) }
    }

    /// Moves an entry out of one of two full buckets, if its other one has a free slot; returns the slot that it leaves.
    #[inline(never)]
    fn make_way(&mut self, first: usize, second: usize) -> Option<Spot> {
        self.crowded = true;
        self.make_way_in(first).or_else(|| self.make_way_in(second))
    }

    fn make_way_in(&mut self, at: usize) -> Option<Spot> {
        let Held { number, image, pinned, .. } = &self.held[at];
        let others: [u32; SLOTS] = std::array::from_fn(|slot| {
            let other = Table::<V>::other_at(image.get(slot), *number, self.size);
            self.table.prefetch_bucket(other);
            other
        });
        let pinned = *pinned;
        let may_go = |&slot: &usize| pinned >> slot & 1 == 0 && self.has_room(others[slot]);
        let from = Spot { held: at, slot: (0..SLOTS).find(may_go)? };
        self.move_to(from, others[from.slot]).ok()?;
        Some(from)
    }

    /// Whether a bucket has a free slot, as it is to be.
    fn has_room(&self, number: u32) -> bool {
        let held = self.held.iter().find(|held| held.number == number);
        held.map_or_else(|| self.table.bucket(number).has_room(), |held| held.image.free().first().is_some())
    }

    /// Whether both buckets of a new node were full.
    pub(super) fn crowded(&self) -> bool {
        self.crowded
    }

    /// Locks all buckets of the change; afterwards nobody else changes them. If one is not as it was, none is locked.
    pub(super) fn lock(&mut self) -> Result<(), Obstacle> {
        while let Some(held) = self.held.get(self.locked) {
            if !held.bucket.lock(held.seen) {
                self.unlock();
                return Err(Obstacle::Changed);
            }
            self.locked += 1;
        }
        // The table may have grown since: then a place may be another one by now. The bucket that it would be taken from is locked.
        let size = self.table.size();
        let is_elsewhere = |&(hash, pair): &(u32, Pair)| Table::<V>::pair_at(hash, size) != pair;
        if size != self.size && self.placed.iter().any(is_elsewhere) {
            self.unlock();
            return Err(Obstacle::Changed);
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

    fn unlock(&mut self) {
        for held in &self.held[..self.locked] {
            held.bucket.unlock_unchanged(held.seen);
        }
        self.locked = 0;
    }
}

impl<const V: usize> Drop for Change<'_, V> {
    fn drop(&mut self) {
        self.unlock();
    }
}
