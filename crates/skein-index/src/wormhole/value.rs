//! The word of a key's value: after the key in its record, or as one bit in the leaf.
//!
//! A value of one bit in the leaf saves eight bytes per key. The slot and its bit are two stores,
//! and a split moves both, so only a single-threaded index keeps values this way.

use super::WormholeVariant;
use super::leaf::WormholeLeaf;
use super::search::FoundRecord;
use super::variant::WormholeSettings;
use crate::record::KeyRecord;
use crate::slot::Slot;

impl<S: Slot, V: WormholeSettings> WormholeVariant<S, V> {
    /// Whether values are bits in the leaves.
    pub(super) const IN_LEAF: bool = S::IS_FLAG && V::ONE_THREAD;

    /// Allocates a key's record with its value, or without it if values are bits in the leaves.
    pub(super) fn new_record(&self, tag: u16, key: &[u8], word: u64) -> KeyRecord {
        KeyRecord::new(&self.base.arena, tag, key, (!Self::IN_LEAF).then_some(word))
    }

    /// Returns the word of the value of the record in a slot of a leaf.
    #[inline(always)]
    pub(super) fn word(leaf: WormholeLeaf, slot: usize, record: KeyRecord) -> u64 {
        if Self::IN_LEAF { leaf.flag(slot).into() } else { record.value() }
    }

    /// Replaces the word of a value. The caller must hold the leaf's lock.
    #[inline(always)]
    pub(super) fn set_word(leaf: WormholeLeaf, held: FoundRecord, word: u64) {
        if Self::IN_LEAF {
            leaf.set_flag(held.slot, word != 0);
        } else {
            held.record.set_value(word);
        }
    }

    /// Sets the value of a record that was just added to a slot, if the record itself does not hold
    /// it.
    #[inline(always)]
    pub(super) fn set_new_word(leaf: WormholeLeaf, slot: usize, word: u64) {
        if Self::IN_LEAF {
            leaf.set_flag(slot, word != 0);
        }
    }

    /// Copies the value of a moved record, if the record itself does not hold it.
    #[inline(always)]
    pub(super) fn move_word((from, slot): (WormholeLeaf, usize), (to, new_slot): (WormholeLeaf, usize)) {
        if Self::IN_LEAF {
            to.set_flag(new_slot, from.flag(slot));
        }
    }

    /// Frees the record of a key, but not the memory that its value owns.
    ///
    /// # Safety
    /// As for [`KeyRecord::free`].
    pub(super) unsafe fn free_record(record: KeyRecord, part: crate::memory::MemoryPart) {
        // SAFETY: the caller's promise; `new_record` gave the record a value by the same rule.
        unsafe {
            if Self::IN_LEAF {
                record.free::<false>(part);
            } else {
                record.free::<true>(part);
            }
        }
    }

    /// Frees the record of a key when no thread can see it any more.
    ///
    /// # Safety
    /// As for [`KeyRecord::retire`].
    pub(super) unsafe fn retire_record(record: KeyRecord, guard: &impl skein_sync::reclaim::Guard) {
        // SAFETY: as in `free_record`.
        unsafe {
            if Self::IN_LEAF {
                record.retire::<false>(guard);
            } else {
                record.retire::<true>(guard);
            }
        }
    }
}
