//! Searching one leaf: by tag for a key, by order for a position.

use std::hint::select_unpredictable;

use super::leaf::{LINES, LeafRanks, SLOTS, WormholeLeaf, home, looks_like};
use super::variant::WormholeSettings;
use crate::record::{KeyRecord, kind_of};

/// A search by order prefetches the records of all keys that remain when it has narrowed them to
/// so many. For a full leaf, that takes three steps.
const NEAR_RANKS: usize = 16;

/// If a leaf has at most one unsorted key for so many sorted ones, each is searched for its place.
/// Otherwise all keys are sorted.
const FEW_UNSORTED: usize = 8;

/// If the first words of all keys to sort share so many bits, the rest tells few of them apart.
const SHARED_BITS: u32 = 24;

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

    /// Looks for `key` in its tag's line only, for a search that can do without the answer.
    #[inline(always)]
    pub(super) fn find_at_home<V: WormholeSettings>(self, key: &[u8], tag: u16) -> Option<FoundRecord> {
        if V::LEAF_TAGS && V::POSITION { self.find_in_line(key, tag, home(tag), &mut 0) } else { None }
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
        let (count, sorted) = self.count_and_sorted();
        let at = |rank: usize| {
            let slot = self.slot_at(rank);
            let record = self.record(slot)?;
            (record.key() == key).then_some(FoundRecord { slot, record })
        };
        let rank = self.lower_bound(sorted, key);
        (rank < sorted).then_some(rank).and_then(at).or_else(|| (sorted..count).find_map(at))
    }

    /// Returns the first rank with a key at or above `key` among the sorted keys.
    ///
    /// A binary search in which the processor predicts no comparison. It reads records, so each
    /// step would wait for memory. It prefetches the records of the first three steps together, and
    /// then all records that remain.
    pub(super) fn lower_bound(self, sorted: usize, key: &[u8]) -> usize {
        let mut sought = SoughtKey::new(key, 0);
        sought.skip_between(Some(self.anchor()), self.next().map(Self::anchor));
        let (mut low, mut size) = (0, sorted);
        if size > NEAR_RANKS {
            self.prefetch_steps(size, sought.skip);
            while size > NEAR_RANKS {
                low += self.ranks_below(low, size / 2, &mut sought);
                size -= size / 2;
            }
            if sought.has_tied {
                sought.skip_between(self.key_below(low), self.key_from(low + size, sorted));
            }
        }
        for rank in low..low + size {
            self.prefetch_rank(rank, sought.skip);
        }
        while size > 1 {
            low += self.ranks_below(low, size / 2, &mut sought);
            size -= size / 2;
        }
        low + self.ranks_below(low, size, &mut sought)
    }

    /// Returns `count`, the number of ranks from `low` on, if the key of the last one is below the
    /// sought key, otherwise 0.
    #[inline(always)]
    fn ranks_below(self, low: usize, count: usize, sought: &mut SoughtKey<'_>) -> usize {
        if count == 0 {
            return 0;
        }
        let word = self.slot(self.slot_at(low + count - 1));
        match sought.head_of(word) {
            Some(head) if head != sought.head => select_unpredictable(head < sought.head, count, 0),
            // Another number, and no condition, so that the selection above becomes no branch.
            _ => sought.ranks_below_tie(word, count),
        }
    }

    /// Returns a key below those from a rank on: that of the rank before, or the anchor.
    fn key_below<'a>(self, rank: usize) -> Option<&'a [u8]> {
        if rank == 0 { Some(self.anchor()) } else { key_of(self.slot(self.slot_at(rank - 1))) }
    }

    /// Returns the key of a rank; if that is past the end, the next leaf's anchor.
    fn key_from<'a>(self, rank: usize, count: usize) -> Option<&'a [u8]> {
        if rank == count { self.next().map(Self::anchor) } else { key_of(self.slot(self.slot_at(rank))) }
    }

    /// Prefetches the records that the first three steps of a search by order may compare.
    #[inline(always)]
    fn prefetch_steps(self, size: usize, skip: usize) {
        let first = size / 2;
        let second = (size - first) / 2;
        let third = (size - first - second) / 2;
        let fetch = |ranks: usize| self.prefetch_rank(ranks - 1, skip);
        fetch(first);
        fetch(second);
        fetch(third);
        fetch(first + second);
        fetch(first + third);
        fetch(second + third);
        fetch(first + second + third);
    }

    #[inline(always)]
    fn prefetch_rank(self, rank: usize, skip: usize) {
        if cfg!(skein_loom) {
            // More loads in every order, for no effect.
            return;
        }
        KeyRecord::prefetch_from(self.slot(self.slot_at(rank)), skip);
    }

    /// Puts the ranks in key order. The caller must hold the lock, and must not have marked the
    /// leaf.
    pub(super) fn sort_ranks(self, mark: impl FnOnce()) {
        let (count, sorted) = self.count_and_sorted();
        if count == sorted {
            return;
        }
        if count - sorted > sorted.div_ceil(FEW_UNSORTED) {
            let mut ranks = self.ranks();
            self.sort(&mut ranks);
            mark();
            self.set_ranks(&ranks);
            return;
        }
        mark();
        for sorted in sorted..count {
            let key = self.record(self.slot_at(sorted)).map_or(&[][..], KeyRecord::key);
            self.insert_in_order(self.lower_bound(sorted, key));
        }
    }

    /// Sorts the ranks by key. The caller must hold the lock, so that records stay.
    pub(super) fn sort(self, ranks: &mut LeafRanks) {
        if ranks.sorted == ranks.count {
            return;
        }
        let skip = self.next().map_or(0, |next| common_len(self.anchor(), next.anchor()));
        for &slot in ranks.as_slice() {
            KeyRecord::prefetch_from(self.slot(slot.into()), skip);
        }
        let key = |slot: u8| self.record(slot.into()).map_or(&[][..], KeyRecord::key);
        // Words sort without a branch for each comparison. A word is seven bytes of the key after
        // a prefix that all keys share, and the slot.
        let mut room = [0_u64; SLOTS];
        let all = &mut room[..ranks.count];
        let mut fill = |skip: usize| {
            let words = all.iter_mut().zip(ranks.as_slice());
            let first = head_after(key(ranks.slots[0]), skip);
            words.fold(0, |differing, (word, &slot)| {
                let head = head_after(key(slot), skip);
                *word = head & !0xff | u64::from(slot);
                differing | head ^ first
            })
        };
        // The anchors may share less than the keys.
        if fill(skip).leading_zeros() >= SHARED_BITS {
            fill(self.common_prefix(ranks));
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
    #[cold]
    fn common_prefix(self, ranks: &LeafRanks) -> usize {
        let mut keys =
            ranks.as_slice().iter().filter_map(|&slot| self.record(slot.into())).map(KeyRecord::key);
        let Some(first) = keys.next() else { return 0 };
        keys.fold(first.len(), |shared, key| common_len(&first[..shared], key))
    }
}

/// A key that a leaf is searched for by order.
struct SoughtKey<'k> {
    key: &'k [u8],
    /// The length of a prefix that it shares with all keys to compare.
    skip: usize,
    /// The eight bytes after that prefix.
    head: u64,
    /// Whether a comparison needed more than the heads.
    has_tied: bool,
}

