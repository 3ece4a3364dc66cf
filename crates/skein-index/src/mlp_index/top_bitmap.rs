//! The top of the trie: a flat bitmap of the names of three symbols.
//!
//! ```text
//!   1 word       a bit for each of 64 words that is not 0
//!   2^6 words    a bit for each of 64 words ...
//!   2^12 words   a bit for each of 64 words ...
//!   2^18 words   a bit for each of 2^24 names: 2 MiB
//! ```
//!
//! All keys begin with three symbols, so the first levels of the trie need no nodes (section 4.3,
//! flat bitmap). The layers above the names are ours. They find the next name with four reads, at
//! any distance.
//!
//! # Invariants
//! 1. A writer changes the bit of a name only while it holds the locks of the name's buckets,
//!    together with the node (`transaction.rs`). So a zero proves that no key begins with the name.
//! 2. The bit above a word is set before the write that set a bit of the word has finished, and
//!    stays set as long as that bit does. It is cleared under `updating`, by the writer that
//!    cleared the word's last bit there. A writer that sets a bit of the word meanwhile notices
//!    this and waits for `updating`. So a search finds the path to every key that was present
//!    before the search began.

use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::mutex::{Mutex, lock};
use skein_sync::spin::Backoff;

use crate::memory::{Arena, AtomicWords, prefetch_read};

/// The bits of a key after the first three symbols.
const BEYOND: u32 = 40;
/// The layers, from the bits of names upward. Models and Miri have fewer, because Miri examines a
/// whole layer for each word that is read.
const LAYERS: usize = if cfg!(skein_loom) {
    1
} else if cfg!(miri) {
    3
} else {
    4
};
/// The number of names of three symbols. With fewer layers, only small numbers are names.
const NAMES: u32 = 1 << (6 * LAYERS);

/// A name of three symbols: the beginning of a key.
pub(super) type TopPrefix = u32;

/// Returns the first three symbols of a key.
#[inline(always)]
pub(super) fn start_of(bits: u64) -> TopPrefix {
    (bits >> BEYOND) as u32 % NAMES
}

/// Returns the least key that begins with this name.
#[inline(always)]
pub(super) fn bits_from(start: TopPrefix) -> u64 {
    u64::from(start) << BEYOND
}

#[derive(Debug)]
pub(super) struct TopBitmap {
    layers: [AtomicWords; LAYERS],
    /// Held by a writer that changes bits above names.
    updating: Mutex<()>,
    /// True while the holder of `updating` may be clearing bits.
    clearing: AtomicBool,
}

impl TopBitmap {
    pub(super) fn new(arena: &Arena, huge: bool) -> Self {
        let words = |layer| AtomicWords::new(arena, (NAMES as usize) >> (6 * (layer + 1)), huge);
        Self {
            layers: std::array::from_fn(words),
            updating: Mutex::new(()),
            clearing: AtomicBool::new(false),
        }
    }

    #[inline(always)]
    fn word(&self, layer: usize, bit: u32) -> &AtomicU64 {
        &self.layers[layer][(bit / 64) as usize]
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, start: TopPrefix) {
        prefetch_read(self.word(0, start));
    }

    /// Returns whether there are keys that begin with this name.
    #[inline(always)]
    pub(super) fn has(&self, start: TopPrefix) -> bool {
        // Acquire: pairs with the stores of `set` and `clear`.
        self.word(0, start).load(Ordering::Acquire) >> (start % 64) & 1 != 0
    }

    /// Sets the bit of a name; see invariant 1.
    pub(super) fn set(&self, start: TopPrefix) {
        // SeqCst: in one order with the steps of `clear_last`. If this comes after the word was
        // cleared there, then either the flag is still set, or the bits above have been cleared. If
        // it comes before, they are not cleared.
        let before = self.word(0, start).fetch_or(1 << (start % 64), Ordering::SeqCst);
        // The word may have had other bits, and their writer may not have set those above yet.
        if before == 0 || self.clearing.load(Ordering::SeqCst) || !self.is_reachable(start) {
            let _summing = lock(&self.updating);
            self.update_above(start);
        }
    }

    /// Returns whether the bits above a name are set.
    fn is_reachable(&self, start: TopPrefix) -> bool {
        (1..LAYERS).zip([64, 64 * 64, 64 * 64 * 64]).all(|(layer, names)| {
            let bit = start / names;
            // Acquire: pairs with the Release in `update_above`.
            self.word(layer, bit).load(Ordering::Acquire) >> (bit % 64) & 1 != 0
        })
    }

