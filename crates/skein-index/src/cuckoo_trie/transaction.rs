//! Transactions of the trie: which entries a write adds, changes and moves.
//!
//! ```text
//!   take ─► copy, with its version
//!   place, set, clear ─► change the copies
//!   lock ─► lock every bucket, if it is still as it was copied
//!   apply ─► mark all, write all, unlock all
//! ```
//!
//! `crate::buckets` has the copies, the locks and their invariants.
//!
//! If both buckets of a new node are full, the node takes the slot of an entry that can move to its
//! other bucket, at once or after one more move. These moves are part of the same transaction and
//! add one or two buckets to it. If two moves are not enough, the writer abandons the transaction
//! and frees a slot along a longer path first (`displacement.rs`).
//!
//! An entry whose place matters to the plan, because it was taken as a node or set, is pinned: it
//! is not moved. To find a free color for a new node, the transaction looks at both buckets of the
//! node, so it locks both. An entry that moves stays within the same two buckets, so its color
//! remains valid.
//!
//! In the paper, a reader may see some entries of a write before others are stored, and the writer
//! marks leaves whose pointers are stale. Here a transaction marks all its buckets before it writes
//! the first, and unlocks them after it wrote the last. So a reader that saw one old and one new
//! bucket detects it by the version of the old one.

use super::bucket::CuckooBucketImage;
use super::displacement::displace_near;
use super::entry::{COLORS, CuckooEntry, CuckooNodeBody, lane};
use super::lanes::{Lanes, SLOTS, SlotBits};
use super::search::FoundNode;
use super::table::{CuckooBucketPair, CuckooTable, LinearHashSize};
use super::variant::CuckooSettings;
use crate::buckets::{BucketChanged, BucketCopy, BucketTable, BucketTransaction, TableSize};
use crate::counter::Counter;
use crate::hash::peelable::EMPTY_HASH;

/// The buckets of a transaction: those of [`NODES_MAX`] new nodes, two more for each node that
/// displaces entries, and those of a few old nodes.
const BUCKETS_MAX: usize = 4 * NODES_MAX + 6;
pub(super) const NODES_MAX: usize = 9;

/// Why a transaction cannot be completed as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CuckooAbort {
    /// A bucket has changed: plan anew.
    Changed,
    /// Both buckets of this hash are full.
    Crowded(u32),
    /// Too many names have this hash.
    OutOfColors,
}

impl From<BucketChanged> for CuckooAbort {
    fn from(_: BucketChanged) -> Self {
        Self::Changed
    }
}

impl<V: CuckooSettings> BucketTable for CuckooTable<V> {
    type Image = CuckooBucketImage;
    /// The slots whose entries must not move, one bit each.
    type Note = u8;
    /// The hash of an entry, and its buckets.
    type Placement = (u32, CuckooBucketPair);
    /// How many buckets are locked, from the first on.
    type Locks = usize;

    #[inline(always)]
    fn table_size(&self) -> &TableSize {
        &self.size
    }

    fn moved(&self) -> &Counter {
        &self.moved
    }

    #[inline(always)]
    fn copy(&self, bucket: u32) -> (CuckooBucketImage, u64) {
        let image = self.bucket(bucket).image();
        let seen = image.first();
        (image, seen)
    }

    #[inline(always)]
    fn is_at_home(&(hash, pair): &(u32, CuckooBucketPair), size: LinearHashSize) -> bool {
        CuckooBucketPair::of::<V>(hash, size) == pair
    }

    #[inline(always)]
    fn lock(&self, copies: &[BucketCopy<Self>], locked: &mut usize) -> bool {
        while let Some(copy) = copies.get(*locked) {
            if !self.bucket(copy.number).lock(copy.seen) {
                return false;
            }
            *locked += 1;
        }
        true
    }

    #[inline(always)]
    fn write(&self, copies: &[BucketCopy<Self>]) {
        let dirty = || copies.iter().filter(|copy| copy.dirty);
        dirty().for_each(|copy| self.bucket(copy.number).mark(&copy.image));
        dirty().for_each(|copy| self.bucket(copy.number).write(&copy.image));
    }

    #[inline(always)]
    fn unlock(&self, copies: &[BucketCopy<Self>], locked: &mut usize, applied: bool) {
        for copy in copies.iter().take(std::mem::take(locked)) {
            if applied && copy.dirty {
                self.bucket(copy.number).unlock_changed(&copy.image);
            } else {
                self.bucket(copy.number).unlock_unchanged(copy.seen);
            }
        }
    }
}

