//! Packing: neighbouring pages that are not written any more give their keys to fewer pages.
//!
//! ```text
//!   visit n      P │ Q │ R │ S        each is marked as quiet; a writer takes its mark away
//!   visit n + 1  P │ Q │ R │ S  ──►  P' │ Q' │ R'        if all of them are still quiet
//! ```
//!
//! Random inserts leave pages seven tenths full, because a full page splits. To share its keys with a
//! neighbour instead would copy some four times as many keys for each insert. A packed page is full, but
//! for one value: an update needs that room until the page has a hole.
//!
//! Packing also takes the room that removals and shorter values have left. It locks at most
//! [`RUN_PAGES`] pages at once, only if their locks are free, and then their parent: the order of
//! `latch.rs`.

use arrayvec::ArrayVec;
use skein_sync::reclaim::{Guard, check_guard};

use super::child::Target;
use super::key_run::{Cuts, KeyRun, RUN_PAGES};
use super::latch::{NodeLatch, PageLatch, Parent, page_of};
use super::node::{Node, NodeContent, NodeRun, Separator};
use super::page::{Page, PageShape};
use super::spread::SpreadGoal;
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::slot::Slot;

/// Packing has to save one part of so many of the memory, or it is not worth the copies.
const WORTH: usize = 8;

/// A pass of packing over an index: where it is, and what it did.
///
/// ```
/// use skein_index::page_tree::{PackPass, PageTree};
/// use skein_index::{Inline, OrderedIndex};
///
/// let mut index = PageTree::new();
/// for number in 0..10_000_u64 {
///     let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
///     index.insert(&key, Inline(number), &index.collector().enter())?;
/// }
/// let before = index.check()?.page_bytes;
/// // The first pass marks the pages, and the second packs them.
/// for _ in 0..2 {
///     let mut pass = PackPass::default();
///     while index.pack(&mut pass, 64, &index.collector().enter()) {}
/// }
/// assert!(index.check()?.page_bytes < before * 7 / 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackPass {
    /// The key to continue at; `None` at the end.
    next: Option<Vec<u8>>,
    visited: usize,
    replaced: usize,
    saved: usize,
}

impl Default for PackPass {
    fn default() -> Self {
        Self { next: Some(Vec::new()), visited: 0, replaced: 0, saved: 0 }
    }
}

impl PackPass {
    /// Returns the number of pages that were visited.
    pub fn visited(&self) -> usize {
        self.visited
    }

    /// Returns the number of pages that were replaced by others.
    pub fn replaced(&self) -> usize {
        self.replaced
    }

    /// Returns by how many bytes the pages became smaller together.
    pub fn saved(&self) -> usize {
        self.saved
    }
}

impl<S: Slot, V: PageTreeSettings> PageTreeVariant<S, V> {
    /// Goes on with a pass until it has visited `most` more pages or has come to the end. Returns
    /// whether there is more.
    ///
    /// Pages that were not written since their last visit are packed: neighbours give their keys to
    /// fewer pages, if that saves an eighth of their memory. If packing has left much room between the
    /// pages, a pass also moves pages from the highest addresses into that room, and the memory
    /// there is given back to the system.
    ///
    /// Readers and writers may run meanwhile. A write to a page that is being packed waits until up to
    /// two thousand keys are copied. Values that are embedded move, and a guard keeps those that it has
    /// seen. O(1) for each page, and O(1) for each key that is copied.
    ///
    /// # Panics
    /// Panics if the guard is not of this tree's collector.
    pub fn pack(&self, pass: &mut PackPass, most: usize, guard: &impl Guard) -> bool {
        check_guard(&self.base.collector, guard);
        if pass.next.as_ref().is_some_and(Vec::is_empty) {
            self.base.arena.vacate();
        }
        let end = pass.visited.saturating_add(most.max(1));
        while pass.visited < end
            && let Some(from) = pass.next.take()
        {
            self.move_nodes(&from, guard);
            let place = self.locate_place(&from, false);
            let Some((node, at)) = place.parent else { break };
            let end = self.pack_in(pass, node, at, guard);
            let fence = if end < node.children() {
                Some(node.separator(end - 1))
            } else {
                place.outer_upper.map(|(above, number)| above.separator(number))
            };
            pass.next = fence.map(Separator::to_vec);
        }
        if pass.next.is_none() {
            // The last pages that were replaced would keep the memory around them.
            guard.flush();
            self.base.arena.stop_vacating();
        }
        pass.next.is_some()
    }

    /// Visits the pages of a node from a position on, up to its end or until some were replaced.
    /// Returns the position behind the last.
    fn pack_in(&self, pass: &mut PackPass, node: Node, from: usize, guard: &impl Guard) -> usize {
        let mut end = from;
        // Runs of about one length: the fewer pages a run has, the less its new pages are full.
        let runs = node.children().div_ceil(RUN_PAGES);
        let most = node.children().div_ceil(runs);
        while end < node.children() {
            let start = end;
            let mut quiet = ArrayVec::<Page, RUN_PAGES>::new();
            while end < node.children() && quiet.len() < most {
                // SAFETY: loaded from a live node under the guard.
                let page = unsafe { page_of(node.child(end)) };
                end += 1;
                pass.visited += 1;
                let Some(page) = page.filter(|page| page.visit()) else { break };
                quiet.push(page);
            }
            // A guess: writers may be changing the pages.
            let is_worth = |pages: &[Page]| self.packing(&KeyRun::of(pages.iter().copied())).is_some();
            if !quiet.is_empty()
                && is_worth(&quiet)
                && self.pack_run(pass, node, start, &quiet, guard).is_some()
            {
                return end;
            }
            for (at, page) in (start..).zip(quiet).filter(|(_, page)| page.is_vacated(&self.base.arena)) {
                // The node keeps its other children.
                self.pack_run(pass, node, at, &[page], guard);
            }
        }
        end
    }

