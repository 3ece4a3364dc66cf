//! Writes: one locked leaf at a time, two for a merge.
//!
//! ```text
//!   locate ──► lock ──► find ──► found, or right leaf? ──► call the closure ──► change ──► unlock
//!     ▲                                  │                                                   │
//!     └──────────────────────────────────┘  no: left, right, or locate again              retire
//! ```
//!
//! A writer calls the closure of `compute` once, under the lock. An insert or a removal is one
//! store to a slot. If the leaf is full, an insert splits it (`split.rs`). If two neighbouring
//! leaves are small, a removal merges them (`merge.rs`).

use skein_sync::reclaim::Guard;

use super::WormholeVariant;
use super::latch::LeafLatch;
use super::leaf::{LeafSide, WormholeLeaf};
use super::lookup::{GuessWalk, LeafGuess};
use super::search::{FoundRecord, LeafSearch};
use super::variant::WormholeSettings;
use crate::index::{ComputeAction, Computed};
use crate::record::KeyRecord;
use crate::slot::{Slot, retire_value};

/// Number of records with the same tag in one leaf before the leaf's tags are computed again by the
/// keyed hash. For 128 tags of 16 bits, chance practically never causes that.
const COLLISIONS_MAX: usize = 8;

/// The locked leaf that covers a key, the key's tag there, and what a search for the key found.
struct LockedSearch<V: WormholeSettings> {
    latch: LeafLatch<V>,
    tag: u16,
    search: LeafSearch,
}

impl<S: Slot, V: WormholeSettings> WormholeVariant<S, V> {
    /// Locks the leaf that covers `key`, and looks for the key there.
    fn lock_for(&self, key: &[u8]) -> LockedSearch<V> {
        let target = self.locate(key);
        target.leaf.prefetch_with_order(target.tag);
        // A lock operation stops the processor from running ahead, so prefetch the next leaf's
        // header before it.
        if let Some(next) = target.leaf.next() {
            next.prefetch_header();
        }
        self.lock_near(key, target)
    }

    /// Locks the leaf that covers `key`, walking from a guess, and looks for the key there.
    #[inline(always)]
    fn lock_near(&self, key: &[u8], target: LeafGuess) -> LockedSearch<V> {
        let mut walk = GuessWalk::new(target.leaf);
        loop {
            let Some(latch) = LeafLatch::<V>::take(walk.leaf) else {
                walk.leave(self, key);
                continue;
            };
            let tag = if latch.is_keyed() { self.keyed_tag(key) } else { target.tag };
            let search = latch.find::<V>(key, tag);
            // A leaf that holds the key covers it.
            if search.held.is_some() {
                return LockedSearch { latch, tag, search };
            }
            match latch.side_of(key) {
                LeafSide::Inside => return LockedSearch { latch, tag, search },
                side => {
                    drop(latch);
                    walk.turn(self, key, side);
                }
            }
        }
    }

    /// Carries out the decision of `change` about `key`, which must not be too long.
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Computed<'g, S> {
        let locked = self.lock_for(key);
        self.write_locked(key, locked, change, guard)
    }

    /// Carries out the decision of `change` about `key`, after the search in its locked leaf.
    #[inline(always)]
    fn write_locked<'g, G: Guard>(
        &'g self,
        key: &[u8],
        LockedSearch { latch, tag, search }: LockedSearch<V>,
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Computed<'g, S> {
        let before = search.held.map(|held| Self::word(latch.leaf(), held.slot, held.record));
        // SAFETY: the word is in the index; it is retired, if ever, under this guard or a later
        // one.
        let seen: Option<S::Ref<'g>> = before.map(|word| unsafe { S::borrow(word) });
        let changed = match (change(seen), search.held) {
            (ComputeAction::Put(value), Some(held)) => {
                Self::set_word(latch.leaf(), held, value.into_word());
                drop(latch);
                true
            }
            (ComputeAction::Put(value), None) => {
                // This locked instruction is first: it waits for all earlier writes, and the
                // record's writes go to uncached memory.
                self.base.len.add(guard.thread_id(), 1);
                let word = value.into_word();
                let record = self.new_record(tag, key, word);
                self.add(latch, (record, word), search.collisions, guard);
                true
            }
            (ComputeAction::Remove, Some(held)) => {
                self.remove_record(latch, held, guard);
                self.base.len.add(guard.thread_id(), -1);
                true
            }
            (ComputeAction::Remove, None) | (ComputeAction::Keep, _) => false,
        };
        if changed && let Some(word) = before {
            // SAFETY: the word is no longer in the index, which owned it.
            unsafe { retire_value::<S>(word, guard) };
        }
        Computed { before: seen, changed }
    }

    /// Sets a key, which must not be too long, with a guess at its leaf. The guess may be older
    /// than writes that split the leaf.
    pub(super) fn put_near<G: Guard>(&self, key: &[u8], target: LeafGuess, value: S, guard: &G) {
        let locked = self.lock_near(key, target);
        self.write_locked(key, locked, |_| ComputeAction::Put(value), guard);
    }

    /// Adds a record whose key is not in the locked leaf.
    fn add(
        &self,
        latch: LeafLatch<V>,
        (record, word): (KeyRecord, u64),
        collisions: usize,
        guard: &impl Guard,
    ) {
        if latch.count() >= V::WIDTH {
            self.split(latch, (record, word), guard);
            return;
        }
        let slot = latch.append(record);
        Self::set_new_word(latch.leaf(), slot, word);
        if collisions >= COLLISIONS_MAX && !latch.is_keyed() {
            latch.mark_inserting();
            self.make_keyed(latch.leaf());
        }
    }

    /// Computes the tags of a locked and marked leaf again, by the keyed hash.
    #[cold]
    pub(super) fn make_keyed(&self, leaf: WormholeLeaf) {
        let mut ranks = leaf.ranks();
        let records: Vec<(KeyRecord, bool)> = ranks
            .as_slice()
            .iter()
            .filter_map(|&slot| leaf.record(slot.into()).map(|record| (record, leaf.flag(slot.into()))))
            .map(|(record, flag)| (record.with_tag(self.keyed_tag(record.key())), flag))
            .collect();
        ranks.as_slice().iter().for_each(|&slot| leaf.clear(slot.into()));
        leaf.recompute_spilled();
        leaf.set_keyed(true);
        for (rank, (record, flag)) in ranks.slots.iter_mut().zip(records) {
            let slot = leaf.place(record);
            Self::set_new_word(leaf, slot, flag.into());
            *rank = slot as u8;
        }
        leaf.set_ranks(&ranks);
    }

    /// Removes a record from the locked leaf, and merges the leaf if it has become small.
    fn remove_record(&self, latch: LeafLatch<V>, held: FoundRecord, guard: &impl Guard) {
        latch.mark_inserting();
        latch.clear(held.slot);
        latch.remove_rank(held.slot);
        latch.unspill(held.slot, held.record.tag());
        // SAFETY: removed from its slot, so no guard entered from now on finds it.
        unsafe { Self::retire_record(held.record, guard) };
        self.merge_if_small(latch, guard);
    }
}