/// A slot of a bucket in a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct CuckooSlot {
    pub(super) held: usize,
    pub(super) slot: usize,
}

#[derive(Debug)]
pub(super) struct CuckooTransaction<'t, V: CuckooSettings> {
    pub(super) buckets: BucketTransaction<'t, CuckooTable<V>, BUCKETS_MAX, { 3 * NODES_MAX }>,
    /// How many entries are added, less those removed.
    added: i64,
}

impl<'t, V: CuckooSettings> CuckooTransaction<'t, V> {
    pub(super) fn new(table: &'t CuckooTable<V>) -> Self {
        Self { buckets: BucketTransaction::new(table, table.places()), added: 0 }
    }

    /// Copies a bucket, unless it was copied before. Returns its index in the transaction.
    #[inline(always)]
    pub(super) fn take(&mut self, number: u32) -> usize {
        self.buckets.take(number).expect("a plan has at most `NODES_MAX` new nodes")
    }

    /// Copies the bucket of a node and pins the node, which must be unchanged since it was found.
    /// Take all old nodes before placing new ones, which may move entries.
    pub(super) fn take_node(&mut self, node: &FoundNode) -> Result<CuckooSlot, CuckooAbort> {
        debug_assert!(
            self.buckets.placed.is_empty(),
            "take old nodes before placing new ones, which may move them"
        );
        let held = self.take(node.bucket);
        if self.buckets.held[held].image.version() != node.version {
            return Err(CuckooAbort::Changed);
        }
        self.buckets.held[held].note |= 1 << node.slot;
        Ok(CuckooSlot { held, slot: node.slot })
    }

    pub(super) fn image(&self, held: usize) -> &CuckooBucketImage {
        &self.buckets.held[held].image
    }

    pub(super) fn entry(&self, spot: CuckooSlot) -> CuckooEntry {
        self.image(spot.held).get(spot.slot)
    }

    pub(super) fn set(&mut self, spot: CuckooSlot, entry: CuckooEntry) {
        let held = &mut self.buckets.held[spot.held];
        held.image.set(spot.slot, entry);
        held.note |= 1 << spot.slot;
        held.dirty = true;
    }

    /// Sets the children of a branch, or the record of a leaf.
    #[inline(always)]
    pub(super) fn set_low(&mut self, spot: CuckooSlot, low: u64) {
        let held = &mut self.buckets.held[spot.held];
        held.image.set_low(spot.slot, low);
        held.note |= 1 << spot.slot;
        held.dirty = true;
    }

    /// Replaces the node in a slot by another one with the same name.
    pub(super) fn set_body(&mut self, spot: CuckooSlot, body: CuckooNodeBody) {
        self.set(spot, self.entry(spot).with_body(body));
    }

    pub(super) fn clear(&mut self, spot: CuckooSlot) {
        self.set(spot, CuckooEntry::NONE);
        self.added -= 1;
    }

    /// Puts an entry, unchanged, into a free slot of a copied bucket. Returns `None` if there is no
    /// free slot.
    pub(super) fn put(&mut self, held: usize, entry: CuckooEntry) -> Option<CuckooSlot> {
        let slot = self.image(held).free().first()?;
        let spot = CuckooSlot { held, slot };
        self.set(spot, entry);
        self.added += 1;
        Some(spot)
    }

