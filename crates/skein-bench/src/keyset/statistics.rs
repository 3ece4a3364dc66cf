//! Statistics of a key set: the figures that the papers give of theirs, measured on ours.

use super::packed_keys::PackedKeys;
use super::sort::{common, sorted};

/// Statistics of a key set.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyStatistics {
    /// The number of keys.
    pub keys: usize,
    /// The mean length in bytes.
    pub mean_bytes: f64,
    /// The length of the shortest key.
    pub shortest: usize,
    /// The length of the longest key.
    pub longest: usize,
    /// The mean length in bits, over all keys, of the shortest prefix that no other key has (the
    /// Cuckoo Trie's section 4). If a key is a prefix of another, all its bits count.
    pub unique_prefix_bits: f64,
    /// The mean length in bytes, over all pairs of neighbours in order, of their common prefix.
    pub shared_bytes: f64,
}

impl KeyStatistics {
    /// Measures these keys; no two may be equal. All means are NaN if there are no keys.
    pub fn of(keys: &PackedKeys) -> Self {
        let order = sorted(keys);
        let (mut unique, mut shared) = (0, 0);
        // The bits that the key shares with the one before it.
        let mut before = None;
        for (place, &number) in order.iter().enumerate() {
            let key = keys.get(number as usize);
            let next = order.get(place + 1).map(|&number| keys.get(number as usize));
            let after = next.map(|next| common_bits(key, next));
            shared += after.map_or(0, |bits| bits / 8);
            unique += before.max(after).map_or(0, |bits| (bits + 1).min(8 * key.len()));
            before = after;
        }
        let lengths = || keys.iter().map(<[u8]>::len);
        Self {
            keys: keys.len(),
            mean_bytes: keys.byte_len() as f64 / keys.len() as f64,
            shortest: lengths().min().unwrap_or(0),
            longest: lengths().max().unwrap_or(0),
            unique_prefix_bits: unique as f64 / keys.len() as f64,
            shared_bytes: shared as f64 / keys.len().saturating_sub(1) as f64,
        }
    }
}

impl KeyStatistics {
    /// Returns the expected `unique_prefix_bits` of random keys: the mean depth of a leaf in a
    /// binary trie of random strings, log2(n) + gamma / ln(2) + 1/2.
    pub fn random_bits(keys: usize) -> f64 {
        const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
        (keys as f64).log2() + EULER_GAMMA / std::f64::consts::LN_2 + 0.5
    }
}

/// Returns the length in bits of the common prefix of two byte strings.
fn common_bits(a: &[u8], b: &[u8]) -> usize {
    let bytes = common(a, b);
    match (a.get(bytes), b.get(bytes)) {
        (Some(a), Some(b)) => 8 * bytes + (a ^ b).leading_zeros() as usize,
        _ => 8 * bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(strings: &[&str]) -> KeyStatistics {
        KeyStatistics::of(&strings.iter().map(|key| key.as_bytes()).collect())
    }

    #[test]
    fn a_few_keys_by_hand() {
        // 'a' 01100001, 'b' 01100010, 'q' 01110001: a and b differ in their 7th bit, q from both in
        // its 4th.
        let figures = of(&["q", "a", "b"]);
        assert!((figures.unique_prefix_bits - f64::from(7 + 7 + 4) / 3.0).abs() < 1e-9, "{figures:?}");
        assert!(figures.shared_bytes.abs() < 1e-9);

        // "ab" is a prefix of "abc", so all its bits count; "abc" is unique from the bit after
        // them.
        let figures = of(&["abc", "ab"]);
        assert!((figures.unique_prefix_bits - f64::from(16 + 17) / 2.0).abs() < 1e-9, "{figures:?}");
        assert_eq!((figures.shortest, figures.longest), (2, 3));
        assert!((figures.mean_bytes - 2.5).abs() < 1e-9);
        assert!((figures.shared_bytes - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_formula_for_random_bytes_is_the_papers_figure() {
        assert!((KeyStatistics::random_bits(200_000_000) - 28.9).abs() < 0.05);
    }

    #[test]
    fn one_key_needs_no_bits() {
        assert!(of(&["alone"]).unique_prefix_bits.abs() < 1e-9);
    }
}
