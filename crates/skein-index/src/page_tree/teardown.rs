//! Dropping the index: frees every page with its keys and values, and every node.

use super::child::{Child, Target};
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::memory::MemoryPart;
use crate::slot::Slot;

/// Frees all pages, nodes, keys and values.
///
/// # Safety
/// The index's contents are not used again.
pub(super) unsafe fn free_all<S: Slot, V: PageTreeSettings>(index: &mut PageTreeVariant<S, V>) {
    // SAFETY: the index is borrowed mutably, so no other thread reaches its contents.
    unsafe { free_below::<S>(index.engine.root()) };
}

/// Frees a page or a node, and all below it.
///
/// # Safety
/// No thread can reach the child, and it is not used again.
unsafe fn free_below<S: Slot>(child: Child) {
    // SAFETY: the caller's promise; each object is visited once.
    unsafe {
        match child.target() {
            Target::Node(node) => {
                (0..node.children()).for_each(|at| free_below::<S>(node.child(at)));
                node.free(MemoryPart::Nodes);
            }
            Target::Page(page) => {
                for slot in (0..page.live()).map(|rank| page.slot_of(rank)) {
                    // An embedded value owns nothing.
                    drop(page.word::<S>(slot).map(|word| S::from_word(word)));
                    page.free_key(slot);
                }
                page.free(MemoryPart::Nodes);
            }
        }
    }
}
