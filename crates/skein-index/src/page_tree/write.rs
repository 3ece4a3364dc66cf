//! Writes: one locked page at a time.
//!
//! ```text
//!   search ──► lock ──► deleted? ──► find ──► call the closure ──► change ──► unlock ──► retire
//!     ▲                    │
//!     └────────────────────┘ yes: the page was replaced
//! ```
//!
//! A page keeps its range for life, so a writer that has the lock of a page that is not deleted has
//! the right page. If the page has no room, an insert replaces it (`replace.rs`). If it has become
//! small, a removal merges it with its neighbour.

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::batch::PageTreePlace;
use super::latch::PageLatch;
use super::page::{EntryKey, EntryValue, entry_size};
use super::replace::MergeOutcome;
use super::spread::PendingWrite;
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::index::{ComputeAction, Computed};
use crate::slot::{Slot, retire_value};

impl<S: Slot, V: PageTreeSettings> PageTreeVariant<S, V> {
    /// Locks the page whose range includes `key`.
    pub(super) fn lock_for(&self, key: &[u8]) -> PageLatch {
        loop {
            let child = self.locate(key);
            child.prefetch(LINES_OF_WRITE);
            // SAFETY: the caller holds a guard.
            if let Some(latch) = unsafe { super::latch::page_of(child) }.and_then(PageLatch::take) {
                return latch;
            }
        }
    }

    /// Carries out the decision of `change` about `key`, which must not be too long.
    /// Starts at the page where a search for the key ended before, if there is one.
    pub(super) fn write<'g, G: Guard>(
        &'g self,
        place: Option<PageTreePlace>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Computed<'g, S> {
        let place = place.and_then(|place| Some((PageLatch::take(place.page)?, place)));
        let (latch, tag, known) = if let Some((latch, place)) = place {
            (latch, place.tag, place.slot())
        } else {
            let latch = self.lock_for(key);
            if S::EMBEDS {
                latch.prefetch_room();
            }
            (latch, self.tag(key), None)
        };
        let rest = &key[latch.prefix_len()..];
        let held = known.or_else(|| latch.find(rest, tag));
        let before = held.map(|slot| latch.value::<S>(slot));
        // An embedded value is freed with its page.
        let owned = held.and_then(|slot| latch.word::<S>(slot));
        // SAFETY: the word is in the index; it is retired, if ever, under this guard or a later
        // one.
        let seen: Option<S::Ref<'g>> = before.map(|word| unsafe { S::borrow(word) });
        let changed = match (change(seen), held) {
            (ComputeAction::Put(value), Some(slot)) => {
                self.set_value(latch, (key, tag, slot), EntryValue::of(value), guard);
                true
            }
            (ComputeAction::Put(value), None) => {
                self.add(latch, key, tag, EntryValue::of(value), guard);
                self.base.len.add(guard.thread_id(), 1);
                true
            }
            (ComputeAction::Remove, Some(slot)) => {
                self.remove_slot(latch, key, slot, guard);
                self.base.len.add(guard.thread_id(), -1);
                true
            }
            (ComputeAction::Remove, None) | (ComputeAction::Keep, _) => false,
        };
        if changed && let Some(word) = owned {
            // SAFETY: the word is no longer in the index, which owned it.
            unsafe { retire_value::<S>(word, guard) };
        }
        Computed { before: seen, changed }
    }

    /// Replaces the value of a key of the locked page.
    fn set_value(
        &self,
        latch: PageLatch,
        (key, tag, slot): (&[u8], u8, usize),
        value: EntryValue<S>,
        guard: &impl Guard,
    ) {
        if !S::EMBEDS {
            return latch.set_value(slot, value, &self.engine.clock);
        }
        let clock = &self.engine.clock;
        let waited = latch.hole_waits(clock);
        if latch.has_room_for(latch.entry_size_with(slot, &value), clock) {
            let dead = latch.dead_eighths();
            latch.set_value(slot, value, clock);
            // Values that shrink leave pages with few keys.
            if latch.dead_eighths() > dead && 2 * latch.live() <= V::WIDTH {
                self.merge_sparse(latch, key, guard);
            } else {
                drop(latch);
            }
        } else {
            self.make_room(latch, PendingWrite { key, tag, value, replaces: true }, guard);
        }
        if waited {
            clock.request(guard);
        }
    }

    /// Adds a key that is not in the locked page.
    fn add(&self, latch: PageLatch, key: &[u8], tag: u8, value: EntryValue<S>, guard: &impl Guard) {
        let rest = &key[latch.prefix_len()..];
        let (live, size) = (latch.live(), entry_size(rest.len(), &value));
        if live >= V::WIDTH || !latch.has_slot() || !latch.has_room(size) {
            return self.make_room(latch, PendingWrite { key, tag, value, replaces: false }, guard);
        }
        let (rank, _) = latch.rank(rest, live);
        let entry = EntryKey::of(&self.base.arena, key, latch.prefix_len());
        latch.version().mark_inserting();
        latch.add(rank, entry, tag, value);
    }

    /// Removes the key of a slot of the locked page, and merges the page if it has become small.
    fn remove_slot(&self, latch: PageLatch, key: &[u8], slot: usize, guard: &impl Guard) {
        let (rank, found) = latch.rank(&key[latch.prefix_len()..], latch.live());
        debug_assert_eq!(found, Some(slot), "tags and heads lead to the same key");
        let dead = latch.dead_eighths();
        latch.version().mark_inserting();
        latch.remove::<S>(rank, slot);
        // SAFETY: the key was removed.
        unsafe { latch.retire_key(slot, guard) };
        // A page looks for a neighbour to merge with when another eighth of it is dead.
        let mut is_due = latch.dead_eighths() > dead;
        let (mut latch, mut backoff) = (latch, Backoff::new());
        while is_due || latch.live() == 0 {
            let is_empty = latch.live() == 0;
            match self.merge_sparse(latch, key, guard) {
                // There are new neighbours, which may be sparse too.
                MergeOutcome::Merged => {}
                // No other writer would come back for an empty page.
                MergeOutcome::Busy if is_empty => backoff.wait(),
                MergeOutcome::Busy | MergeOutcome::Unchanged => return,
            }
            latch = self.lock_for(key);
            is_due = 2 * latch.live() <= latch.slots();
        }
    }
}

/// The lines that a writer needs of most pages: head, arrays, and the first keys.
const LINES_OF_WRITE: usize = 8;
