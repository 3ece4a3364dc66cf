//! Dropping the index: frees the trie, then every leaf with its records and values.

use super::Wormhole;
use crate::memory::MemoryPart;
use crate::slot::Slot;

impl<S: Slot, const W: usize> Drop for Wormhole<S, W> {
    fn drop(&mut self) {
        if self.base.frees_all_at_once::<S>() {
            // SAFETY: the index is borrowed mutably; only the table lies outside the arena, and no
            // object of the arena is in use any more.
            unsafe {
                self.meta.free();
                self.base.arena.clone().discard();
            }
            return;
        }
        // SAFETY: the index is borrowed mutably, so no other thread reaches its contents; each
        // object is visited once. The trie is freed first: that needs only the items' own words.
        unsafe { self.meta.free() };
        let mut waiting = Some(self.first);
        while let Some(leaf) = waiting {
            waiting = leaf.next();
            for &slot in leaf.ranks().as_slice() {
                let Some(record) = leaf.record(slot.into()) else { continue };
                // SAFETY: as above.
                unsafe {
                    drop(S::from_word(Self::word(leaf, slot.into(), record)));
                    Self::free_record(record, MemoryPart::Keys);
                }
            }
            // SAFETY: as above.
            unsafe { leaf.free(MemoryPart::Nodes) };
        }
    }
}
