//! Sets of keys for which the indexes' structures are delicate. Each set is small, so that threads
//! use the same keys.

/// A set of keys, in order.
pub type HistoryKeySet = Vec<Vec<u8>>;

/// Returns sets of keys of up to `longest` bytes. Keys that differ in trailing zeros only are
/// included if `zero_tails` is set.
pub fn sets(longest: usize, zero_tails: bool) -> Vec<HistoryKeySet> {
    let words = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect();
    let mut sets: Vec<HistoryKeySet> = vec![
        words(&["a", "b", "c", "d"]),
        words(&[
            "p",
            "prefix-",
            "prefix-o",
            "prefix-one",
            "prefix-one-and-more-of-it",
            "prefix-t",
            "prefix-three",
            "prefix-two",
        ]),
        numbers(24, 0x9e37_79b9_7f4a_7c15),
        numbers(40, 3),
        // Nested layers of a trie.
        (0..12)
            .map(|number: u8| [vec![b'x'; usize::from(number % 4 * 9 + number / 4)], vec![number]].concat())
            .collect(),
        (1..14).map(|count| vec![b'a'; 7 * count]).collect(),
        // The greatest keys.
        (0..10).map(|count| vec![0xff; count]).chain((0..6).map(|last| vec![0xff, 0xff, last])).collect(),
    ];
    if zero_tails {
        let after_one = (0..6).map(|zeros| [vec![1], vec![0; zeros]].concat());
        sets.push((0..18).map(|zeros| vec![0; zeros]).chain(after_one).collect());
    }
    for set in &mut sets {
        set.retain(|key| key.len() <= longest);
        set.sort_unstable();
        set.dedup();
    }
    sets.retain(|set| set.len() > 1);
    sets
}

fn numbers(count: u64, factor: u64) -> HistoryKeySet {
    (0..count).map(|number| number.wrapping_mul(factor).to_be_bytes().to_vec()).collect()
}
