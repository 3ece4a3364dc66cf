//! Finds a segment in a text with one pass over it.
//!
//! Shift-And (Baeza-Yates and Gonnet, "A New Approach to Text Searching", 1992). Bit j of the state
//! says that the first j + 1 elements match the bytes up to the current one.
//!
//! ```text
//!   state' = (state << 1 | 1) & masks[byte]     masks[byte]: the elements that accept this byte
//! ```
//!
//! For a segment of many words, only words that can still become a match are updated. A match
//! begins at one of the first `starts` bytes, so byte i needs the bits from i − (starts − 1) up to
//! i.

use super::{ByteClass, GlobElement, has};

/// Up to this number of comparisons, trying every position is faster than making the masks.
const TRIED_MAX: usize = 1 << 10;

/// Returns the end of the leftmost occurrence of `segment` in `text`. REQUIRES: the segment is not
/// empty.
pub(super) fn find(segment: &[GlobElement], sets: &[ByteClass], text: &[u8]) -> Option<usize> {
    let starts = (text.len() + 1).checked_sub(segment.len()).filter(|starts| *starts > 0)?;
    if segment.len() == 1 || segment.len().saturating_mul(starts) <= TRIED_MAX {
        let stands =
            |bytes: &[u8]| segment.iter().zip(bytes).all(|(element, byte)| element.holds(*byte, sets));
        return text.windows(segment.len()).position(stands).map(|start| start + segment.len());
    }
    let words = segment.len().div_ceil(64);
    let masks = GlobMasks::new(segment, sets, words);
    let mut state = vec![0_u64; words];
    let (last_word, last_bit) = ((segment.len() - 1) / 64, (segment.len() - 1) % 64);
    for (at, byte) in text.iter().enumerate() {
        let mask = masks.of(*byte);
        let first = at.saturating_sub(starts - 1) / 64;
        // Either the word below changed one byte ago, or its carry can no longer become a match.
        let mut carry = if first == 0 { 1 } else { state[first - 1] >> 63 };
        let end = (at / 64 + 1).min(words);
        for (word, mask) in state[first..end].iter_mut().zip(&mask[first..end]) {
            let next = *word >> 63;
            *word = (*word << 1 | carry) & mask;
            carry = next;
        }
        if state[last_word] >> last_bit & 1 == 1 {
            return Some(at + 1);
        }
    }
    None
}

/// For each byte, the elements that accept it.
struct GlobMasks {
    bits: Vec<u64>,
    words: usize,
}

impl GlobMasks {
    fn new(segment: &[GlobElement], sets: &[ByteClass], words: usize) -> Self {
        let mut masks = Self { bits: vec![0; 256 * words], words };
        for (at, element) in segment.iter().enumerate() {
            match element {
                GlobElement::Byte(byte) => masks.put(*byte, at),
                GlobElement::Any => (0..=u8::MAX).for_each(|byte| masks.put(byte, at)),
                GlobElement::In(place) => {
                    let set = &sets[*place as usize];
                    (0..=u8::MAX).filter(|byte| has(set, *byte)).for_each(|byte| masks.put(byte, at));
                }
            }
        }
        masks
    }

    fn put(&mut self, byte: u8, at: usize) {
        self.bits[usize::from(byte) * self.words + at / 64] |= 1 << (at % 64);
    }

    fn of(&self, byte: u8) -> &[u64] {
        &self.bits[usize::from(byte) * self.words..][..self.words]
    }
}
