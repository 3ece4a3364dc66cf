//! The structural checker: walks the whole tree and tests every invariant of a quiet tree.

use super::MasstreeVariant;
use super::border::BorderEntry;
use super::key_lengths::LINK;
use super::link::SlotLink;
use super::node::Node;
use super::variant::MasstreeSettings;
use crate::memory::{Arena, MemoryPart};
use crate::slot::Slot;

/// Counts of nodes, keys and bytes from a walk through a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MasstreeStats {
    /// Number of keys.
    pub keys: usize,
    /// Number of layers, including the first one.
    pub layers: usize,
    /// Number of interior nodes.
    pub interior: usize,
    /// Number of full-width border nodes.
    pub full: usize,
    /// Number of solo border nodes.
    pub solo: usize,
    /// Number of suffix blocks.
    pub suffixes: usize,
    /// Bytes of nodes, rounding included.
    pub node_bytes: usize,
    /// Bytes of suffix blocks, rounding included.
    pub suffix_bytes: usize,
}

/// A node to check, and the fields that its position in the tree determines.
#[derive(Clone, Copy, Debug)]
struct NodeToCheck<V: MasstreeSettings> {
    node: Node<V>,
    parent: Option<Node<V>>,
    /// The slices that it may hold: from the first, up to but excluding the second.
    range: (u64, Option<u64>),
    /// Number of layers above.
    depth: usize,
}

/// The walk: the nodes left to check, and the counts.
#[derive(Debug)]
struct MasstreeChecker<V: MasstreeSettings> {
    waiting: Vec<NodeToCheck<V>>,
    shape: MasstreeStats,
}

/// Returns an error unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $place:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!("{} (at {:?})", format_args!($($message)+), $place));
        }
    };
}

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Checks the structure of the tree. The mutable borrow excludes other users.
    ///
    /// # Errors
    /// Returns a description of the first violated invariant, which is a bug in this crate.
    pub fn check(&mut self) -> Result<MasstreeStats, String> {
        let mut walk = MasstreeChecker { waiting: Vec::new(), shape: MasstreeStats::default() };
        walk.layer(self.root(), 0)?;
        if self.root() != walk.waiting[0].node {
            return Err("the tree's own root is stale".into());
        }
        while let Some(place) = walk.waiting.pop() {
            walk.node(place)?;
        }
        let shape = walk.shape;
        let (len, nodes, keys) = (
            self.base.len.sum(),
            self.base.arena.live(MemoryPart::Nodes),
            self.base.arena.live(MemoryPart::Keys),
        );
        if (shape.keys, shape.node_bytes, shape.suffix_bytes) != (len, nodes, keys) {
            return Err(format!("{shape:?}, but {len} keys and {nodes} + {keys} bytes are accounted for"));
        }
        Ok(shape)
    }
}

impl<V: MasstreeSettings> MasstreeChecker<V> {
    /// Adds a layer to the walk, from a link that may be stale.
    fn layer(&mut self, link: Node<V>, depth: usize) -> Result<(), String> {
        let mut root = link;
        while let Some(parent) = root.parent() {
            root = parent;
        }
        ensure!(root.version().peek().is_root(), root, "the topmost node of a layer is not marked as root");
        self.shape.layers += 1;
        self.waiting.push(NodeToCheck { node: root, parent: None, range: (0, None), depth });
        Ok(())
    }

    fn node(&mut self, place: NodeToCheck<V>) -> Result<(), String> {
        let version = place.node.version().peek();
        ensure!(!version.is_locked() && !version.is_deleted(), place, "a node is locked or deleted");
        ensure!(version.is_root() == place.parent.is_none(), place, "the root flag is wrong");
        ensure!(place.node.parent() == place.parent, place, "the parent is wrong");
        self.shape.node_bytes += Arena::rounded(place.node.size());
        if version.is_border() { self.border(place) } else { self.interior(place) }
    }

