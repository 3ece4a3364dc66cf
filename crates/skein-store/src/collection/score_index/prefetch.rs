//! Reads the paths of several entries into the cache, those of all entries at the same time.
//!
//! ```text
//!   entry a   root ── node ── run │ ends │ entries
//!   entry b   root ── node ── run │ ends │ entries        step by step, for all entries: what one
//!   entry c   root ── node ── run │ ends │ entries        step has requested, the next one reads
//! ```
//!
//! A descent waits for each cache miss. Here the misses of all entries overlap, as in the group
//! prefetching of "Improving Hash Join Performance through Prefetching" (Chen, Ailamaki, Gibbons,
//! Mowry, ICDE 2004).

use skein_sync::cache::{prefetch_lines, prefetch_read};

use super::node::{ScoreChildren, ScoreNode};
use super::run::ScoreRun;
use super::{ScoreIndex, ScoreRoot};

/// The most entries whose lines are in flight together.
const GROUP: usize = 32;

impl ScoreIndex {
    /// Reads the paths of members with this score into the cache, whether they are present or not.
    pub(crate) fn prefetch(&self, score: f64, members: &[&[u8]]) {
        let ScoreRoot::Node(root) = &self.root else { return };
        for members in members.chunks(GROUP) {
            let runs = runs_of(root, score, members);
            for run in &runs {
                run.prefetch_ends();
            }
            for run in &runs {
                run.prefetch_entries();
            }
        }
    }
}

/// Descends to the runs of these members.
fn runs_of<'t>(root: &'t ScoreNode, score: f64, members: &[&[u8]]) -> Vec<&'t ScoreRun> {
    let (mut nodes, mut runs) = (vec![root; members.len()], Vec::new());
    while runs.is_empty() {
        for (node, member) in nodes.iter_mut().zip(members) {
            let at = node.child_of(score, member);
            match &node.children {
                ScoreChildren::Nodes(below) => {
                    *node = &below[at];
                    prefetch_lines::<2, _>(*node);
                }
                // All runs are at one depth (invariant 1 of the index).
                ScoreChildren::Runs(below) => {
                    runs.push(&below[at]);
                    prefetch_read(&raw const below[at]);
                }
            }
        }
    }
    runs
}
