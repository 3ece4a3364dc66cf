//! A model of places on a map: 64-bit cell ids, crowded in towns.
//!
//! A cell id alternates the bits of both coordinates, so near places share a prefix. The number of
//! towns grows with the number of keys while their density stays the same. So prefixes are as long
//! in a small set as in a large one.

use super::{KeyFamily, KeyRequest, KeySource, PaperFigures};
use crate::Result;
use crate::keyset::distribution::Zipf;
use crate::keyset::{SeededRandom, mix};

const ABOUT: &str = "a model of places: 8 bytes, a cell id whose bits are the two coordinates' in \
                     turn; places lie around the centres of towns of Zipf size";

pub static OSM: KeyFamily =
    KeyFamily::new("osm", ABOUT, |request| Ok(open(request))).papers(&[PaperFigures {
        source: "Cuckoo Trie, Table 1",
        keys: Some(200_000_000),
        mean_bytes: Some(8.0),
        unique_prefix_bits: Some(36.8),
    }]);

/// The mean number of places per town.
const PLACES_PER_TOWN: u64 = 160;

/// The exponent of town sizes.
const TOWN_THETA: f64 = 0.7;

/// The side of a town, in bits of each coordinate; fitted to the unique prefixes.
const TOWN_BITS: u32 = 19;

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    Box::new(MapPlaces {
        towns: Zipf::new(request.one_in(PLACES_PER_TOWN), TOWN_THETA),
        seed: request.seed_of(1),
        random: request.random(),
    })
}

struct MapPlaces {
    towns: Zipf,
    seed: u64,
    random: SeededRandom,
}

impl MapPlaces {
    /// Returns a coordinate near `centre`: the sum of three uniform steps, which is denser in the
    /// middle.
    fn near(&mut self, centre: u32) -> u32 {
        let third = (1 << TOWN_BITS) / 3;
        (0..3).fold(centre, |at, _| at.wrapping_add(self.random.below(third) as u32))
    }
}

impl KeySource for MapPlaces {
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        let rank = self.towns.rank(&mut self.random);
        let centre = mix(self.seed.wrapping_add(rank));
        let (x, y) = (self.near(centre as u32), self.near((centre >> 32) as u32));
        key.extend((spread(x) << 1 | spread(y)).to_be_bytes());
        Ok(true)
    }
}

/// Inserts a 0 before each bit.
fn spread(coordinate: u32) -> u64 {
    let mut bits = u64::from(coordinate);
    for (shift, mask) in [
        (16, 0x0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_both_coordinates_alternate() {
        assert_eq!(spread(u32::MAX), 0x5555_5555_5555_5555);
        assert_eq!(spread(0b1011), 0b100_0101);
        assert_eq!(spread(1 << 31), 1 << 62);
    }
}
