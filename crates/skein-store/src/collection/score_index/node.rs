//! Nodes of the counted B+-tree, and the operations on them.
//!
//! ```text
//!   node    counts      17 │ 21 │ 40            entries below each child
//!           separators     k1   k2              all below child i < k(i+1) <= all below child i+1
//!           children    run, run, run           or nodes; all runs are at one depth
//! ```

use super::ScoreRoot;
use super::run::{ScoreEntry, ScoreRun, compare, make_room, separator};

/// The largest number of entries of a run, and of children of a node.
pub(super) const WIDTH: usize = 64;
/// A run with more bytes than this is split, if it has at least two entries.
const RUN_BYTES: usize = 16 << 10;
/// A child with at most this many parts is merged with a neighbour if both together have at most
/// `MERGED`.
const SMALL: usize = WIDTH / 4;
const MERGED: usize = WIDTH * 3 / 4;

#[derive(Debug)]
pub(super) enum ScoreChildren {
    Runs(Vec<ScoreRun>),
    Nodes(Vec<ScoreNode>),
}

#[derive(Debug)]
pub(super) struct ScoreNode {
    pub(super) separators: ScoreRun,
    pub(super) counts: Vec<u64>,
    pub(super) children: ScoreChildren,
}

/// The result of a split: the separator, and the part to the right of it.
pub(super) struct ScoreSplit<T> {
    pub(super) separator: (f64, Vec<u8>),
    pub(super) right: T,
}

/// An entry to insert, and whether it is inserted along the right edge of the tree.
#[derive(Clone, Copy)]
pub(super) struct NewScoreEntry<'a> {
    pub(super) score: f64,
    pub(super) member: &'a [u8],
    pub(super) last: bool,
}

/// The number and the memory of the runs of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunTotals {
    pub(super) runs: usize,
    /// Bytes of their entries, including unused capacity.
    pub(super) bytes: usize,
}

impl RunTotals {
    pub(super) fn add(&mut self, run: &ScoreRun) {
        self.runs += 1;
        self.bytes += run.memory();
    }

    fn remove(&mut self, run: &ScoreRun) {
        self.runs -= 1;
        self.bytes -= run.memory();
    }
}

