//! The checker: walks a quiet index and verifies every invariant of leaves, anchors and trie.

use std::collections::BTreeMap;

use super::WormholeVariant;
use super::item::{TrieItem, TrieItemChild};
use super::leaf::{LINES, SLOTS, WormholeLeaf, home};
use super::line::LINE;
use super::table::MetaTrieNode;
use super::variant::WormholeSettings;
use crate::memory::Arena;
use crate::record::KeyRecord;
use crate::slot::Slot;

/// Counts of leaves, items, keys and bytes from a walk through an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WormholeStats {
    /// Number of keys.
    pub keys: usize,
    /// Number of leaves.
    pub leaves: usize,
    /// Number of leaves that hold the maximum number of keys.
    pub full: usize,
    /// Number of leaves with tags of the keyed hash, because tags collided.
    pub keyed: usize,
    /// Number of items in the trie.
    pub items: usize,
    /// Bytes of all anchors.
    pub anchor_bytes: usize,
    /// Bytes of the trie: items and table.
    pub trie_bytes: usize,
    /// Whether prefixes are hashed by the keyed hash.
    pub keyed_trie: bool,
}

macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*));
        }
    };
}

/// The trie node that a prefix must have.
#[derive(Default)]
struct ExpectedTrieNode {
    before: Option<WormholeLeaf>,
    /// Children in order, each with its last leaf.
    children: Vec<(TrieItemChild, WormholeLeaf)>,
}

impl<S: Slot, V: WormholeSettings> WormholeVariant<S, V> {
    /// Verifies the whole structure.
    ///
    /// # Errors
    /// Returns a description of the first violation.
    pub fn check(&mut self) -> Result<WormholeStats, String> {
        let leaves = self.check_list()?;
        let mut shape = WormholeStats { leaves: leaves.len(), ..WormholeStats::default() };
        for (index, &leaf) in leaves.iter().enumerate() {
            let keys = check_leaf::<S, V>(self, leaf, leaves.get(index + 1).copied())?;
            shape.keys += keys;
            shape.full += usize::from(keys == V::WIDTH);
            shape.keyed += usize::from(leaf.is_keyed());
            shape.anchor_bytes += leaf.anchor().len();
            ensure!(keys > 0 || leaves.len() == 1, "leaf {index} is empty");
        }
        ensure!(shape.keys == self.base.len.sum(), "{} keys, counted {}", shape.keys, self.base.len.sum());
        (shape.items, shape.trie_bytes) = self.check_trie(&leaves)?;
        shape.keyed_trie = self.engine.meta.table().hash.is_keyed();
        Ok(shape)
    }

    /// Returns all leaves in order. Verifies links and anchors.
    fn check_list(&self) -> Result<Vec<WormholeLeaf>, String> {
        let mut leaves = vec![self.engine.first];
        ensure!(
            self.engine.first.anchor().is_empty() && self.engine.first.prev().is_none(),
            "the first leaf has an anchor or a left neighbour"
        );
        while let Some(next) = leaves[leaves.len() - 1].next() {
            let left = leaves[leaves.len() - 1];
            let (low, high) = (left.anchor(), next.anchor());
            ensure!(next.prev() == Some(left), "the leaf at {high:?} is not linked back");
            ensure!(low < high, "anchors {low:?} and {high:?} are out of order");
            ensure!(
                left.is_terminated() == high.starts_with(low),
                "anchor {low:?} before {high:?} is terminated: {}",
                left.is_terminated()
            );
            leaves.push(next);
        }
        ensure!(!leaves[leaves.len() - 1].is_terminated(), "the last anchor is terminated");
        Ok(leaves)
    }

