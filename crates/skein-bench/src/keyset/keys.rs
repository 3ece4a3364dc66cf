//! Many byte strings in two allocations.

/// Byte strings one after the other, so that reading them in order costs little.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    /// None yet, with room for so many and for the bytes of all.
    pub fn with_capacity(keys: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(keys) }
    }

    /// Adds a key.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The `n`-th key. REQUIRES: `n` is below [`len`](Self::len).
    #[inline(always)]
    pub fn get(&self, n: usize) -> &[u8] {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.bytes[start..self.ends[n]]
    }

    /// The keys in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|n| self.get(n))
    }

    /// Takes out the keys from the `n`-th on. REQUIRES: `n` is at most [`len`](Self::len).
    #[must_use]
    pub fn split_off(&mut self, n: usize) -> Self {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        let ends = self.ends.split_off(n).into_iter().map(|end| end - start).collect();
        Self { bytes: self.bytes.split_off(start), ends }
    }

    /// Copies of those with these numbers, in this order.
    #[must_use]
    pub fn pick(&self, numbers: &[u32]) -> Self {
        let picked = || numbers.iter().map(|&number| self.get(number as usize));
        let mut keys = Self::with_capacity(numbers.len(), picked().map(<[u8]>::len).sum());
        picked().for_each(|key| keys.push(key));
        keys
    }

    /// The sum of their lengths.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }
}

impl<'k> FromIterator<&'k [u8]> for Keys {
    fn from_iter<I: IntoIterator<Item = &'k [u8]>>(keys: I) -> Self {
        let mut all = Self::default();
        keys.into_iter().for_each(|key| all.push(key));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_anywhere_keeps_every_key() {
        let all: [&[u8]; 4] = [b"one", b"", b"three", b"4"];
        for at in 0..=all.len() {
            let mut first: Keys = all.into_iter().collect();
            let rest = first.split_off(at);
            assert_eq!((first.len(), first.byte_len() + rest.byte_len()), (at, 9));
            assert!(first.iter().chain(rest.iter()).eq(all));
        }
    }
}
