//! Keys that cut the tree into parts of about the same size, for parallel scans.
//!
//! The separators of the upper levels are a sample of the keys, evenly spread as far as the B+-trees are balanced.
//! Levels are opened from the top, deeper layers included, until there are several separators for
//! each part; then every n-th is taken.

use skein_sync::version::Version;

use super::Masstree;
use super::lens::LINK;
use super::link::Link;
use super::lookup::layer_root;
use super::node::Node;
use crate::slot::Slot;

/// Separators to collect for each part; more make the parts more even.
const SAMPLES_PER_PART: usize = 16;

/// Levels to open at most, those of deeper layers included.
const MAX_LEVELS: usize = 64;

/// What a piece can be opened to.
#[derive(Clone, Copy)]
enum Inside<const W: usize> {
    /// A single key, or a part too small to matter.
    Closed,
    /// A layer, by its root, which may be stale.
    Layer(Node<W>),
    /// A node within a layer.
    Child(Node<W>),
}

/// A piece of the tree: what is inside, and the least key that can be.
struct Piece<const W: usize> {
    from: Vec<u8>,
    /// Bytes of `from` that are the layer's prefix.
    prefix: usize,
    inside: Inside<W>,
}

impl<S: Slot, const W: usize> Masstree<S, W> {
    /// At most `parts - 1` keys, in order. The caller holds a guard.
    pub(super) fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        if parts < 2 {
            return Vec::new();
        }
        let wanted = parts.saturating_mul(SAMPLES_PER_PART);
        let mut pieces = vec![Piece { from: Vec::new(), prefix: 0, inside: Inside::Layer(self.root()) }];
        for _ in 0..MAX_LEVELS {
            if pieces.len() >= wanted || pieces.iter().all(|piece| matches!(piece.inside, Inside::Closed)) {
                break;
            }
            pieces = pieces.into_iter().flat_map(Piece::open).collect();
        }
        let count = pieces.len();
        let mut keys: Vec<_> = (1..parts)
            .map(|part| pieces[part * count / parts].from.clone())
            .filter(|key| !key.is_empty())
            .collect();
        keys.dedup();
        keys
    }
}

impl<const W: usize> Piece<W> {
    /// The pieces one level down; the piece itself if there are none, or if it changes just now.
    fn open(self) -> Vec<Self> {
        let node = match self.inside {
            Inside::Closed => None,
            Inside::Child(node) => Some(node),
            Inside::Layer(root) => layer_root(root).map(|visit| visit.node),
        };
        let opened = node.and_then(|node| {
            let version = node.version().stable();
            if version.is_border() {
                self.open_border(node, version)
            } else {
                self.open_interior(node, version)
            }
        });
        opened.filter(|pieces| !pieces.is_empty()).unwrap_or_else(|| vec![self])
    }

    /// The key that starts with the layer's prefix and goes on with a slice.
    fn key(&self, slice: u64, length: usize) -> Vec<u8> {
        [&self.from[..self.prefix], &slice.to_be_bytes()[..length]].concat()
    }

    fn open_interior(&self, node: Node<W>, version: Version) -> Option<Vec<Self>> {
        let opened = (0..=node.nkeys()).map(|index| {
            let from = if index == 0 { self.from.clone() } else { self.key(node.key(index - 1), 8) };
            Self { from, prefix: self.prefix, inside: Inside::Child(node.child(index)) }
        });
        let opened = opened.collect();
        (!node.version().changed(version)).then_some(opened)
    }

    fn open_border(&self, node: Node<W>, version: Version) -> Option<Vec<Self>> {
        let (lens, permutation) = (node.lens(), node.permutation());
        let entries: Vec<_> = (0..permutation.count())
            .map(|position| node.entry(lens, permutation, position))
            .filter(|entry| entry.slice.code <= LINK)
            .collect();
        if node.version().changed(version) {
            return None;
        }
        let opened = entries.into_iter().map(|entry| {
            let from = self.key(entry.slice.bits, entry.slice.code.min(8).into());
            // SAFETY: validated above; the caller holds a guard.
            let link = (entry.slice.code == LINK).then(|| unsafe { Link::from_word(entry.lv) });
            let (prefix, inside) = match link {
                Some(Link::Layer(root)) => (from.len(), Inside::Layer(root)),
                _ => (self.prefix, Inside::Closed),
            };
            Self { from, prefix, inside }
        });
        Some(opened.collect())
    }
}
