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
//! The paper's writers let readers see entries while others of the same change are not written yet, and mark leaves whose pointers are stale. Here
//! all buckets of a change are marked before the first is written, and unlocked after the last: a reader that has seen an old one and then a new one
//! notices by the version of the old one.

use arrayvec::ArrayVec;

use super::bucket::{Bucket, Image, SLOTS};
use super::entry::{Body, COLORS, Entry, lane};
use super::search::Node;
use super::table::{Pair, Table};
use crate::hash::peelable::EMPTY_HASH;

/// Buckets in a change: those of [`NODES_MAX`] new nodes and of a few old ones.
const BUCKETS_MAX: usize = 2 * NODES_MAX + 6;
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
    placed: ArrayVec<(u32, Pair), NODES_MAX>,
    /// How many of `held` are locked; 0 again once they are unlocked.
    locked: usize,
    /// How many entries it adds.
    added: i64,
}

impl<'t, const V: usize> Change<'t, V> {
    pub(super) fn new(table: &'t Table<V>) -> Self {
        Self { table, held: ArrayVec::new(), placed: ArrayVec::new(), locked: 0, added: 0 }
    }

    /// Copies a bucket, unless it was copied before.
    pub(super) fn take(&mut self, number: u32) -> usize {
        if let Some(held) = self.held.iter().position(|held| held.number == number) {
            return held;
        }
        let bucket = self.table.bucket(number);
        let image = bucket.image();
        self.held.push(Held { bucket, number, seen: image.first(), image, dirty: false });
        self.held.len() - 1
    }

    /// Copies the bucket of a node, which must be as the node was found.
    pub(super) fn take_node(&mut self, node: &Node) -> Result<Spot, Obstacle> {
        let held = self.take(node.bucket);
        if self.held[held].image.version() != node.version {
            return Err(Obstacle::Changed);
        }
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
        held.dirty = true;
    }

    /// Gives a bucket that is new another version.
    pub(super) fn set_version(&mut self, held: usize, version: u32) {
        let held = &mut self.held[held];
        held.image.set_version(version);
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
        let slot = self.image(held).free_slot()?;
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
        let pair = self.table.pair(hash);
        let (home, other) = if entry.is_secondary() {
            (pair.secondary, pair.primary)
        } else {
            (pair.primary, pair.secondary)
        };
        if (home, other) != (old, number) {
            return Err(Obstacle::Changed);
        }
        let to = self.take(number);
        self.clear(from);
        self.put(to, entry.moved()).ok_or(Obstacle::Changed)?;
        self.placed.push((hash, pair));
        Ok(())
    }

    /// Moves those entries of a bucket that `goes` says, as they are, to another one.
    pub(super) fn move_all(
        &mut self,
        from: usize,
        to: usize,
        goes: impl Fn(Entry) -> bool,
    ) -> Result<(), Obstacle> {
        for slot in 0..SLOTS {
            let spot = Spot { held: from, slot };
            let entry = self.entry(spot);
            if !entry.is_none() && goes(entry) {
                self.clear(spot);
                let hash = Table::<V>::hash_of(entry, self.held[from].number);
                self.put(to, entry).ok_or(Obstacle::Crowded(hash))?;
            }
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
        let pair = self.table.pair(hash);
        let (first, second) = (self.take(pair.primary), self.take(pair.secondary));
        let color = self.free_color(hash, pair, (first, second))?;
        let (one, two) = (self.image(first).occupied().count(), self.image(second).occupied().count());
        let secondary = two < one;
        let lane = lane(Table::<V>::tag(hash), secondary, symbol, parent);
        let held = if secondary { second } else { first };
        let spot = self.put(held, Entry::new(lane, color, body)).ok_or(Obstacle::Crowded(hash))?;
        self.placed.push((hash, pair));
        Ok((spot, color))
    }

    /// The least color that no other node has whose name has this hash.
    fn free_color(&self, hash: u32, pair: Pair, held: (usize, usize)) -> Result<u8, Obstacle> {
        // The root has the first color, and no place in the table.
        let mut taken = u8::from(hash == EMPTY_HASH);
        for (held, number) in [(held.0, pair.primary), (held.1, pair.secondary)] {
            for (_, entry) in self.image(held).entries() {
                if entry.tag() == Table::<V>::tag(hash) && Table::<V>::hash_of(entry, number) == hash {
                    taken |= 1 << entry.color();
                }
            }
        }
        let color = taken.trailing_ones() as u8;
        if color < COLORS { Ok(color) } else { Err(Obstacle::OutOfColors) }
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
        if self.placed.iter().any(|&(hash, pair)| self.table.pair(hash) != pair) {
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
