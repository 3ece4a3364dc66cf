//! A cache line of eight tagged pointers: the search for those with a given tag.
//!
//! ```text
//!   words   tag, address | tag, address | ... 8
//!              ▼              ▼
//!   tags    │ 16 │ 16 │ 16 │ 16 │ 16 │ 16 │ 16 │ 16 │  = tag?   ──►  8 bits
//! ```
//!
//! Searches the lines of the table and of leaves. All eight words are compared, because a processor
//! cannot predict which word matches, and a misprediction costs more than the comparisons.
//!
//! `x86_64` has the comparison in SSE2; other processors compare word by word.
//!
//! The result is a hint: before the caller follows a word, it loads the word itself and checks its
//! tag again.
//!
//! Design: `docs/design/wormhole.md`.

#[cfg(all(target_arch = "x86_64", not(miri), not(skein_loom)))]
mod x86_64;

#[cfg(all(target_arch = "x86_64", not(miri), not(skein_loom)))]
use x86_64::places;

#[cfg(any(not(target_arch = "x86_64"), miri, skein_loom))]
use portable as places;

use skein_sync::atomic::AtomicU64;

use crate::memory::CACHE_LINE;

/// Words in a line.
pub(super) const LINE: usize = CACHE_LINE / size_of::<u64>();

/// The positions of the words in a line that have a tag, in order.
#[derive(Debug)]
pub(super) struct TagMatches(u32);

impl TagMatches {
    /// Searches a line for a tag.
    #[inline(always)]
    pub(super) fn of(line: &[AtomicU64; LINE], tag: u16) -> Self {
        Self(places(line, tag))
    }
}

impl Iterator for TagMatches {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let place = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(place)
    }
}

/// Returns a bit for each word that has the tag.
#[cfg(any(test, not(target_arch = "x86_64"), miri, skein_loom))]
#[inline(always)]
fn portable(line: &[AtomicU64; LINE], tag: u16) -> u32 {
    use skein_sync::reclaim::PROTECT;

    let has =
        |word: &AtomicU64| u32::from(crate::tagged_pointer::TaggedPointer(word.load(PROTECT)).tag() == tag);
    line.iter().enumerate().fold(0, |bits, (place, word)| bits | has(word) << place)
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    /// A line on its own cache-line boundary, as lines of tables and leaves are.
    #[repr(align(64))]
    struct AlignedLine([AtomicU64; LINE]);

    #[test]
    fn the_words_with_a_tag_are_found_in_every_place() {
        for tag in [0, 1, 0x7fff, 0x8000, 0xfffe, 0xffff] {
            for wanted in 0..256_u32 {
                let word = |place: usize| {
                    let own = if wanted & 1 << place == 0 { tag ^ (1 << (place * 2)) } else { tag };
                    AtomicU64::new(u64::from(own) << 48 | 0x7fff_8000_fff8 | (place as u64 % 8))
                };
                let line = AlignedLine(std::array::from_fn(word));
                let found: Vec<usize> = TagMatches::of(&line.0, tag).collect();
                let expected: Vec<usize> = (0..LINE).filter(|place| wanted & 1 << place != 0).collect();
                assert_eq!(found, expected, "tag {tag:x}");
                assert_eq!(portable(&line.0, tag), wanted);
            }
        }
    }
}