    /// Moves an entry to its other bucket, which must be `number`.
    pub(super) fn move_to(&mut self, from: CuckooSlot, number: u32) -> Result<(), CuckooAbort> {
        let (entry, old) = (self.entry(from), self.buckets.held[from.held].number);
        let (home, other) = (
            CuckooTable::<V>::home(entry.lane, old, self.buckets.size),
            CuckooTable::<V>::other_at(entry.lane, old, self.buckets.size),
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

    /// Copies an entry to a slot in its other bucket. The caller must then set its old slot.
    #[inline(always)]
    pub(super) fn copy_to_other_bucket(&mut self, from: CuckooSlot, to: CuckooSlot) {
        let (entry, old, new) =
            (self.entry(from), self.buckets.held[from.held].number, self.buckets.held[to.held].number);
        let pair = if entry.is_secondary() {
            CuckooBucketPair { primary: new, secondary: old }
        } else {
            CuckooBucketPair { primary: old, secondary: new }
        };
        let hash = CuckooTable::<V>::hash_of(entry.lane, old);
        self.set(to, entry.moved());
        self.buckets.placed.push((hash, pair));
        self.buckets.moved += 1;
    }

    /// Moves the entries with lanes that satisfy `moves` to an empty bucket, and gives that bucket
    /// a version.
    pub(super) fn split(&mut self, from: usize, to: usize, version: u32, moves: impl Fn(u32) -> bool) {
        let (kept, gone) = self.image(from).split(moves);
        self.buckets.moved += SLOTS as u32 - gone.free().len();
        for (held, image) in [(from, kept), (to, gone.with_version(version))] {
            self.buckets.held[held].image = image;
            self.buckets.held[held].dirty = true;
        }
    }

    /// Moves all entries of a bucket, unchanged, to another bucket.
    pub(super) fn move_all(&mut self, from: usize, to: usize) -> Result<(), CuckooAbort> {
        let image = *self.image(from);
        for (slot, entry) in image.entries() {
            self.clear(CuckooSlot { held: from, slot });
            let hash = CuckooTable::<V>::hash_of(entry.lane, self.buckets.held[from].number);
            self.put(to, entry).ok_or(CuckooAbort::Crowded(hash))?;
            self.buckets.moved += 1;
        }
        Ok(())
    }

    /// Adds a node: selects its bucket and its color. `hash` must be the hash of its name, and
    /// `symbol` the name's last symbol. Returns the slot and the color.
    pub(super) fn place(
        &mut self,
        hash: u32,
        symbol: u8,
        parent: u8,
        body: CuckooNodeBody,
    ) -> Result<(CuckooSlot, u8), CuckooAbort> {
        let pair = CuckooBucketPair::of::<V>(hash, self.buckets.size);
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
        // If both buckets are the same one, the entry counts as being in its primary bucket.
        let lane = lane(tag, spot.held != first, symbol, parent);
        self.set(spot, CuckooEntry::new(lane, color, body));
        self.added += 1;
        self.buckets.placed.push((hash, pair));
        Ok((spot, color))
    }

    /// Returns the least color without a node whose name has this hash.
    #[cold]
    fn free_color(&self, hash: u32, first: usize, second: usize) -> Result<u8, CuckooAbort> {
        // The root has the first color and is not in these buckets.
        let mut taken = u8::from(hash == EMPTY_HASH);
        for BucketCopy { image, number, .. } in [first, second].map(|held| &self.buckets.held[held]) {
            for (_, entry) in image.entries() {
                if CuckooTable::<V>::hash_of(entry.lane, *number) == hash {
                    taken |= 1 << entry.color();
                }
            }
        }
        let color = taken.trailing_ones() as u8;
        if color < COLORS { Ok(color) } else { Err(CuckooAbort::OutOfColors) }
    }

    /// Moves entries out of one of two full buckets, if that takes one or two moves. Returns the
    /// freed slot, which the caller must set.
    #[inline(never)]
    fn displace_entry(&mut self, first: usize, second: usize) -> Option<CuckooSlot> {
        self.buckets.crowded = true;
        displace_near(self, [first, second])
    }

    /// Returns the planned lanes of a bucket, and its pinned slots.
    #[inline(always)]
    pub(super) fn lanes(&self, number: u32) -> (Lanes, u8) {
        match self.buckets.copy_of(number) {
            Some(held) => (held.image.lanes(), held.note),
            None => (self.buckets.table.bucket(number).lanes(), 0),
        }
    }

    /// Returns whether a bucket has a free slot, both now and in the plan.
    #[inline(always)]
    pub(super) fn has_room(&self, number: u32) -> bool {
        self.buckets.table.bucket(number).lanes().has_room() && self.lanes(number).0.has_room()
    }

    /// Writes and unlocks the buckets. Returns the number of added entries.
    pub(super) fn apply(&mut self) -> i64 {
        self.buckets.apply_with(|| ());
        self.added
    }

    /// Returns a node as the applied transaction left it. A later transaction that takes the node
    /// detects every change since.
    pub(super) fn applied(&self, spot: CuckooSlot) -> FoundNode {
        let held = &self.buckets.held[spot.held];
        debug_assert!(held.dirty, "the transaction has changed the node");
        let version = held.image.as_next_version().version();
        FoundNode { bucket: held.number, slot: spot.slot, version, entry: held.image.get(spot.slot) }
    }
}

/// Returns a free slot in the bucket that has more of them.
#[inline(always)]
fn free_slot(first: (usize, SlotBits), second: (usize, SlotBits)) -> Option<CuckooSlot> {
    let (held, free) = if second.1.len() > first.1.len() { second } else { first };
    free.first().map(|slot| CuckooSlot { held, slot })
}
