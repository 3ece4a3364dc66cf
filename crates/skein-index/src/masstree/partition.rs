//! Keys that divide the tree into parts of similar size, for parallel scans.
//!
//! The tree is opened from the top, heaviest pieces first, until every piece weighs a small
//! fraction of a part. Then the pieces are assigned to parts in order. The weight of a piece is
//! estimated by a few random walks to the bottom of the tree: the product of the fan-outs on a walk
//! is an unbiased estimate of the number of leaves (Knuth 1975). Counting the nodes of the upper
//! levels would not work, because layers differ too much in size.
//!
//! Long common prefixes are chains of layers with one key each. A chain is opened at once, and all
//! work is bounded: [`PartitionWork`].

use arrayvec::ArrayVec;
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

/// Random walks for each estimate.
const WALKS: usize = 4;

/// The most steps for each part. Common trees need about 2,000: some 60 pieces, with four walks
/// each to a depth of eight. With fewer steps than a tree needs, the parts are less equal.
const STEPS_PER_PART: usize = 1 << 14;

/// The most children of a node.
const CHILDREN_MAX: usize = 16;

/// Bytes of keys that are copied in one step.
const BYTES_PER_STEP: usize = 64;

/// The remaining steps of a partition: a visit to a node, or some copied bytes. Concurrent writers
/// and long keys could otherwise prolong it without limit.
struct PartitionWork {
    steps: usize,
    random: u64,
}

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

/// A piece one level below another.
#[derive(Clone, Copy)]
struct PieceBelow<V: MasstreeSettings> {
    /// The slice and the length of its first key in the layer; `None` if that is the first key of
    /// the piece above.
    first: Option<(u64, usize)>,
    inside: PieceRoot<V>,
}

