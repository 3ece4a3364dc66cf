//! Dropping the index.

use super::SkipList;
use super::node_state::SkipNodeState;
use crate::memory::MemoryPart;
use crate::slot::Slot;

impl<S: Slot, const V: usize> Drop for SkipList<S, V> {
    fn drop(&mut self) {
        if self.base.frees_all_at_once::<S>() {
            // SAFETY: the index is borrowed mutably and owns nothing outside the arena. No object
            // of the arena is used again.
            unsafe { self.base.arena.clone().discard() };
            return;
        }
        // A leaked snapshot leaves its notes.
        self.snapshots.slots().iter().for_each(|slot| drop(slot.close()));
        let mut waiting = Some(self.head);
        while let Some(node) = waiting {
            waiting = node.next(0).node();
            let mut state = node.state().unclaimed();
            while state != SkipNodeState::GONE {
                let older = state.older();
                // SAFETY: the index is borrowed mutably, so no other thread reaches the version,
                // and each version is in one list.
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
}
