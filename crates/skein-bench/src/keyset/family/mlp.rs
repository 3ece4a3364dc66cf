//! `MlpIndex`'s two distributions of 8-byte keys: one makes tries with wide nodes, the other with
//! narrow ones.

use super::numbered::numbered;
use super::{KeyFamily, KeyRequest, KeySource, PaperFigures};
use crate::keyset::SeededRandom;

const FEW: u64 = 6;
const MANY: u64 = 100;

const PAPER: &[PaperFigures] = &[PaperFigures {
    source: "MlpIndex, section 4.4",
    keys: Some(80_000_000),
    mean_bytes: Some(8.0),
    unique_prefix_bits: None,
}];

pub static A: KeyFamily = KeyFamily::new(
    "mlp-a",
    "8 bytes: each of the first 6 is one of 6 values, each of the last 2 one of 100; each byte has \
     random values of its own",
    |request| Ok(open(request, [FEW, FEW, FEW, FEW, FEW, FEW, MANY, MANY])),
)
.papers(PAPER);

pub static B: KeyFamily = KeyFamily::new(
    "mlp-b",
    "8 bytes: each of the first 2 is one of 100 values, each of the last 6 one of 6; each byte has \
     random values of its own",
    |request| Ok(open(request, [MANY, MANY, FEW, FEW, FEW, FEW, FEW, FEW])),
)
.papers(PAPER);

fn open(request: &KeyRequest, sizes: [u64; 8]) -> Box<dyn KeySource> {
    let mut random = SeededRandom::new(request.seed_of(1));
    let values = sizes.map(|size| candidates(&mut random, size as usize));
    numbered(request, sizes.iter().product(), move |mut number, key| {
        for (values, size) in values.iter().zip(sizes) {
            key.push(values[(number % size) as usize]);
            number /= size;
        }
    })
}

/// Returns `size` different bytes.
fn candidates(random: &mut SeededRandom, size: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=u8::MAX).collect();
    random.shuffle(&mut bytes);
    bytes.truncate(size);
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::keyset::make;

    #[test]
    fn each_byte_has_its_own_few_or_many_values() {
        for (name, sizes) in
            [("mlp-a", [6, 6, 6, 6, 6, 6, 100, 100]), ("mlp-b", [100, 100, 6, 6, 6, 6, 6, 6])]
        {
            let set = make(name, 20_000, 0, 1).expect("a good name");
            let values = |at: usize| set.keys.iter().map(|key| key[at]).collect::<BTreeSet<u8>>();
            let all: Vec<_> = (0..8).map(values).collect();
            assert_eq!(all.iter().map(BTreeSet::len).collect::<Vec<_>>(), sizes, "{name}");
            let narrow: BTreeSet<_> = all.iter().filter(|values| values.len() == 6).collect();
            assert!(narrow.len() > 1, "{name}: the positions share their values");
        }
    }
}
