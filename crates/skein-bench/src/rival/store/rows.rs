//! The rows that every store gets.

use crate::keyset::{PackedKeys, SeededRandom, mix};
use crate::workload::value_of;

/// The bytes that values are cut from. They are random, so no store gains by compression.
const POOL: usize = 1 << 20;

/// The bytes of a value that is an integer.
pub const INTEGER_BYTES: usize = 4;

/// Rows by number. Keys are 8 random bytes or from a set; values can be checked.
#[derive(Debug)]
pub struct BenchRows {
    count: usize,
    value_bytes: usize,
    seed: u64,
    pool: Vec<u8>,
    /// The keys of a set; `None` for random keys of 8 bytes.
    keys: Option<PackedKeys>,
}

/// A row's key.
#[derive(Debug)]
pub enum BenchRowKey<'r> {
    /// Random bytes.
    Random([u8; 8]),
    /// A key of a set.
    OfSet(&'r [u8]),
}

impl std::ops::Deref for BenchRowKey<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Random(bytes) => bytes,
            Self::OfSet(bytes) => bytes,
        }
    }
}

impl BenchRows {
    /// Creates `count` rows from the seed. Values have `value_bytes`, which must be at least 8, or
    /// [`INTEGER_BYTES`] for integers in decimal digits.
    pub fn new(count: usize, value_bytes: usize, seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let pool = (0..POOL + value_bytes).map(|_| random.next() as u8).collect();
        Self { count, value_bytes, seed: random.next(), pool, keys: None }
    }

    /// Creates one row for each of these keys, in their order.
    pub fn of_keys(keys: PackedKeys, value_bytes: usize, seed: u64) -> Self {
        Self { count: keys.len(), keys: Some(keys), ..Self::new(0, value_bytes, seed) }
    }

    /// Returns the bytes of all keys and values.
    pub fn bytes(&self) -> u64 {
        let keys = self.keys.as_ref().map_or(self.count * size_of::<u64>(), PackedKeys::byte_len);
        (keys + self.count * self.value_bytes) as u64
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the key of the `n`-th row. Unless the keys are from a set, their order is random. No
    /// two keys are equal.
    pub fn key(&self, n: usize) -> BenchRowKey<'_> {
        match &self.keys {
            Some(keys) => BenchRowKey::OfSet(keys.get(n)),
            None => BenchRowKey::Random(mix(n as u64 ^ self.seed).to_be_bytes()),
        }
    }

    fn is_integers(&self) -> bool {
        self.value_bytes == INTEGER_BYTES
    }

    /// Returns the integer of the `n`-th row, in rows of integers: 1,000 to 8,999, so that a few
    /// increments keep its length.
    pub fn integer(n: usize) -> u64 {
        1000 + value_of(n) % 8000
    }

    fn filling(&self, n: usize) -> &[u8] {
        &self.pool[n * 64 % POOL..][..self.value_bytes - 8]
    }

    /// Returns the value of the `n`-th row.
    pub fn value(&self, n: usize) -> Vec<u8> {
        if self.is_integers() {
            return digits(Self::integer(n)).to_vec();
        }
        let mut value = Vec::with_capacity(self.value_bytes);
        value.extend_from_slice(&value_of(n).to_le_bytes());
        value.extend_from_slice(self.filling(n));
        value
    }

    /// Returns whether `value` is the value of the `n`-th row, to the last byte.
    pub fn is(&self, n: usize, value: &[u8]) -> bool {
        if self.is_integers() {
            return value == digits(Self::integer(n));
        }
        value.split_at_checked(8).is_some_and(|(number, filling)| {
            number == value_of(n).to_le_bytes() && filling == self.filling(n)
        })
    }

    /// Returns random row numbers.
    pub fn sample(&self, count: usize) -> Vec<usize> {
        let mut random = SeededRandom::new(self.seed);
        (0..count).map(|_| random.below(self.count)).collect()
    }
}

/// Returns the four decimal digits of a number below 10,000.
fn digits(number: u64) -> [u8; INTEGER_BYTES] {
    [1000, 100, 10, 1].map(|place| b'0' + (number / place % 10) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_rows_are_distinct() {
        let rows = BenchRows::new(100, 40, 1);
        for n in 0..100 {
            let value = rows.value(n);
            assert_eq!(value.len(), 40);
            assert!(rows.is(n, &value));
            assert!(!rows.is((n + 1) % 100, &value));
            assert!(!rows.is(n, &value[..39]));
        }
        assert!(!rows.is(1, b"short"));
    }

    #[test]
    fn integers_are_their_digits() {
        let rows = BenchRows::new(100, INTEGER_BYTES, 1);
        for n in 0..100 {
            assert_eq!(rows.value(n), BenchRows::integer(n).to_string().into_bytes());
            assert!(rows.is(n, &rows.value(n)) && !rows.is(n, b"999"));
        }
        assert_eq!(rows.bytes(), 1200);
    }

    #[test]
    fn rows_keep_the_order_of_a_key_set() {
        let mut keys = PackedKeys::default();
        keys.push(b"goose");
        keys.push(b"a longer key");
        let rows = BenchRows::of_keys(keys, INTEGER_BYTES, 1);
        assert_eq!((&*rows.key(0), &*rows.key(1), rows.len()), (&b"goose"[..], &b"a longer key"[..], 2));
        assert_eq!(rows.bytes(), 5 + 12 + 2 * 4);
        assert!(rows.sample(100).iter().all(|&n| n < 2) && rows.is(1, &rows.value(1)));
    }
}
