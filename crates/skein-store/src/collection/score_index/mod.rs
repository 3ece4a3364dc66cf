//! The score index of a sorted set: a counted B+-tree of its members, ordered by score and, for
//! equal scores, by the bytes of the member.
//!
//! ```text
//!              node   40 │ 38 │ 22
//!          ┌───────────┘    │    └──────────┐
//!   run (1 a)(1 c)…   run (2 b)(5 a)…   run (7 x)…        about 64 entries each, packed
//! ```
//!
//! Each node has the number of entries below each of its children. So the rank of an entry, the
//! entry at a rank, and the number of entries between two bounds take one descent: O(log n).
//! Entries contain the members' bytes, because a comparison and a read need them.
//!
//! Read `run` first, then `node`, then `walk` and `prefetch`.
//!
//! # Invariants
//! 1. All runs are at one depth. Runs and nodes are not wider than `WIDTH`. No run is empty, except
//!    a root.
//! 2. `counts[i]` is the number of entries below child i.
//! 3. All entries below child i are before separator i, and all below child i + 1 are at or after
//!    it.
//! 4. The invariants of runs (`run`).
//!
//! Design: `docs/design/data-model.md`.

mod node;
mod prefetch;
mod run;
#[cfg(test)]
mod tests;
mod walk;

use std::ops::ControlFlow;

use node::{NewScoreEntry, RunTotals, ScoreChildren, ScoreNode, ScoreSplit, ScoreSubtree as _, WIDTH};
use run::{ScoreEntry, ScoreRun, compare};

use crate::ScanDirection;
use skein_model::Member;

/// Bytes of a run in its node: itself, its count, its separator, and the allocator's overhead of
/// its two blocks.
const RUN_OVERHEAD: usize = size_of::<ScoreRun>() + 8 + 24 + BLOCKS;

/// The allocator's overhead of the two blocks of a run.
const BLOCKS: usize = 32;

/// Entries of a run in a bulk build: some space for more is left.
const BULK_WIDTH: usize = WIDTH * 7 / 8;

/// Members by score.
#[derive(Debug, Default)]
pub(crate) struct ScoreIndex {
    root: ScoreRoot,
    len: u64,
    totals: RunTotals,
}

#[derive(Debug)]
enum ScoreRoot {
    Run(ScoreRun),
    Node(Box<ScoreNode>),
}

impl Default for ScoreRoot {
    fn default() -> Self {
        Self::Run(ScoreRun::default())
    }
}

