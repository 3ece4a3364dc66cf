//! Dropping the index.

use super::CuckooTrie;
use super::entry::CuckooNodeKind;
use crate::memory::MemoryPart;
use crate::slot::Slot;

impl<S: Slot, const V: usize> Drop for CuckooTrie<S, V> {
    fn drop(&mut self) {
        if self.base.frees_all_at_once::<S>() {
            // SAFETY: the index is borrowed mutably; the table is not in the arena, whose objects are in use no more.
            unsafe { self.base.arena.clone().discard() };
            return;
        }
        self.table.each(|_, _, entry| {
            if entry.kind() != CuckooNodeKind::Leaf {
                return;
            }
            // SAFETY: the index is borrowed mutably, so nobody else reaches the record, and each has one leaf.
            unsafe {
                if let Some(record) = entry.record() {
                    drop(S::from_word(record.value()));
                    record.free::<true>(MemoryPart::Keys);
                }
            }
        });
    }
}
