//! Dropping the index: frees every node with its versions and values.

use super::SkipListVariant;
use super::node_state::SkipNodeState;
use super::variant::SkipListSettings;
use crate::memory::MemoryPart;
use crate::slot::Slot;

/// Frees all nodes, versions and values.
///
/// # Safety
/// The index's contents are not used again.
pub(super) unsafe fn free_all<S: Slot, V: SkipListSettings>(index: &mut SkipListVariant<S, V>) {
    // A leaked snapshot leaves its notes.
    index.engine.snapshots.slots().iter().for_each(|slot| drop(slot.close()));
    let mut waiting = Some(index.engine.head);
    while let Some(node) = waiting {
        waiting = node.next(0).node();
        let mut state = node.state().unclaimed();
        while state != SkipNodeState::GONE {
            let older = state.older();
            // SAFETY: the index is borrowed mutably, so no other thread reaches the version, and
            // each version is in one list.
            unsafe {
                if let Some(word) = state.value(node) {
                    drop(S::from_word(word));
                }
                state.free(MemoryPart::Nodes);
            }
            state = older;
        }
        // SAFETY: as above; each node is on the bottom level once.
        unsafe { node.free(MemoryPart::Nodes) };
    }
}
