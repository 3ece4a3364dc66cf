//! The rows that every store is given.

use crate::keyset::{Random, mix};
use crate::workload::value_of;

/// Bytes that values are cut from: random, so that no store gains by compressing them.
const POOL: usize = 1 << 20;

/// Rows by number: keys of 8 random bytes, values that can be checked.
#[derive(Debug)]
pub struct Rows {
    count: usize,
    value_bytes: usize,
    seed: u64,
    pool: Vec<u8>,
}

impl Rows {
    /// `count` rows with values of `value_bytes`, which are 8 or more; the seed decides them all.
    pub fn new(count: usize, value_bytes: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let pool = (0..POOL + value_bytes).map(|_| random.next() as u8).collect();
        Self { count, value_bytes, seed: random.next(), pool }
    }

    /// The bytes of all keys and values.
    pub fn bytes(&self) -> u64 {
        (self.count * (size_of::<u64>() + self.value_bytes)) as u64
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The key of the `n`-th row. Keys come in random order, and no two are alike.
    pub fn key(&self, n: usize) -> [u8; 8] {
        mix(n as u64 ^ self.seed).to_be_bytes()
    }

    fn filling(&self, n: usize) -> &[u8] {
        &self.pool[n * 64 % POOL..][..self.value_bytes - 8]
    }

    /// The value of the `n`-th row.
    pub fn value(&self, n: usize) -> Vec<u8> {
        let mut value = Vec::with_capacity(self.value_bytes);
        value.extend_from_slice(&value_of(n).to_le_bytes());
        value.extend_from_slice(self.filling(n));
        value
    }

    /// Whether this is the value of the `n`-th row, to the last byte.
    pub fn is(&self, n: usize, value: &[u8]) -> bool {
        value.split_at_checked(8).is_some_and(|(number, filling)| {
            number == value_of(n).to_le_bytes() && filling == self.filling(n)
        })
    }

    /// Random numbers of rows.
    pub fn sample(&self, count: usize) -> Vec<usize> {
        let mut random = Random::new(self.seed);
        (0..count).map(|_| random.below(self.count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_apart() {
        let rows = Rows::new(100, 40, 1);
        for n in 0..100 {
            let value = rows.value(n);
            assert_eq!(value.len(), 40);
            assert!(rows.is(n, &value));
            assert!(!rows.is((n + 1) % 100, &value));
            assert!(!rows.is(n, &value[..39]));
        }
        assert!(!rows.is(1, b"short"));
    }
}
