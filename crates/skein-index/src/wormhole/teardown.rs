//! Dropping the index.

use std::sync::Arc;

use skein_sync::reclaim::Collector;

use super::Wormhole;
use crate::memory::Part;
use crate::slot::Slot;

impl<S: Slot, const W: usize> Drop for Wormhole<S, W> {
    fn drop(&mut self) {
        let alone = if S::OWNS { None } else { Arc::get_mut(&mut self.collector) };
        if let Some(collector) = alone {
            // The collector is ours alone, and the borrow says that nobody holds a guard: what was retired is
            // freed with the old collector, and then all memory can go at once.
            *collector = Collector::new();
            // SAFETY: the index is borrowed mutably; the table is the only thing outside the arena, whose objects are in use
            // no more.
            unsafe {
                self.meta.free();
                self.arena.clone().discard();
            }
            return;
        }
        // SAFETY: the index is borrowed mutably, so nobody else reaches what it holds; each is met once. The trie goes first: its
        // items are freed by what stands in them alone.
        unsafe { self.meta.free() };
        let mut waiting = Some(self.first);
        while let Some(leaf) = waiting {
            waiting = leaf.next();
            for &slot in leaf.ranks().as_slice() {
                let Some(record) = leaf.record(slot.into()) else { continue };
                // SAFETY: as above.
                unsafe {
                    drop(S::from_word(record.value()));
                    record.free(Part::Keys);
                }
            }
            // SAFETY: as above.
            unsafe { leaf.free(Part::Nodes) };
        }
    }
}
