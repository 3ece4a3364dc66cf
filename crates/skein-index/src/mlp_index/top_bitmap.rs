//! The top of the trie: which names of three symbols there are, in a flat bitmap.
//!
//! ```text
//!   1 word       a bit for each of 64 words that is not 0
//!   2^6 words    a bit for each of 64 words ...
//!   2^12 words   a bit for each of 64 words ...
//!   2^18 words   a bit for each of 2^24 names: 2 MiB
//! ```
//!
//! All keys begin with three symbols, so the first two levels of the trie need no nodes (section 4.3, flat bitmap); the words above are ours, they
//! find the next name in four reads, however far it is.
//!
//! # Invariants
//! 1. A name's bit is changed only by who holds the locks of the name's buckets, together with the node (`change.rs`). So a bit that is not set says
//!    that no key begins so.
//! 2. A bit for a word is set when a write that set a bit of the word is done, and stays set as long as that bit does. It is cleared under `summing`, by
//!    who has cleared the word's last bit there; who sets a bit meanwhile sees that, and waits. So who looks for a key that was there before it
//!    began finds the way to it.

use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::mutex::{Mutex, lock};
use skein_sync::spin::Backoff;

use crate::memory::{Arena, AtomicWords, prefetch_read};

/// The bits of a key that come after the first three symbols.
const BEYOND: u32 = 40;
/// The layers, from the bits of names upward. Models and Miri have fewer: Miri looks at a whole layer for
/// each word that is read.
const LAYERS: usize = if cfg!(skein_loom) {
    1
} else if cfg!(miri) {
    3
} else {
    4
};
/// Names of three symbols; with fewer layers those of small numbers alone.
const NAMES: u32 = 1 << (6 * LAYERS);

/// The first three symbols of a key.
pub(super) type TopPrefix = u32;

/// The three symbols that a key begins with.
#[inline(always)]
pub(super) fn start_of(bits: u64) -> TopPrefix {
    (bits >> BEYOND) as u32 % NAMES
}

/// The least key that begins so.
#[inline(always)]
pub(super) fn bits_from(start: TopPrefix) -> u64 {
    u64::from(start) << BEYOND
}

/// The bitmap.
#[derive(Debug)]
pub(super) struct TopBitmap {
    layers: [AtomicWords; LAYERS],
    /// Held by who changes bits above names.
    summing: Mutex<()>,
    /// Up while its holder may be clearing some.
    clearing: AtomicBool,
}

impl TopBitmap {
    pub(super) fn new(arena: &Arena, huge: bool) -> Self {
        let words = |layer| AtomicWords::new(arena, (NAMES as usize) >> (6 * (layer + 1)), huge);
        Self { layers: std::array::from_fn(words), summing: Mutex::new(()), clearing: AtomicBool::new(false) }
    }

    #[inline(always)]
    fn word(&self, layer: usize, bit: u32) -> &AtomicU64 {
        &self.layers[layer][(bit / 64) as usize]
    }

    /// Asks for the word of a name.
    #[inline(always)]
    pub(super) fn prefetch(&self, start: TopPrefix) {
        prefetch_read(self.word(0, start));
    }

    /// Whether there are keys that begin so.
    #[inline(always)]
    pub(super) fn has(&self, start: TopPrefix) -> bool {
        // Acquire: pairs with `set` and `clear`.
        self.word(0, start).load(Ordering::Acquire) >> (start % 64) & 1 != 0
    }

    /// Notes that there are keys that begin so; see invariant 1.
    pub(super) fn set(&self, start: TopPrefix) {
        // SeqCst: in one order with the steps of `clear_last`. If this comes after the word was cleared there, the flag is up, or the bits above
        // have been cleared, too; if it comes before, they are not cleared.
        let before = self.word(0, start).fetch_or(1 << (start % 64), Ordering::SeqCst);
        // The word may have had other bits, and who set them not be done with those above.
        if before == 0 || self.clearing.load(Ordering::SeqCst) || !self.is_reachable(start) {
            let _summing = lock(&self.summing);
            self.sum_up(start);
        }
    }

    /// Whether the bits above a name's are set.
    fn is_reachable(&self, start: TopPrefix) -> bool {
        (1..LAYERS).zip([64, 64 * 64, 64 * 64 * 64]).all(|(layer, names)| {
            let bit = start / names;
            // Acquire: pairs with the Release in `sum_up`.
            self.word(layer, bit).load(Ordering::Acquire) >> (bit % 64) & 1 != 0
        })
    }

    /// Notes that there are none any more; see invariant 1.
    pub(super) fn clear(&self, start: TopPrefix) {
        let (word, bit) = (self.word(0, start), 1 << (start % 64));
        // Release: pairs with the Acquire in `has` and `beyond_in_word`. A word's last bit is cleared where the bits above are.
        let others = |word: u64| Some(word & !bit).filter(|&others| others != 0);
        if word.fetch_update(Ordering::Release, Ordering::Relaxed, others).is_err() {
            self.clear_last(start);
        }
    }

    /// The same for what may be the last bit of its word.
    #[cold]
    #[inline(never)]
    fn clear_last(&self, start: TopPrefix) {
        let _summing = lock(&self.summing);
        // SeqCst, all three: see `set`.
        self.clearing.store(true, Ordering::SeqCst);
        self.word(0, start).fetch_and(!(1 << (start % 64)), Ordering::SeqCst);
        self.sum_up(start);
        self.clearing.store(false, Ordering::SeqCst);
    }

