//! Splitting a full leaf.
//!
//! ```text
//!   keys in order:   ... | Jacob | James | Jamison | Jason | ...
//!   anchor of a cut:         2      ("Jam")  4        3
//!                            the common prefix of its two sides, and one byte more
//! ```
//!
//! Each possible cut has its own anchor, one byte longer than the common prefix of the keys on its
//! two sides. The split takes the cut with the shortest anchor within an eighth of the leaf around
//! the middle, or around the end if keys are inserted in order. Long anchors make the trie deep and
//! take more memory than the leaf. The paper leaves this choice as future work (section 2.3).
//! Source of the rest: section 2.2 and Algorithm 4.
//!
//! The new leaf is created locked and marked. It is filled and linked before its records are
//! removed from the old leaf, so every key is always in a leaf that a reader reaches. Both leaves
//! are unlocked before the trie learns of the new one; until then searches reach the old leaf and
//! take one step to the right.

use skein_sync::reclaim::Guard;

use super::WormholeVariant;
use super::latch::LeafLatch;
use super::leaf::{LeafRanks, WormholeLeaf};
use super::search::common_len;
use super::variant::WormholeSettings;
use crate::record::KeyRecord;
use crate::slot::Slot;

/// The cut of a leaf: the rank of the first key that moves, and the new anchor.
struct LeafCut<'k> {
    rank: usize,
    anchor: &'k [u8],
}

impl<S: Slot, V: WormholeSettings> WormholeVariant<S, V> {
    /// Splits a full leaf and adds a record to one half.
    #[cold]
    pub(super) fn split(&self, latch: LeafLatch<V>, (record, word): (KeyRecord, u64), guard: &impl Guard) {
        let mut ranks = latch.ranks();
        latch.sort(&mut ranks);
        let key = record.key();
        let cut = cut::<V>(latch.leaf(), &ranks, key);
        let mut meta = self.engine.meta.lock(&self.base.arena, guard);
        let next = latch.next();
        let new = WormholeLeaf::new(&self.base.arena, LeafLatch::<V>::NEW, cut.anchor);
        new.set_terminated(next.is_some_and(|next| next.anchor().starts_with(cut.anchor)));
        new.set_keyed(latch.is_keyed());
        let new_latch = LeafLatch::<V>::of_new(new);

        let mut moved = LeafRanks::EMPTY;
        for &slot in &ranks.as_slice()[cut.rank..] {
            let record = latch.record(slot.into()).expect("the lock keeps records in their slots");
            let place = new.place(record);
            Self::move_word((latch.leaf(), slot.into()), (new, place));
            moved.push_sorted(place);
        }
        new.set_ranks(&moved);
        new.set_prev(Some(latch.leaf()));
        new.set_next(next);

        if cfg!(not(feature = "planted-bugs")) {
            latch.mark_splitting();
        }
        latch.set_next(Some(new));
        if let Some(next) = next {
            next.set_prev(Some(new));
        }
        ranks.as_slice()[cut.rank..].iter().for_each(|&slot| latch.clear(slot.into()));
        latch.recompute_spilled();
        (ranks.count, ranks.sorted) = (cut.rank, cut.rank);
        latch.set_ranks(&ranks);

        let half = if key < new.anchor() { latch.leaf() } else { new };
        let slot = half.append(record);
        Self::set_new_word(half, slot, word);
        let left = latch.leaf();
        drop((latch, new_latch));
        meta.insert_anchor(left, new, next);
    }
}

/// Chooses the cut of a sorted leaf that `key` is about to be added to.
fn cut<'k, V: WormholeSettings>(leaf: WormholeLeaf, ranks: &LeafRanks, key: &'k [u8]) -> LeafCut<'k> {
    let count = ranks.count;
    let record_at = |rank: usize| {
        let record = leaf.record(ranks.slots[rank].into());
        record.expect("the lock keeps records in their slots").key()
    };
    // Keys that arrive in order leave full, or nearly full, leaves behind.
    let in_order = leaf.next().is_none() && key > record_at(count - 1);
    let (ideal, last) = if in_order { (count, count) } else { (count / 2, count - 1) };
    let key_at = |rank: usize| if rank == count { key } else { record_at(rank) };
    let anchor_at = |rank: usize| &key_at(rank)[..=common_len(key_at(rank - 1), key_at(rank))];
    let reach = if V::SHORT_ANCHORS { V::WIDTH / 8 } else { 0 };
    let best = (ideal - reach..=last.min(ideal + reach))
        .min_by_key(|&rank| (anchor_at(rank).len(), rank.abs_diff(ideal)))
        .unwrap_or(ideal);
    LeafCut { rank: best, anchor: anchor_at(best) }
}
