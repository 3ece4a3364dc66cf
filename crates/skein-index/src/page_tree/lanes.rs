//! Arrays of narrow numbers in atomic words: one byte or two bytes for each key of a page.
//!
//! ```text
//!   word 0  │ a0 │ a1 │ a2 │ .. │ a7 │   insert at 1:   │ a0 │ x │ a1 │ .. │ a6 │
//!   word 1  │ a8 │ a9 │ ..           │                  │ a7 │ a8 │ ..          │
//! ```
//!
//! Readers load whole words, so a writer may shift the numbers under them. A reader that depends on
//! the position of a number checks the page's version afterwards. Behind the numbers, lanes are all
//! ones, so that a reader takes none of them for a slot. A processor compares all numbers
//! of an array with one value in a few instructions.

use std::sync::atomic::{AtomicU64, Ordering};

use skein_sync::reclaim::PROTECT;

/// The lanes of a word that hold one byte each.
pub(super) const BYTES: u32 = 8;
/// The lanes of a word that hold two bytes each.
pub(super) const PAIRS: u32 = 16;

/// Returns the number of lanes in a word.
const fn lanes(bits: u32) -> usize {
    (u64::BITS / bits) as usize
}

/// Returns the number at a position.
#[inline(always)]
pub(super) fn get<const BITS: u32>(words: &[AtomicU64], at: usize) -> u64 {
    // Pairs with the Release in `insert`, so the entry of a published slot is visible.
    let word = words[at / lanes(BITS)].load(PROTECT);
    word >> (at % lanes(BITS) * BITS as usize) & ((1 << BITS) - 1)
}

/// Replaces the number at a position. Only the holder of the page's lock may write.
#[inline(always)]
pub(super) fn set<const BITS: u32>(words: &[AtomicU64], at: usize, value: u64) {
    let shift = at % lanes(BITS) * BITS as usize;
    let word = &words[at / lanes(BITS)];
    // Relaxed: the lock is held. Release: pairs with the loads in `get` and `equal`.
    let others = word.load(Ordering::Relaxed) & !(((1 << BITS) - 1) << shift);
    word.store(others | value << shift, Ordering::Release);
}

/// Bytes of a word lie in this order: the position of a byte is flipped on big-endian processors.
const FLIP: usize = if cfg!(target_endian = "big") { 7 } else { 0 };

/// Returns the byte at a position. The page is locked, or the caller alone reaches it.
#[inline(always)]
pub(super) fn peek_byte(words: &[AtomicU64], at: usize) -> u8 {
    assert!(at < size_of_val(words));
    // SAFETY: inside the words, which no other thread writes now.
    unsafe { words.as_ptr().cast::<u8>().add(at ^ FLIP).read() }
}

/// Returns the number of two bytes at a position, as [`peek_byte`].
#[inline(always)]
pub(super) fn peek_pair(words: &[AtomicU64], at: usize) -> u16 {
    assert!(2 * at < size_of_val(words));
    // SAFETY: as in `peek_byte`.
    unsafe { words.as_ptr().cast::<u16>().add(at ^ (FLIP / 2)).read() }
}

/// Sets a byte of an array that no other thread can reach yet.
#[inline(always)]
pub(super) fn init_byte(words: &[AtomicU64], at: usize, value: u8) {
    assert!(at < size_of_val(words));
    // SAFETY: inside the words, which are atomics, and which this thread alone reaches.
    unsafe { words.as_ptr().cast::<u8>().cast_mut().add(at ^ FLIP).write(value) };
}

/// Sets a number of two bytes, as [`init_byte`].
#[inline(always)]
pub(super) fn init_pair(words: &[AtomicU64], at: usize, value: u16) {
    assert!(2 * at < size_of_val(words));
    // SAFETY: as in `init_byte`.
    unsafe { words.as_ptr().cast::<u16>().cast_mut().add(at ^ (FLIP / 2)).write(value) };
}

