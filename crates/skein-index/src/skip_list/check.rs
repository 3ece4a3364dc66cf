//! The checker: walks all levels of a quiet index, and verifies every invariant.

use std::collections::HashSet;

use super::SkipList;
use super::node::Node;
use super::node_state::SkipNodeState;
use crate::slot::Slot;

/// What the checker counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkipListStats {
    /// Keys that are there.
    pub keys: usize,
    /// Nodes: those of keys, and of keys that are absent but were not always.
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

impl<S: Slot, const V: usize> SkipList<S, V> {
    /// Verifies the whole structure.
    ///
    /// # Errors
    /// The first violation, in words.
    pub fn check(&mut self) -> Result<SkipListStats, String> {
        let mut shape = SkipListStats::default();
        self.check_levels(&mut shape)?;
        let mut kept = HashSet::new();
        for node in self.on_level(0) {
            self.check_versions(node, &mut shape, &mut kept)?;
        }
        for slot in self.snapshots.slots() {
            for note in slot.left() {
                let is_there = kept.remove(&(note.node.key().to_vec(), note.stamp));
                ensure!(is_there, "a note for {:?}, stamp {}, keeps nothing", note.node.key(), note.stamp);
            }
        }
        ensure!(kept.is_empty(), "nobody keeps {kept:?}");
        let counted = self.base.len.sum();
        ensure!(shape.keys == counted, "{counted} keys counted, {} there", shape.keys);
        Ok(shape)
    }

    /// Each level is in order, has no marked link, and holds the nodes that are so high, all of them.
    fn check_levels(&self, shape: &mut SkipListStats) -> Result<(), String> {
        for level in 0..Self::LEVELS {
            let due: Vec<Node<V>> = match level {
                0 => self.on_level(0).collect(),
                _ => self.on_level(level - 1).filter(|node| node.height() > level).collect(),
            };
            let nodes: Vec<Node<V>> = self.on_level(level).collect();
            ensure!(nodes == due, "level {level} is not what level {} has of its height", level.max(1) - 1);
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
            let height = self.heights.of(node.key());
            ensure!(node.height() == height, "{:?} has {} levels, not {height}", node.key(), node.height());
            ensure!(node.is_built(), "{:?} is not said to be built", node.key());
        }
        Ok(())
    }

    /// Stamps fall along a node's versions, the first of which says whether the key is there; notes those behind it.
    fn check_versions(
        &self,
        node: Node<V>,
        shape: &mut SkipListStats,
        kept: &mut HashSet<(Vec<u8>, u64)>,
    ) -> Result<(), String> {
        let (key, mut state) = (node.key(), node.state());
        ensure!(!state.is_claimed(), "{key:?} is claimed");
        ensure!(!state.is_absent(), "{key:?} has nothing left, and is there");
        let alone = state.older() == SkipNodeState::GONE;
        ensure!(!(state.is_tombstone() && alone), "{key:?} is absent for ever, and is there");
        shape.keys += usize::from(state.value(node).is_some());
        let mut limit = self.gate.now() + 1;
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
