//! Read-ahead of scans: prefetches nodes before the scan reaches them, through the towers (section
//! 3.1).
//!
//! ```text
//!   level 2   a ───────────────────────────► e      a task: a has been prefetched;
//!   level 1   a ─────────────► c ──────────► e      prefetch the nodes between a and e.
//!   level 0   a ─────► b ────► c ─────► d ─► e
//!
//!       It prefetches c on level 1 and b on level 0, and adds two tasks:
//!       from b to c, and from c to e.
//! ```
//!
//! An earlier phase has prefetched the first node of every task, so a phase does not wait for
//! memory. It prefetches about 2^K nodes with overlapping accesses. A new phase begins whenever the
//! scan passes a node of level K. That is every 2^K steps on average, as in the paper's iterator
//! for many threads (section 3.2), but the phases follow the nodes instead of a count of steps. So
//! the lead stays the same whatever heights the towers have, and the scan never returns to a node
//! that may be unlinked by now.
//!
//! The lead decides the speed of long scans. It is 16 nodes of level K (`LEAD`), which made scans
//! of 1,000 keys take a third to a half less time than a lead of 5. The lead is built up step by
//! step, so short scans prefetch few nodes in vain.
//!
//! The first tasks cost nothing. A search passes, on each level, the first node beyond the key.
//! These nodes are the ends of the tasks that the paper has to look for (section 3.1: "by brute
//! force"). So a scan prefetches from its second step on.
//!
//! Tasks are hints. A task that does not fit the queue or leads through a marked node is dropped.

use super::link::TowerLink;
use super::node::Node;
use super::variant::SkipListSettings;
use crate::slot::Slot;

/// The maximum number of waiting tasks: twice the number that the highest K is expected to need.
const TASKS: usize = 32;
/// The highest K.
const LEVEL_MAX: usize = 4;

/// The lead of a long scan: the number of level-K nodes between the scan and the node that was
/// prefetched last. It is also the number of phases that the scan is ahead of the level-K nodes it
/// has passed. A task of level K takes at least K phases, and more if chance has made long runs on
/// one level.
const LEAD: usize = 16;
/// The number of these phases that run at once, one at each of the first steps. A scan that ends
/// soon should prefetch little in vain.
const SOON: usize = 4;
/// The other phases of the lead run once every this many steps.
const LATER: usize = 4;

/// A task: prefetch the nodes between `start`, which is prefetched already, and `end`, through the
/// links of `level` and below.
#[derive(Clone, Copy, Debug)]
struct PrefetchTask<V: SkipListSettings> {
    start: TowerLink<V>,
    end: TowerLink<V>,
    level: usize,
}

/// The state of a scan's read-ahead.
#[derive(Debug)]
pub(super) struct ScanPrefetcher<V: SkipListSettings> {
    /// A ring of the waiting tasks.
    tasks: [PrefetchTask<V>; TASKS],
    first: usize,
    waiting: usize,
    /// The node of level K that was prefetched last.
    furthest: TowerLink<V>,
    /// The first node beyond the key on the level above, while a search descends.
    above: TowerLink<V>,
    /// The phases of the lead that have not run yet.
    due: usize,
    /// Steps of the scan.
    steps: usize,
}

impl<V: SkipListSettings> ScanPrefetcher<V> {
    /// The level through which the scan prefetches, the paper's K.
    const LEVEL: usize = {
        assert!(V::AHEAD <= LEVEL_MAX, "a variant prefetches through level 4 at most");
        V::AHEAD
    };

    pub(super) fn new() -> Self {
        let nothing = PrefetchTask { start: TowerLink::END, end: TowerLink::END, level: 0 };
        let (furthest, above) = (TowerLink::END, TowerLink::END);
        Self { tasks: [nothing; TASKS], first: 0, waiting: 0, furthest, above, due: 0, steps: 0 }
    }

