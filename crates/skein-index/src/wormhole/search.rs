//! Searching one leaf: by tag for a key, by order for a position.

use super::leaf::{LINES, LeafRanks, SLOTS, WormholeLeaf, home, looks_like};
use super::variant::WormholeSettings;
use crate::record::{KeyRecord, kind_of};

/// About the square root of the number of keys in a full leaf: the number of comparisons in each
/// round of a search by order.
const STRIDE: usize = 10;

/// A record, and the slot that holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundRecord {
    pub(super) slot: usize,
    pub(super) record: KeyRecord,
}

/// The result of a search for a key in a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafSearch {
    pub(super) held: Option<FoundRecord>,
    /// Number of records of other keys with the same tag.
    pub(super) collisions: usize,
}

impl WormholeLeaf {
    /// Looks for `key`. `tag` is its tag in this leaf.
    #[inline(always)]
    pub(super) fn find<V: WormholeSettings>(self, key: &[u8], tag: u16) -> LeafSearch {
        if !V::LEAF_TAGS {
            return LeafSearch { held: self.find_by_order(key), collisions: 0 };
        }
        let first = if V::POSITION { home(tag) } else { 0 };
        let mut collisions = 0;
        if let Some(held) = self.find_in_line(key, tag, first, &mut collisions) {
            return LeafSearch { held: Some(held), collisions };
        }
        if V::POSITION && self.spilled() & (1 << first) == 0 {
            return LeafSearch { held: None, collisions };
        }
        self.find_further::<V>(key, tag, first, collisions)
    }

    #[inline(always)]
    fn find_in_line(self, key: &[u8], tag: u16, line: usize, collisions: &mut usize) -> Option<FoundRecord> {
        let kind = kind_of(key.len());
        for slot in self.tagged(line, tag) {
            let word = self.slot(slot);
            if !looks_like(word, tag, kind) {
                continue;
            }
            // SAFETY: slots hold words of records; callers hold a guard or the leaf's lock.
            let Some(record) = (unsafe { KeyRecord::from_word(word) }) else { continue };
            if record.has_key(key) {
                return Some(FoundRecord { slot, record });
            }
            *collisions += 1;
        }
        None
    }

    /// Continues the search in the lines after one that has spilled.
    #[inline(never)]
    fn find_further<V: WormholeSettings>(
        self,
        key: &[u8],
        tag: u16,
        first: usize,
        mut collisions: usize,
    ) -> LeafSearch {
        for line in (first + 1..first + LINES).map(|line| line % LINES) {
            let held = self.find_in_line(key, tag, line, &mut collisions);
            if held.is_some() {
                return LeafSearch { held, collisions };
            }
            if V::POSITION && self.spilled() & (1 << line) == 0 {
                break;
            }
        }
        LeafSearch { held: None, collisions }
    }

    /// Looks for `key` by comparing keys: by binary search among the sorted ones, then one by one.
    fn find_by_order(self, key: &[u8]) -> Option<FoundRecord> {
        let ranks = self.ranks();
        let at = |slot: u8| {
            let record = self.record(slot.into())?;
            (record.key() == key).then_some(FoundRecord { slot: slot.into(), record })
        };
        let (sorted, tail) = ranks.as_slice().split_at(ranks.sorted);
        let rank = self.lower_bound(&ranks, key);
        sorted.get(rank).and_then(|&slot| at(slot)).or_else(|| tail.iter().find_map(|&slot| at(slot)))
    }

    /// Returns the first rank with a key at or above `key` among the sorted keys.
    ///
    /// It takes two rounds of about ten comparisons, and prefetches the records of a round
    /// together. A binary search would wait for seven records, one after the other.
    pub(super) fn lower_bound(self, ranks: &LeafRanks, key: &[u8]) -> usize {
        let sorted = &ranks.slots[..ranks.sorted];
        let fetch = |slot: &u8| KeyRecord::prefetch(self.slot(usize::from(*slot)));
        // A removal has just emptied an empty slot; the reader will see that the version has
        // changed.
        let is_below = |slot: &u8| self.record(usize::from(*slot)).is_some_and(|record| record.key() < key);
        let mut stride = sorted.chunks(STRIDE).map(|chunk| &chunk[0]);
        stride.clone().for_each(fetch);
        let chunks = stride.clone().len();
        let below = stride.position(|slot| !is_below(slot)).unwrap_or(chunks);
        let Some(start) = below.checked_sub(1).map(|chunk| chunk * STRIDE) else { return 0 };
        let rest = &sorted[start + 1..(start + STRIDE).min(sorted.len())];
        rest.iter().for_each(fetch);
        start + 1 + rest.iter().position(|slot| !is_below(slot)).unwrap_or(rest.len())
    }

    /// Sorts the ranks by key. The caller must hold the lock, so that records stay.
    pub(super) fn sort(self, ranks: &mut LeafRanks) {
        if ranks.sorted == ranks.count {
            return;
        }
        for &slot in ranks.as_slice() {
            KeyRecord::prefetch(self.slot(slot.into()));
        }
        let skip = self.common_prefix(ranks);
        let key = |slot: u8| self.record(slot.into()).map_or(&[][..], KeyRecord::key);
        // Words sort without a branch for each comparison. A word is the seven bytes after the
        // common prefix of all keys, and the slot.
        let mut room = [0_u64; SLOTS];
        let all = &mut room[..ranks.count];
        for (number, &slot) in all.iter_mut().zip(ranks.as_slice()) {
            *number = head_after(key(slot), skip) & !0xff | u64::from(slot);
        }
        all.sort_unstable();
        // Few keys have equal words.
        for alike in all.chunk_by_mut(|a, b| a >> 8 == b >> 8).filter(|alike| alike.len() > 1) {
            alike.sort_unstable_by_key(|&number| key(number as u8));
        }
        for (place, &number) in ranks.slots.iter_mut().zip(&*all) {
            *place = number as u8;
        }
        ranks.sorted = ranks.count;
    }

    /// Returns the length of a prefix that all keys of the leaf share.
    fn common_prefix(self, ranks: &LeafRanks) -> usize {
        let mut keys =
            ranks.as_slice().iter().filter_map(|&slot| self.record(slot.into())).map(KeyRecord::key);
        let Some(first) = keys.next() else { return 0 };
        keys.fold(first.len(), |shared, key| common_len(&first[..shared], key))
    }
}

/// Returns the eight bytes from `skip` on as a number, padded with zeros.
fn head_after(key: &[u8], skip: usize) -> u64 {
    let rest = &key[skip..];
    match rest.first_chunk() {
        Some(head) => u64::from_be_bytes(*head),
        None => rest.iter().rfold(0, |head, &byte| head >> 8 | u64::from(byte) << 56),
    }
}

pub(super) fn common_len(a: &[u8], b: &[u8]) -> usize {
    let mut len = 0;
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return len + differ.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + a[len..].iter().zip(&b[len..]).take_while(|(a, b)| a == b).count()
}

const _: () = assert!(SLOTS <= u8::MAX as usize, "a rank is a byte");