    /// Packs neighbouring pages from a position of their node on, if their locks are free.
    #[cold]
    fn pack_run(
        &self,
        pass: &mut PackPass,
        node: Node,
        at: usize,
        pages: &[Page],
        guard: &impl Guard,
    ) -> Option<()> {
        let latches: ArrayVec<PageLatch, RUN_PAGES> =
            pages.iter().map_while(|&page| PageLatch::try_take(page)).collect();
        if latches.len() < pages.len() {
            return None;
        }
        let parent = NodeLatch::take(node)?;
        debug_assert!((at..).zip(pages).all(|(at, page)| parent.child(at) == page.link()));
        let run = KeyRun::of(pages.iter().copied());
        let packing = self.packing(&run)?;
        let (cuts, key, goal) = (packing.cuts(&run), run.key(0).to_vec(), SpreadGoal::Bytes(packing.most));
        // Unlocked last, when the old pages are deleted (invariant 5 of pages).
        let new = self.spread(&run, &cuts, (Parent::Node(parent, at), at), &key, goal, guard);
        if new.is_empty() {
            return None;
        }
        pass.saved += run.size().saturating_sub(new.iter().map(|page| page.size()).sum());
        pass.replaced += pages.len();
        // The next pass may move them.
        new.iter().for_each(|page| _ = page.visit());
        for latch in latches {
            Self::retire_page(latch, guard);
        }
        Some(())
    }

    /// Returns how to pack the keys of some pages, if that is worth it. A guess, if the pages are not
    /// locked.
    fn packing(&self, run: &KeyRun) -> Option<Packing> {
        let moves = matches!(run.pages(), [page] if page.is_vacated(&self.base.arena));
        Packing::of::<S>(run, V::WIDTH, moves)
    }

    /// Moves the nodes above a key whose memory is being vacated.
    fn move_nodes(&self, key: &[u8], guard: &impl Guard) {
        let mut child = self.engine.root();
        // SAFETY: the guard is held.
        while let Target::Node(node) = unsafe { child.target() } {
            child = node.child(node.search(key, false));
            if node.is_vacated(&self.base.arena)
                && let Some(latch) = NodeLatch::take(node)
            {
                let content = NodeContent::of(NodeRun::all(node));
                let new = Node::new(&self.base.arena, &content, node.level(), node.known());
                self.replace_one(self.lock_parent(key, node.link()), key, new.link(), guard);
                Self::retire_node(latch, guard);
            }
        }
    }
}

/// How the keys of a run are packed.
struct Packing {
    pages: usize,
    keys: usize,
    /// The most bytes that the new pages may take.
    most: usize,
    /// How far a cut may move, so that its separator is short.
    slack: usize,
}

impl Packing {
    /// Returns how to pack the keys of a run, if that is worth it, or if its only page `moves`.
    fn of<S: Slot>(run: &KeyRun, width: usize, moves: bool) -> Option<Self> {
        let keys = run.len();
        if keys == 0 {
            return None;
        }
        // The new pages have about the prefixes of the old ones, and so the size of most pages.
        let bytes: usize = run.pages().iter().map(|page| page.heap_bytes()).sum();
        let prefix_len = run.pages().iter().map(|page| page.prefix_len()).sum::<usize>() / run.pages().len();
        let shape = PageShape::standard::<S>(keys, bytes, prefix_len, width);
        let (each, slots) = (bytes.div_ceil(keys).max(1), shape.slots.min(width));
        let room = shape.heap.saturating_sub(each).max(1);
        let pages = bytes.div_ceil(room).max(keys.div_ceil(slots)).clamp(1, keys);
        let in_one = keys.div_ceil(pages);
        let size = shape.at_least(in_one, in_one * each).size::<S>(prefix_len);
        let most = if moves { usize::MAX } else { run.size() - run.size() / WORTH };
        let is_worth = pages <= run.pages().len() && pages * size <= most;
        if !moves && !is_worth {
            return None;
        }
        let pages = if moves { 1 } else { pages };
        let in_one = keys.div_ceil(pages);
        let free = (slots.saturating_sub(in_one)).min(room.saturating_sub(in_one * each) / each);
        Some(Self { pages, keys, most, slack: (free / 2).min(in_one / 4) })
    }

    /// Returns where the new pages begin. The pages of the run are locked.
    fn cuts(&self, run: &KeyRun) -> Cuts {
        let cut = |number: usize| {
            let even = number * self.keys / self.pages;
            let (first, last) = (number, self.keys - self.pages + number);
            run.shortest_cut(even.saturating_sub(self.slack).max(first)..=(even + self.slack).min(last))
        };
        (1..self.pages).map(cut).collect()
    }
}
