//! Displacement: frees a slot for an entry whose two buckets are full, by moving other entries to
//! their other buckets.
//!
//! ```text
//!   bucket of the new entry, full ─► an entry's other bucket, full ─► ..., with a free slot
//!                                 3. ◄── moved ──          2. ◄── moved ──          1.
//! ```
//!
//! 1. *Near.* If one or two moves are enough, they become part of the transaction that needs the
//!    slot ([`displace_near`]). The other buckets are only read where they are, so their contents
//!    are a hint. The transaction copies and locks a bucket only if an entry really moves there.
//! 2. *Far.* Otherwise the writer abandons its transaction. A breadth-first search finds the
//!    shortest path, without a lock ([`CuckooTrie::make_room`]). Then each move is a transaction of
//!    its own. The last entry of the path moves first, so every entry is in one of its buckets at
//!    every moment.
//!
//! Buckets are prefetched well before they are read. The paper does not say how to search for a
//! path.

use arrayvec::ArrayVec;

use super::CuckooTrieVariant;
use super::lanes::{Lanes, SLOTS};
use super::table::CuckooTable;
use super::transaction::{CuckooAbort, CuckooSlot, CuckooTransaction, NODES_MAX};
use super::variant::CuckooSettings;
use crate::index::IndexError;
use crate::slot::Slot;

/// The number of buckets after which the search for a path gives up.
const BUCKETS_VISITED_MAX: usize = 160;

/// The number of buckets that are prefetched ahead, or a few more.
const PREFETCHED: usize = 6;

/// After this many requests for room, one write makes the table grow, whatever its load.
const TRIES_BEFORE_GROWTH: usize = 8;

/// After this many requests for room, a write is refused if the table cannot grow.
const TRIES_BEFORE_REFUSAL: usize = 64;

/// The requests for room of one write.
#[derive(Debug, Default)]
pub(super) struct RoomRequests {
    /// The hashes of the nodes that had no room.
    hashes: ArrayVec<u32, NODES_MAX>,
    tries: usize,
}