/// The common operations of runs and nodes, so that the code of a node is the same for both kinds
/// of children.
pub(super) trait ScoreSubtree: Sized {
    /// Returns the number of entries below.
    fn count(&self) -> u64;
    /// Returns the number of entries or children.
    fn width(&self) -> usize;
    /// Inserts an entry, which must be absent.
    fn put(&mut self, new: NewScoreEntry<'_>, totals: &mut RunTotals) -> Option<ScoreSplit<Self>>;
    /// Removes an entry. Returns whether it was present.
    fn take(&mut self, score: f64, member: &[u8], totals: &mut RunTotals) -> bool;
    /// Appends the next part, which begins at `separator`.
    fn join(&mut self, separator: ScoreEntry<'_>, next: Self, totals: &mut RunTotals);
    /// Returns whether both together are short enough for one.
    fn fits(&self, next: &Self) -> bool;
    /// Subtracts the runs below from the totals, before an empty part is dropped.
    fn forget(&self, totals: &mut RunTotals);
}

impl ScoreSubtree for ScoreRun {
    fn count(&self) -> u64 {
        self.len() as u64
    }

    fn width(&self) -> usize {
        self.len()
    }

    fn put(&mut self, new: NewScoreEntry<'_>, totals: &mut RunTotals) -> Option<ScoreSplit<Self>> {
        let at = self.first_from(new.score, new.member);
        let too_long = self.len() > 1 && self.data_len() + new.member.len() > RUN_BYTES;
        totals.remove(self);
        if self.len() < WIDTH && !too_long {
            self.insert(at, new.score, new.member);
            totals.add(self);
            return None;
        }
        // Entries that are inserted in ascending order fill every run.
        let cut = if new.last && at == self.len() { at } else { self.len() / 2 };
        let (left, mut right) = self.cut(cut);
        *self = left;
        if at < cut {
            self.insert(at, new.score, new.member);
        } else {
            right.insert(at - cut, new.score, new.member);
        }
        totals.add(self);
        totals.add(&right);
        let separator = separator(self.get(self.len() - 1), right.get(0));
        Some(ScoreSplit { separator, right })
    }

    fn take(&mut self, score: f64, member: &[u8], totals: &mut RunTotals) -> bool {
        let at = self.first_from(score, member);
        let found = at < self.len() && compare(self.get(at), score, member).is_eq();
        if found {
            totals.remove(self);
            self.remove(at);
            totals.add(self);
        }
        found
    }

    fn join(&mut self, _: ScoreEntry<'_>, next: Self, totals: &mut RunTotals) {
        totals.remove(self);
        totals.remove(&next);
        *self = self.joined(&next);
        totals.add(self);
    }

    fn fits(&self, next: &Self) -> bool {
        self.data_len() + next.data_len() <= RUN_BYTES
    }

    fn forget(&self, totals: &mut RunTotals) {
        totals.remove(self);
    }
}

impl ScoreSubtree for ScoreNode {
    fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn width(&self) -> usize {
        self.counts.len()
    }

    fn put(&mut self, new: NewScoreEntry<'_>, totals: &mut RunTotals) -> Option<ScoreSplit<Self>> {
        let at = self.child_of(new.score, new.member);
        let new = NewScoreEntry { last: new.last && at + 1 == self.width(), ..new };
        self.counts[at] += 1;
        let right = match &mut self.children {
            ScoreChildren::Runs(runs) => put_into(runs, at, new, totals),
            ScoreChildren::Nodes(nodes) => put_into(nodes, at, new, totals),
        };
        let ((score, member), count) = right?;
        self.counts[at] -= count;
        make_room(&mut self.counts, 1);
        self.counts.insert(at + 1, count);
        self.separators.insert(at, score, &member);
        if self.width() <= WIDTH {
            return None;
        }
        Some(self.split(if new.last { self.width() - 1 } else { self.width() / 2 }))
    }

    fn take(&mut self, score: f64, member: &[u8], totals: &mut RunTotals) -> bool {
        let at = self.child_of(score, member);
        let taken = match &mut self.children {
            ScoreChildren::Runs(runs) => runs[at].take(score, member, totals),
            ScoreChildren::Nodes(nodes) => nodes[at].take(score, member, totals),
        };
        if taken {
            self.counts[at] -= 1;
            self.tidy(at, totals);
        }
        taken
    }

    fn join(&mut self, separator: ScoreEntry<'_>, next: Self, _: &mut RunTotals) {
        let ours = self.separators.entries(0, self.separators.len());
        let theirs = next.separators.entries(0, next.separators.len());
        self.separators = ScoreRun::of(ours.chain([separator]).chain(theirs));
        self.counts.extend_from_slice(&next.counts);
        match (&mut self.children, next.children) {
            (ScoreChildren::Runs(runs), ScoreChildren::Runs(more)) => runs.extend(more),
            (ScoreChildren::Nodes(nodes), ScoreChildren::Nodes(more)) => nodes.extend(more),
            _ => unreachable!("all runs are at one depth"),
        }
    }

    fn fits(&self, _: &Self) -> bool {
        true
    }

    fn forget(&self, totals: &mut RunTotals) {
        match &self.children {
            ScoreChildren::Runs(runs) => runs.iter().for_each(|run| run.forget(totals)),
            ScoreChildren::Nodes(nodes) => nodes.iter().for_each(|node| node.forget(totals)),
        }
    }
}

/// Inserts an entry into child `at`. If the child was split, returns the separator and the number
/// of entries of the new child.
fn put_into<T: ScoreSubtree>(
    children: &mut Vec<T>,
    at: usize,
    new: NewScoreEntry<'_>,
    totals: &mut RunTotals,
) -> Option<((f64, Vec<u8>), u64)> {
    let ScoreSplit { separator, right } = children[at].put(new, totals)?;
    let count = right.count();
    make_room(children, 1);
    children.insert(at + 1, right);
    Some((separator, count))
}

impl ScoreNode {
    /// Frees the last run below. Returns whether there are more.
    pub(super) fn shed(&mut self, totals: &mut RunTotals) -> bool {
        match &mut self.children {
            ScoreChildren::Runs(runs) => {
                if let Some(run) = runs.pop() {
                    totals.remove(&run);
                }
                !runs.is_empty()
            }
            ScoreChildren::Nodes(nodes) => {
                if nodes.last_mut().is_some_and(|last| !last.shed(totals)) {
                    nodes.pop();
                }
                !nodes.is_empty()
            }
        }
    }

    /// Returns an empty node, as a placeholder for one that is moved.
    pub(super) fn empty() -> Self {
        Self { separators: ScoreRun::EMPTY, counts: Vec::new(), children: ScoreChildren::Runs(Vec::new()) }
    }

    /// Takes out the only child, if there is just one, to replace the node.
    pub(super) fn only_child(&mut self) -> Option<ScoreRoot> {
        if self.width() > 1 {
            return None;
        }
        match &mut self.children {
            ScoreChildren::Runs(runs) => runs.pop().map(ScoreRoot::Run),
            ScoreChildren::Nodes(nodes) => nodes.pop().map(|node| ScoreRoot::Node(Box::new(node))),
        }
    }

    /// Returns the child that has the entry, if the entry is present.
    pub(super) fn child_of(&self, score: f64, member: &[u8]) -> usize {
        self.separators.first_behind(score, member)
    }

    /// Splits off the children from `at` on.
    fn split(&mut self, at: usize) -> ScoreSplit<Self> {
        let separator = self.separators.get(at - 1);
        let separator = (separator.0, separator.1.to_vec());
        let right = Self {
            separators: ScoreRun::of(self.separators.entries(at, self.separators.len())),
            counts: cut_off(&mut self.counts, at),
            children: match &mut self.children {
                ScoreChildren::Runs(runs) => ScoreChildren::Runs(cut_off(runs, at)),
                ScoreChildren::Nodes(nodes) => ScoreChildren::Nodes(cut_off(nodes, at)),
            },
        };
        self.separators = ScoreRun::of(self.separators.entries(0, at - 1));
        ScoreSplit { separator, right }
    }

    /// Restores the balance after a removal from child `at`: merges the child with a neighbour if
    /// it is small, or drops it if it is empty.
    fn tidy(&mut self, at: usize, totals: &mut RunTotals) {
        let width = match &self.children {
            ScoreChildren::Runs(runs) => runs[at].width(),
            ScoreChildren::Nodes(nodes) => nodes[at].width(),
        };
        if self.width() == 1 || (width > SMALL && self.counts[at] > 0) {
            return;
        }
        // Merges with the next child; the last child is merged with the one before it.
        let left = at.min(self.width() - 2);
        let separator = self.separators.get(left);
        let merged = match &mut self.children {
            ScoreChildren::Runs(runs) => merge(runs, left, separator, totals),
            ScoreChildren::Nodes(nodes) => merge(nodes, left, separator, totals),
        };
        if merged {
            let count = self.counts.remove(left + 1);
            self.counts[left] += count;
            self.separators.remove(left);
        }
    }
}

/// Splits off the elements from `at` on and removes unused capacity.
fn cut_off<T>(parts: &mut Vec<T>, at: usize) -> Vec<T> {
    let right = parts.split_off(at);
    parts.shrink_to_fit();
    right
}

/// Merges child `left` and the next one if one is empty or both are small enough.
fn merge<T: ScoreSubtree>(
    children: &mut Vec<T>,
    left: usize,
    separator: ScoreEntry<'_>,
    totals: &mut RunTotals,
) -> bool {
    let (a, b) = (&children[left], &children[left + 1]);
    if a.count() == 0 || b.count() == 0 {
        let empty = if a.count() == 0 { left } else { left + 1 };
        children.remove(empty).forget(totals);
        return true;
    }
    if a.width() + b.width() > MERGED || !a.fits(b) {
        return false;
    }
    let next = children.remove(left + 1);
    children[left].join(separator, next, totals);
    true
}