    fn interior(&mut self, place: NodeToCheck<V>) -> Result<(), String> {
        let (node, nkeys) = (place.node, place.node.nkeys());
        self.shape.interior += 1;
        ensure!(nkeys <= V::WIDTH, place, "{nkeys} keys in a node of width {}", V::WIDTH);
        ensure!(
            (nkeys..V::WIDTH).all(|i| node.key(i) == u64::MAX),
            place,
            "an unused key is not the greatest"
        );
        for index in 0..=nkeys {
            let from = if index == 0 { place.range.0 } else { node.key(index - 1) };
            let to = if index == nkeys { place.range.1 } else { Some(node.key(index)) };
            ensure!(from >= place.range.0 && to.is_none_or(|to| from < to), place, "keys out of order");
            ensure!(
                place.range.1.is_none_or(|end| to.is_some_and(|to| to <= end)),
                place,
                "key out of range"
            );
            let child = node.child(index);
            self.waiting.push(NodeToCheck {
                node: child,
                parent: Some(node),
                range: (from, to),
                depth: place.depth,
            });
        }
        Ok(())
    }

    fn border(&mut self, place: NodeToCheck<V>) -> Result<(), String> {
        let node = place.node;
        let (lengths, permutation) = (node.key_lengths(), node.permutation());
        let (count, width) = (permutation.count(), lengths.width());
        if node.is_full_width() {
            self.neighbours(place)?;
        } else {
            self.shape.solo += 1;
            ensure!(place.parent.is_none() && count > 0, place, "a solo node is empty, or not a root");
        }
        let mut seen = 0_u32;
        for position in 0..width {
            let slot = permutation.slot(position);
            seen |= 1 << slot;
            ensure!(lengths.is_live(slot) == (position < count), place, "slot {slot} is live, or should be");
        }
        ensure!(seen == (1 << width) - 1, place, "the permutation {permutation:?} misses a slot");
        let mut last = None;
        for position in 0..count {
            let entry = node.entry(lengths, permutation, position);
            let bits = entry.slice.bits;
            ensure!(last.replace(entry.slice) < Some(entry.slice), place, "slices out of order");
            ensure!(bits >= place.range.0, place, "slice {bits:x} is below the node's range");
            ensure!(
                place.range.1.is_none_or(|end| bits < end),
                place,
                "slice {bits:x} is above the node's range"
            );
            self.entry(place, entry)?;
        }
        Ok(())
    }

    fn entry(&mut self, place: NodeToCheck<V>, entry: BorderEntry) -> Result<(), String> {
        let padding = entry.slice.bits.checked_shl(8 * u32::from(entry.slice.code)).unwrap_or(0);
        ensure!(padding == 0, place, "slice {:x} goes on past its length", entry.slice.bits);
        if entry.slice.code < LINK {
            self.shape.keys += 1;
            return Ok(());
        }
        // SAFETY: the tree is borrowed mutably, so the entry is whole and its target live.
        match unsafe { SlotLink::from_word(entry.lv) } {
            SlotLink::Layer(root) => self.layer(root, place.depth + 1),
            SlotLink::Suffix(suffix) => {
                self.shape.keys += 1;
                self.shape.suffixes += 1;
                self.shape.suffix_bytes += suffix.footprint();
                ensure!(!suffix.bytes().is_empty(), place, "a suffix is empty");
                Ok(())
            }
        }
    }

    /// Checks the neighbour links and the low key of a full node.
    fn neighbours(&mut self, place: NodeToCheck<V>) -> Result<(), String> {
        let node = place.node;
        self.shape.full += 1;
        let low = node.low();
        ensure!(low == place.range.0, place, "the low key {low:x} is not where the range begins");
        ensure!(node.prev().is_none() == (place.range.0 == 0), place, "a leftmost node has a left neighbour");
        ensure!(node.next().is_none() == place.range.1.is_none(), place, "a rightmost node has a neighbour");
        if let Some(prev) = node.prev() {
            ensure!(prev.next() == Some(node), place, "the left neighbour's next does not lead back");
        }
        if let Some(next) = node.next() {
            ensure!(next.prev() == Some(node), place, "the right neighbour's prev does not lead back");
            ensure!(Some(next.low()) == place.range.1, place, "the right neighbour has another low key");
        }
        Ok(())
    }
}
