//! `BitBase`'s `randstr(n,m)`: random strings of one length over an alphabet.

use super::numbered::numbered;
use super::{FamilyParameter, KeyFamily, KeyRequest, KeySource, NameSuffix, PaperFigures};
use crate::Result;
use crate::keyset::SeededRandom;

/// The length and the alphabet's size.
pub const PARAMETERS: &[FamilyParameter] = &[
    FamilyParameter { name: "N", least: 1, most: 65_535 },
    FamilyParameter { name: "M", least: 1, most: 256 },
];

/// The paper. It gives no figures of its keys.
pub const PAPER: &[PaperFigures] = &[PaperFigures::count("BitBase, section 4.1", 1_000_000)];

const ABOUT: &str = "strings of N characters, each one of M: the first M of a to z, A to Z, 0 to \
                     9, then the other bytes from 0 up";

pub static RANDSTR: KeyFamily = KeyFamily::new("randstr", ABOUT, |request| Ok(open(request)))
    .taking(NameSuffix::Numbers(PARAMETERS), "randstr(16,26)")
    .papers(PAPER);

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    let (length, letters) = (request.numbers[0] as usize, request.numbers[1]);
    let alphabet = alphabet(letters);
    match space(length, letters) {
        Some(space) => numbered(request, space, move |mut number, key| {
            for _ in 0..length {
                key.push(alphabet[(number % letters) as usize]);
                number /= letters;
            }
        }),
        None => Box::new(RandomStrings { alphabet, length, random: request.random() }),
    }
}

/// Returns the first `letters` characters of the alphabet.
pub fn alphabet(letters: u64) -> Vec<u8> {
    let readable = || (b'a'..=b'z').chain(b'A'..=b'Z').chain(b'0'..=b'9');
    let others = (0..=u8::MAX).filter(|byte| !byte.is_ascii_alphanumeric());
    readable().chain(others).take(letters as usize).collect()
}

/// Returns the number of strings, if it is at most 2^63.
pub fn space(length: usize, letters: u64) -> Option<u64> {
    // The exponent is at most 65,535.
    letters.checked_pow(length as u32).filter(|&space| space <= 1 << 63)
}

/// Random strings; there are so many that a duplicate is very unlikely.
struct RandomStrings {
    alphabet: Vec<u8>,
    length: usize,
    random: SeededRandom,
}

impl KeySource for RandomStrings {
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        key.extend((0..self.length).map(|_| self.alphabet[self.random.below(self.alphabet.len())]));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use crate::keyset::make;

    #[test]
    fn all_strings_of_a_small_space_occur_once() {
        let set = make("randstr(3,4)", 64, 0, 1).expect("as many as there are");
        let mut strings: Vec<_> = set.keys.iter().collect();
        strings.sort_unstable();
        strings.dedup();
        assert_eq!(strings.len(), 64);
        assert!(strings.iter().all(|key| key.len() == 3 && key.iter().all(|byte| b"abcd".contains(byte))));
        let error = make("randstr(3,4)", 60, 5, 1).expect_err("one too many").to_string();
        assert!(error.contains("64 different keys") && error.contains("65 are asked for"), "{error}");
    }

    #[test]
    fn the_alphabet_ends_with_all_bytes() {
        let all = super::alphabet(256);
        assert_eq!((&all[..2], &all[26..28], &all[52..54], all[62]), (&b"ab"[..], &b"AB"[..], &b"01"[..], 0));
        let mut sorted = all.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..=u8::MAX));
    }

    #[test]
    fn long_strings_use_all_letters() {
        let set = make("randstr(20,26)", 1000, 10, 1).expect("a good name");
        assert_eq!((set.shortest, set.longest), (20, 20));
        let mut letters: Vec<u8> = set.keys.iter().flatten().copied().collect();
        letters.sort_unstable();
        letters.dedup();
        assert!(letters.into_iter().eq(b'a'..=b'z'));
    }
}