/// Inserts a number at a position of an array of `count` numbers.
#[inline(always)]
pub(super) fn insert<const BITS: u32>(words: &[AtomicU64], at: usize, count: usize, value: u64) {
    if at == count {
        return set::<BITS>(words, at, value);
    }
    let (first, last) = (at / lanes(BITS), count / lanes(BITS));
    let mut word = words[last].load(Ordering::Relaxed);
    for index in (first + 1..=last).rev() {
        let before = words[index - 1].load(Ordering::Relaxed);
        // Release: as in `set`.
        words[index].store(word << BITS | before >> (u64::BITS - BITS), Ordering::Release);
        word = before;
    }
    let shift = at % lanes(BITS) * BITS as usize;
    let below = (1 << shift) - 1;
    words[first].store(word & below | value << shift | (word & !below) << BITS, Ordering::Release);
}

/// Removes the number at a position of an array of `count` numbers. The last lane becomes all ones.
#[inline(always)]
pub(super) fn remove<const BITS: u32>(words: &[AtomicU64], at: usize, count: usize) {
    let (first, last) = (at / lanes(BITS), (count - 1) / lanes(BITS));
    let shift = at % lanes(BITS) * BITS as usize;
    let mut below = (1 << shift) - 1;
    let mut word = words[first].load(Ordering::Relaxed);
    for index in first..=last {
        let next = if index < last { words[index + 1].load(Ordering::Relaxed) } else { u64::MAX };
        let moved = word >> BITS & !below | next << (u64::BITS - BITS);
        // Release: as in `set`.
        words[index].store(word & below | moved, Ordering::Release);
        (word, below) = (next, 0);
    }
}

