//! Key sets and queries: the same for all contenders, in the same order.

use std::path::Path;

/// A small generator of pseudo-random numbers (`SplitMix64`): the seed decides everything.
pub struct Random(u64);

impl Random {
    /// A generator for this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Puts the items in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Byte strings one after the other, so that reading them in order costs little.
#[derive(Default)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The `n`-th key.
    #[inline(always)]
    pub fn get(&self, n: usize) -> &[u8] {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.bytes[start..self.ends[n]]
    }
}

/// The value that belongs to the `n`-th key: below 2^63, and never 0.
#[inline(always)]
pub fn value_of(n: usize) -> u64 {
    (mix(n as u64) >> 1) | 1
}

/// Keys in insertion order, and what is asked about them.
pub struct KeySet {
    /// How the set was asked for.
    pub name: String,
    /// The keys, in random order, no two alike. The value of the `n`-th is [`value_of`]`(n)`.
    pub keys: Keys,
    /// The keys to look up, a random sample of `keys`.
    pub queries: Keys,
    /// What each query must find.
    pub answers: Vec<u64>,
    /// For each query, the sum of the values of the first 100 keys from it on, and how many there are.
    pub scans: Vec<(u64, u32)>,
    /// Keys that were left out because they were longer than all contenders take.
    pub too_long: usize,
}

/// How many keys a scan reads.
pub const SCAN: usize = 100;

impl KeySet {
    /// `rand-8` or `file:PATH`, cut to `count` keys of at most `longest` bytes, with `queries` lookups.
    pub fn make(name: &str, count: usize, queries: usize, longest: usize) -> Result<Self, String> {
        let mut too_long = 0;
        let keys = if name == "rand-8" {
            rand_8(count)
        } else if let Some(path) = name.strip_prefix("file:") {
            from_file(Path::new(path), count, longest, &mut too_long)?
        } else {
            return Err(format!("there is no key set '{name}'; there are rand-8 and file:PATH"));
        };
        if keys.len() == 0 {
            return Err(format!(
                "the key set {name} is empty; ask for --count 1 or more, or for another file"
            ));
        }
        let mut set = Self {
            name: name.to_owned(),
            keys,
            queries: Keys::default(),
            answers: Vec::new(),
            scans: Vec::new(),
            too_long,
        };
        set.ask(queries);
        Ok(set)
    }

    fn ask(&mut self, queries: usize) {
        let order = self.sorted();
        let mut rank = vec![0u32; order.len()];
        let mut sums = vec![0u64; order.len() + 1];
        for (place, &n) in order.iter().enumerate() {
            rank[n as usize] = place as u32;
            sums[place + 1] = sums[place].wrapping_add(value_of(n as usize));
        }
        let mut random = Random::new(42);
        for _ in 0..queries {
            let n = random.below(self.keys.len());
            self.queries.push(self.keys.get(n));
            self.answers.push(value_of(n));
            let from = rank[n] as usize;
            let to = (from + SCAN).min(order.len());
            self.scans.push((sums[to].wrapping_sub(sums[from]), (to - from) as u32));
        }
    }

    /// The keys' numbers in the keys' order.
    fn sorted(&self) -> Vec<u32> {
        let mut order: Vec<(u64, u32)> =
            (0..self.keys.len()).map(|n| (head(self.keys.get(n)), n as u32)).collect();
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| self.keys.get(a.1 as usize).cmp(self.keys.get(b.1 as usize)))
        });
        order.into_iter().map(|(_, n)| n).collect()
    }
}

/// The first 8 bytes as a number that sorts as they do.
fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

/// The `n`-th random number: a permutation of all, so that none comes twice.
pub fn random_word(n: u64) -> u64 {
    mix(n ^ 0x5EED)
}

/// `count` different random keys of 8 bytes.
fn rand_8(count: usize) -> Keys {
    let mut keys = Keys::default();
    for n in 0..count {
        keys.push(&random_word(n as u64).to_be_bytes());
    }
    keys
}

/// The lines of a file, without duplicates, in an order that is random but always the same.
fn from_file(path: &Path, count: usize, longest: usize, too_long: &mut usize) -> Result<Keys, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines.dedup();
    let all = lines.len();
    lines.retain(|line| line.len() <= longest);
    *too_long = all - lines.len();
    Random::new(1).shuffle(&mut lines);
    let mut keys = Keys::default();
    lines.iter().take(count).for_each(|line| keys.push(line));
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_keys_differ_and_answers_match() {
        let set = KeySet::make("rand-8", 5000, 300, usize::MAX).expect("a good name");
        let mut map = std::collections::BTreeMap::new();
        for n in 0..set.keys.len() {
            assert_eq!(map.insert(set.keys.get(n), value_of(n)), None);
        }
        for n in 0..300 {
            let key = set.queries.get(n);
            assert_eq!(map.get(key), Some(&set.answers[n]));
            let scanned: Vec<u64> = map.range(key..).take(SCAN).map(|(_, &value)| value).collect();
            let sum = scanned.iter().fold(0u64, |sum, &value| sum.wrapping_add(value));
            assert_eq!((sum, scanned.len() as u32), set.scans[n]);
        }
    }

    #[test]
    fn files_lose_duplicates_and_long_lines() {
        let path = std::env::temp_dir().join(format!("skein-bench-keys-{}", std::process::id()));
        std::fs::write(&path, "b\na\n\nb\nlonglong\n").expect("the temporary folder takes files");
        let set = KeySet::make(&format!("file:{}", path.display()), 10, 4, 5).expect("readable");
        std::fs::remove_file(&path).expect("just written");
        assert_eq!((set.keys.len(), set.too_long), (2, 1));
    }

    #[test]
    fn bad_names_are_refused() {
        assert!(KeySet::make("rand-9", 1, 1, 9).is_err());
        assert!(KeySet::make("file:/no/such/file", 1, 1, 9).is_err());
        assert!(KeySet::make("rand-8", 0, 1, 9).is_err());
    }
}
