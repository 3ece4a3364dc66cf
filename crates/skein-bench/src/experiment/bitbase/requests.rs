//! The paper's requests (section 4.1): keys in the order of a generator, repeated ones included.
//!
//! ```text
//!   intkey(m)       rand() mod m, in decimal
//!   editstr(n,m)    the key before, with one of its n characters replaced by one of m
//!   randstr(n,m)    n characters, each one of m
//! ```
//!
//! The key sets of those names (`keyset/family/`) are the sources. Some sources return their keys
//! in random order without repeats. Here they are drawn with replacement: if n of m keys have been
//! drawn, the next request repeats a drawn key with probability n / m, each equally likely;
//! otherwise it takes a new key.

use std::collections::HashMap;

use crate::keyset::{self, PackedKeys, SeededRandom};
use crate::{Error, Result};

/// Requests for a key each, and the values that the keys must have at the end.
#[derive(Debug)]
pub struct KeyRequests {
    /// The generator's name.
    pub name: String,
    /// The key of each request.
    pub keys: PackedKeys,
    /// The number of different keys.
    pub distinct: usize,
    /// For each request, the last request with the same key.
    last: Vec<u32>,
}

/// The greatest number of requests, since their numbers have 32 bits.
const MOST: usize = u32::MAX as usize;

impl KeyRequests {
    /// Draws `count` requests from a generator.
    ///
    /// # Errors
    /// If there is no such generator, if a file has too few keys, or if `count` exceeds 2^32 - 1.
    pub fn new(name: &str, count: usize, seed: u64) -> Result<Self> {
        if count > MOST {
            return Err(Error::Input(format!("{count} requests are too many; the most is {MOST}")));
        }
        let keys = draw(name, count, seed)?;
        // Of requests with the same key, the last one remains.
        let newest: HashMap<&[u8], u32> = keys.iter().zip(0..).collect();
        let last = keys.iter().map(|key| newest[key]).collect();
        let distinct = newest.len();
        Ok(Self { name: name.to_owned(), keys, distinct, last })
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the value that a request sets: an integer of four decimal digits, without a leading
    /// zero.
    pub fn value(number: usize) -> [u8; 4] {
        [1000, 100, 10, 1].map(|place| b'0' + ((1000 + number % 9000) / place % 10) as u8)
    }

    /// Returns the value of a request's key after all requests.
    pub fn value_in_the_end(&self, number: usize) -> [u8; 4] {
        Self::value(self.last[number] as usize)
    }

    /// Returns the bytes of this many requests, and of the table that finds repeated keys.
    ///
    /// # Errors
    /// If there is no such generator.
    pub fn memory(name: &str, count: usize) -> Result<u64> {
        Ok(keyset::estimated_bytes(name, count)? + 64 * count as u64)
    }
}

/// Returns the keys of all requests.
fn draw(name: &str, count: usize, seed: u64) -> Result<PackedKeys> {
    let mut source = keyset::open(name, count as u64, seed)?;
    let space = if source.repeats() { None } else { source.space().map(|space| space as usize) };
    let (mut random, mut keys, mut fresh) =
        (SeededRandom::new(seed), PackedKeys::default(), Vec::<u32>::new());
    let mut key = Vec::new();
    for number in 0..count {
        key.clear();
        if space.is_some_and(|space| random.below(space) < fresh.len()) {
            key.extend_from_slice(keys.get(fresh[random.below(fresh.len())] as usize));
        } else if source.next(&mut key)? {
            fresh.extend(space.map(|_| number as u32));
        } else {
            return Err(Error::Input(format!(
                "{name} has {number} keys, but {count} were asked for; ask for fewer (--count)"
            )));
        }
        keys.push(&key);
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_space_is_drawn_from_with_replacement() {
        let requests = KeyRequests::new("intkey(1000)", 1000, 7).expect("a good name");
        // Of 1,000 draws out of 1,000 keys, 1 - 1/e are new: 632, with a standard deviation of 10.
        assert!((582..682).contains(&requests.distinct), "{}", requests.distinct);
        let mut different: Vec<_> = requests.keys.iter().collect();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), requests.distinct);
        let all = KeyRequests::new("intkey(3)", 1000, 7).expect("a good name");
        assert_eq!(all.distinct, 3);
        let often = all.keys.iter().filter(|key| *key == b"0").count();
        assert!((250..420).contains(&often), "{often}");
    }

    #[test]
    fn edits_keep_the_order_of_the_generator() {
        let requests = KeyRequests::new("editstr(16,26)", 500, 7).expect("a good name");
        let differ = |n: usize| {
            let (a, b) = (requests.keys.get(n - 1), requests.keys.get(n));
            a.iter().zip(b).filter(|(a, b)| a != b).count()
        };
        assert!((1..500).all(|n| differ(n) <= 1), "also where a key comes twice in a row");
        assert!(requests.distinct < 500);
    }

    #[test]
    fn the_last_request_of_a_key_decides_its_value() {
        let requests = KeyRequests::new("intkey(10)", 100, 7).expect("a good name");
        for number in 0..100 {
            let same = (0..100).filter(|&other| requests.keys.get(other) == requests.keys.get(number));
            assert_eq!(requests.value_in_the_end(number), KeyRequests::value(same.max().expect("itself")));
        }
        assert_eq!([0, 8_999, 12_345].map(KeyRequests::value), [*b"1000", *b"9999", *b"4345"]);
    }

    #[test]
    fn the_seed_decides_and_unknown_names_are_rejected() {
        let of = |seed| KeyRequests::new("randstr(3,4)", 100, seed).expect("a good name").keys;
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert!(KeyRequests::new("geese", 100, 1).is_err());
    }
}
