//! The rows that every store is given.

use crate::keyset::{Random, value_of};

/// Bytes that values are cut from: random, so that no store gains by compressing them.
const POOL: usize = 1 << 20;

/// Rows by number: keys of 8 random bytes, values that can be checked.
pub struct Rows {
    count: usize,
    value_bytes: usize,
    pool: Vec<u8>,
}

impl Rows {
    /// `count` rows with values of `value_bytes`.
    pub fn new(count: usize, value_bytes: usize) -> Self {
        let mut random = Random::new(3);
        let pool = (0..POOL + value_bytes).map(|_| random.next() as u8).collect();
        Self { count, value_bytes, pool }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The key of the `n`-th row. Keys come in random order, and no two are alike.
    pub fn key(n: usize) -> [u8; 8] {
        crate::keyset::random_word(n as u64).to_be_bytes()
    }

    fn filling(&self, n: usize) -> &[u8] {
        &self.pool[n * 64 % POOL..][..self.value_bytes - 8]
    }

    /// Appends the value of the `n`-th row.
    pub fn push_value(&self, n: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&value_of(n).to_le_bytes());
        out.extend_from_slice(self.filling(n));
    }

    /// The value of the `n`-th row.
    pub fn value(&self, n: usize) -> Vec<u8> {
        let mut value = Vec::with_capacity(self.value_bytes);
        self.push_value(n, &mut value);
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
        let mut random = Random::new(5);
        (0..count).map(|_| random.below(self.count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_apart() {
        let rows = Rows::new(100, 40);
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
