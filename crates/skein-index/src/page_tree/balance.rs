//! Pages that are full or sparse: one or two neighbours become one or two new pages.
//!
//! ```text
//!   full, much of it dead      P         ──►  P'        compacted
//!   full, room in a neighbour  P │ Q     ──►  P' │ Q'   half of the keys each
//!   full                       P         ──►  P' │ Q'   split
//!   sparse                     P │ Q     ──►  P'        merged
//! ```
//!
//! All pages of similar keys have the same size: pages that grow and leave their size behind would
//! scatter free blocks of every size. So a page is filled by its neighbours' keys, as in a B*-tree,
//! and not made larger.
//!
//! Source: Bayer and others, "Organization and Maintenance of Large Ordered Indices" (1972),
//! section 6, has the overflow into neighbours.

use std::ops::Range;

use arrayvec::ArrayVec;
use skein_sync::reclaim::Guard;

use super::latch::{NEW_PAGE, PageLatch, Parent, page_of};
use super::node::{Separator, shared};
use super::page::{EntryKey, EntryValue, Page, PageShape, entry_size};
use super::replace::{MergeOutcome, Splice, position};
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::slot::Slot;

/// A page that is compacted is at most this full, in sixteenths. So it has room for some writes.
const SHARE_ALONE: usize = 14;
/// Two pages that share their keys are at most this full.
const SHARE_OF_TWO: usize = 15;
/// A page of two that merged is at most this full.
const SHARE_MERGED: usize = 15;

/// A key and its value, which have no room in their page.
pub(super) struct PendingWrite<'k, S> {
    pub(super) key: &'k [u8],
    pub(super) tag: u8,
    pub(super) value: EntryValue<S>,
    /// Whether the page has the key, with another value.
    pub(super) replaces: bool,
}

/// The keys of one page, or of two neighbours, as one sequence.
struct KeyRun {
    pages: ArrayVec<Page, 2>,
}

/// Locked neighbours, with the position of the first in their parent.
struct Neighbours {
    left: PageLatch,
    right: PageLatch,
    at: usize,
}

impl KeyRun {
    fn of_one(page: Page) -> Self {
        Self { pages: [page].into_iter().collect() }
    }

    fn of_two(both: &Neighbours) -> Self {
        Self { pages: [both.left.page(), both.right.page()].into() }
    }

    fn len(&self) -> usize {
        self.pages.iter().map(|page| page.live()).sum()
    }

    /// Returns the page of a rank, and the rank in it.
    fn place(&self, rank: usize) -> (Page, usize) {
        let first = self.pages[0].live();
        if rank < first { (self.pages[0], rank) } else { (self.pages[1], rank - first) }
    }

    fn rest<'a>(&self, rank: usize) -> &'a [u8] {
        let (page, rank) = self.place(rank);
        page.rest(page.slot_of(rank))
    }

    fn key<'a>(&self, rank: usize) -> Separator<'a> {
        let (page, _) = self.place(rank);
        Separator::new(page.prefix(), self.rest(rank))
    }

    /// Returns the number of bytes that the prefixes of all pages share.
    fn prefix_len(&self) -> usize {
        let first = self.pages[0].prefix();
        self.pages.get(1).map_or(first.len(), |second| shared(first, second.prefix()))
    }

    /// Returns the bytes of all entries behind the prefix that the pages share. About, if a page is
    /// not locked. So pages whose prefixes differ much take no keys from each other.
    fn heap_bytes(&self) -> usize {
        let shared_len = self.prefix_len();
        let bytes = |page: &Page| page.heap_bytes() + page.live() * (page.prefix_len() - shared_len);
        self.pages.iter().map(bytes).sum()
    }

    /// Returns the shape of the pages of an index with such keys.
    fn standard<S: Slot>(&self, width: usize) -> PageShape {
        PageShape::standard::<S>(self.len(), self.heap_bytes(), self.prefix_len(), width)
    }

    /// Returns the part of some ranks in each page.
    fn parts(&self, ranks: Range<usize>) -> impl Iterator<Item = (Page, Range<usize>)> {
        let mut before = 0;
        self.pages.iter().map(move |&page| {
            let (start, live) = (before, page.live());
            before += live;
            let within = |rank: usize| rank.clamp(start, start + live) - start;
            (page, within(ranks.start)..within(ranks.end))
        })
    }

