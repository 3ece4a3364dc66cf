//! A list of byte strings in two allocations.

use std::io::{self, Read, Write};

/// Byte strings in sequence, so that reading them in order is cheap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackedKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl PackedKeys {
    /// Returns an empty list, with room for `keys` keys of `bytes` bytes in total.
    pub fn with_capacity(keys: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(keys) }
    }

    /// Adds a key.
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the `n`-th key. REQUIRES: `n` is below [`len`](Self::len).
    #[inline(always)]
    pub fn get(&self, n: usize) -> &[u8] {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.bytes[start..self.ends[n]]
    }

    /// Returns the keys in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|n| self.get(n))
    }

    /// Removes and returns the keys from the `n`-th on. REQUIRES: `n` is at most
    /// [`len`](Self::len).
    #[must_use]
    pub fn split_off(&mut self, n: usize) -> Self {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        let ends = self.ends.split_off(n).into_iter().map(|end| end - start).collect();
        Self { bytes: self.bytes.split_off(start), ends }
    }

    /// Returns copies of the keys with these numbers, in this order.
    #[must_use]
    pub fn pick(&self, numbers: &[u32]) -> Self {
        let picked = || numbers.iter().map(|&number| self.get(number as usize));
        let mut keys = Self::with_capacity(numbers.len(), picked().map(<[u8]>::len).sum());
        picked().for_each(|key| keys.push(key));
        keys
    }

    /// Writes the keys for [`read_from`](Self::read_from): their number, their bytes, the end of
    /// each, and the bytes.
    ///
    /// # Errors
    /// If a write to `out` fails.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        for number in [self.len(), self.byte_len()].iter().chain(&self.ends) {
            out.write_all(&(*number as u64).to_le_bytes())?;
        }
        out.write_all(&self.bytes)
    }

    /// Reads the keys that [`write_to`](Self::write_to) wrote, into allocations of exactly their
    /// size.
    ///
    /// # Errors
    /// If the input ends early, or is in another format.
    pub fn read_from(from: &mut impl Read) -> io::Result<Self> {
        let mut number = || -> io::Result<usize> {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes)?;
            Ok(u64::from_le_bytes(bytes) as usize)
        };
        let bad = || {
            io::Error::new(io::ErrorKind::InvalidData, "the data is not a key list as the bench writes it")
        };
        let (count, length) = (number()?, number()?);
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        ends.try_reserve_exact(count)?;
        bytes.try_reserve_exact(length)?;
        for _ in 0..count {
            ends.push(number()?);
        }
        if !ends.is_sorted() || ends.last().copied().unwrap_or(0) != length {
            return Err(bad());
        }
        bytes.resize(length, 0);
        from.read_exact(&mut bytes)?;
        Ok(Self { bytes, ends })
    }

    /// Returns the sum of the lengths.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }
}

impl<'k> FromIterator<&'k [u8]> for PackedKeys {
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
            let mut first: PackedKeys = all.into_iter().collect();
            let rest = first.split_off(at);
            assert_eq!((first.len(), first.byte_len() + rest.byte_len()), (at, 9));
            assert!(first.iter().chain(rest.iter()).eq(all));
        }
    }

    #[test]
    fn written_data_is_read_back() {
        for all in [vec![], vec![&b"one"[..], b"", b"three"]] {
            let keys: PackedKeys = all.into_iter().collect();
            let mut written = Vec::new();
            keys.write_to(&mut written).expect("memory takes it");
            assert_eq!(PackedKeys::read_from(&mut &written[..]).expect("as written"), keys);
            for end in 0..written.len() {
                assert!(
                    PackedKeys::read_from(&mut &written[..end]).is_err(),
                    "{end} bytes of {}",
                    written.len()
                );
            }
        }
    }

    #[test]
    fn malformed_input_is_rejected() {
        let of = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
        for numbers in [&[u64::MAX, 0][..], &[1, u64::MAX, 4], &[2, 8, 9, 8, 0], &[1, 8, 7, 0], &[0, 8, 0]] {
            assert!(PackedKeys::read_from(&mut &of(numbers)[..]).is_err(), "{numbers:?}");
        }
    }
}
