//! Keys that divide the tree into parts of similar size, for parallel scans.
//!
//! The tree is opened from the top, heaviest pieces first, until every piece weighs a small
//! fraction of a part. Then the pieces are assigned to parts in order. The weight of a piece is
//! estimated by a few random walks to the bottom of the tree: the product of the fan-outs on a walk
//! is an unbiased estimate of the number of leaves (Knuth 1975). Counting the nodes of the upper
//! levels would not work, because layers differ too much in size.

use skein_sync::version::Version;

use super::MasstreeVariant;
use super::key_lengths::LINK;
use super::link::SlotLink;
use super::lookup::layer_root;
use super::node::Node;
use super::variant::MasstreeSettings;
use crate::slot::Slot;

/// A piece is opened if it weighs more than this fraction of a part.
const PIECES_PER_PART: f64 = 4.0;

/// Maximum number of rounds that open heavy pieces. Concurrent writers could otherwise prolong the
/// search without limit.
const MAX_ROUNDS: usize = 1000;

/// Random walks for each estimate.
const WALKS: usize = 4;

/// The subtree of a piece.
#[derive(Clone, Copy)]
enum PieceRoot<V: MasstreeSettings> {
    /// A single key, or a piece too small to open.
    Closed,
    /// A layer, by its root, which may be stale.
    Layer(Node<V>),
    /// A node within a layer.
    Child(Node<V>),
}

/// A piece of the tree: its subtree, the least key that it can hold, and its estimated number of
/// keys.
#[derive(Clone)]
struct TreePiece<V: MasstreeSettings> {
    from: Vec<u8>,
    /// The length of the layer's prefix within `from`.
    prefix: usize,
    inside: PieceRoot<V>,
    weight: f64,
}

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Returns at most `parts - 1` keys, in order. The caller holds a guard.
    pub(super) fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        if parts < 2 {
            return Vec::new();
        }
        let mut walker = RandomWalker(0x9e37_79b9_7f4a_7c15);
        let whole = TreePiece {
            from: Vec::new(),
            prefix: 0,
            inside: PieceRoot::Layer(self.root()),
            weight: f64::MAX,
        };
        let mut pieces = vec![whole];
        for _ in 0..MAX_ROUNDS {
            let total: f64 = pieces.iter().map(|piece| piece.weight).sum();
            let heavy = total / (PIECES_PER_PART * parts as f64);
            let opens =
                |piece: &TreePiece<V>| piece.weight > heavy && !matches!(piece.inside, PieceRoot::Closed);
            if !pieces.iter().any(opens) {
                break;
            }
            let open = |piece: TreePiece<V>| {
                if opens(&piece) { walker.with_weights(piece.open()) } else { vec![piece] }
            };
            pieces = pieces.into_iter().flat_map(open).collect();
        }
        cuts(&pieces, parts)
    }
}

/// Returns the first keys of the pieces that start a new part.
fn cuts<V: MasstreeSettings>(pieces: &[TreePiece<V>], parts: usize) -> Vec<Vec<u8>> {
    let total: f64 = pieces.iter().map(|piece| piece.weight).sum();
    let mut keys: Vec<Vec<u8>> = Vec::new();
    let mut passed = 0.0;
    for piece in pieces {
        let due = total * (keys.len() + 1) as f64 / parts as f64;
        let nearest = passed + piece.weight / 2.0 > due;
        // Pieces may overlap if there are concurrent writers: a node that was opened late may have
        // taken over its right neighbour's range.
        let follows = keys.last().map_or(&[][..], Vec::as_slice) < &piece.from[..];
        if nearest && keys.len() + 1 < parts && follows {
            keys.push(piece.from.clone());
        }
        passed += piece.weight;
    }
    keys
}

/// Random walks to the bottom of the tree.
struct RandomWalker(u64);

impl RandomWalker {
    /// Returns these pieces with their weights.
    fn with_weights<V: MasstreeSettings>(&mut self, mut pieces: Vec<TreePiece<V>>) -> Vec<TreePiece<V>> {
        for piece in &mut pieces {
            piece.weight = (0..WALKS).map(|_| self.walk(piece.clone())).sum::<f64>() / WALKS as f64;
        }
        pieces
    }

    fn walk<V: MasstreeSettings>(&mut self, mut piece: TreePiece<V>) -> f64 {
        let mut leaves = 1.0;
        while !matches!(piece.inside, PieceRoot::Closed) {
            let mut below = piece.open();
            leaves *= below.len() as f64;
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            piece = below.swap_remove((self.0 >> 33) as usize % below.len());
        }
        leaves
    }
}

