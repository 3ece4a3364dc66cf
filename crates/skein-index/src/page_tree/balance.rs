//! Pages that are full or sparse: one or two neighbours become one or two new pages.
//!
//! ```text
//!   full, much of it dead      P         ──►  P'        compacted
//!   full                       P         ──►  P' │ Q'   split
//!   sparse                     P │ Q     ──►  P'        merged
//! ```
//!
//! All pages of similar keys have the same size: pages that grow and leave their size behind would
//! scatter free blocks of every size. Random inserts leave pages seven tenths full. Packing
//! (`pack.rs`) fills those that are not written any more.

use skein_sync::reclaim::Guard;

use super::key_run::KeyRun;
use super::latch::{PageLatch, Parent, page_of};
use super::page::{Page, PageShape, entry_size};
use super::replace::{MergeOutcome, position};
use super::spread::{PendingWrite, SpreadGoal};
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::index::MAX_KEY_LEN;
use crate::slot::Slot;

/// A page that is compacted is at most this full, in sixteenths. So it has room for some writes.
const SHARE_ALONE: usize = 14;
/// A page of two that merged is at most this full.
const SHARE_MERGED: usize = 15;

/// The most bytes that are copied so that an empty page goes.
const COPIED_MAX: usize = MAX_KEY_LEN;

/// Locked neighbours, with the position of the first in their parent.
struct Neighbours {
    left: PageLatch,
    right: PageLatch,
    at: usize,
}

impl Neighbours {
    /// Puts a page and its neighbour in order. `at` is the position of the first of both.
    fn new(page: PageLatch, neighbour: PageLatch, parent: &Parent<'_>, at: usize) -> Self {
        let (left, right) = if position(parent) == at { (page, neighbour) } else { (neighbour, page) };
        Self { left, right, at }
    }
}

impl<S: Slot, V: PageTreeSettings> PageTreeVariant<S, V> {
    /// Writes a key to a locked page that has no room for it.
    #[cold]
    pub(super) fn make_room(&self, latch: PageLatch, write: PendingWrite<'_, S>, guard: &impl Guard) {
        let (parent, page) = (self.lock_parent(write.key, latch.link()), latch.page());
        let run = KeyRun::of([page]);
        let more = entry_size(write.key.len() - page.prefix_len(), &write.value);
        if let Some(shape) = Self::shape_alone(&run, &parent, more, write.replaces) {
            let new = self.fill(&run, 0..page.live(), shape, page.prefix(), None);
            let key = write.key;
            self.write_new(&new, write);
            self.replace_one(parent, key, new.link(), guard);
            return Self::retire_page(latch, guard);
        }
        let rank = page.rank(&write.key[page.prefix_len()..], page.live()).0;
        // Keys that come in order fill their pages.
        let in_order = !write.replaces && (rank == page.live() || rank == 0);
        let (at, len) = (position(&parent), run.len());
        let near_middle = (len / 2 - len / 8).max(1)..=(len / 2 + len / 8).min(len - 1);
        let cut = if in_order { rank } else { run.shortest_cut(near_middle) };
        let key = write.key;
        // Unlocked last, when the old page is deleted (invariant 5 of pages).
        let _new = self.spread(&run, &[cut], (parent, at), key, SpreadGoal::Write(write), guard);
        Self::retire_page(latch, guard);
    }

    /// Returns the shape of a page for the keys of a full page and an entry of `more` bytes, if
    /// there would be room for some further ones.
    fn shape_alone(run: &KeyRun, parent: &Parent<'_>, more: usize, replaces: bool) -> Option<PageShape> {
        let page = run.pages()[0];
        let (keys, bytes, prefix_len) = (page.live(), page.heap_bytes(), page.prefix_len());
        let standard = run.standard::<S>(V::WIDTH);
        // The only page of an index grows step by step.
        let most = if matches!(parent, Parent::Root(_)) { 2 * page.size() } else { usize::MAX };
        let shape = standard.within::<S>(most, keys, bytes, prefix_len, V::WIDTH);
        if keys < 2 {
            return Some(shape.at_least(keys + 1, bytes + more));
        }
        if replaces && shape == standard {
            return Some(standard.at_least(keys, bytes).with_more_room::<S>(prefix_len, bytes + more));
        }
        let grows = shape.size::<S>(prefix_len) > page.size();
        let share = if grows { 16 } else { SHARE_ALONE };
        shape.holds(keys + 1, bytes + more, share, V::WIDTH).then_some(shape)
    }

