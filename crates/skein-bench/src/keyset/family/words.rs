//! Made-up, pronounceable words for models of names and addresses.

use crate::keyset::mix;

const BEGIN: &[&[u8]] = &[
    b"b", b"c", b"d", b"f", b"g", b"h", b"j", b"k", b"l", b"m", b"n", b"p", b"r", b"s", b"t", b"v", b"w",
    b"st", b"tr", b"ch", b"sh", b"br", b"pl", b"gr",
];
const MIDDLE: &[u8] = b"aaaeeeeiiooouy";
const END: &[&[u8]] = &[b"", b"", b"", b"", b"n", b"r", b"s", b"l", b"t", b"m", b"ck", b"nd"];

/// Writes the word of a number: `syllables` syllables of two to six letters.
pub fn word(number: u64, syllables: usize, key: &mut Vec<u8>) {
    for syllable in 0..syllables as u64 {
        let bits = mix(number ^ (syllable + 1).wrapping_mul(0xA076_1D64_78BD_642F)) as usize;
        key.extend(BEGIN[bits % 0x1_0000 % BEGIN.len()]);
        key.push(MIDDLE[(bits >> 16) % 0x1_0000 % MIDDLE.len()]);
        key.extend(END[(bits >> 32) % END.len()]);
    }
}

/// Writes the last `digits` digits of the number in base 36, with capital letters.
pub fn base_36(mut number: u64, digits: usize, key: &mut Vec<u8>) {
    const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for _ in 0..digits {
        key.push(DIGITS[(number % 36) as usize]);
        number /= 36;
    }
}
