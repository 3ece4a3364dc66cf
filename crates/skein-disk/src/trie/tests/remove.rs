use super::{DiskTrie, TestTrie, TrieLayout, TrieShape};
use crate::buffer::PageWriter;
use crate::page::DiskPageKind;
use crate::record::RecordId;
use crate::trie::core::{insert, node, replace};
use crate::trie::decoded_node::DecodedNode;
use crate::trie::value::{StoredValue, VersionedValue};

/// The only keys of [`lay_out_scattered`]; the test removes the first one.
pub(crate) const SCATTERED: [&[u8]; 2] = [b"adx", b"as"];

/// Gives a linked trie this layout. Removing `adx` then takes two nodes from page D, with a node of
/// page E between them:
///
/// ```text
///   root ─a─► upper, in the root's page      ─d─► no value, in D  ─x─► value, in E
///                                            ─s─► value, in D
/// ```
pub(crate) fn lay_out_scattered(writer: &mut PageWriter<'_>, trie: &DiskTrie, versions: [u64; 2]) {
    let TrieLayout::Compressed { core, .. } = &trie.nodes else { panic!("{}", trie.shape()) };
    for key in SCATTERED {
        trie.remove(writer, key).unwrap();
    }
    let leaf = |version| DecodedNode {
        value: Some(VersionedValue { version, stored: StoredValue::Inline(b"value") }),
        ..DecodedNode::default()
    };
    let above = |children| DecodedNode { children, ..DecodedNode::default() };
    let [d, e] = [(); 2].map(|()| writer.make(DiskPageKind::Records).unwrap());
    let mut add = |page, content: &DecodedNode<'_>| RecordId {
        page,
        slot: insert(writer, page, &content.encode(core.layout)).unwrap(),
    };
    let upper = add(core.root.page, &above(Vec::new()));
    let below = add(e, &leaf(versions[0]));
    let middle = add(d, &above(vec![(b'x', below)]));
    let sibling = add(d, &leaf(versions[1]));
    let children = above(vec![(b'd', middle), (b's', sibling)]).encode(core.layout);
    replace(writer, upper, &children).unwrap();
    replace(writer, core.root, &above(vec![(b'a', upper)]).encode(core.layout)).unwrap();
}

/// Incident: a removal listed the pages that had lost a node, and skipped a page only if it was the
/// last in the list. The page of a node that was merged with its parent was put at the front even
/// if it was listed already, two places behind. Consequence: the page was tidied twice. The first
/// time freed it; the second time found no such page and reported damage of the file, on each
/// attempt, so the key could not be removed. Fix: a page is listed once.
#[test]
fn a_page_that_loses_two_nodes_is_tidied_once() {
    let store = TestTrie::new(TrieShape::Linked, 64, u128::MAX);
    let mut writer = store.buffer.write();
    lay_out_scattered(&mut writer, &store.trie, [1, 2]);
    writer.publish().unwrap();
    assert_eq!(store.check().pages, 3);
    let [first, second] = SCATTERED;
    assert!(store.remove(first).unwrap());
    let census = store.check();
    assert_eq!((census.keys, census.pages), (1, 1));
    assert!(store.remove(second).unwrap());
    assert_eq!(store.check().nodes, 1);
}

/// Incident: a node that had lost all children but one merged with this one, and kept a record of
/// its own. Consequence: after three of four keys were removed, a classical trie's nodes took 1.27
/// times the bytes of a trie that never had the removed keys, because a parent of a record needs an
/// array of pointers. Fix: a node that becomes a leaf moves into its parent's record.
#[test]
fn a_node_that_becomes_a_leaf_moves_into_an_array_of_children() {
    let store = TestTrie::new(TrieShape::Classical { n: 256 }, 64, u128::MAX);
    let root = store.trie.root();
    // The leaves of the root, and its children with records of their own.
    let counts = || {
        let mut writer = store.buffer.write();
        let root = node(&mut writer, root).unwrap();
        (root.leaves.len(), root.children.iter().count())
    };
    for (key, version) in [&b"x"[..], b"yes1", b"yes2"].iter().zip(1..) {
        store.set(key, version, b"value").unwrap();
    }
    assert_eq!(counts(), (1, 1));
    assert!(store.remove(b"yes1").unwrap());
    assert_eq!((counts(), store.check().nodes), ((2, 0), 3));
    assert_eq!(store.get(b"yes2").unwrap(), Some((3, b"value".to_vec())));
    // A node with a value that has lost its only child.
    store.set(b"yes2more", 4, b"value").unwrap();
    assert_eq!(counts(), (1, 1));
    assert!(store.remove(b"yes2more").unwrap());
    assert_eq!(counts(), (2, 0));
    store.check();
}
