//! Spreading the keys of a run over new pages, which take the place of the old ones.
//!
//! ```text
//!   run      P: a b c d │ Q: f g        parent   ─x─ P ─e─ Q ─z─
//!   cuts         2    3
//!   new      a b │ c │ d f g            parent   ─x─ A ─c─ B ─d─ C ─z─
//! ```
//!
//! A new page has the prefix that its fences share: separators of the parent outside, and new ones
//! between the new pages.

use std::ops::Range;

use arrayvec::ArrayVec;
use skein_sync::reclaim::Guard;

use super::key_run::{KeyRun, RUN_PAGES};
use super::latch::{NEW_PAGE, PageLatch, Parent};
use super::node::Separator;
use super::page::{EntryKey, EntryValue, Page, PageShape, entry_size};
use super::replace::Splice;
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::slot::Slot;

/// A key and its value, which have no room in their page.
pub(super) struct PendingWrite<'k, S> {
    pub(super) key: &'k [u8],
    pub(super) tag: u8,
    pub(super) value: EntryValue<S>,
    /// Whether the page has the key, with another value.
    pub(super) replaces: bool,
}

/// What new pages are made for.
pub(super) enum SpreadGoal<'k, S> {
    /// A key that has no room.
    Write(PendingWrite<'k, S>),
    /// Fewer pages, of at most so many bytes.
    Bytes(usize),
}

/// The new pages of a run before they are made.
struct SpreadPlan<'r> {
    run: &'r KeyRun,
    cuts: &'r [usize],
    /// The bytes that all keys of the run share.
    prefix: &'r [u8],
    /// The separators between the new pages.
    separators: ArrayVec<Vec<u8>, { RUN_PAGES - 1 }>,
    /// The lengths of the new prefixes.
    known: ArrayVec<usize, RUN_PAGES>,
}

