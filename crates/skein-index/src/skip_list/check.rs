//! The checker: walks all levels of an index that no thread uses, and verifies every invariant.

use std::collections::HashSet;

use super::SkipListVariant;
use super::node::Node;
use super::node_state::SkipNodeState;
use super::variant::SkipListSettings;
use crate::slot::Slot;

/// The counts of the checker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkipListStats {
    /// Keys that are present.
    pub keys: usize,
    /// Nodes: those of present keys, and those of absent keys that have older versions.
    pub nodes: usize,
    /// Links of all nodes.
    pub links: usize,
    /// Versions in blocks of their own, tombstones included.
    pub versions: usize,
    /// Versions that are kept for snapshots.
    pub kept: usize,
    /// The height of the highest tower.
    pub levels: usize,
}

macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*));
        }
    };
}

impl<S: Slot, V: SkipListSettings> SkipListVariant<S, V> {
    /// Verifies the whole structure and returns its counts.
    ///
    /// # Errors
    /// Errors with a description of the first violation.
    pub fn check(&mut self) -> Result<SkipListStats, String> {
        let mut shape = SkipListStats::default();
        self.check_levels(&mut shape)?;
        let mut kept = HashSet::new();
        for node in self.on_level(0) {
            self.check_versions(node, &mut shape, &mut kept)?;
        }
        for slot in self.engine.snapshots.slots() {
            for note in slot.notes() {
                let is_there = kept.remove(&(note.node.key().to_vec(), note.stamp));
                ensure!(is_there, "a note for {:?}, stamp {}, has no version", note.node.key(), note.stamp);
            }
        }
        ensure!(kept.is_empty(), "versions without a note: {kept:?}");
        let counted = self.base.len.sum();
        ensure!(shape.keys == counted, "the key counter says {counted}, the list has {}", shape.keys);
        Ok(shape)
    }

    /// Checks that each level is in order, has no marked link, and holds exactly the nodes that are
    /// high enough.
    fn check_levels(&self, shape: &mut SkipListStats) -> Result<(), String> {
        for level in 0..Self::LEVELS {
            let due: Vec<Node<V>> = match level {
                0 => self.on_level(0).collect(),
                _ => self.on_level(level - 1).filter(|node| node.height() > level).collect(),
            };
            let nodes: Vec<Node<V>> = self.on_level(level).collect();
            ensure!(
                nodes == due,
                "level {level} does not hold the nodes of level {} that are high enough",
                level.max(1) - 1
            );
            let in_order = nodes.is_sorted_by(|a, b| a.key() < b.key());
            ensure!(in_order, "level {level} is out of order");
            let marked = nodes.iter().find(|node| node.next(level).is_marked());
            ensure!(marked.is_none(), "{:?} is marked on level {level}", marked.map(|node| node.key()));
            ensure!(nodes.is_empty() || level < self.top(), "searches begin below level {level}");
            shape.links += nodes.len();
            if !nodes.is_empty() {
                shape.levels = level + 1;
            }
        }
        for node in self.on_level(0) {
            shape.nodes += 1;
            let height = self.engine.heights.of(node.key());
            ensure!(node.height() == height, "{:?} has {} levels, not {height}", node.key(), node.height());
            ensure!(node.is_built(), "{:?} is not flagged as built", node.key());
        }
        Ok(())
    }

    /// Checks that stamps fall along a node's versions and that the node has a reason to exist.
    /// Adds the versions behind the first to `kept`.
    fn check_versions(
        &self,
        node: Node<V>,
        shape: &mut SkipListStats,
        kept: &mut HashSet<(Vec<u8>, u64)>,
    ) -> Result<(), String> {
        let (key, mut state) = (node.key(), node.state());
        ensure!(!state.is_claimed(), "{key:?} is claimed");
        ensure!(!state.is_absent(), "{key:?} has no version left, but its node is linked");
        let alone = state.older() == SkipNodeState::GONE;
        ensure!(
            !(state.is_tombstone() && alone),
            "{key:?} is a tombstone without older versions, but its node is linked"
        );
        shape.keys += usize::from(state.value(node).is_some());
        let mut limit = self.engine.gate.now() + 1;
        let mut behind = false;
        while state != SkipNodeState::GONE {
            ensure!(state.stamp() < limit, "{key:?} has stamp {} behind {limit}", state.stamp());
            limit = state.stamp();
            shape.versions += usize::from(state.has_block());
            if behind {
                shape.kept += 1;
                kept.insert((key.to_vec(), state.stamp()));
            }
            (state, behind) = (state.older(), true);
        }
        Ok(())
    }
}
