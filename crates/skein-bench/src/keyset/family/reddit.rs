//! A model of user names: a word that many names share, and a suffix that made the name unique.
//!
//! The number of first words grows with the number of keys, so that a word is as frequent in a
//! small set as in a large one.

use super::words::word;
use super::{KeyFamily, KeyRequest, KeySource, PaperFigures};
use crate::Result;
use crate::keyset::distribution::Zipf;
use crate::keyset::{SeededRandom, mix};

const ABOUT: &str = "a model of user names: a made-up word of Zipf popularity, then digits, a \
                     second word, both, or nothing, with '_' or '-' between them at times; 3 to 20 \
                     of letters, digits, '_' and '-'";

pub static REDDIT: KeyFamily =
    KeyFamily::new("reddit", ABOUT, |request| Ok(open(request))).papers(&[PaperFigures {
        source: "Cuckoo Trie, Table 1",
        keys: Some(71_000_000),
        mean_bytes: Some(10.9),
        unique_prefix_bits: Some(63.7),
    }]);

/// The mean number of names per first word.
const NAMES_PER_WORD: u64 = 10;

/// The exponent of first words.
const WORD_THETA: f64 = 0.7;

/// The number of second words.
const SECOND_WORDS: u64 = 20_000;

/// The lengths that the site allows.
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=20;

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    Box::new(UserNames {
        first: Zipf::new(request.one_in(NAMES_PER_WORD), WORD_THETA),
        second: Zipf::new(SECOND_WORDS, WORD_THETA),
        seed: request.seed_of(1),
        random: request.random(),
    })
}

struct UserNames {
    first: Zipf,
    second: Zipf,
    seed: u64,
    random: SeededRandom,
}

impl UserNames {
    fn name(&mut self, key: &mut Vec<u8>) {
        let rank = self.first.rank(&mut self.random);
        self.word(rank, 2, key);
        let kind = self.random.below(100);
        if (46..98).contains(&kind) {
            self.separator(key);
            let rank = self.second.rank(&mut self.random);
            self.word(rank, 1, key);
        }
        if kind < 64 {
            let digits = 2 + self.random.below(3) as u32;
            key.extend(self.random.below(10usize.pow(digits)).to_string().as_bytes());
        }
    }

    /// Writes a word of `syllables` syllables, or one more.
    fn word(&mut self, rank: u64, syllables: usize, key: &mut Vec<u8>) {
        let (bits, begin) = (mix(self.seed.wrapping_add(rank)), key.len());
        word(bits, syllables + usize::from(bits % 6 == 0), key);
        if self.random.below(3) == 0 {
            key[begin].make_ascii_uppercase();
        }
    }

    fn separator(&mut self, key: &mut Vec<u8>) {
        match self.random.below(10) {
            0 | 1 => key.push(b'_'),
            2 => key.push(b'-'),
            _ => (),
        }
    }
}

impl KeySource for UserNames {
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        loop {
            self.name(key);
            if LENGTHS.contains(&key.len()) {
                return Ok(true);
            }
            key.clear();
        }
    }
}
