//! A way for a new node whose two buckets are full: entries that move to their other buckets, one or two.
//!
//! ```text
//!   one of the two, full ─ entry ─► its other bucket, with a free slot
//!   one of the two, full ─ entry ─► its other bucket, full ─ entry ─► its other bucket, with a free slot
//! ```
//!
//! The other buckets are looked at where they are: only those that entries do move to are copied and locked. What is seen there is a hint
//! until then. Buckets are asked for some time before they are looked at.

use arrayvec::ArrayVec;

use super::lanes::{Lanes, SLOTS};
use super::table::CuckooTable;
use super::transaction::{CuckooSlot, CuckooTransaction};

/// A full bucket, and where its entries could move to.
#[derive(Clone, Copy, Debug)]
struct FullBucket {
    lanes: Lanes,
    pinned: u8,
    others: [u32; SLOTS],
}

impl FullBucket {
    /// A bucket with its entries' other buckets, which are asked for.
    #[inline(always)]
    fn of<const V: usize>(change: &CuckooTransaction<'_, V>, number: u32) -> Self {
        let (lanes, pinned) = change.lanes(number);
        let others = std::array::from_fn(|slot| {
            let other = CuckooTable::<V>::other_at(lanes.get(slot), number, change.size);
            change.table.prefetch_bucket(other);
            other
        });
        Self { lanes, pinned, others }
    }

    /// The slot of an entry that may move, and has room in its other bucket.
    #[inline(always)]
    fn movable_slot<const V: usize>(&self, change: &CuckooTransaction<'_, V>) -> Option<usize> {
        (0..SLOTS).find(|slot| self.pinned >> slot & 1 == 0 && change.has_room(self.others[*slot]))
    }
}

/// Moves entries out of one of two full buckets, which are taken; returns a slot there, which is to be set. None if there is no such way.
pub(super) fn make<const V: usize>(
    change: &mut CuckooTransaction<'_, V>,
    buckets: [usize; 2],
) -> Option<CuckooSlot> {
    let mut full = ArrayVec::<FullBucket, 2>::new();
    for held in buckets {
        full.push(FullBucket::of(change, change.number(held)));
        let full = &full[full.len() - 1];
        if let Some(slot) = full.movable_slot(change) {
            let from = CuckooSlot { held, slot };
            let to = free_in(change, full.others[slot])?;
            change.copy_to_other_bucket(from, to);
            return Some(from);
        }
    }
    let spots = buckets.into_iter().flat_map(|held| (0..SLOTS).map(move |slot| CuckooSlot { held, slot }));
    let others = full.iter().flat_map(|full| full.others);
    let may_go = full.iter().flat_map(|full| (0..SLOTS).map(|slot| full.pinned >> slot & 1 == 0));
    let mut steps = spots.zip(others).zip(may_go).filter_map(|(step, may_go)| may_go.then_some(step));
    // One bucket's entries are followed while those of the next are asked for.
    let mut ahead = None;
    loop {
        let next = steps.next().map(|(from, over)| (from, over, FullBucket::of(change, over)));
        let has_next = next.is_some();
        if let Some((from, over, full)) = std::mem::replace(&mut ahead, next)
            && let Some(slot) = full.movable_slot(change)
        {
            return make_two(change, from, over, &full, slot);
        }
        if !has_next {
            return None;
        }
    }
}

/// Moves an entry of a full bucket, and another one to where it was.
fn make_two<const V: usize>(
    change: &mut CuckooTransaction<'_, V>,
    from: CuckooSlot,
    over: u32,
    full: &FullBucket,
    slot: usize,
) -> Option<CuckooSlot> {
    let to = free_in(change, full.others[slot])?;
    let between = CuckooSlot { held: change.take(over), slot };
    let lane = change.entry(between).lane;
    if lane == 0 || lane != full.lanes.get(slot) || to.held == between.held {
        return None;
    }
    change.copy_to_other_bucket(between, to);
    change.copy_to_other_bucket(from, between);
    Some(from)
}

/// A free slot in a bucket.
#[inline(always)]
fn free_in<const V: usize>(change: &mut CuckooTransaction<'_, V>, number: u32) -> Option<CuckooSlot> {
    let held = change.take(number);
    change.image(held).free().first().map(|slot| CuckooSlot { held, slot })
}