impl<V: MasstreeSettings> TreePiece<V> {
    /// Returns the pieces one level down. If the piece has no such pieces, or if the node is
    /// changing, returns the piece itself, closed.
    fn open(self) -> Vec<Self> {
        let node = match self.inside {
            PieceRoot::Closed => None,
            PieceRoot::Child(node) => Some(node),
            PieceRoot::Layer(root) => layer_root(root).map(|visit| visit.node),
        };
        let opened = node.and_then(|node| {
            let version = node.version().stable();
            if version.is_border() {
                self.open_border(node, version)
            } else {
                self.open_interior(node, version)
            }
        });
        opened
            .filter(|pieces| !pieces.is_empty())
            .unwrap_or_else(|| vec![Self { inside: PieceRoot::Closed, ..self }])
    }

    /// Returns the layer's prefix followed by the first `length` bytes of a slice.
    fn key(&self, slice: u64, length: usize) -> Vec<u8> {
        [&self.from[..self.prefix], &slice.to_be_bytes()[..length]].concat()
    }

    fn open_interior(&self, node: Node<V>, version: Version) -> Option<Vec<Self>> {
        let opened = (0..=node.nkeys()).map(|index| {
            let from = if index == 0 { self.from.clone() } else { self.key(node.key(index - 1), 8) };
            Self { from, prefix: self.prefix, inside: PieceRoot::Child(node.child(index)), weight: 1.0 }
        });
        let opened = opened.collect();
        (!node.version().changed(version)).then_some(opened)
    }

    fn open_border(&self, node: Node<V>, version: Version) -> Option<Vec<Self>> {
        let (lengths, permutation) = (node.key_lengths(), node.permutation());
        let entries: Vec<_> = (0..permutation.count())
            .map(|position| node.entry(lengths, permutation, position))
            .filter(|entry| entry.slice.code <= LINK)
            .collect();
        if node.version().changed(version) {
            return None;
        }
        let opened = entries.into_iter().map(|entry| {
            let from = self.key(entry.slice.bits, entry.slice.code.min(8).into());
            // SAFETY: validated above; the caller holds a guard.
            let link = (entry.slice.code == LINK).then(|| unsafe { SlotLink::from_word(entry.lv) });
            let (prefix, inside) = match link {
                Some(SlotLink::Layer(root)) => (from.len(), PieceRoot::Layer(root)),
                _ => (self.prefix, PieceRoot::Closed),
            };
            Self { from, prefix, inside, weight: 1.0 }
        });
        Some(opened.collect())
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::sync::Arc;

    use super::super::variant::MasstreeOfWidth;
    use super::*;
    use crate::index::OrderedIndex;
    use crate::slot::Inline;
    use skein_sync::reclaim::Collector;

    /// Incident: a piece was opened after the node on its right had been merged into its node, so
    /// it held keys past the next piece. Consequence: cuts out of order, and the threads of a
    /// checkpoint beside writers had overlapping parts. Fix: each cut must be greater than the one
    /// before.
    #[test]
    fn cuts_are_in_order_beside_writers() {
        let tree =
            MasstreeVariant::<Inline<u64>, MasstreeOfWidth<3>>::with_variant(Arc::new(Collector::new()));
        let guard = tree.collector().enter();
        let key = |number: u64| number.to_be_bytes();
        for number in 0..64 {
            tree.insert(&key(10 * number), Inline(number), &guard).unwrap();
        }
        let whole = TreePiece {
            from: Vec::new(),
            prefix: 0,
            inside: PieceRoot::Layer(tree.root()),
            weight: f64::MAX,
        };
        let mut pieces = whole.open();
        while pieces
            .iter()
            .any(|piece| matches!(piece.inside, PieceRoot::Child(node) if !node.version().peek().is_border()))
        {
            pieces = pieces.into_iter().flat_map(TreePiece::open).collect();
        }
        // The removals delete the second piece's node, and the next key of its range is inserted
        // into the first piece's node.
        let (second, third) = (pieces[1].from.clone(), pieces[2].from.clone());
        tree.remove(&key(0), &guard);
        for number in (0..640).filter(|&number| (&second[..]..&third[..]).contains(&&key(number)[..])) {
            tree.remove(&key(number), &guard);
        }
        let mut after = second.clone();
        after[7] += 1;
        tree.insert(&after, Inline(0), &guard).unwrap();
        let opened: Vec<_> = pieces.into_iter().flat_map(TreePiece::open).collect();
        assert!(!opened.is_sorted_by_key(|piece| piece.from.clone()), "writers have had no effect");
        let found = cuts(&opened, opened.len());
        assert!(found.len() > 30 && found.is_sorted_by(|a, b| a < b), "{found:?}");
    }
}
