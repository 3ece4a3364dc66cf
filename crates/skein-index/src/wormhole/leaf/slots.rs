//! The contents of a leaf: its slots, by tag, and their order.

use skein_sync::atomic::Ordering;
use skein_sync::reclaim::PROTECT;

use super::{LINES, SLOTS, WormholeLeaf};
use crate::record::KeyRecord;
use crate::tagged_pointer::TaggedPointer;
use crate::wormhole::line::{LINE, TagMatches};

/// A copy of a leaf's slots in the order of their keys. Ranks from `sorted` on are in any order.
#[derive(Clone, Copy, Debug)]
pub(in crate::wormhole) struct LeafRanks {
    pub(in crate::wormhole) slots: [u8; SLOTS],
    pub(in crate::wormhole) count: usize,
    pub(in crate::wormhole) sorted: usize,
}

impl WormholeLeaf {
    #[inline(always)]
    pub(in crate::wormhole) fn slot(self, index: usize) -> u64 {
        self.body().slots.0[index].load(PROTECT)
    }

    /// Returns the slots of a line whose words have this tag.
    #[inline(always)]
    pub(in crate::wormhole) fn tagged(self, line: usize, tag: u16) -> impl Iterator<Item = usize> {
        let slots = &self.body().slots.0.as_chunks::<LINE>().0[line];
        TagMatches::of(slots, tag).map(move |place| line * LINE + place)
    }

    #[inline(always)]
    pub(in crate::wormhole) fn record(self, index: usize) -> Option<KeyRecord> {
        // SAFETY: slots hold words of records, which are retired after they are unlinked; callers
        // hold a guard or the leaf's lock.
        unsafe { KeyRecord::from_word(self.slot(index)) }
    }

    #[inline(always)]
    pub(in crate::wormhole) fn count(self) -> usize {
        // Acquire: pairs with the Release in `push`; this many ranks are written.
        self.body().count.load(Ordering::Acquire).into()
    }

    /// Returns a bit for each line that is full and has spilled records into the next lines.
    #[inline(always)]
    pub(in crate::wormhole) fn spilled(self) -> u16 {
        // Acquire: pairs with the Release in `free_slot`. Invariant 5 requires a line's bit to be
        // set before the record that lies past it.
        self.body().spilled.load(Ordering::Acquire)
    }

    /// Returns the numbers of ranks, and of those in key order.
    #[inline(always)]
    pub(in crate::wormhole) fn count_and_sorted(self) -> (usize, usize) {
        let count = self.count().min(SLOTS);
        (count, usize::from(self.body().sorted.load(Ordering::Relaxed)).min(count))
    }