impl<'r> SpreadPlan<'r> {
    fn new(run: &'r KeyRun, cuts: &'r [usize], (parent, at): (&Parent<'_>, usize), key: &[u8]) -> Self {
        let prefix = run.prefix();
        let separators: ArrayVec<Vec<u8>, _> = cuts.iter().map(|&cut| separator_at(run, cut, key)).collect();
        let inner = |number: usize| separators.get(number).map(|bytes| Separator::whole(bytes));
        let outer = (parent.separator_before(at), parent.separator_before(at + run.pages().len()));
        let known = |number: usize| {
            let left = number.checked_sub(1).and_then(inner).or(outer.0);
            let right = inner(number).or(outer.1);
            // Without separators, the range of the run stays as it is.
            let fences = left.zip(right).filter(|_| !cuts.is_empty());
            fences.map_or(prefix.len(), |(left, right)| left.shared(right))
        };
        let known = (0..=cuts.len()).map(known).collect();
        Self { run, cuts, prefix, separators, known }
    }

    /// Returns the ranks of each new page, and its prefix.
    fn pages(&self) -> impl Iterator<Item = (Range<usize>, &[u8])> {
        let prefix = |number: usize| {
            let fence = self.separators.get(number.saturating_sub(1));
            &fence.map_or(self.prefix, |fence| &fence[..])[..self.known[number]]
        };
        self.run.between(self.cuts).enumerate().map(move |(number, ranks)| (ranks, prefix(number)))
    }

    /// Returns the shape of a new page, with room for a key that will be written.
    fn shape<S: Slot, V: PageTreeSettings>(
        &self,
        ranks: Range<usize>,
        known: usize,
        write: Option<&PendingWrite<'_, S>>,
    ) -> PageShape {
        let (run, len) = (self.run, self.run.len());
        let more = write.map_or(0, |write| entry_size(write.key.len().saturating_sub(known), &write.value));
        let all = run.heap_bytes().saturating_sub(len * known.saturating_sub(self.prefix.len()));
        let shape = PageShape::standard::<S>(len, all, known, V::WIDTH);
        let keys = ranks.len() + usize::from(write.is_some());
        shape.at_least(keys, run.bytes::<S>(ranks, known) + more)
    }

    /// Returns the bytes of pages with these shapes, and of keys that would lie beside them.
    fn size<S: Slot>(&self, shapes: &[PageShape]) -> usize {
        let size = |((ranks, prefix), shape): ((Range<usize>, &[u8]), &PageShape)| {
            shape.size::<S>(prefix.len()) + self.run.bytes_elsewhere(ranks, prefix.len())
        };
        self.pages().zip(shapes).map(size).sum()
    }
}

impl<S: Slot, V: PageTreeSettings> PageTreeVariant<S, V> {
    /// Links new pages in place of the locked pages of a run, which is cut at some ranks, and writes
    /// a key to one of them. The run begins at a position of its parent, whose range includes `key`.
    /// Returns the new pages: the caller unlocks them after it has deleted the old ones. Returns none,
    /// and changes nothing, if they and keys beside them would take more bytes than the goal allows.
    #[must_use]
    pub(super) fn spread(
        &self,
        run: &KeyRun,
        cuts: &[usize],
        (parent, at): (Parent<'_>, usize),
        key: &[u8],
        goal: SpreadGoal<'_, S>,
        guard: &impl Guard,
    ) -> ArrayVec<PageLatch, RUN_PAGES> {
        let (write, most) = match goal {
            SpreadGoal::Write(write) => (Some(write), usize::MAX),
            SpreadGoal::Bytes(most) => (None, most),
        };
        let plan = SpreadPlan::new(run, cuts, (&parent, at), key);
        let shape = |(ranks, prefix): (_, &[u8])| plan.shape::<S, V>(ranks, prefix.len(), write.as_ref());
        let shapes: ArrayVec<PageShape, RUN_PAGES> = plan.pages().map(shape).collect();
        if most < usize::MAX && plan.size::<S>(&shapes) > most {
            return ArrayVec::new();
        }
        // A write takes memory where its thread does. Other pages take the room that pages have left.
        let beside = run.pages().first().filter(|_| write.is_none()).copied();
        let fill = |((ranks, prefix), shape)| self.fill(run, ranks, shape, prefix, beside);
        let new: ArrayVec<PageLatch, RUN_PAGES> = plan.pages().zip(shapes).map(fill).collect();
        if let Some(write) = write {
            let target = plan.separators.iter().take_while(|separator| &separator[..] <= write.key).count();
            self.write_new(&new[target], write);
        }
        let others = plan.separators.iter().cloned().zip(new[1..].iter().map(|page| page.link())).collect();
        let splice = Splice { at, replaced: run.pages().len(), first: new[0].link(), others };
        self.splice(parent, key, &splice, guard);
        for (ranks, prefix) in plan.pages() {
            for (page, ranks) in run.parts(ranks) {
                // SAFETY: the new pages have copies of the keys that became near, and no guard
                // entered from now on reaches the old ones.
                unsafe { page.retire_keys_near(ranks, prefix.len(), guard) };
            }
        }
        new
    }

    /// Returns a new, locked page with the keys of some ranks.
    pub(super) fn fill(
        &self,
        run: &KeyRun,
        ranks: Range<usize>,
        shape: PageShape,
        prefix: &[u8],
        beside: Option<Page>,
    ) -> PageLatch {
        let page = Page::new::<S>(&self.base.arena, beside, shape, NEW_PAGE, prefix);
        for (from, ranks) in run.parts(ranks) {
            page.append::<S>(&self.base.arena, from, ranks);
        }
        PageLatch::of_new(page)
    }

    /// Writes a key to a new page that has room for it.
    pub(super) fn write_new(&self, page: &PageLatch, write: PendingWrite<'_, S>) {
        let (rank, slot) = page.rank(&write.key[page.prefix_len()..], page.live());
        if let Some(slot) = slot {
            return page.set_value(slot, write.value, &self.engine.clock);
        }
        let key = EntryKey::of(&self.base.arena, write.key, page.prefix_len());
        page.add(rank, key, write.tag, write.value);
    }
}

/// Returns the shortest separator between the ranks `cut - 1` and `cut` of a run to which `key`
/// will be added: at an end, between the key and its neighbour.
fn separator_at(run: &KeyRun, cut: usize, key: &[u8]) -> Vec<u8> {
    let left = if cut == 0 { Separator::whole(key) } else { run.key(cut - 1) };
    let right = if cut == run.len() { Separator::whole(key) } else { run.key(cut) };
    right.part(0, left.shared(right) + 1).concat()
}