    fn bytes<S: Slot>(&self, ranks: Range<usize>, prefix_len: usize) -> usize {
        self.parts(ranks).map(|(page, ranks)| page.bytes::<S>(ranks, prefix_len)).sum()
    }

    /// Returns the rank near the middle whose separator is the shortest. Never cuts two pages where
    /// they are cut already.
    fn cut(&self) -> usize {
        let (len, middle) = (self.len(), self.len() / 2);
        // Two pages are nearly full, and so will the new ones be.
        let reach = if self.pages.len() == 1 { len / 8 } else { len / 32 };
        let shared_at =
            |cut: usize| self.place(cut).0.prefix_len() + shared(self.rest(cut - 1), self.rest(cut));
        let cuts = (middle - reach).max(1)..=(middle + reach).min(len - 1);
        let new = cuts.filter(|&cut| cut != self.pages[0].live());
        new.min_by_key(|&cut| (shared_at(cut), cut.abs_diff(middle))).unwrap_or(middle)
    }
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
        let run = KeyRun::of_one(page);
        let more = entry_size(write.key.len() - page.prefix_len(), &write.value);
        if let Some(shape) = Self::shape_alone(&run, &parent, more, write.replaces) {
            let new = self.fill(&run, 0..page.live(), shape, page.prefix());
            let key = write.key;
            self.write_new(&new, write);
            self.replace_one(parent, key, new.link(), guard);
            return Self::retire_page(latch, guard);
        }
        let share = |both: &KeyRun| both.len() > 2 && Self::is_room_in_two(both, more);
        if let Ok((neighbour, at)) = Self::neighbour(&latch, &parent, share) {
            let both = Neighbours::new(latch, neighbour, &parent, at);
            let run = KeyRun::of_two(&both);
            // Unlocked last, when the old pages are deleted (invariant 5 of pages).
            let _new = self.spread(&run, run.cut(), parent, both.at, write, guard);
            Self::retire_page(both.left, guard);
            return Self::retire_page(both.right, guard);
        }
        let rank = page.rank(&write.key[page.prefix_len()..], page.live()).0;
        // Keys that come in order fill their pages.
        let in_order = !write.replaces && (rank == page.live() || rank == 0);
        let at = position(&parent);
        let cut = if in_order { rank } else { run.cut() };
        let _new = self.spread(&run, cut, parent, at, write, guard);
        Self::retire_page(latch, guard);
    }

    /// Returns the shape of a page for the keys of a full page and an entry of `more` bytes, if
    /// there would be room for some further ones.
    fn shape_alone(run: &KeyRun, parent: &Parent<'_>, more: usize, replaces: bool) -> Option<PageShape> {
        let page = run.pages[0];
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

    /// Returns whether the keys of two pages and one more leave room in two new ones.
    fn is_room_in_two(both: &KeyRun, more: usize) -> bool {
        let (keys, bytes) = ((both.len() + 1).div_ceil(2), (both.heap_bytes() + more).div_ceil(2));
        both.standard::<S>(V::WIDTH).holds(keys, bytes, SHARE_OF_TWO, V::WIDTH)
    }

    /// Returns whether the keys of two pages fit into one new page.
    fn is_room_in_one(both: &KeyRun) -> bool {
        if both.pages.iter().any(|page| page.live() == 0) {
            // An empty page has to go, whatever its neighbour holds.
            return both.len() <= V::WIDTH;
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
            let pages = if position(parent) == at { [latch.page(), other] } else { [other, latch.page()] };
            KeyRun { pages: pages.into() }
        };
        parent.neighbours().for_each(|(child, _)| child.prefetch_target());
        // SAFETY: loaded from a live node under the guard.
        let pages = parent.neighbours().filter_map(|(child, at)| Some((unsafe { page_of(child) }?, at)));
        // Another thread may be changing the neighbour, so this is a guess.
        let wanted_ones = pages.filter(|&(page, at)| wanted(&run(page, at)));
        let (page, at) = wanted_ones.min_by_key(|(page, _)| page.live()).ok_or(MergeOutcome::Unchanged)?;
        page.link().prefetch(usize::MAX);
        let neighbour = PageLatch::try_take(page).ok_or(MergeOutcome::Busy)?;
        wanted(&run(page, at)).then_some((neighbour, at)).ok_or(MergeOutcome::Busy)
    }

    /// Returns a new, locked page with the keys of some ranks.
    fn fill(&self, run: &KeyRun, ranks: Range<usize>, shape: PageShape, prefix: &[u8]) -> PageLatch {
        let page = Page::new::<S>(&self.base.arena, shape, NEW_PAGE, prefix);
        for (from, ranks) in run.parts(ranks) {
            page.append::<S>(&self.base.arena, from, ranks);
        }
        PageLatch::of_new(page)
    }

    /// Writes a key to a new page that has room for it.
    fn write_new(&self, page: &PageLatch, write: PendingWrite<'_, S>) {
        let (rank, slot) = page.rank(&write.key[page.prefix_len()..], page.live());
        if let Some(slot) = slot {
            return page.set_value(slot, write.value, &self.engine.clock);
        }
        let key = EntryKey::of(&self.base.arena, write.key, page.prefix_len());
        page.add(rank, key, write.tag, write.value);
    }

    /// Links two new pages in place of the locked pages of a run, which is cut at a rank, and
    /// writes a key to one of them. The run begins at position `at` of the parent. Returns the new
    /// pages: the caller unlocks them after it has deleted the old ones.
    #[must_use]
    fn spread(
        &self,
        run: &KeyRun,
        cut: usize,
        parent: Parent<'_>,
        at: usize,
        write: PendingWrite<'_, S>,
        guard: &impl Guard,
    ) -> [PageLatch; 2] {
        let (key, len, shared_len) = (write.key, run.len(), run.prefix_len());
        let separator = separator_at(run, cut, key);
        let whole = Separator::whole(&separator);
        let known = |fence: Option<Separator<'_>>| fence.map_or(shared_len, |fence| fence.shared(whole));
        let left_known = known(parent.separator_before(at));
        let right_known = known(parent.separator_before(at + run.pages.len()));
        let half = |ranks: Range<usize>, known: usize| {
            let more = entry_size(key.len().saturating_sub(known), &write.value);
            let all = run.heap_bytes().saturating_sub(len * known.saturating_sub(shared_len));
            let shape = PageShape::standard::<S>(len, all, known, V::WIDTH);
            let shape = shape.at_least(ranks.len() + 1, run.bytes::<S>(ranks.clone(), known) + more);
            self.fill(run, ranks, shape, &separator[..known])
        };
        let (left, right) = (half(0..cut, left_known), half(cut..len, right_known));
        let target = if key < &separator[..] { &left } else { &right };
        self.write_new(target, write);
        let second = Some((separator, right.link()));
        let splice = Splice { at, replaced: run.pages.len(), first: left.link(), second };
        self.splice(parent, key, splice, guard);
        for (ranks, known) in [(0..cut, left_known), (cut..len, right_known)] {
            for (page, ranks) in run.parts(ranks) {
                // SAFETY: the new pages have copies of the keys that became near, and no guard
                // entered from now on reaches the old ones.
                unsafe { page.retire_keys_near(ranks, known, guard) };
            }
        }
        [left, right]
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
        let run = KeyRun::of_two(&both);
        let (len, prefix_len) = (run.len(), run.prefix_len());
        let bytes = run.bytes::<S>(0..len, prefix_len);
        let shape = PageShape::standard::<S>(len, bytes, prefix_len, V::WIDTH).at_least(len, bytes);
        let page = self.fill(&run, 0..len, shape, &both.left.prefix()[..prefix_len]);
        let splice = Splice { at, replaced: 2, first: page.link(), second: None };
        self.splice(parent, key, splice, guard);
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
            let page = self.fill(&KeyRun::of_one(latch.page()), 0..live, shape, latch.prefix());
            self.replace_one(parent, key, page.link(), guard);
            Self::retire_page(latch, guard);
        }
        MergeOutcome::Unchanged
    }
}

/// Returns the shortest separator between the ranks `cut - 1` and `cut` of a run to which `key`
/// will be added: at an end, between the key and its neighbour.
fn separator_at(run: &KeyRun, cut: usize, key: &[u8]) -> Vec<u8> {
    let left = if cut == 0 { Separator::whole(key) } else { run.key(cut - 1) };
    let right = if cut == run.len() { Separator::whole(key) } else { run.key(cut) };
    right.part(0, left.shared(right) + 1).concat()
}
