//! Dropping the index: frees every leaf with its records and values. The trie was freed before.

use super::WormholeVariant;
use super::variant::WormholeSettings;
use crate::memory::MemoryPart;
use crate::slot::Slot;

/// Frees all leaves, records and values.
///
/// # Safety
/// The index's contents are not used again.
pub(super) unsafe fn free_all<S: Slot, V: WormholeSettings>(index: &mut WormholeVariant<S, V>) {
    let mut waiting = Some(index.engine.first);
    while let Some(leaf) = waiting {
        waiting = leaf.next();
        for &slot in leaf.ranks().as_slice() {
            let Some(record) = leaf.record(slot.into()) else { continue };
            // SAFETY: the index is borrowed mutably, so no other thread reaches its contents; each
            // object is visited once.
            unsafe {
                drop(S::from_word(WormholeVariant::<S, V>::word(leaf, slot.into(), record)));
                WormholeVariant::<S, V>::free_record(record, MemoryPart::Keys);
            }
        }
        // SAFETY: as above.
        unsafe { leaf.free(MemoryPart::Nodes) };
    }
}
