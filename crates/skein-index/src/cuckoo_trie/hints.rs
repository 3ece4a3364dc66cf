//! Hints: where below a key's first bytes the next node is, so that a lookup of a long key need not come down from the root.
//!
//! ```text
//!   key      /usr/sha re/doc/s kein/exa mples/re st
//!                    │        │        │        │         sums of 8, 16, 24, 32 bytes; each may have a hint
//!            ────────┼────────┼────────┼───► node         the deepest one wins: the hash of a node's name, and its depth
//!   hint     check 24 │ depth beyond the bytes 8 │ hash of the node's name 32
//! ```
//!
//! Long common prefixes are the paper's worst case (section 4.7): a search goes through all that is compressed there. A hint leads past it. Hints may
//! be wrong, lost or overwritten at any time: a lookup that began with one ends at a record, and that record's key tells whether it was right.
//! Only inserts write them, so lookups store nothing; short or random keys have none, and then there is no array either.

use arrayvec::ArrayVec;
use skein_sync::atomic::{AtomicU64, Ordering};

use super::search::NamedNode;
use super::table::LinearHashSize;
use crate::hash::PrefixHash;
use crate::memory::{Arena, GrowingWords, prefetch_read};

/// Bytes from hint to hint.
const STRIDE: usize = 8;
/// Hints of one key.
const HINTS_MAX: usize = 32;
/// Hints in a line.
const LINE: usize = 8;
/// Buckets to a hint.
const BUCKETS: usize = 4;

/// The hints of a table.
#[derive(Debug)]
pub(super) struct Hints {
    words: GrowingWords,
    /// How many there are; none until one is wanted.
    len: AtomicU64,
    hash: PrefixHash,
}

/// A node that may be on a key's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    /// The hash of its name.
    pub(super) hash: u32,
    pub(super) depth: u32,
}

/// What is known of the hint for a key's beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct HintSum {
    place: u32,
    /// What it is known by there.
    check: u32,
}

/// Those of a key's beginnings, of 8 bytes, 16 and so on.
pub(super) type HintSums = ArrayVec<HintSum, HINTS_MAX>;

/// The least depth of a node for the first `8 * count` bytes: its name has the symbols that lie in them as a whole. So all keys that begin with
/// these bytes, and are below it, lead to the first node from there on. One symbol deeper they would not: that symbol has bits of the next byte.
fn depth_at(count: usize) -> u32 {
    (8 * STRIDE * count / 5) as u32
}

/// Of how many beginnings that may have a hint a node is below the [`depth_at`].
fn beginnings(depth: u32) -> usize {
    (5 * depth as usize + 4) / (8 * STRIDE)
}

impl Hints {
    /// None yet; room for those of `buckets` buckets.
    pub(super) fn new(arena: &Arena, buckets: usize, huge: bool) -> Self {
        Self {
            words: GrowingWords::new(arena, (buckets / BUCKETS).next_multiple_of(LINE), huge),
            len: AtomicU64::new(0),
            hash: PrefixHash::crc32c(),
        }
    }

    /// Makes place for the hints of `buckets` buckets, if there are any, or if the first are `wanted`. One thread at a time.
    pub(super) fn resize(&self, buckets: usize, wanted: bool) {
        let had = self.len();
        if had == 0 && !wanted {
            return;
        }
        let len = buckets / BUCKETS;
        if len < had {
            // Release, here and below: pairs with the Acquire in `len`; words are ready before they are counted.
            self.len.store(len as u64, Ordering::Release);
        }
        self.words.resize(len.next_multiple_of(LINE));
        self.len.store(len as u64, Ordering::Release);
    }

    fn len(&self) -> usize {
        // Acquire: pairs with the Release in `resize`.
        self.len.load(Ordering::Acquire) as usize
    }

