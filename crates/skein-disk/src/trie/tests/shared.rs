//! Pages with correct checksums in which two pointers lead to one record, so that paths are
//! endless.

use std::ops::Bound;

use super::{ScanEntry, TestTrie, TrieLayout, TrieShape, WalkDirection};
use crate::buffer::PageWriter;
use crate::page::DiskPageKind;
use crate::record::RecordId;
use crate::trie::DiskTrie;
use crate::trie::core::{insert, replace};
use crate::trie::decoded_node::DecodedNode;
use crate::trie::fixed::FixedTrie;
use crate::trie::value::{StoredValue, VersionedValue};

/// The layout of a trie in which two pointers lead from each layer to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedLayers {
    /// Nodes below the root, one below the other.
    pub(crate) layers: usize,
    /// Pages of the nodes, one after the other.
    pub(crate) pages: usize,
    /// Leaves of each node, of 200 bytes. With more than ten, a page has no room for another node.
    /// The last node has at least two, because otherwise it would be a leaf.
    pub(crate) leaves: u8,
}

impl SharedLayers {
    pub(crate) fn lay_out(self, writer: &mut PageWriter<'_>, trie: &DiskTrie) {
        let TrieLayout::Compressed { core, .. } = &trie.nodes else { panic!("{}", trie.shape()) };
        let pages: Vec<_> = (0..self.pages).map(|_| writer.make(DiskPageKind::Records).unwrap()).collect();
        let leaf = VersionedValue { version: 1, stored: StoredValue::Inline(&[7; 190]) };
        let leaf = DecodedNode { value: Some(leaf), ..DecodedNode::default() }.encode(core.layout);
        let leaves = |count| (10..10 + count).map(|symbol| (symbol, leaf.clone().into())).collect();
        let mut node = DecodedNode { leaves: leaves(self.leaves.max(2)), ..DecodedNode::default() };
        for layer in (0..self.layers).rev() {
            let page = pages[layer * pages.len() / self.layers];
            let slot = insert(writer, page, &node.encode(core.layout)).unwrap();
            let id = RecordId { page, slot };
            node = DecodedNode {
                children: vec![(1, id), (2, id)],
                leaves: leaves(self.leaves),
                ..DecodedNode::default()
            };
        }
        node.leaves.clear();
        replace(writer, core.root, &node.encode(core.layout)).unwrap();
    }
}

/// Gives a trie in the paper's layout two pointers from each layer to the next. The last layer has
/// a value or, in a hash trie, a key without a value.
fn lay_out_shared_fixed(writer: &mut PageWriter<'_>, trie: &DiskTrie, layers: usize, has_value: bool) {
    let TrieLayout::Fixed(fixed) = &trie.nodes else { panic!("{}", trie.shape()) };
    let last = fixed.make_node(writer).unwrap();
    if has_value {
        fixed.put(writer, last, 1, 5).unwrap();
    } else {
        // An empty key, and no other one behind it.
        fixed.node_mut(writer, last).unwrap()[24..26].fill(0);
    }
    let first = (1..layers).fold(last, |below, _| {
        let node = fixed.make_node(writer).unwrap();
        lead_twice(writer, fixed, node, below);
        node
    });
    lead_twice(writer, fixed, fixed.root, first);
}

fn lead_twice(writer: &mut PageWriter<'_>, fixed: &FixedTrie, node: RecordId, below: RecordId) {
    for symbol in [1, 2] {
        fixed.set_child(writer, node, symbol, Some(below)).unwrap();
    }
}

/// Few enough that a walk over all paths ends. A hash has as many bytes.
const LAYERS: usize = 16;

fn assert_named(found: crate::Result<Vec<ScanEntry>>) {
    let error = found.map(|entries| entries.len()).unwrap_err().to_string();
    assert!(error.contains("page ") && error.contains("two pointers lead to it"), "{error}");
}

/// Incident: in a file in which two pointers lead from each node to the next, a walk took all paths
/// for keys: 2^n keys from n nodes. Consequence: a scan or a dump of a damaged file did not end,
/// and a scan without limits exhausted the memory. Fix: a walk notices a record that it has visited
/// before, and names it.
#[test]
fn a_walk_reports_a_shared_record() {
    for (shape, pages) in
        [(TrieShape::Linked, 1), (TrieShape::Linked, 16), (TrieShape::Classical { n: 256 }, 16)]
    {
        let store = TestTrie::new(shape, 64, u128::MAX);
        let mut writer = store.buffer.write();
        SharedLayers { layers: LAYERS, pages, leaves: 0 }.lay_out(&mut writer, &store.trie);
        writer.publish().unwrap();
        for direction in [WalkDirection::Forward, WalkDirection::Backward] {
            assert_eq!(store.collect(Bound::Unbounded, direction, 100).unwrap().len(), 100, "a request ends");
            assert_named(store.collect(Bound::Unbounded, direction, usize::MAX));
        }
    }
}

#[test]
fn a_fixed_walk_reports_a_shared_record() {
    for shape in [TrieShape::FixedLinked { k: 12 }, TrieShape::FixedClassical { n: 256 }] {
        let store = TestTrie::new(shape, 64, u128::MAX);
        let mut writer = store.buffer.write();
        lay_out_shared_fixed(&mut writer, &store.trie, LAYERS, true);
        writer.publish().unwrap();
        for direction in [WalkDirection::Forward, WalkDirection::Backward] {
            assert_eq!(store.collect(Bound::Unbounded, direction, 100).unwrap().len(), 100, "a request ends");
            assert_named(store.collect(Bound::Unbounded, direction, usize::MAX));
        }
    }
}

/// Incident: a walk over a hash trie in the paper's layout skipped keys without a value.
/// Consequence: if two pointers lead from each node to the next and the last one has a key without
/// a value, a scan for one key followed all 2^128 paths. Fix: a key without a value is damage, as
/// in `check`.
#[test]
fn a_hashed_key_without_a_value_is_damage() {
    let store = TestTrie::new(TrieShape::FixedHash { n: 256 }, 64, u128::MAX);
    let mut writer = store.buffer.write();
    lay_out_shared_fixed(&mut writer, &store.trie, LAYERS, false);
    writer.publish().unwrap();
    let request = super::ScanRequest { keys: 1, ..Default::default() };
    let error = store.buffer.read_pages(|pages| store.trie.walk(pages, &request)).unwrap_err();
    assert!(error.to_string().contains("it has a key and no value"), "{error}");
}
