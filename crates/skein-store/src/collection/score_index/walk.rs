//! An iterator over a score index from any rank, forward or backward.

use super::node::{ScoreChildren, ScoreNode};
use super::run::{ScoreEntry, ScoreRun};
use super::{ScoreIndex, ScoreRoot};
use crate::ScanDirection;

/// The run of an empty walk.
const NOTHING: &ScoreRun = &ScoreRun::EMPTY;

pub(super) struct ScoreWalk<'o> {
    /// The nodes above the run, each with the position of the child on the path.
    above: Vec<(&'o ScoreNode, usize)>,
    run: &'o ScoreRun,
    /// The position of the next entry; in a backward walk the next entry is before it.
    at: usize,
    direction: ScanDirection,
}

impl<'o> ScoreWalk<'o> {
    /// Begins at `rank`. If `rank` is past the last entry, the walk is empty in both directions.
    pub(super) fn new(index: &'o ScoreIndex, rank: u64, direction: ScanDirection) -> Self {
        let mut above = Vec::new();
        let (mut rank, mut run) = (rank, None);
        let mut node = match &index.root {
            ScoreRoot::Run(only) => {
                run = Some(only);
                None
            }
            ScoreRoot::Node(node) => Some(&**node),
        };
        let inside = rank < index.len;
        while let Some(parent) = node {
            let mut at = 0;
            while at + 1 < parent.counts.len() && rank >= parent.counts[at] {
                rank -= parent.counts[at];
                at += 1;
            }
            above.push((parent, at));
            node = match &parent.children {
                ScoreChildren::Runs(runs) => {
                    run = Some(&runs[at]);
                    None
                }
                ScoreChildren::Nodes(nodes) => Some(&nodes[at]),
            };
        }
        let run = run.filter(|_| inside).unwrap_or(NOTHING);
        let forward = direction == ScanDirection::Forward;
        let at = if inside { rank as usize + usize::from(!forward) } else { 0 };
        if !inside {
            above.clear();
        }
        Self { above, run, at, direction }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<ScoreEntry<'o>> {
        if self.direction == ScanDirection::Forward {
            while self.at == self.run.len() {
                self.run = self.neighbour(|at, width| (at + 1 < width).then_some(at + 1))?;
                self.at = 0;
            }
            self.at += 1;
            return Some(self.run.get(self.at - 1));
        }
        while self.at == 0 {
            self.run = self.neighbour(|at, _| at.checked_sub(1))?;
            self.at = self.run.len();
        }
        self.at -= 1;
        Some(self.run.get(self.at))
    }

    /// Returns the next run in the direction of the walk: climbs as far as necessary, and descends
    /// along the near edge.
    fn neighbour(&mut self, step: impl Fn(usize, usize) -> Option<usize>) -> Option<&'o ScoreRun> {
        loop {
            let (node, at) = self.above.pop()?;
            let Some(at) = step(at, node.counts.len()) else { continue };
            self.above.push((node, at));
            let (mut node, mut at) = (node, at);
            loop {
                match &node.children {
                    ScoreChildren::Runs(runs) => return Some(&runs[at]),
                    ScoreChildren::Nodes(nodes) => node = &nodes[at],
                }
                at = if self.direction == ScanDirection::Forward { 0 } else { node.counts.len() - 1 };
                self.above.push((node, at));
            }
        }
    }
}