    /// Drops all tasks.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        (self.waiting, self.due, self.furthest) = (0, 0, TowerLink::END);
    }

    /// Adds a task for a level of a search. `beyond` is the first node beyond the key on that
    /// level. REQUIRES: calls go from the top level down.
    #[inline(always)]
    pub(super) fn begin(&mut self, level: usize, beyond: TowerLink<V>) {
        if Self::LEVEL == 0 || level > Self::LEVEL {
            return;
        }
        if level == Self::LEVEL {
            (self.furthest, self.due) = (beyond, LEAD);
        } else if self.due > 0 {
            self.push_task(beyond, self.above, level);
        }
        self.above = beyond;
    }

    /// Records that the scan moves on from `node`, and runs the phases that are due.
    #[inline(always)]
    pub(super) fn advance<S: Slot>(&mut self, node: Node<V>) {
        if Self::LEVEL == 0 {
            return;
        }
        self.steps += 1;
        if node.height() > Self::LEVEL {
            if self.furthest == TowerLink::END {
                self.start_at(node);
            }
            self.phase::<S>();
        }
        if self.due > 0 && (self.due > LEAD - SOON || self.steps.is_multiple_of(LATER)) {
            self.due -= 1;
            self.phase::<S>();
        }
    }

    /// Starts the lead at a node of level K that the scan has reached, if the node is known to be
    /// linked there.
    #[cold]
    fn start_at(&mut self, node: Node<V>) {
        if node.is_built() {
            (self.furthest, self.due) = (TowerLink::to(node), LEAD);
        }
    }

    /// Runs the waiting tasks, which add their successors, and adds a task of level K.
    fn phase<S: Slot>(&mut self) {
        for _ in 0..self.waiting {
            let task = self.tasks[self.first];
            self.first = (self.first + 1) % TASKS;
            self.waiting -= 1;
            self.perform::<S>(task);
        }
        if let Some(node) = self.furthest.node() {
            let next = node.next(Self::LEVEL);
            if next.is_marked() {
                // It is being removed; the lead starts again at the next node of its level.
                self.furthest = TowerLink::END;
                return;
            }
            self.push_task(self.furthest, next, Self::LEVEL);
            self.furthest = next;
            next.prefetch_whole();
        }
    }

    #[inline(always)]
    fn perform<S: Slot>(&mut self, PrefetchTask { start, end, level }: PrefetchTask<V>) {
        let Some(node) = start.node() else { return };
        let mut upper = node.next(level);
        if upper.is_marked() {
            // It may have been unlinked below long ago (`search.rs`).
            return;
        }
        let state = node.state();
        state.prefetch();
        if let Some(word) = state.inline_value(node) {
            S::prefetch(word);
        }
        if upper != end {
            upper.prefetch_whole();
            self.push_task(upper, end, level);
        }
        for level in (0..level).rev() {
            let lower = node.next(level).unmarked();
            if lower != upper {
                lower.prefetch_whole();
                self.push_task(lower, upper, level);
            }
            upper = lower;
        }
    }

    /// Adds a task if it is not empty and the queue has room.
    #[inline(always)]
    fn push_task(&mut self, start: TowerLink<V>, end: TowerLink<V>, level: usize) {
        if start != end && start != TowerLink::END && self.waiting < TASKS {
            self.tasks[(self.first + self.waiting) % TASKS] = PrefetchTask { start, end, level };
            self.waiting += 1;
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::collections::HashMap;

    use super::super::{SkipList, variant::SkipListStandard};
    use super::*;
    use crate::index::OrderedIndex;
    use crate::slot::Inline;

    /// The average number of nodes between two nodes of level K.
    const PER_PHASE: usize = 8;

    fn list(keys: u64) -> SkipList<Inline<u64>> {
        let list = SkipList::new().with_seed(5);
        let guard = list.collector().enter();
        for key in 0..keys {
            list.insert(&key.to_be_bytes(), Inline(key), &guard).unwrap();
        }
        drop(guard);
        list
    }

    fn number(node: Node<SkipListStandard>) -> usize {
        u64::from_be_bytes(*node.key().first_chunk().unwrap()) as usize
    }

    /// Walks from the first key to the end. Calls `each` with every node and the state of the
    /// read-ahead.
    fn walk(
        list: &SkipList<Inline<u64>>,
        mut each: impl FnMut(Node<SkipListStandard>, &ScanPrefetcher<SkipListStandard>),
    ) {
        let mut ahead = ScanPrefetcher::<SkipListStandard>::new();
        let mut next = list
            .descend::<false>(|_| std::cmp::Ordering::Greater, |level, _, beyond| ahead.begin(level, beyond));
        while let Some(node) = next {
            ahead.advance::<Inline<u64>>(node);
            each(node, &ahead);
            next = node.next(0).node();
        }
    }

    #[test]
    fn the_lead_is_built_up_and_kept() {
        let list = list(40_000);
        let _guard = list.collector().enter();
        walk(&list, |node, ahead| {
            let Some(furthest) = ahead.furthest.node() else { return };
            let (at, lead) = (number(node), number(furthest).saturating_sub(number(node)));
            // Near the end of the list, the lead is shorter.
            assert!(!(100..39_000).contains(&at) || lead > LEAD * PER_PHASE / 4, "{lead} at {at}");
            assert!(lead < LEAD * PER_PHASE * 4, "{lead} at {at}");
        });
    }

    /// Every node becomes the start of a task, so its links are prefetched before they are read,
    /// usually long before the scan reaches it.
    #[test]
    fn nodes_are_prefetched_before_the_scan_reaches_them() {
        let list = list(40_000);
        let _guard = list.collector().enter();
        let mut asked: HashMap<usize, usize> = HashMap::new();
        let mut late = 0;
        walk(&list, |node, ahead| {
            let at = number(node);
            for waiting in 0..ahead.waiting {
                let task = ahead.tasks[(ahead.first + waiting) % TASKS];
                asked.entry(number(task.start.node().unwrap())).or_insert(at);
            }
            let in_time = asked.get(&at).is_some_and(|&when| at - when > PER_PHASE);
            late += usize::from(at > 200 && !in_time);
        });
        assert!(late < 40_000 / 50, "{late} nodes were prefetched late or never");
    }

    #[test]
    fn a_scan_keeps_its_lead_when_nodes_ahead_are_removed() {
        let list = list(10_000);
        let guard = list.collector().enter();
        let mut lost = 0;
        walk(&list, |node, ahead| {
            // The next 2,000 nodes are removed, and half of them are inserted again.
            if number(node) == 3_000 {
                for key in 3_001..5_000_u64 {
                    list.remove(&key.to_be_bytes(), &guard);
                }
                for key in (3_002..5_000_u64).step_by(2) {
                    list.insert(&key.to_be_bytes(), Inline(key), &guard).unwrap();
                }
            }
            let is_ahead = ahead.furthest.node().is_some_and(|furthest| number(furthest) > number(node));
            lost += usize::from((3_400..9_000).contains(&number(node)) && !is_ahead);
        });
        assert_eq!(lost, 0, "steps without a lead");
    }
}