    /// Clears the bit of a name; see invariant 1.
    pub(super) fn clear(&self, start: TopPrefix) {
        let (word, bit) = (self.word(0, start), 1 << (start % 64));
        // Release: pairs with the Acquire in `has` and `beyond_in_word`. The last bit of a word is
        // cleared together with the bits above, in `clear_last`.
        let others = |word: u64| Some(word & !bit).filter(|&others| others != 0);
        if word.fetch_update(Ordering::Release, Ordering::Relaxed, others).is_err() {
            self.clear_last(start);
        }
    }

    /// Clears a bit that may be the last one of its word.
    #[cold]
    #[inline(never)]
    fn clear_last(&self, start: TopPrefix) {
        let _summing = lock(&self.updating);
        // SeqCst, all three: see `set`.
        self.clearing.store(true, Ordering::SeqCst);
        self.word(0, start).fetch_and(!(1 << (start % 64)), Ordering::SeqCst);
        self.update_above(start);
        self.clearing.store(false, Ordering::SeqCst);
    }

    /// Updates the bits above a name; see invariant 2. The caller must hold `updating`.
    fn update_above(&self, start: TopPrefix) {
        let mut bit = start;
        for layer in 1..LAYERS {
            // SeqCst: part of the order that `set` relies on.
            let below = self.word(layer - 1, bit).load(Ordering::SeqCst);
            bit /= 64;
            let (word, mask) = (self.word(layer, bit), 1 << (bit % 64));
            // Release: pairs with the Acquire in `beyond_in_word` and `is_reachable`. No other
            // thread changes these words.
            match below {
                0 => word.fetch_and(!mask, Ordering::Release),
                _ => word.fetch_or(mask, Ordering::Release),
            };
        }
    }

    /// Returns the next name after `start`, or the last one before it.
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
                    // A word became 0 on the way down. Soon the bit above it is cleared too, or the
                    // word has a bit again.
                    backoff.wait();
                    continue 'again;
                }
                bit /= 64;
            }
            return None;
        }
    }

    /// Returns the nearest bit of a word beyond one of its bits.
    #[inline(always)]
    fn beyond_in_word(&self, layer: usize, bit: u32, forward: bool) -> Option<u32> {
        // Acquire: pairs with the Release in `set`, `clear` and `update_above`.
        let word = self.word(layer, bit).load(Ordering::Acquire);
        let mask = if forward { (!1) << (bit % 64) } else { !(u64::MAX << (bit % 64)) };
        outermost(word & mask, forward).map(|found| bit / 64 * 64 + found)
    }

    /// Returns the first or the last name below a bit of a layer.
    fn descend(&self, layer: usize, mut bit: u32, forward: bool) -> Option<TopPrefix> {
        for layer in (0..layer).rev() {
            // Acquire: as in `beyond_in_word`.
            let word = self.word(layer, 64 * bit).load(Ordering::Acquire);
            bit = 64 * bit + outermost(word, forward)?;
        }
        Some(bit)
    }

    /// Returns the number of names, for the checker. The caller must be the only user of the index.
    pub(super) fn count(&mut self) -> usize {
        // Relaxed: there are no other users.
        self.layers[0].iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
    }

    /// Returns whether the upper layers match the layers below, for the checker.
    pub(super) fn is_consistent(&mut self) -> bool {
        (1..LAYERS).all(|layer| {
            self.layers[layer - 1].iter().zip(0_u32..).all(|(below, bit)| {
                // Relaxed: there are no other users.
                let is_set = self.word(layer, bit).load(Ordering::Relaxed) >> (bit % 64) & 1 != 0;
                is_set == (below.load(Ordering::Relaxed) != 0)
            })
        })
    }
}

/// Returns the first or the last bit of a word.
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
            assert!(top.is_consistent());
            for around in names.iter().flat_map(|&name| [name.saturating_sub(1), name]) {
                assert_eq!(top.has(around), model.contains(&around));
                assert_eq!(top.beyond(around, true), model.range(around + 1..).next().copied());
                assert_eq!(top.beyond(around, false), model.range(..around).next_back().copied());
            }
        }
        assert_eq!(top.count(), 0);
    }

    /// A thread that has set a bit finds a path to it from anywhere, while other threads clear the
    /// bits beside it.
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
        assert!(top.count() == 0 && top.is_consistent());
    }
}
