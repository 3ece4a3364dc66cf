//! Hints: for the first bytes of a key, the next node on its path. With a hint, a lookup of a long
//! key need not descend from the root.
//!
//! ```text
//!   key      /usr/sha re/doc/s kein/exa mples/re st
//!                    │        │        │        │       checksums of 8, 16, 24, 32 bytes;
//!            ────────┼────────┼────────┼───► node       each may have a hint, the deepest one wins
//!   hint     check 24 │ depth beyond the bytes 8 │ hash of the node's name 32
//! ```
//!
//! Long shared prefixes are the worst case of the paper (section 4.7): a search reads every node
//! along the prefix. A hint skips them.
//!
//! A hint may be wrong, lost or overwritten at any time. That is safe: a lookup that began at a
//! hint ends at a record, and the record's key tells whether the hint was right. Only inserts write
//! hints, so lookups store nothing. Short keys and random keys have no hints; then the array is not
//! allocated.

use arrayvec::ArrayVec;
use skein_sync::atomic::{AtomicU64, Ordering};

use super::search::NamedNode;
use super::table::LinearHashSize;
use crate::hash::PrefixHash;
use crate::memory::{Arena, GrowingWords, prefetch_read};

/// The distance from hint to hint, in bytes of the key.
const STRIDE: usize = 8;
const HINTS_PER_KEY: usize = 32;
const HINTS_PER_LINE: usize = 8;
const BUCKETS_PER_HINT: usize = 4;

#[derive(Debug)]
pub(super) struct Hints {
    words: GrowingWords,
    /// The number of hints; 0 until an insert wants the first one.
    len: AtomicU64,
    hash: PrefixHash,
}

/// A node that may be on the path of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) hash: u32,
    pub(super) depth: u32,
}

/// Where the hint for a beginning of a key is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct HintSum {
    place: u32,
    /// The part of the checksum that is stored in the hint and verifies it.
    check: u32,
}

/// The places of a key's hints, for its first 8 bytes, 16, and so on.
pub(super) type HintSums = ArrayVec<HintSum, HINTS_PER_KEY>;

/// Returns the least depth of a node for the first `8 * count` bytes: the number of symbols that
/// lie wholly in these bytes. All keys that begin with the bytes and reach this depth share the
/// first node at or below it. One symbol deeper this would not hold: that symbol has bits of the
/// next byte.
fn depth_at(count: usize) -> u32 {
    (8 * STRIDE * count / 5) as u32
}

/// Returns how many of a key's beginnings have their [`depth_at`] at or above this depth.
fn beginnings(depth: u32) -> usize {
    (5 * depth as usize + 4) / (8 * STRIDE)
}

impl Hints {
    /// Creates an empty array that can grow to the hints for `buckets` buckets.
    pub(super) fn new(arena: &Arena, buckets: usize, huge: bool) -> Self {
        Self {
            words: GrowingWords::new(
                arena,
                (buckets / BUCKETS_PER_HINT).next_multiple_of(HINTS_PER_LINE),
                huge,
            ),
            len: AtomicU64::new(0),
            hash: PrefixHash::crc32c(),
        }
    }

    /// Resizes the array for `buckets` buckets. If it is empty, does so only if hints are `wanted`.
    /// Only one thread may call this at a time.
    pub(super) fn resize(&self, buckets: usize, wanted: bool) {
        let had = self.len();
        if had == 0 && !wanted {
            return;
        }
        let len = buckets / BUCKETS_PER_HINT;
        if len < had {
            // Release, here and below: pairs with the Acquire in `len`. Words are ready before they
            // are counted.
            self.len.store(len as u64, Ordering::Release);
        }
        self.words.resize(len.next_multiple_of(HINTS_PER_LINE));
        self.len.store(len as u64, Ordering::Release);
    }

    fn len(&self) -> usize {
        // Acquire: pairs with the Release in `resize`.
        self.len.load(Ordering::Acquire) as usize
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the places of the hints for a key's beginnings, the shortest first, and prefetches
    /// them. Does nothing if there are no hints.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: &[u8], sums: &mut HintSums) {
        // The length is read once: a table that shrinks meanwhile may have no hints afterwards.
        let len = self.len();
        if len == 0 {
            return;
        }
        let len = LinearHashSize::of(len as u32);
        let mut state = self.hash.start();
        for (shorter, word) in key.as_chunks::<STRIDE>().0.iter().take(HINTS_PER_KEY).enumerate() {
            state = self.hash.step(state, u64::from_le_bytes(*word));
            let sum = PrefixHash::of_words(state, STRIDE * (shorter + 1));
            let place = len.bucket_of((sum >> 32) as u32);
            prefetch_read(self.words.line_address(place as usize / HINTS_PER_LINE));
            sums.push(HintSum { place, check: sum as u32 >> 8 });
        }
    }

    #[inline(always)]
    fn word(&self, sum: HintSum) -> &AtomicU64 {
        let place = sum.place as usize;
        // SAFETY: this many words were ready when the place was computed.
        let line = unsafe { self.words.line(place / HINTS_PER_LINE) };
        &line[place % HINTS_PER_LINE]
    }

    /// Returns the hint for the longest beginning that has one, among those with a depth below
    /// `limit`.
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

    /// Stores a hint for each node of the trail.
    pub(super) fn note(&self, trail: &HintTrail) {
        for &node in &trail.nodes {
            let count = beginnings(node.depth);
            let Some(&sum) = trail.sums.get(count - 1) else { return };
            let beyond = u64::from(node.depth - depth_at(count));
            let word = u64::from(sum.check) << 40 | beyond << 32 | u64::from(node.hash);
            let slot = self.word(sum);
            // Relaxed: hints. A hint that is already stored is not written again.
            if beyond < 1 << 8 && slot.load(Ordering::Relaxed) != word {
                slot.store(word, Ordering::Relaxed);
            }
        }
    }

    /// Returns whether an insert of this key should store hints.
    #[inline(always)]
    pub(super) fn wants(key: &[u8]) -> bool {
        key.len() > STRIDE
    }
}

/// The nodes on the path of a key that deserve a hint: the first node past each beginning of the
/// key.
#[derive(Debug)]
pub(super) struct HintTrail {
    /// The places of the key's hints; empty if there were no hints.
    pub(super) sums: HintSums,
    nodes: ArrayVec<Hint, HINTS_PER_KEY>,
    /// Whether the trail ignores all nodes.
    idle: bool,
}

impl HintTrail {
    /// Creates an empty trail, which ignores all nodes unless it is `wanted`.
    #[inline(always)]
    pub(super) fn new(wanted: bool) -> Self {
        Self { sums: HintSums::new(), nodes: ArrayVec::new(), idle: !wanted }
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Takes the next node on the path into account.
    #[inline(always)]
    pub(super) fn meet(&mut self, NamedNode { hash, depth, .. }: &NamedNode) {
        if !self.idle {
            self.add(Hint { hash: *hash, depth: *depth });
        }
    }

    #[inline(never)]
    fn add(&mut self, node: Hint) {
        let last = self.nodes.last().map_or(0, |last| beginnings(last.depth));
        if (last + 1..=HINTS_PER_KEY).contains(&beginnings(node.depth)) {
            self.nodes.push(node);
        }
    }
}