/// Returns a bit for each byte that is equal to `value`.
#[inline(always)]
pub(super) fn equal(words: &[AtomicU64], value: u8) -> u64 {
    let mut bits = 0;
    for (index, pair) in words.chunks(2).enumerate() {
        // Pairs with the Release in `set`.
        let low = pair[0].load(PROTECT);
        let high = pair.get(1).map_or(0, |word| word.load(PROTECT));
        bits |= u64::from(equal_bytes(low, high, value)) << (16 * index);
    }
    bits
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn equal_bytes(low: u64, high: u64, value: u8) -> u16 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    // SAFETY: every `x86_64` processor has SSE2.
    unsafe {
        let both = _mm_set_epi64x(high.cast_signed(), low.cast_signed());
        _mm_movemask_epi8(_mm_cmpeq_epi8(both, _mm_set1_epi8(value.cast_signed()))).cast_unsigned() as u16
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn equal_bytes(low: u64, high: u64, value: u8) -> u16 {
    let bytes = low.to_le_bytes().into_iter().chain(high.to_le_bytes());
    bytes.enumerate().fold(0, |bits, (at, byte)| bits | u16::from(byte == value) << at)
}

/// Returns how many of the first `count` numbers, which ascend, are less than `value`, and how many
/// are not greater.
#[inline(always)]
pub(super) fn bounds(words: &[AtomicU64], count: usize, value: u16) -> (usize, usize) {
    /// Words that make a group of 16 numbers.
    const GROUP: usize = 4;
    let (mut less, mut through) = (0_u64, 0_u64);
    for (index, group) in words[..count.div_ceil(lanes(PAIRS))].chunks(GROUP).enumerate() {
        // Acquire: pairs with the Release in `insert`.
        let word = |at: usize| group.get(at).map_or(0, |word| word.load(Ordering::Acquire));
        let (l, t) = compare([word(0), word(1), word(2), word(3)], value);
        less |= u64::from(l) << (16 * index);
        through |= u64::from(t) << (16 * index);
    }
    // The numbers ascend, so the bits below `count` are ones, then zeros.
    let ones = |bits: u64| (bits.trailing_ones() as usize).min(count);
    (ones(less), ones(through))
}

/// Compares 16 numbers: returns a bit for each lesser one, and for each that is not greater.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn compare(words: [u64; 4], value: u16) -> (u16, u16) {
    use std::arch::x86_64::{
        __m128i, _mm_andnot_si128, _mm_cmpeq_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set_epi64x,
        _mm_set1_epi16, _mm_setzero_si128, _mm_subs_epu16,
    };
    // SAFETY: every `x86_64` processor has SSE2.
    unsafe {
        let value = _mm_set1_epi16(value.cast_signed());
        // A saturating difference of zero means that the number is not greater.
        let through = |numbers: __m128i| _mm_cmpeq_epi16(_mm_subs_epu16(numbers, value), _mm_setzero_si128());
        let low = _mm_set_epi64x(words[1].cast_signed(), words[0].cast_signed());
        let high = _mm_set_epi64x(words[3].cast_signed(), words[2].cast_signed());
        let through = _mm_packs_epi16(through(low), through(high));
        let equal = _mm_packs_epi16(_mm_cmpeq_epi16(low, value), _mm_cmpeq_epi16(high, value));
        let less = _mm_andnot_si128(equal, through);
        let bits = |lanes| _mm_movemask_epi8(lanes).cast_unsigned() as u16;
        (bits(less), bits(through))
    }
}

/// Compares 16 numbers: returns a bit for each lesser one, and for each that is not greater.
#[cfg(not(target_arch = "x86_64"))]
fn compare(words: [u64; 4], value: u16) -> (u16, u16) {
    let number = |at: usize| (words[at / 4] >> (at % 4 * 16)) as u16;
    (0..16).fold((0, 0), |(less, through), at| {
        (less | u16::from(number(at) < value) << at, through | u16::from(number(at) <= value) << at)
    })
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    fn list<const BITS: u32>(words: &[AtomicU64], count: usize) -> Vec<u64> {
        (0..count).map(|at| get::<BITS>(words, at)).collect()
    }

    fn inserts_and_removals<const BITS: u32>(capacity: usize) {
        let words = words(capacity / lanes(BITS));
        let mut model = Vec::new();
        for step in 0..capacity {
            let (at, value) = (step * 7 % (step + 1), (step as u64 * 37 + 5) % (1 << BITS));
            insert::<BITS>(&words, at, model.len(), value);
            model.insert(at, value);
            assert_eq!(list::<BITS>(&words, model.len()), model);
        }
        while !model.is_empty() {
            let at = model.len() * 5 / 7;
            remove::<BITS>(&words, at, model.len());
            model.remove(at);
            assert_eq!(list::<BITS>(&words, model.len()), model);
            assert_eq!(get::<BITS>(&words, model.len()), (1 << BITS) - 1, "no slot is left behind");
        }
    }

    #[test]
    fn lanes_move_as_the_items_of_a_vector() {
        for capacity in [8, 16, 40, 64] {
            inserts_and_removals::<BYTES>(capacity);
            inserts_and_removals::<PAIRS>(capacity);
        }
    }

    #[test]
    fn new_numbers_are_those_that_are_read() {
        let (bytes, pairs) = (words(2), words(4));
        for at in 0..16 {
            init_byte(&bytes, at, at as u8 + 3);
            init_pair(&pairs, at, at as u16 * 1_000);
        }
        assert_eq!(list::<BYTES>(&bytes, 16), (3..19).collect::<Vec<_>>());
        assert_eq!(list::<PAIRS>(&pairs, 16), (0..16).map(|at| at * 1_000).collect::<Vec<_>>());
    }

    #[test]
    fn equal_bytes_are_found_in_every_place() {
        for count in [1, 3, 8] {
            let words = words(count);
            for at in 0..8 * count {
                set::<BYTES>(&words, at, 9);
                assert_eq!(equal(&words, 9), 1 << at);
                set::<BYTES>(&words, at, 0);
            }
        }
    }

    #[test]
    fn bounds_are_those_of_a_sorted_vector() {
        let numbers = [0_u16, 0, 3, 0x7fff, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0xffff];
        for count in 0..=numbers.len() {
            let words = words(3);
            for (at, number) in numbers.iter().enumerate() {
                set::<PAIRS>(&words, at, (*number).into());
            }
            for value in [0, 1, 3, 4, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff] {
                // What lies beyond `count` is stale.
                let sorted = &numbers[..count];
                let expected = (
                    sorted.partition_point(|&number| number < value),
                    sorted.partition_point(|&number| number <= value),
                );
                assert_eq!(bounds(&words, count, value), expected, "{value} of {count}");
            }
        }
    }
}
