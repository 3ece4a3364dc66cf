//! Keys of random bytes: the Cuckoo Trie's `rand-8` and `rand-16`, and Wormhole's `K3` to `K10` and
//! `Kshort`.

use super::numbered::numbered;
use super::{FamilyParameter, KeyFamily, KeyRequest, KeySource, NameSuffix, PaperFigures};
use crate::Result;
use crate::keyset::SeededRandom;

const CUCKOO: &str = "Cuckoo Trie, Table 1";
const WORMHOLE: &str = "Wormhole, Table 1";

const fn figures(source: &'static str, millions: u64, bytes: f64, bits: Option<f64>) -> PaperFigures {
    PaperFigures {
        source,
        keys: Some(millions * 1_000_000),
        mean_bytes: Some(bytes),
        unique_prefix_bits: bits,
    }
}

pub static RAND_8: KeyFamily =
    KeyFamily::new("rand-8", "8 random bytes", |request| Ok(random_bytes(request, 8))).papers(&[figures(
        CUCKOO,
        200,
        8.0,
        Some(28.9),
    )]);

pub static RAND_16: KeyFamily =
    KeyFamily::new("rand-16", "16 random bytes", |request| Ok(random_bytes(request, 16))).papers(&[figures(
        CUCKOO,
        200,
        16.0,
        Some(28.9),
    )]);

pub static K3: KeyFamily =
    KeyFamily::new("K3", "8 random bytes, as rand-8", |request| Ok(random_bytes(request, 8)))
        .papers(&[figures(WORMHOLE, 500, 8.0, None)]);

pub static K4: KeyFamily =
    KeyFamily::new("K4", "16 random bytes, as rand-16", |request| Ok(random_bytes(request, 16)))
        .papers(&[figures(WORMHOLE, 300, 16.0, None)]);

pub static K6: KeyFamily = KeyFamily::new("K6", "64 random bytes", |request| Ok(random_bytes(request, 64)))
    .papers(&[figures(WORMHOLE, 120, 64.0, None)]);

pub static K8: KeyFamily = KeyFamily::new("K8", "256 random bytes", |request| Ok(random_bytes(request, 256)))
    .papers(&[figures(WORMHOLE, 40, 256.0, None)]);

pub static K10: KeyFamily =
    KeyFamily::new("K10", "1024 random bytes", |request| Ok(random_bytes(request, 1024)))
        .papers(&[figures(WORMHOLE, 10, 1024.0, None)]);

/// The lengths of the keys in `Kshort` and `Klong`. Their last 4 bytes are always random.
pub const LENGTHS: &[FamilyParameter] = &[FamilyParameter { name: "L", least: 4, most: 65_535 }];

pub static K_SHORT: KeyFamily =
    KeyFamily::new("Kshort", "L random bytes, so that short prefixes tell keys apart", |request| {
        Ok(k_short(request))
    })
    .taking(NameSuffix::Numbers(LENGTHS), "Kshort(64)")
    .papers(&[PaperFigures::count("Wormhole, section 4.2 (L is 8 to 512)", 10_000_000)]);

fn k_short(request: &KeyRequest) -> Box<dyn KeySource> {
    let bytes = request.numbers[0] as usize;
    if bytes < 8 {
        let write = move |number: u64, key: &mut Vec<u8>| key.extend(&number.to_be_bytes()[8 - bytes..]);
        numbered(request, 1 << (8 * bytes), write)
    } else {
        random_bytes(request, bytes)
    }
}

fn random_bytes(request: &KeyRequest, bytes: usize) -> Box<dyn KeySource> {
    let source = RandomBytes { first: request.random(), rest: SeededRandom::new(request.seed_of(1)), bytes };
    Box::new(source)
}

/// Keys of 8 bytes or more. The first 8 bytes never repeat, because the generator visits all
/// numbers before one repeats.
struct RandomBytes {
    first: SeededRandom,
    rest: SeededRandom,
    bytes: usize,
}

impl KeySource for RandomBytes {
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        key.extend(self.first.next().to_be_bytes());
        while key.len() < self.bytes {
            let word = self.rest.next().to_be_bytes();
            key.extend(&word[..word.len().min(self.bytes - key.len())]);
        }
        Ok(true)
    }

    fn repeats(&self) -> bool {
        false
    }
}
