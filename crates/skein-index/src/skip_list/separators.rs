//! Separators: keys that divide the list into parts of about the same size. They are sampled from
//! the highest level that has enough nodes.

use super::SkipListVariant;
use super::node::Node;
use super::variant::SkipListSettings;
use crate::slot::Slot;

/// Sampled nodes per part. More nodes give more even parts.
const PER_PART: usize = 64;

impl<S: Slot, V: SkipListSettings> SkipListVariant<S, V> {
    /// Returns at most `parts - 1` keys, in order. The caller must hold a guard.
    pub(super) fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        let wanted = parts.saturating_mul(PER_PART);
        let enough = (0..self.top()).rev().find(|&level| self.on_level(level).nth(wanted).is_some());
        let sample: Vec<&[u8]> = self.on_level(enough.unwrap_or(0)).map(Node::key).collect();
        let parts = parts.clamp(1, sample.len().max(1));
        let mut keys: Vec<Vec<u8>> =
            (1..parts).map(|part| sample[part * sample.len() / parts].to_vec()).collect();
        // A key that was removed and inserted again meanwhile may have been sampled twice.
        keys.dedup();
        keys
    }

    /// Returns the nodes of one level, including marked ones.
    pub(super) fn on_level(&self, level: usize) -> impl Iterator<Item = Node<V>> {
        std::iter::successors(self.engine.head.next(level).node(), move |node| node.next(level).node())
    }
}