    /// Brings the words above a name's to what they are to be; see invariant 2. The caller has `summing`.
    fn sum_up(&self, start: TopPrefix) {
        let mut bit = start;
        for layer in 1..LAYERS {
            // SeqCst: in the order that `set` speaks of.
            let below = self.word(layer - 1, bit).load(Ordering::SeqCst);
            bit /= 64;
            let (word, mask) = (self.word(layer, bit), 1 << (bit % 64));
            // Release: pairs with the Acquire in `beyond_in_word` and `is_reachable`. Nobody else changes these words.
            match below {
                0 => word.fetch_and(!mask, Ordering::Release),
                _ => word.fetch_or(mask, Ordering::Release),
            };
        }
    }

    /// The next name after one, or the last one before it.
    pub(super) fn beyond(&self, start: TopPrefix, forward: bool) -> Option<TopPrefix> {
        let mut backoff = Backoff::new();
        'again: loop {
            let mut bit = start;
            for layer in 0..LAYERS {
                if let Some(found) = self.beyond_in_word(layer, bit, forward) {
                    let name = self.descend(layer, found, forward);
                    if name.is_some() {
                        return name;
                    }
                    // A word went to 0 on the way down, and the bit above it will soon be gone, or the word have a bit again.
                    backoff.wait();
                    continue 'again;
                }
                bit /= 64;
            }
            return None;
        }
    }

    /// The bits of a word beyond one of them.
    #[inline(always)]
    fn beyond_in_word(&self, layer: usize, bit: u32, forward: bool) -> Option<u32> {
        // Acquire: pairs with the Release in `set`, `clear` and `sum_up`.
        let word = self.word(layer, bit).load(Ordering::Acquire);
        let mask = if forward { (!1) << (bit % 64) } else { !(u64::MAX << (bit % 64)) };
        outermost(word & mask, forward).map(|found| bit / 64 * 64 + found)
    }

    /// The first name, or the last one, below a bit of a layer.
    fn descend(&self, layer: usize, mut bit: u32, forward: bool) -> Option<TopPrefix> {
        for layer in (0..layer).rev() {
            // Acquire: as in `beyond_in_word`.
            let word = self.word(layer, 64 * bit).load(Ordering::Acquire);
            bit = 64 * bit + outermost(word, forward)?;
        }
        Some(bit)
    }

    /// How many names there are; nobody else uses the index. For the checker.
    pub(super) fn count(&mut self) -> usize {
        // Relaxed: alone.
        self.layers[0].iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
    }

    /// Whether the bits above say what is below. For the checker.
    pub(super) fn is_summed_up(&mut self) -> bool {
        (1..LAYERS).all(|layer| {
            self.layers[layer - 1].iter().zip(0_u32..).all(|(below, bit)| {
                // Relaxed: alone.
                let is_set = self.word(layer, bit).load(Ordering::Relaxed) >> (bit % 64) & 1 != 0;
                is_set == (below.load(Ordering::Relaxed) != 0)
            })
        })
    }
}

/// The first bit of a word, or the last one.
#[inline(always)]
fn outermost(word: u64, forward: bool) -> Option<u32> {
    match word {
        0 => None,
        _ if forward => Some(word.trailing_zeros()),
        _ => Some(word.ilog2()),
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn neighbouring_names_are_found_at_any_distance() {
        let mut top = TopBitmap::new(&Arena::new(), false);
        let mut model = BTreeSet::new();
        let names = (0..200_u32).map(|number| number.wrapping_mul(0x9e37_79b1) % NAMES);
        let edges = [0, 1, 63, 64, 4095, 4096, 262_143, 262_144].map(|name| name % NAMES);
        let names: Vec<_> = names.chain(edges).chain([NAMES - 1]).collect();
        for (turn, &name) in names.iter().chain(&names).enumerate() {
            if turn < names.len() {
                top.set(name);
                model.insert(name);
            } else {
                top.clear(name);
                model.remove(&name);
            }
            assert!(top.is_summed_up());
            for around in names.iter().flat_map(|&name| [name.saturating_sub(1), name]) {
                assert_eq!(top.has(around), model.contains(&around));
                assert_eq!(top.beyond(around, true), model.range(around + 1..).next().copied());
                assert_eq!(top.beyond(around, false), model.range(..around).next_back().copied());
            }
        }
        assert_eq!(top.count(), 0);
    }

    /// Who has set a bit finds a way to it from anywhere, although others clear the bits beside it all the time.
    #[test]
    fn a_name_is_found_while_its_neighbours_change() {
        let top = TopBitmap::new(&Arena::new(), false);
        std::thread::scope(|scope| {
            for name in [5_000_000, 5_000_001, 5_000_064].map(|name| name % NAMES) {
                let top = &top;
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 50 } else { 100_000 } {
                        top.set(name);
                        assert!(top.beyond(0, true).is_some_and(|found| found <= name));
                        assert!(top.beyond(NAMES - 1, false).is_some_and(|found| found >= name));
                        top.clear(name);
                    }
                });
            }
        });
        let mut top = top;
        assert!(top.count() == 0 && top.is_summed_up());
    }
}
