//! Sorts key numbers, comparing eight bytes of the keys at a time.
//!
//! Each round sorts one range by the eight bytes after the prefix that all its keys share. Keys
//! that are still equal form a range of a later round. So most comparisons are between adjacent
//! words, even if all keys begin alike.

use std::ops::Range;

use super::packed_keys::PackedKeys;
use crate::workload::run::head;

/// Ranges of at most this many keys are sorted by comparing whole keys.
const FEW: usize = 16;

/// Eight bytes of a key in this round, the number of those that the key has (9: more than eight),
/// and the key's number.
type KeySortEntry = (u64, u8, u32);

/// Returns the key numbers, in key order. REQUIRES: no two keys are equal, and there are at most
/// 2^32.
pub fn sorted(keys: &PackedKeys) -> Vec<u32> {
    let mut places: Vec<KeySortEntry> = (0..keys.len()).map(|number| (0, 9, number as u32)).collect();
    let mut ranges = vec![(0..places.len(), 0)];
    while let Some((range, depth)) = ranges.pop() {
        let first = range.start;
        let part = &mut places[range];
        if part.len() <= FEW {
            part.sort_unstable_by(|a, b| rest(keys, *a, depth).cmp(rest(keys, *b, depth)));
            continue;
        }
        let depth = depth + shared(keys, part, depth);
        for place in &mut *part {
            let rest = rest(keys, *place, depth);
            (place.0, place.1) = (head(rest), rest.len().min(9) as u8);
        }
        part.sort_unstable();
        equal_runs(part, |run| ranges.push((first + run.start..first + run.end, depth + 8)));
    }
    places.into_iter().map(|(_, _, number)| number).collect()
}

/// Returns the bytes after the first `depth`.
fn rest(keys: &PackedKeys, place: KeySortEntry, depth: usize) -> &[u8] {
    keys.get(place.2 as usize).get(depth..).unwrap_or_default()
}

/// Returns the number of bytes after `depth` that all of these keys share.
fn shared(keys: &PackedKeys, part: &[KeySortEntry], depth: usize) -> usize {
    let first = rest(keys, part[0], depth);
    part.iter().fold(first.len(), |shared, &place| common(&first[..shared], rest(keys, place, depth)))
}

/// Calls `run` with each range of keys that this round found equal.
fn equal_runs(part: &[KeySortEntry], mut run: impl FnMut(Range<usize>)) {
    let mut start = 0;
    for same in part.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        if same.len() > 1 {
            run(start..start + same.len());
        }
        start += same.len();
    }
}

/// Returns the length of the common prefix of two byte strings.
pub fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyset::SeededRandom;

    fn check(strings: Vec<Vec<u8>>) {
        let mut expected = strings;
        expected.sort();
        expected.dedup();
        let mut mixed: Vec<&Vec<u8>> = expected.iter().collect();
        SeededRandom::new(9).shuffle(&mut mixed);
        let keys: PackedKeys = mixed.into_iter().map(Vec::as_slice).collect();
        let order: Vec<&[u8]> = sorted(&keys).into_iter().map(|number| keys.get(number as usize)).collect();
        assert_eq!(order, expected.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }

    #[test]
    fn keys_are_sorted_by_their_bytes() {
        let mut random = SeededRandom::new(4);
        for (longest, letters) in [(3, 256), (12, 2), (40, 2), (40, 256), (9, 1)] {
            let mut string = || {
                let len = random.below(longest + 1);
                (0..len).map(|_| random.below(letters) as u8).collect::<Vec<u8>>()
            };
            check((0..3000).map(|_| string()).collect());
        }
    }

    #[test]
    fn zeros_at_the_end_and_long_common_parts() {
        let zeros = (0..100).map(|len| vec![0; len]);
        let alike = (0..3000u32).map(|n| [&[b'x'; 50][..], &n.to_be_bytes(), &[b'y'; 20]].concat());
        check(zeros.chain(alike).collect());
        check(Vec::new());
    }
}
