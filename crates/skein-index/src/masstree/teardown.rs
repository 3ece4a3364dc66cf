//! Dropping the tree: frees every value, block and node, without recursion.

use super::MasstreeVariant;
use super::link::SlotLink;
use super::node::Node;
use super::variant::MasstreeSettings;
use crate::memory::MemoryPart;
use crate::slot::Slot;

/// Frees all nodes, suffixes and values.
///
/// # Safety
/// The tree's contents are not used again.
pub(super) unsafe fn free_all<S: Slot, V: MasstreeSettings>(tree: &mut MasstreeVariant<S, V>) {
    let mut waiting = vec![tree.root()];
    while let Some(node) = waiting.pop() {
        // SAFETY: the tree is borrowed mutably, so no other thread reaches its nodes; each is
        // visited once.
        unsafe { free_node::<S, V>(node, &mut waiting) };
    }
}

/// Frees a node and its values and suffixes. Its children and the layers below are added to
/// `waiting`.
///
/// # Safety
/// No other thread can reach the node, and it is not used again.
unsafe fn free_node<S: Slot, V: MasstreeSettings>(node: Node<V>, waiting: &mut Vec<Node<V>>) {
    if node.version().peek().is_border() {
        let (lengths, permutation) = (node.key_lengths(), node.permutation());
        for position in 0..permutation.count() {
            let entry = node.entry(lengths, permutation, position);
            // SAFETY: the tree owns the words in its slots, and this is the last use of each.
            unsafe {
                if entry.slice.code <= 8 {
                    drop(S::from_word(entry.lv));
                    continue;
                }
                match SlotLink::from_word(entry.lv) {
                    SlotLink::Suffix(suffix) => {
                        drop(S::from_word(suffix.value()));
                        suffix.free(MemoryPart::Keys);
                    }
                    SlotLink::Layer(root) => waiting.push(present_root(root)),
                }
            }
        }
    } else {
        waiting.extend((0..=node.nkeys()).map(|index| node.child(index)));
    }
    // SAFETY: the caller's promise.
    unsafe { node.free(MemoryPart::Nodes) };
}

/// Returns the present root of a layer, from a link that may be stale.
fn present_root<V: MasstreeSettings>(mut node: Node<V>) -> Node<V> {
    while let Some(parent) = node.parent() {
        node = parent;
    }
    node
}
