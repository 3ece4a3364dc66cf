//! The checker: visits the whole table and verifies every invariant.

use std::collections::BTreeMap;

use super::MlpIndexVariant;
use super::key::ShortKey;
use super::name::{LEVEL_MIN, MlpBucketPair, SECONDARY, places, places_of};
use super::node::{MlpNode, MlpNodeBody};
use super::top_bitmap::start_of;
use super::variant::MlpSettings;
use crate::slot::Slot;

/// The counts of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MlpIndexShape {
    /// Keys, and so leaves.
    pub leaves: usize,
    /// Inner nodes of up to 8, up to 16, and more children.
    pub small: usize,
    /// See `small`.
    pub medium: usize,
    /// See `small`.
    pub large: usize,
    /// Those of them with a single child, which had no room in their place.
    pub single: usize,
    /// Nodes in their secondary bucket.
    pub secondary: usize,
    /// Slots in use, and all slots.
    pub used: usize,
    /// See `used`.
    pub slots: usize,
    /// Nodes by level, from 3 to 9.
    pub by_level: [usize; 10],
}

/// All nodes by level and key. The keys of inner nodes have length 0.
type NodesByLevel = BTreeMap<(u32, ShortKey), MlpNode>;

impl<S: Slot, V: MlpSettings> MlpIndexVariant<S, V> {
    /// Verifies the whole structure: every node is where it belongs, each inner node has its
    /// children and the least key of the first one, every node is a child of some node or has a bit
    /// in the flat bitmap, and the counts are right.
    ///
    /// # Errors
    /// Describes the first violation.
    pub fn check(&mut self) -> Result<MlpIndexShape, String> {
        let mut shape = MlpIndexShape::default();
        let nodes = self.gather(&mut shape)?;
        let mut below = 0;
        for ((level, key), node) in &nodes {
            if *level == LEVEL_MIN {
                below += 1;
                ensure(self.engine.top.has(start_of(key.bits)), || {
                    format!("the bitmap lacks the name of {node:x?}")
                })?;
            }
            if let MlpNodeBody::Inner { depth, children } = node.body {
                shape.single += usize::from(node.is_single());
                ensure(depth >= *level && depth <= 8, || {
                    format!("{node:x?} has depth {depth}, outside {level}..=8")
                })?;
                below += children.len();
                check_children(&nodes, node, depth)?;
            }
        }
        ensure(below == nodes.len(), || {
            format!("{} nodes, but {below} of them have a parent or a bit in the bitmap", nodes.len())
        })?;
        let starts = nodes.keys().filter(|(level, _)| *level == LEVEL_MIN).count();
        let noted = self.engine.top.count();
        ensure(noted == starts, || {
            format!("{starts} nodes at level {LEVEL_MIN}, but {noted} bits in the bitmap")
        })?;
        ensure(self.engine.top.is_consistent(), || "the layers above the bitmap do not match it".to_owned())?;
        let (keys, used) = (self.base.len.sum(), self.engine.table.used.sum());
        ensure(keys == shape.leaves, || {
            format!("{} leaves, but the counter says {keys} keys", shape.leaves)
        })?;
        // Models do not count this: it orders nothing.
        ensure(used == shape.used || cfg!(skein_loom), || {
            format!("{} slots in use, but the counter says {used}", shape.used)
        })?;
        Ok(shape)
    }

    /// Collects all nodes. Verifies that each is in one of its buckets, and only once.
    fn gather(&mut self, shape: &mut MlpIndexShape) -> Result<NodesByLevel, String> {
        let (size, seeds) = (self.engine.table.size(), self.engine.table.seeds);
        let mut nodes = NodesByLevel::new();
        let mut wrong = None;
        self.each_node(|bucket, head, node| {
            let pair = MlpBucketPair::of(places_of(head, bucket, &seeds), size);
            let home = if head & SECONDARY == 0 { pair.primary } else { pair.secondary };
            let by_name = MlpBucketPair::of(places(node.key(), node.level, &seeds), size);
            if home != bucket || by_name != pair {
                wrong = Some(format!("{node:x?} is in bucket {bucket}, but belongs to {by_name:?}"));
            }
            // The bits beyond the name do not distinguish nodes.
            let cut = 64 - 8 * node.level.min(8);
            let key =
                if node.level > 8 { node.key() } else { ShortKey { bits: node.bits >> cut << cut, len: 0 } };
            if nodes.insert((node.level, key), node).is_some() {
                wrong = Some(format!("two nodes have the name of {node:x?}"));
            }
            shape.used += node.slots();
            shape.secondary += usize::from(head & SECONDARY != 0);
            shape.by_level[node.level as usize] += 1;
            match (node.body, node.slots()) {
                (MlpNodeBody::Leaf { .. }, _) => shape.leaves += 1,
                (_, 1) => shape.small += 1,
                (_, 2) => shape.medium += 1,
                _ => shape.large += 1,
            }
        });
        shape.slots = super::image::SLOTS * size.buckets() as usize;
        wrong.map_or(Ok(nodes), Err)
    }
}

fn check_children(nodes: &NodesByLevel, node: &MlpNode, depth: u32) -> Result<(), String> {
    let MlpNodeBody::Inner { children, .. } = node.body else { return Ok(()) };
    let mut least = None;
    for symbol in children.iter() {
        let key = if depth < 8 {
            let cut = 56 - 8 * depth;
            ShortKey { bits: (node.bits >> cut & !0xff | u64::from(symbol)) << cut, len: 0 }
        } else {
            ShortKey { bits: node.bits, len: symbol }
        };
        let child = nodes.get(&(depth + 1, key));
        let child = child.ok_or_else(|| format!("{node:x?} lacks its child {symbol:#x}"))?;
        let is_leaf = matches!(child.body, MlpNodeBody::Leaf { .. });
        ensure(!is_leaf || !node.is_single(), || format!("{node:x?} has a leaf as its single child"))?;
        least = least.or(Some(child.bits));
    }
    ensure(least == Some(node.bits), || format!("{node:x?} should have the least key {least:x?}"))
}

fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong()) }
}
