//! Dropping the tree: every value, block and node goes, without recursion.

use super::Masstree;
use super::link::SlotLink;
use super::node::Node;
use crate::memory::MemoryPart;
use crate::slot::Slot;

impl<S: Slot, const W: usize> Drop for Masstree<S, W> {
    fn drop(&mut self) {
        if self.base.frees_all_at_once::<S>() {
            // SAFETY: no object is in use any more, and this handle does not allocate again.
            unsafe { self.base.arena.clone().discard() };
            return;
        }
        let mut waiting = vec![self.root()];
        while let Some(node) = waiting.pop() {
            // SAFETY: the tree is borrowed mutably, so nobody else reaches its nodes; each is met once.
            unsafe { free_node::<S, W>(node, &mut waiting) };
        }
    }
}

/// Frees a node and what it holds, but for its children and the layers below, which join `waiting`.
///
/// # Safety
/// Nobody else can reach the node, and it is not used again.
unsafe fn free_node<S: Slot, const W: usize>(node: Node<W>, waiting: &mut Vec<Node<W>>) {
    if node.version().peek().is_border() {
        let (lens, permutation) = (node.key_lengths(), node.permutation());
        for position in 0..permutation.count() {
            let entry = node.entry(lens, permutation, position);
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
                    SlotLink::Layer(root) => waiting.push(top(root)),
                }
            }
        }
    } else {
        waiting.extend((0..=node.nkeys()).map(|index| node.child(index)));
    }
    // SAFETY: passed on to the caller.
    unsafe { node.free(MemoryPart::Nodes) };
}

/// The present root of a layer, from a link that may be stale.
fn top<const W: usize>(mut node: Node<W>) -> Node<W> {
    while let Some(parent) = node.parent() {
        node = parent;
    }
    node
}