/// A bucket on a path. The entry in `slot` of the earlier bucket `from` could move here.
#[derive(Clone, Copy, Debug)]
struct PathBucket {
    bucket: u32,
    from: usize,
    slot: usize,
}

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    /// Makes room in one of the buckets of a hash, by moving entries or by growing the table, or
    /// lets another thread do so.
    #[cold]
    pub(super) fn make_room(&self, hash: u32, crowded: &mut RoomRequests) -> Result<(), IndexError> {
        let grown = if self.is_tight() || crowded.tries > TRIES_BEFORE_GROWTH { self.grow() } else { Ok(()) };
        let pair = self.engine.table.pair(hash);
        // A slot that was freed for another node of the same write must stay free.
        let others =
            crowded.hashes.iter().filter(|&&other| other != hash).map(|&other| self.engine.table.pair(other));
        let kept: ArrayVec<u32, { 2 * NODES_MAX }> =
            others.flat_map(|pair| [pair.primary, pair.secondary]).collect();
        let again = crowded.hashes.contains(&hash);
        if !again && !crowded.hashes.is_full() {
            crowded.hashes.push(hash);
        }
        crowded.tries += 1;
        match self.free_a_slot(&[pair.primary, pair.secondary], &kept, again) {
            // At its greatest size, the table cannot end an exchange of the same entries by
            // growing. Then it counts as full.
            _ if crowded.tries > TRIES_BEFORE_REFUSAL => grown,
            Ok(true) | Err(_) => Ok(()),
            Ok(false) => grown.and_then(|()| self.grow()),
        }
    }

    /// Frees a slot in one of these buckets, without a move into the `kept` buckets. Returns false
    /// if there is no path. A slot that is already free is enough, unless `another` is set.
    pub(super) fn free_a_slot(
        &self,
        buckets: &[u32],
        kept: &[u32],
        another: bool,
    ) -> Result<bool, CuckooAbort> {
        let mut reached: ArrayVec<PathBucket, BUCKETS_VISITED_MAX> = ArrayVec::new();
        reached.extend(buckets.iter().map(|&bucket| PathBucket { bucket, from: usize::MAX, slot: 0 }));
        // Buckets are examined in the order of the path search. The buckets behind them are
        // prefetched before that, a few at a time.
        let (mut looked_at, mut followed) = (0, 0);
        while let Some(&PathBucket { bucket, from, .. }) = reached.get(looked_at) {
            if self.engine.table.bucket(bucket).lanes().has_room() && !(another && from == usize::MAX) {
                self.shift(&reached, looked_at)?;
                return Ok(true);
            }
            looked_at += 1;
            while followed < looked_at && reached.len() < looked_at + PREFETCHED {
                self.follow(&mut reached, followed, kept);
                followed += 1;
            }
        }
        Ok(false)
    }

    /// Appends the other buckets of the entries in one of the reached buckets.
    fn follow(&self, reached: &mut ArrayVec<PathBucket, BUCKETS_VISITED_MAX>, from: usize, kept: &[u32]) {
        let (bucket, size) = (reached[from].bucket, self.engine.table.places());
        let lanes = self.engine.table.bucket(bucket).lanes();
        for slot in 0..SLOTS {
            let other = CuckooTable::<V>::other_at(lanes.get(slot), bucket, size);
            if !reached.is_full() && lanes.get(slot) != 0 && other != bucket && !kept.contains(&other) {
                self.engine.table.prefetch_bucket(other);
                reached.push(PathBucket { bucket: other, from, slot });
            }
        }
    }

    /// Moves the entries of a path, the last one first.
    fn shift(&self, reached: &[PathBucket], mut end: usize) -> Result<(), CuckooAbort> {
        while let PathBucket { bucket, from, slot } = reached[end]
            && from != usize::MAX
        {
            let mut transaction = CuckooTransaction::new(&self.engine.table);
            let held = transaction.take(reached[from].bucket);
            transaction.move_to(CuckooSlot { held, slot }, bucket)?;
            transaction.buckets.lock()?;
            transaction.apply();
            end = from;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
struct FullBucket {
    lanes: Lanes,
    pinned: u8,
    others: [u32; SLOTS],
}

impl FullBucket {
    /// Reads a bucket, and prefetches the other buckets of its entries.
    #[inline(always)]
    fn of<V: CuckooSettings>(transaction: &CuckooTransaction<'_, V>, number: u32) -> Self {
        let (lanes, pinned) = transaction.lanes(number);
        let others = std::array::from_fn(|slot| {
            let other = CuckooTable::<V>::other_at(lanes.get(slot), number, transaction.buckets.size);
            transaction.buckets.table.prefetch_bucket(other);
            other
        });
        Self { lanes, pinned, others }
    }

    /// Returns the slot of an entry that is not pinned and has room in its other bucket.
    #[inline(always)]
    fn movable_slot<V: CuckooSettings>(&self, transaction: &CuckooTransaction<'_, V>) -> Option<usize> {
        (0..SLOTS).find(|slot| self.pinned >> slot & 1 == 0 && transaction.has_room(self.others[*slot]))
    }
}

/// Frees a slot in one of two full buckets, which must have been taken, by one or two moves.
/// Returns the slot, which the caller must set, or `None` if that takes more moves.
pub(super) fn displace_near<V: CuckooSettings>(
    transaction: &mut CuckooTransaction<'_, V>,
    buckets: [usize; 2],
) -> Option<CuckooSlot> {
    let mut full = ArrayVec::<FullBucket, 2>::new();
    for held in buckets {
        full.push(FullBucket::of(transaction, transaction.buckets.held[held].number));
        let full = &full[full.len() - 1];
        if let Some(slot) = full.movable_slot(transaction) {
            let from = CuckooSlot { held, slot };
            let to = free_in(transaction, full.others[slot])?;
            transaction.copy_to_other_bucket(from, to);
            return Some(from);
        }
    }
    let spots = buckets.into_iter().flat_map(|held| (0..SLOTS).map(move |slot| CuckooSlot { held, slot }));
    let others = full.iter().flat_map(|full| full.others);
    let may_move = full.iter().flat_map(|full| (0..SLOTS).map(|slot| full.pinned >> slot & 1 == 0));
    let mut steps = spots.zip(others).zip(may_move).filter_map(|(step, may_move)| may_move.then_some(step));
    // The entries of one bucket are examined while those of the next are prefetched.
    let mut ahead = None;
    loop {
        let next = steps.next().map(|(from, over)| (from, over, FullBucket::of(transaction, over)));
        let has_next = next.is_some();
        if let Some((from, over, full)) = std::mem::replace(&mut ahead, next)
            && let Some(slot) = full.movable_slot(transaction)
        {
            return displace_two(transaction, from, over, &full, slot);
        }
        if !has_next {
            return None;
        }
    }
}

/// Moves an entry of the bucket `over`, and then the entry at `from` into its slot.
fn displace_two<V: CuckooSettings>(
    transaction: &mut CuckooTransaction<'_, V>,
    from: CuckooSlot,
    over: u32,
    full: &FullBucket,
    slot: usize,
) -> Option<CuckooSlot> {
    let to = free_in(transaction, full.others[slot])?;
    let between = CuckooSlot { held: transaction.take(over), slot };
    let lane = transaction.entry(between).lane;
    if lane == 0 || lane != full.lanes.get(slot) || to.held == between.held {
        return None;
    }
    transaction.copy_to_other_bucket(between, to);
    transaction.copy_to_other_bucket(from, between);
    Some(from)
}

#[inline(always)]
fn free_in<V: CuckooSettings>(transaction: &mut CuckooTransaction<'_, V>, number: u32) -> Option<CuckooSlot> {
    let held = transaction.take(number);
    transaction.image(held).free().first().map(|slot| CuckooSlot { held, slot })
}
