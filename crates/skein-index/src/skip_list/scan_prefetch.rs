//! Reading ahead: a scan asks for nodes before it comes to them, through the towers (section 3.1).
//!
//! ```text
//!   level 2   a ───────────────────────────► e           a task: a is here; ask for what lies between a and e
//!   level 1   a ─────────────► c ──────────► e           asks for c and for what follows a below;
//!   level 0   a ─────► b ────► c ─────► d ─► e           leaves two tasks: from a's next to c, and from c to e
//! ```
//!
//! A task's node has been asked for in an earlier phase, so a phase waits for nothing: it asks for about 2^K nodes, which arrive together.
//! A new phase begins whenever the scan passes a node of level K. That is every 2^K steps on average, as the paper's iterator for many
//! threads has it (section 3.2), but by the nodes that it passes, and not by counting: what is ahead then stays as much ahead, however
//! the towers fall, and no node has to be met again that may be unlinked by now.
//!
//! How much is ahead is what decides the speed of long scans: the lead, in nodes of level K, is 16 (`LEAD`), which made scans of 1,000
//! keys a third to a half shorter than 5 did. It is built up step by step, so that short scans ask for little that they do not come to.
//!
//! The first tasks cost nothing: a search has come, on each level, to the first node beyond the key; these are the ends of the tasks that
//! the paper has to look for (section 3.1: "by brute force"). So a scan reads ahead from its second step on.
//!
//! Tasks are hints. What does not fit the queue, or leads through a node that goes, is forgotten.

use super::link::TowerLink;
use super::node::Node;
use super::variant::ahead;
use crate::slot::Slot;

/// The most tasks that wait: twice what is expected of the highest K.
const TASKS: usize = 32;
/// The highest K.
const LEVEL_MAX: usize = 4;

/// How many phases more than nodes of level K that it has passed a long scan has had: so many such nodes lie between it and what was asked for
/// last. A task of level K takes K phases at least, and the more of them the longer the runs on one level that chance has made.
const LEAD: usize = 16;
/// So many of them come at the first steps, one each; a scan that ends soon is to have asked for little in vain.
const SOON: usize = 4;
/// The others come one every so many steps.
const LATER: usize = 4;

/// Ask for what lies between `start`, which was asked for before, and `end`, by the links of `level` and below.
#[derive(Clone, Copy, Debug)]
struct PrefetchTask<const V: usize> {
    start: TowerLink<V>,
    end: TowerLink<V>,
    level: usize,
}

/// What a scan has asked for, and will.
#[derive(Debug)]
pub(super) struct ScanPrefetcher<const V: usize> {
    /// A ring of those that wait.
    tasks: [PrefetchTask<V>; TASKS],
    first: usize,
    waiting: usize,
    /// The node of level K that was asked for last.
    furthest: TowerLink<V>,
    /// The first node beyond the key on the level above, while a search goes down.
    above: TowerLink<V>,
    /// Phases of the lead that it has not had.
    due: usize,
    /// Steps of the scan.
    steps: usize,
}

impl<const V: usize> ScanPrefetcher<V> {
    /// The level through which it reads ahead, the paper's K.
    const LEVEL: usize = {
        assert!(ahead(V) <= LEVEL_MAX, "a variant reads ahead through level 4 at most");
        ahead(V)
    };

    pub(super) fn new() -> Self {
        let nothing = PrefetchTask { start: TowerLink::END, end: TowerLink::END, level: 0 };
        let (furthest, above) = (TowerLink::END, TowerLink::END);
        Self { tasks: [nothing; TASKS], first: 0, waiting: 0, furthest, above, due: 0, steps: 0 }
    }

    /// Forgets what it was to ask for.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        (self.waiting, self.due, self.furthest) = (0, 0, TowerLink::END);
    }

    /// Takes the first node beyond the key that a search has come to on a level; levels come from above.
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

    /// The scan goes on from a node.
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

    /// Begins at a node of level K that the scan has come to, if it is known to be linked there.
    #[cold]
    fn start_at(&mut self, node: Node<V>) {
        if node.is_built() {
            (self.furthest, self.due) = (TowerLink::to(node), LEAD);
        }
    }

    /// Does the tasks that wait, and leaves those that follow from them, and a new one of level K.
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
                // It goes; the scan begins anew at the next node of its level.
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
            // Below, it may have gone long ago (`search.rs`).
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

    /// Leaves a task, if there is something to do.
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

    use super::super::{SkipList, variant::DEFAULT};
    use super::*;
    use crate::index::OrderedIndex;
    use crate::slot::Inline;

    /// On average so many nodes lie between two of level K.
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

    fn number(node: Node<DEFAULT>) -> usize {
        u64::from_be_bytes(*node.key().first_chunk().unwrap()) as usize
    }

    /// Walks to the end from the first key on, and shows `each` every node and what is asked for last.
    fn walk(list: &SkipList<Inline<u64>>, mut each: impl FnMut(Node<DEFAULT>, &ScanPrefetcher<DEFAULT>)) {
        let mut ahead = ScanPrefetcher::<DEFAULT>::new();
        let mut next = list
            .descend::<false>(|_| std::cmp::Ordering::Greater, |level, _, beyond| ahead.begin(level, beyond));
        while let Some(node) = next {
            ahead.advance::<Inline<u64>>(node);
            each(node, &ahead);
            next = node.next(0).node();
        }
    }

    #[test]
    fn the_lead_is_built_up_and_stays() {
        let list = list(40_000);
        let _guard = list.collector().enter();
        walk(&list, |node, ahead| {
            let Some(furthest) = ahead.furthest.node() else { return };
            let (at, lead) = (number(node), number(furthest).saturating_sub(number(node)));
            // The end of the list is ahead of the last ones.
            assert!(!(100..39_000).contains(&at) || lead > LEAD * PER_PHASE / 4, "{lead} at {at}");
            assert!(lead < LEAD * PER_PHASE * 4, "{lead} at {at}");
        });
    }

    /// Each node is a task's start, so that its links are there when they are read, and mostly long before the scan comes.
    #[test]
    fn nodes_are_asked_for_before_the_scan_comes() {
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
        assert!(late < 40_000 / 50, "{late} nodes were asked for late, or not at all");
    }

    #[test]
    fn a_scan_goes_on_reading_ahead_where_what_was_ahead_goes() {
        let list = list(10_000);
        let guard = list.collector().enter();
        let mut lost = 0;
        walk(&list, |node, ahead| {
            // All that lies before the scan for a while goes, and half comes again.
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
        assert_eq!(lost, 0, "nothing is ahead");
    }
}