impl<'k> SoughtKey<'k> {
    #[inline(always)]
    fn new(key: &'k [u8], skip: usize) -> Self {
        Self { key, skip, head: head_after(key, skip), has_tied: false }
    }

    /// Lengthens the prefix, given that this key and all keys to compare are between two strings:
    /// they share what these share.
    #[inline(always)]
    fn skip_between(&mut self, from: Option<&[u8]>, to: Option<&[u8]>) {
        // Eight bytes must be left to compare, or there is nothing to gain.
        let most = self.key.len().saturating_sub(8);
        if let (1.., Some(from), Some(to)) = (most, from, to) {
            (self.skip, self.has_tied) = (common_len(from, to).min(most), false);
            self.head = head_after(self.key, self.skip);
        }
    }

    /// Returns the eight bytes after the prefix in the key of a slot's record; `None` if there are
    /// fewer, or no record.
    #[inline(always)]
    fn head_of(&self, word: u64) -> Option<u64> {
        let own = key_of(word)?;
        own.get(self.skip..self.skip + 8)?.first_chunk().map(|head| u64::from_be_bytes(*head))
    }

    /// As [`WormholeLeaf::ranks_below`], where the heads do not decide.
    #[inline(never)]
    fn ranks_below_tie(&mut self, word: u64, count: usize) -> usize {
        self.has_tied = true;
        // If a removal has just emptied the slot, the reader will see that the version has changed.
        let Some(own) = key_of(word) else { return 0 };
        let mut at = self.skip;
        while let (Some(own), Some(key)) = (own.get(at..at + 8), self.key.get(at..at + 8)) {
            if own != key {
                return if own < key { count } else { 0 };
            }
            at += 8;
        }
        let is_below = own.get(at..).unwrap_or(own) < self.key.get(at..).unwrap_or(self.key);
        if is_below { count } else { 0 }
    }
}

/// Returns the key of the record that a slot leads to.
#[inline(always)]
fn key_of<'a>(word: u64) -> Option<&'a [u8]> {
    // SAFETY: slots hold words of records; callers hold a guard or the leaf's lock.
    unsafe { KeyRecord::from_word(word) }.map(KeyRecord::key)
}

/// Returns the eight bytes from `skip` on as a number, padded with zeros.
#[inline(always)]
fn head_after(key: &[u8], skip: usize) -> u64 {
    let rest = key.get(skip..).unwrap_or_default();
    match (rest.first_chunk(), key.last_chunk()) {
        (Some(head), _) => u64::from_be_bytes(*head),
        (None, Some(end)) if !rest.is_empty() => u64::from_be_bytes(*end) << (8 * (8 - rest.len())),
        _ => rest.iter().rfold(0, |head, &byte| head >> 8 | u64::from(byte) << 56),
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