    /// Whether there are none.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds what is known of the hints for a key's beginnings, the shortest one first, and asks for them; nothing if there are no hints.
    #[inline(always)]
    pub(super) fn ask(&self, key: &[u8], sums: &mut HintSums) {
        // Once: a table that shrinks meanwhile may be left with none.
        let len = self.len();
        if len == 0 {
            return;
        }
        let len = LinearHashSize::of(len as u32);
        let mut state = self.hash.start();
        for (shorter, word) in key.as_chunks::<STRIDE>().0.iter().take(HINTS_MAX).enumerate() {
            state = self.hash.step(state, u64::from_le_bytes(*word));
            let sum = PrefixHash::of_words(state, STRIDE * (shorter + 1));
            let place = len.bucket_of((sum >> 32) as u32);
            prefetch_read(self.words.line_address(place as usize / LINE));
            sums.push(HintSum { place, check: sum as u32 >> 8 });
        }
    }

    #[inline(always)]
    fn word(&self, sum: HintSum) -> &AtomicU64 {
        let place = sum.place as usize;
        // SAFETY: so many words were ready when it was asked for.
        let line = unsafe { self.words.line(place / LINE) };
        &line[place % LINE]
    }

    /// The hint for the longest of a key's beginnings that has one, of a node whose depth is less than `limit`.
    #[inline(always)]
    pub(super) fn deepest(&self, sums: &HintSums, limit: u32) -> Option<Hint> {
        sums.iter().enumerate().rev().find_map(|(shorter, &sum)| {
            // Relaxed: a hint.
            let word = self.word(sum).load(Ordering::Relaxed);
            let depth = depth_at(shorter + 1) + (word >> 32 & 0xff) as u32;
            (word >> 40 == sum.check.into() && depth < limit && word != 0)
                .then_some(Hint { hash: word as u32, depth })
        })
    }

    /// Takes note of the nodes on a key's way.
    pub(super) fn note(&self, trail: &HintTrail) {
        for &node in &trail.nodes {
            let count = beginnings(node.depth);
            let Some(&sum) = trail.sums.get(count - 1) else { return };
            let beyond = u64::from(node.depth - depth_at(count));
            let word = u64::from(sum.check) << 40 | beyond << 32 | u64::from(node.hash);
            let slot = self.word(sum);
            // Relaxed: hints. One that stays need not be written.
            if beyond < 1 << 8 && slot.load(Ordering::Relaxed) != word {
                slot.store(word, Ordering::Relaxed);
            }
        }
    }

    /// Whether the nodes on the way of a key are to be noted.
    #[inline(always)]
    pub(super) fn wants(key: &[u8]) -> bool {
        key.len() > STRIDE
    }
}

/// The nodes on a key's way that are worth a note: the first one past each beginning that may have a hint.
#[derive(Debug)]
pub(super) struct HintTrail {
    /// The sums of the key's beginnings; none if there were no hints.
    pub(super) sums: HintSums,
    nodes: ArrayVec<Hint, HINTS_MAX>,
    /// Whether there is nothing to be noted.
    idle: bool,
}

impl HintTrail {
    /// One that is left only if it is `wanted`.
    #[inline(always)]
    pub(super) fn new(wanted: bool) -> Self {
        Self { sums: HintSums::new(), nodes: ArrayVec::new(), idle: !wanted }
    }

    /// Forgets all nodes.
    #[inline(always)]
    pub(super) fn start_over(&mut self) {
        self.nodes.clear();
    }

    /// Takes in the next node.
    #[inline(always)]
    pub(super) fn meet(&mut self, NamedNode { hash, depth, .. }: &NamedNode) {
        if !self.idle {
            self.add(Hint { hash: *hash, depth: *depth });
        }
    }

    #[inline(never)]
    fn add(&mut self, node: Hint) {
        let last = self.nodes.last().map_or(0, |last| beginnings(last.depth));
        if (last + 1..=HINTS_MAX).contains(&beginnings(node.depth)) {
            self.nodes.push(node);
        }
    }
}