    /// Verifies that the trie is that of the leaves' anchors. Returns the number of its items and
    /// its size in bytes.
    fn check_trie(&self, leaves: &[WormholeLeaf]) -> Result<(usize, usize), String> {
        let mut expected = BTreeMap::<&[u8], ExpectedTrieNode>::new();
        for (index, &leaf) in leaves.iter().enumerate() {
            let anchor = leaf.anchor();
            let end = leaf.is_terminated().then_some((anchor.len(), None));
            for (len, child) in anchor.iter().map(|&byte| Some(byte)).enumerate().chain(end) {
                let entry = expected.entry(&anchor[..len]).or_insert_with(|| ExpectedTrieNode {
                    before: index.checked_sub(1).map(|left| leaves[left]),
                    children: Vec::new(),
                });
                match entry.children.last_mut() {
                    Some(last) if last.0 == child => last.1 = leaf,
                    _ => entry.children.push((child, leaf)),
                }
            }
        }
        let table = self.engine.meta.table();
        let node_of = |prefix: &[u8]| {
            if prefix.is_empty() {
                Some(self.engine.meta.root())
            } else {
                table.find_exactly(table.hash.of(prefix), prefix).map(|place| place.node)
            }
        };
        let mut bytes = table.bytes();
        for (prefix, expected) in &expected {
            let Some(MetaTrieNode::Item(item)) = node_of(prefix) else {
                return Err(format!("prefix {prefix:?} has no item"));
            };
            check_item(item, prefix, expected)?;
            bytes += Arena::rounded(8 * (6 + item.children()));
        }
        let plain = leaves.iter().filter(|leaf| !leaf.is_terminated());
        for leaf in plain.clone() {
            let node = node_of(leaf.anchor());
            ensure!(
                node == Some(MetaTrieNode::Leaf(*leaf)),
                "anchor {:?} has the node {node:?}",
                leaf.anchor()
            );
        }
        let entries = expected.keys().filter(|prefix| !prefix.is_empty()).count()
            + plain.filter(|leaf| !leaf.anchor().is_empty()).count();
        ensure!(table.len() == entries, "{} entries instead of {entries}", table.len());
        ensure!(table.nodes().count() == entries, "the table's own count is wrong");
        let longest = leaves.iter().map(|leaf| leaf.anchor().len()).max();
        ensure!(
            longest.is_some_and(|longest| longest <= table.longest()),
            "an anchor is longer than the table's longest prefix"
        );
        Ok((expected.len(), bytes))
    }
}

fn check_item(item: TrieItem, prefix: &[u8], expected: &ExpectedTrieNode) -> Result<(), String> {
    ensure!(item.len() == prefix.len(), "the item of {prefix:?} says length {}", item.len());
    ensure!(item.before() == expected.before, "{prefix:?} has another leaf before it");
    ensure!(item.children() == expected.children.len(), "{prefix:?} has {} children", item.children());
    for &(child, last) in &expected.children {
        ensure!(item.has(child), "{prefix:?} lacks its child {child:?}");
        ensure!(item.last_of(child) == Some(last), "the last leaf of {prefix:?}, {child:?} is wrong");
    }
    Ok(())
}

/// Verifies a leaf's slots, ranks and keys. Returns the number of its keys.
fn check_leaf<S: Slot, V: WormholeSettings>(
    index: &WormholeVariant<S, V>,
    leaf: WormholeLeaf,
    next: Option<WormholeLeaf>,
) -> Result<usize, String> {
    let (ranks, anchor) = (leaf.ranks(), leaf.anchor());
    let version = leaf.version().peek();
    ensure!(!version.is_locked() && !version.is_deleted(), "the leaf at {anchor:?} is locked or deleted");
    ensure!(ranks.count <= V::WIDTH, "the leaf at {anchor:?} has {} keys", ranks.count);
    let mut used = [false; SLOTS];
    let mut before: Option<&[u8]> = None;
    for (rank, &slot) in ranks.as_slice().iter().enumerate() {
        let slot = usize::from(slot);
        let Some(record) = leaf.record(slot) else {
            return Err(format!("rank {rank} of the leaf at {anchor:?} leads to an empty slot"));
        };
        ensure!(!std::mem::replace(&mut used[slot], true), "two ranks lead to slot {slot} at {anchor:?}");
        let key = record.key();
        ensure!(key >= anchor, "key {key:?} is below its anchor {anchor:?}");
        ensure!(next.is_none_or(|next| key < next.anchor()), "key {key:?} is above the leaf at {anchor:?}");
        if rank < ranks.sorted {
            ensure!(before.is_none_or(|before| before < key), "key {key:?} is out of order");
            before = Some(key);
        }
        let hash = if leaf.is_keyed() { index.engine.keyed } else { index.engine.plain };
        let tag = (hash.of(key) >> 48) as u16;
        ensure!(record.tag() == tag, "key {key:?} has a wrong tag");
        let lines_before =
            (0..LINES).map(|step| (home(tag) + step) % LINES).take_while(|&line| line != slot / LINE);
        for line in lines_before {
            ensure!(leaf.spilled() & 1 << line != 0, "key {key:?} lies past a line that has not spilled");
        }
    }
    let taken = (0..SLOTS).filter(|&slot| leaf.record(slot).is_some()).count();
    ensure!(taken == ranks.count, "{taken} slots are taken at {anchor:?}, {} ranked", ranks.count);
    let mut keys: Vec<&[u8]> =
        ranks.as_slice().iter().filter_map(|&slot| leaf.record(slot.into())).map(KeyRecord::key).collect();
    keys.sort_unstable();
    ensure!(keys.windows(2).all(|pair| pair[0] != pair[1]), "the leaf at {anchor:?} has a key twice");
    Ok(ranks.count)
}
