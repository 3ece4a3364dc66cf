//! A hash table of the keys drawn so far. It holds key numbers; the keys are in [`PackedKeys`].

use std::hash::{DefaultHasher, Hasher};

use super::packed_keys::PackedKeys;

/// The number that no key has.
const EMPTY: u32 = u32::MAX;

/// Key numbers by hash; at most half of the slots are used.
pub struct SeenKeys {
    slots: Vec<u32>,
    used: usize,
}

impl SeenKeys {
    /// The bytes that it takes per key, on average over its growth.
    pub const BYTES_PER_KEY: u64 = 12;

    /// Returns a table for `keys` keys. It grows if there are more.
    pub fn new(keys: usize) -> Self {
        Self { slots: vec![EMPTY; (2 * keys).next_power_of_two().max(16)], used: 0 }
    }

    /// Returns whether the key is new. If so, records it under the next number, with which the
    /// caller must push it now.
    pub fn is_new(&mut self, key: &[u8], keys: &PackedKeys) -> bool {
        let Some(slot) = self.slot(key, keys) else { return false };
        self.slots[slot] = keys.len() as u32;
        self.used += 1;
        if 2 * self.used > self.slots.len() {
            self.grow(key, keys);
        }
        true
    }

    /// Returns the free slot for the key; `None` if the key is present.
    fn slot(&self, key: &[u8], keys: &PackedKeys) -> Option<usize> {
        let mut slot = self.home(key);
        loop {
            match self.slots[slot] {
                EMPTY => return Some(slot),
                number if keys.get(number as usize) == key => return None,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    fn home(&self, key: &[u8]) -> usize {
        let mut hasher = DefaultHasher::new();
        hasher.write(key);
        hasher.finish() as usize & (self.slots.len() - 1)
    }

    /// Doubles the table. `last` is the key that was just recorded and is not in `keys` yet.
    fn grow(&mut self, last: &[u8], keys: &PackedKeys) {
        let double = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(double, EMPTY);
        for (number, key) in keys.iter().chain([last]).enumerate() {
            // All keys differ, so the first free slot is correct.
            let mut slot = self.home(key);
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & (double - 1);
            }
            self.slots[slot] = number as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_table_detects_duplicates() {
        let (mut seen, mut keys) = (SeenKeys::new(0), PackedKeys::default());
        for round in 0..2 {
            for n in 0..1000u32 {
                let key = n.to_be_bytes();
                let new = seen.is_new(&key, &keys);
                assert_eq!(new, round == 0, "{n}");
                if new {
                    keys.push(&key);
                }
            }
        }
        assert_eq!(keys.len(), 1000);
    }
}