impl ScoreIndex {
    /// Builds the index of these entries, which must be in order. Takes O(n).
    pub(crate) fn of<'e>(mut entries: impl Iterator<Item = (f64, &'e [u8])>) -> Self {
        let mut index = Self::default();
        let mut chunk: Vec<ScoreEntry<'e>> = Vec::with_capacity(BULK_WIDTH);
        let mut builder = ScoreIndexBuilder::default();
        loop {
            chunk.clear();
            chunk
                .extend(entries.by_ref().take(BULK_WIDTH).map(|(score, member)| (score, Member::of(member))));
            if chunk.is_empty() {
                break;
            }
            let run = ScoreRun::of(chunk.iter().copied());
            index.len += chunk.len() as u64;
            index.totals.add(&run);
            builder.run(run);
        }
        if index.len > 0 {
            index.root = builder.finish();
        } else {
            index.totals.add(&ScoreRun::default());
        }
        index
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the bytes that the index uses.
    pub(crate) fn memory(&self) -> usize {
        // A single run is in no node.
        let overhead = if self.totals.runs == 1 { BLOCKS } else { RUN_OVERHEAD };
        self.totals.bytes + self.totals.runs * overhead
    }

    /// Inserts an entry. REQUIRES: it is absent, and the score is not NaN.
    pub(crate) fn insert(&mut self, score: f64, member: &[u8]) {
        debug_assert!(!score.is_nan());
        if self.totals.runs == 0 {
            self.totals.runs = 1;
        }
        let new = NewScoreEntry { score, member, last: true };
        self.len += 1;
        match &mut self.root {
            ScoreRoot::Run(run) => {
                if let Some(split) = run.put(new, &mut self.totals) {
                    let left = std::mem::take(run);
                    let counts = vec![left.count(), split.right.count()];
                    self.grow(
                        split.separator,
                        counts,
                        |right| ScoreChildren::Runs(vec![left, right]),
                        split.right,
                    );
                }
            }
            ScoreRoot::Node(node) => {
                if let Some(ScoreSplit { separator, right }) = node.put(new, &mut self.totals) {
                    let counts = vec![node.count(), right.count()];
                    let left = std::mem::replace(&mut **node, ScoreNode::empty());
                    self.grow(separator, counts, |right| ScoreChildren::Nodes(vec![left, right]), right);
                }
            }
        }
    }

    /// Makes a new root above the two halves of the old one.
    fn grow<T>(
        &mut self,
        (score, member): (f64, Vec<u8>),
        counts: Vec<u64>,
        children: impl FnOnce(T) -> ScoreChildren,
        right: T,
    ) {
        let separators = ScoreRun::of([(score, Member::of(&member))].into_iter());
        self.root = ScoreRoot::Node(Box::new(ScoreNode { separators, counts, children: children(right) }));
    }

    /// Removes an entry. Returns whether it was present.
    pub(crate) fn remove(&mut self, score: f64, member: &[u8]) -> bool {
        let removed = match &mut self.root {
            ScoreRoot::Run(run) => !run.is_empty() && run.take(score, member, &mut self.totals),
            ScoreRoot::Node(node) => node.take(score, member, &mut self.totals),
        };
        self.len -= u64::from(removed);
        while let ScoreRoot::Node(node) = &mut self.root
            && let Some(only) = node.only_child()
        {
            self.root = only;
        }
        removed
    }

    /// Frees the last run of an index that is no longer read; afterwards only `memory` is correct.
    /// Returns how many bytes that was; 0 if nothing is left.
    pub(crate) fn shed(&mut self) -> usize {
        let before = self.memory();
        let more = match &mut self.root {
            ScoreRoot::Node(node) => node.shed(&mut self.totals),
            ScoreRoot::Run(_) => false,
        };
        if !more {
            *self = Self::default();
        }
        before - self.memory()
    }

    /// Returns the number of entries for which `before` is true. It must be true for the first
    /// entries and false for all others; otherwise the answer is meaningless.
    pub(crate) fn rank_by(&self, before: impl Fn(f64, Member<'_>) -> bool) -> u64 {
        let before = |entry: ScoreEntry<'_>| before(entry.0, entry.1);
        let (mut rank, mut node) = match &self.root {
            ScoreRoot::Run(run) => return run.partition(before) as u64,
            ScoreRoot::Node(node) => (0, &**node),
        };
        loop {
            let at = node.separators.partition(before);
            rank += node.counts[..at].iter().sum::<u64>();
            match &node.children {
                ScoreChildren::Runs(runs) => return rank + runs[at].partition(before) as u64,
                ScoreChildren::Nodes(nodes) => node = &nodes[at],
            }
        }
    }

    /// Returns the number of entries before this one.
    pub(crate) fn rank(&self, score: f64, member: &[u8]) -> u64 {
        self.rank_by(|other, name| compare((other, name), score, member).is_lt())
    }

    /// Calls `each` with the entries from rank `rank` on, forward or backward, until it breaks.
    pub(crate) fn walk(
        &self,
        rank: u64,
        direction: ScanDirection,
        mut each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) {
        let mut walk = walk::ScoreWalk::new(self, rank, direction);
        while let Some((score, member)) = walk.next() {
            if each(score, member).is_break() {
                return;
            }
        }
    }

    /// Returns the entry at `rank`.
    #[cfg(test)]
    fn select(&self, rank: u64) -> Option<(f64, Vec<u8>)> {
        let mut found = None;
        self.walk(rank, ScanDirection::Forward, |score, member| {
            found = Some((score, member.to_vec()));
            ControlFlow::Break(())
        });
        found
    }
}

/// Builds a tree from its runs, in order, level by level.
#[derive(Default)]
struct ScoreIndexBuilder {
    runs: Vec<ScoreRun>,
    separators: Vec<(f64, Vec<u8>)>,
}

impl ScoreIndexBuilder {
    fn run(&mut self, run: ScoreRun) {
        if let Some(before) = self.runs.last() {
            self.separators.push(run::separator(before.get(before.len() - 1), run.get(0)));
        }
        self.runs.push(run);
    }

    fn finish(mut self) -> ScoreRoot {
        if self.runs.len() == 1 {
            return self.runs.pop().map_or_else(ScoreRoot::default, ScoreRoot::Run);
        }
        let mut separators = self.separators.into_iter();
        let (mut nodes, mut above) = level(self.runs, &mut separators, ScoreChildren::Runs);
        while nodes.len() > 1 {
            let mut separators = std::mem::take(&mut above).into_iter();
            (nodes, above) = level(nodes, &mut separators, ScoreChildren::Nodes);
        }
        nodes.pop().map_or_else(ScoreRoot::default, |node| ScoreRoot::Node(Box::new(node)))
    }
}

/// Builds one level of nodes above `parts`, with `separators` between them. Returns the nodes, and
/// the separators between the nodes.
fn level<T: node::ScoreSubtree>(
    parts: Vec<T>,
    separators: &mut impl Iterator<Item = (f64, Vec<u8>)>,
    children: impl Fn(Vec<T>) -> ScoreChildren,
) -> (Vec<ScoreNode>, Vec<(f64, Vec<u8>)>) {
    let (mut nodes, mut between) = (Vec::new(), Vec::new());
    let mut parts = parts.into_iter().peekable();
    while parts.peek().is_some() {
        let below: Vec<T> = parts.by_ref().take(BULK_WIDTH).collect();
        let own: Vec<(f64, Vec<u8>)> = separators.by_ref().take(below.len() - 1).collect();
        let counts = below.iter().map(T::count).collect();
        let own = ScoreRun::of(own.iter().map(|(score, member)| (*score, Member::of(member))));
        nodes.push(ScoreNode { separators: own, counts, children: children(below) });
        between.extend(separators.next());
    }
    (nodes, between)
}