    /// Returns whether the keys of two pages fit into one new page.
    fn is_room_in_one(both: &KeyRun) -> bool {
        if both.pages().iter().any(|page| page.live() == 0) {
            // An empty page has to go, unless its neighbour's keys lose a long prefix: they would be
            // copied. Then it goes with a later key of the neighbour.
            return both.len() <= V::WIDTH && both.heap_bytes() <= COPIED_MAX;
        }
        both.standard::<S>(V::WIDTH).holds(both.len(), both.heap_bytes(), SHARE_MERGED, V::WIDTH)
    }

    /// Locks a neighbour of a locked page, if it is `wanted` and its lock is free. Returns it with
    /// the position of the first of both, else what came of the attempt.
    fn neighbour(
        latch: &PageLatch,
        parent: &Parent<'_>,
        wanted: impl Fn(&KeyRun) -> bool,
    ) -> Result<(PageLatch, usize), MergeOutcome> {
        let run = |other: Page, at: usize| {
            KeyRun::of(if position(parent) == at { [latch.page(), other] } else { [other, latch.page()] })
        };
        parent.neighbours().for_each(|(child, _)| child.prefetch_target());
        // SAFETY: loaded from a live node under the guard.
        let pages = parent.neighbours().filter_map(|(child, at)| Some((unsafe { page_of(child) }?, at)));
        // Another thread may be changing the neighbour, so this is a guess.
        let wanted_ones = pages.filter(|&(page, at)| wanted(&run(page, at)));
        // With the fewest bytes behind the prefix of both, so that it keeps prefixes where it can.
        let cheapest = wanted_ones.min_by_key(|&(page, at)| run(page, at).heap_bytes());
        let (page, at) = cheapest.ok_or(MergeOutcome::Unchanged)?;
        page.link().prefetch(usize::MAX);
        let neighbour = PageLatch::try_take(page).ok_or(MergeOutcome::Busy)?;
        wanted(&run(page, at)).then_some((neighbour, at)).ok_or(MergeOutcome::Busy)
    }

    /// Merges a sparse locked page with a neighbour, if both fit into one page and the neighbour's
    /// lock is free. Makes the only page of an index smaller. The page's range includes `key`.
    #[cold]
    pub(super) fn merge_sparse(&self, latch: PageLatch, key: &[u8], guard: &impl Guard) -> MergeOutcome {
        let parent = self.lock_parent(key, latch.link());
        if parent.is_of_one() {
            return self.replace_one(parent, key, latch.link(), guard);
        }
        if matches!(parent, Parent::Root(_)) {
            return self.shrink(latch, parent, key, guard);
        }
        let (neighbour, at) = match Self::neighbour(&latch, &parent, |both| Self::is_room_in_one(both)) {
            Ok(neighbour) => neighbour,
            Err(outcome) => return outcome,
        };
        let both = Neighbours::new(latch, neighbour, &parent, at);
        let run = KeyRun::of([both.left.page(), both.right.page()]);
        let _new = self.spread(&run, &[], (parent, both.at), key, SpreadGoal::Bytes(usize::MAX), guard);
        Self::retire_page(both.left, guard);
        Self::retire_page(both.right, guard);
        MergeOutcome::Merged
    }

    /// Replaces the only page of an index by a smaller one, if that saves a quarter of its memory,
    /// and by a first page if it is empty.
    fn shrink(&self, latch: PageLatch, parent: Parent<'_>, key: &[u8], guard: &impl Guard) -> MergeOutcome {
        let (live, prefix_len) = (latch.live(), latch.prefix_len());
        let shape = PageShape::after_removals(live, latch.heap_bytes(), V::WIDTH);
        let (new, old) = (shape.size::<S>(prefix_len), latch.size());
        if live == 0 && new != old || 4 * new <= 3 * old {
            let page = self.fill(&KeyRun::of([latch.page()]), 0..live, shape, latch.prefix(), None);
            self.replace_one(parent, key, page.link(), guard);
            Self::retire_page(latch, guard);
        }
        MergeOutcome::Unchanged
    }
}