/// A piece of the tree: its subtree, the least key that it can hold, and its estimated number of
/// keys.
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
        let mut work = PartitionWork::new(parts);
        let mut pieces = vec![TreePiece::whole(self.root())];
        while work.is_left() {
            let total: f64 = pieces.iter().map(|piece| piece.weight).sum();
            let heavy = total / (PIECES_PER_PART * parts as f64);
            let opens =
                |piece: &TreePiece<V>| piece.weight > heavy && !matches!(piece.inside, PieceRoot::Closed);
            if !pieces.iter().any(opens) {
                break;
            }
            let open = |piece: TreePiece<V>| {
                if opens(&piece) { work.open_and_weigh(piece) } else { vec![piece] }
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

impl PartitionWork {
    fn new(parts: usize) -> Self {
        Self { steps: parts.saturating_mul(STEPS_PER_PART), random: 0x9e37_79b9_7f4a_7c15 }
    }

    fn is_left(&self) -> bool {
        self.steps > 0
    }

    fn spend(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps);
    }

    /// Returns the pieces one level down, with their weights.
    fn open_and_weigh<V: MasstreeSettings>(&mut self, piece: TreePiece<V>) -> Vec<TreePiece<V>> {
        let mut pieces = piece.open(self);
        for piece in &mut pieces {
            piece.weight = (0..WALKS).map(|_| self.walk(piece.inside)).sum::<f64>() / WALKS as f64;
        }
        pieces
    }

    /// Walks to the bottom. Returns the product of the fan-outs.
    fn walk<V: MasstreeSettings>(&mut self, mut inside: PieceRoot<V>) -> f64 {
        let mut leaves = 1.0;
        while self.is_left() {
            self.spend(1);
            let below = inside.below();
            self.random =
                self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let Some(drawn) = (self.random >> 33).checked_rem(below.len() as u64) else { break };
            leaves *= below.len() as f64;
            inside = below[drawn as usize].inside;
        }
        leaves
    }
}

impl<V: MasstreeSettings> TreePiece<V> {
    /// Returns the whole tree as one piece, by its root.
    fn whole(root: Node<V>) -> Self {
        Self { from: Vec::new(), prefix: 0, inside: PieceRoot::Layer(root), weight: f64::MAX }
    }

    /// Returns the pieces one level down. A level with one layer is passed. If the piece has no
    /// such pieces, or if the node is changing, returns the piece itself, closed.
    fn open(mut self, work: &mut PartitionWork) -> Vec<Self> {
        while work.is_left() {
            work.spend(1);
            let below = self.inside.below();
            match below[..] {
                [] => break,
                [PieceBelow { first: Some(first), inside: layer @ PieceRoot::Layer(_) }] => {
                    self.start_at(first);
                    (self.inside, self.prefix) = (layer, self.from.len());
                }
                _ => {
                    work.spend(below.len() * (self.from.len() / BYTES_PER_STEP));
                    return below.into_iter().map(|below| self.piece(below)).collect();
                }
            }
        }
        vec![Self { inside: PieceRoot::Closed, ..self }]
    }

    /// Replaces the least key by a key of the same layer.
    fn start_at(&mut self, (slice, length): (u64, usize)) {
        self.from.truncate(self.prefix);
        self.from.extend_from_slice(&slice.to_be_bytes()[..length]);
    }

    fn piece(&self, PieceBelow { first, inside }: PieceBelow<V>) -> Self {
        let mut piece = Self { from: self.from.clone(), prefix: self.prefix, inside, weight: 1.0 };
        if let Some(first) = first {
            piece.start_at(first);
        }
        if let PieceRoot::Layer(_) = inside {
            piece.prefix = piece.from.len();
        }
        piece
    }
}

/// The pieces below a node: at most one for each child.
type PiecesBelow<V> = ArrayVec<PieceBelow<V>, CHILDREN_MAX>;

impl<V: MasstreeSettings> PieceRoot<V> {
    /// Returns the pieces one level down. There are none if there is no such level, or if the node
    /// is changing.
    fn below(self) -> PiecesBelow<V> {
        let node = match self {
            Self::Closed => None,
            Self::Child(node) => Some(node),
            Self::Layer(root) => layer_root(root).map(|visit| visit.node),
        };
        let below = node.and_then(|node| {
            let version = node.version().stable();
            if version.is_border() { below_border(node, version) } else { below_interior(node, version) }
        });
        below.unwrap_or_default()
    }
}

fn below_interior<V: MasstreeSettings>(node: Node<V>, version: Version) -> Option<PiecesBelow<V>> {
    let below = (0..=node.nkeys()).take(CHILDREN_MAX).map(|index| PieceBelow {
        first: index.checked_sub(1).map(|before| (node.key(before), size_of::<u64>())),
        inside: PieceRoot::Child(node.child(index)),
    });
    let below = below.collect();
    (!node.version().changed(version)).then_some(below)
}

fn below_border<V: MasstreeSettings>(node: Node<V>, version: Version) -> Option<PiecesBelow<V>> {
    let (lengths, permutation) = (node.key_lengths(), node.permutation());
    let entries: ArrayVec<_, CHILDREN_MAX> = (0..permutation.count().min(CHILDREN_MAX))
        .map(|position| node.entry(lengths, permutation, position))
        .filter(|entry| entry.slice.code <= LINK)
        .collect();
    if node.version().changed(version) {
        return None;
    }
    let below = entries.into_iter().map(|entry| {
        // SAFETY: validated above; the caller holds a guard.
        let link = (entry.slice.code == LINK).then(|| unsafe { SlotLink::from_word(entry.lv) });
        let inside = match link {
            Some(SlotLink::Layer(root)) => PieceRoot::Layer(root),
            _ => PieceRoot::Closed,
        };
        PieceBelow { first: Some((entry.slice.bits, entry.slice.code.min(8).into())), inside }
    });
    Some(below.collect())
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::sync::Arc;

    use super::super::variant::{MasstreeOfWidth, MasstreeStandard};
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
        let mut work = PartitionWork::new(64);
        let mut pieces = TreePiece::whole(tree.root()).open(&mut work);
        while pieces
            .iter()
            .any(|piece| matches!(piece.inside, PieceRoot::Child(node) if !node.version().peek().is_border()))
        {
            pieces = pieces.into_iter().flat_map(|piece| piece.open(&mut work)).collect();
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
        let opened: Vec<_> = pieces.into_iter().flat_map(|piece| piece.open(&mut work)).collect();
        assert!(!opened.is_sorted_by_key(|piece| piece.from.clone()), "writers have had no effect");
        let found = cuts(&opened, opened.len());
        assert!(found.len() > 30 && found.is_sorted_by(|a, b| a < b), "{found:?}");
    }

    /// Incident: a common prefix was opened one layer at a time, with four walks to its end for
    /// each layer, and each step of a walk copied the prefix. Consequence: two keys with 65,000
    /// equal bytes made a restart take minutes, and a write that evicted. Fix: layers of one key
    /// are passed at once, walks copy nothing, and all work is bounded.
    #[test]
    fn long_common_prefixes_take_few_steps() {
        let tree = MasstreeVariant::<Inline<u64>, MasstreeStandard>::with_variant(Arc::new(Collector::new()));
        let guard = tree.collector().enter();
        let long = |end: u8| [vec![b'a'; 65_000], vec![end]].concat();
        for end in 0..40 {
            tree.insert(&long(end), Inline(end.into()), &guard).unwrap();
        }
        let mut work = PartitionWork::new(2);
        let pieces = TreePiece::whole(tree.root()).open(&mut work);
        assert!(pieces.len() > 1, "the chain of layers was passed");
        assert!(pieces.iter().all(|piece| piece.from.len() >= 65_000));
        let spent = PartitionWork::new(2).steps - work.steps;
        assert!(spent < 65_000 / 8 + 100 + pieces.len() * 65_000 / BYTES_PER_STEP, "{spent} steps");
        assert_eq!(tree.separators(2).len(), 1);
    }

    /// Layers with two keys each cannot be passed, so only the bound of all work ends the search.
    #[test]
    fn steps_are_bounded_for_nested_keys() {
        let tree = MasstreeVariant::<Inline<u64>, MasstreeStandard>::with_variant(Arc::new(Collector::new()));
        let guard = tree.collector().enter();
        for layers in 1..2000 {
            tree.insert(&vec![b'a'; 8 * layers], Inline(1), &guard).unwrap();
        }
        let mut work = PartitionWork { steps: 500, ..PartitionWork::new(2) };
        let mut pieces = vec![TreePiece::whole(tree.root())];
        for _ in 0..1000 {
            pieces = pieces.into_iter().flat_map(|piece| work.open_and_weigh(piece)).collect();
        }
        assert!(pieces.iter().map(|piece| piece.from.len()).max() < Some(8 * 500), "it went on");
        assert!(tree.separators(4).is_sorted());
    }
}