    /// Returns the ranks. They are consistent only if the version has not changed during the read.
    #[inline]
    pub(in crate::wormhole) fn ranks(self) -> LeafRanks {
        let body = self.body();
        let (count, sorted) = self.count_and_sorted();
        let mut slots = [0; SLOTS];
        for (bytes, word) in
            slots.as_chunks_mut::<8>().0.iter_mut().zip(&body.order.0).take(count.div_ceil(8))
        {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        LeafRanks { slots, count, sorted }
    }

    /// Replaces the ranks. The caller must hold the lock and have marked the leaf, or the leaf is
    /// not shared yet.
    pub(in crate::wormhole) fn set_ranks(self, ranks: &LeafRanks) {
        let body = self.body();
        for (bytes, word) in ranks.slots.as_chunks::<8>().0.iter().zip(&body.order.0) {
            // Relaxed here and below: the fence of the mark orders them for readers, the lock for
            // writers.
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        body.sorted.store(ranks.sorted as u8, Ordering::Relaxed);
        body.count.store(ranks.count as u8, Ordering::Release);
    }

    /// Returns the flag of a slot.
    #[inline(always)]
    pub(in crate::wormhole) fn flag(self, slot: usize) -> bool {
        self.body().flags[slot / 64].load(Ordering::Relaxed) >> (slot % 64) & 1 != 0
    }

    /// Sets the flag of a slot. Only for single-threaded indexes.
    #[inline(always)]
    pub(in crate::wormhole) fn set_flag(self, slot: usize, flag: bool) {
        let word = &self.body().flags[slot / 64];
        let others = word.load(Ordering::Relaxed) & !(1 << (slot % 64));
        word.store(others | u64::from(flag) << (slot % 64), Ordering::Relaxed);
    }

    /// Adds a record to a leaf that is not full, as the last in order. Returns its slot. The caller
    /// must hold the lock.
    ///
    /// The rank is written first: once a lookup sees the record, all scans that start from then on
    /// must see it too.
    pub(in crate::wormhole) fn append(self, record: KeyRecord) -> usize {
        let slot = self.free_slot(record.tag());
        self.push_rank(slot);
        self.fill(slot, record);
        slot
    }

    /// Puts a record into a free slot and returns the slot. The caller must hold the lock, have
    /// marked the leaf, and add a rank. The leaf must not be full.
    pub(in crate::wormhole) fn place(self, record: KeyRecord) -> usize {
        let slot = self.free_slot(record.tag());
        self.fill(slot, record);
        slot
    }

    fn fill(self, slot: usize, record: KeyRecord) {
        // Release: pairs with the load in `slot`. The record is initialised, the lines before its
        // own are marked as spilled, and it has a rank unless the leaf is marked.
        self.body().slots.0[slot].store(record.word(), Ordering::Release);
    }

    /// Finds a free slot for a tag. Marks the full lines before it as spilled.
    fn free_slot(self, tag: u16) -> usize {
        let mut line = home(tag);
        loop {
            let slots = line * LINE..(line + 1) * LINE;
            if let Some(free) = slots.into_iter().find(|&slot| self.slot(slot) == 0) {
                return free;
            }
            let spilled = self.body().spilled.load(Ordering::Relaxed) | 1 << line;
            // Release: pairs with the Acquire in `spilled`. No other thread writes it meanwhile.
            self.body().spilled.store(spilled, Ordering::Release);
            line = (line + 1) % LINES;
        }
    }

    /// Empties a slot. The caller must hold the lock and update the ranks. [`Self::unspill`] or
    /// [`Self::recompute_spilled`] then keeps lookups short.
    pub(in crate::wormhole) fn clear(self, slot: usize) {
        // Release: a reader that sees the empty slot sees the marks before it.
        self.body().slots.0[slot].store(0, Ordering::Release);
    }

    /// Recomputes which lines have spilled, after a removal of records. The caller must hold the
    /// lock.
    pub(in crate::wormhole) fn recompute_spilled(self) {
        if self.body().spilled.load(Ordering::Relaxed) == 0 {
            return;
        }
        let spilled = (0..LINES).fold(0, |spilled, line| spilled | self.spilled_into(line));
        // Relaxed: only unneeded bits are cleared; a reader that sees old bits searches further
        // than it must.
        self.body().spilled.store(spilled, Ordering::Relaxed);
    }

    /// Recomputes which lines have spilled, after the removal of a record with this tag from
    /// `slot`. The caller must hold the lock.
    #[inline]
    pub(in crate::wormhole) fn unspill(self, slot: usize, tag: u16) {
        let (home, line) = (home(tag), slot / LINE);
        if line == home {
            return;
        }
        let old = self.spilled();
        // Only the lines from the tag's own up to the record's may have lost their last spilled
        // record. What they spilled lies no further than the next line that has not spilled.
        let next = |line: usize| (line + 1) % LINES;
        let steps = std::iter::successors(Some(home), |&line| Some(next(line)));
        let unsure = steps.take_while(|&at| at != line).fold(0, |lines, at| lines | 1 << at);
        let (mut needed, mut at) = (0, home);
        while old & 1 << at != 0 && needed & unsure != unsure {
            at = next(at);
            needed |= self.spilled_into(at);
            if at == home {
                break;
            }
        }
        // Relaxed: as in `recompute_spilled`.
        self.body().spilled.store(old & (!unsure | needed), Ordering::Relaxed);
    }

    /// Returns the lines that the records of a line have passed, with a bit each.
    fn spilled_into(self, line: usize) -> u16 {
        let mut spilled = 0;
        for slot in line * LINE..(line + 1) * LINE {
            let Some(record) = self.record(slot) else { continue };
            let mut passed = home(record.tag());
            while passed != line {
                spilled |= 1 << passed;
                passed = (passed + 1) % LINES;
            }
        }
        spilled
    }
}

/// Returns the line of slots for a tag.
#[inline(always)]
pub(in crate::wormhole) fn home(tag: u16) -> usize {
    usize::from(tag) % LINES
}

/// Returns whether a slot's word may lead to a record of this tag and kind. Also true for an empty
/// slot, if both are 0.
pub(in crate::wormhole) fn looks_like(word: u64, tag: u16, kind: u64) -> bool {
    TaggedPointer(word).looks_like(tag, kind)
}

impl LeafRanks {
    /// The ranks of an empty leaf.
    pub(in crate::wormhole) const EMPTY: Self = Self { slots: [0; SLOTS], count: 0, sorted: 0 };

    /// Returns the slots in order.
    pub(in crate::wormhole) fn as_slice(&self) -> &[u8] {
        &self.slots[..self.count]
    }

    /// Appends a slot whose key is greater than all others.
    pub(in crate::wormhole) fn push_sorted(&mut self, slot: usize) {
        self.slots[self.count] = slot as u8;
        self.count += 1;
        self.sorted = self.count;
    }
}
