//! The hashes of all prefixes of one key.
//!
//! ```text
//!   key      │ 8 bytes │ 8 bytes │ 8 bytes │ 3 │
//!   kept     state and word 0, 1, 2, 3       one for each 8 bytes, or 16, 32, ... of a long key
//!   at(19)   state 2, 3 bytes of word 2, the length
//! ```

use std::mem::MaybeUninit;

use super::PrefixHash;

/// The number of bytes of a step.
pub(super) const WORD: usize = size_of::<u64>();
/// The number of kept states. The longer the key, the further apart they are.
const KEPT: usize = 32;

/// A position in a key: the state before it, and the eight bytes behind it.
#[derive(Clone, Copy, Debug)]
struct KeptState {
    state: u64,
    word: u64,
}

/// A key, with the hash states that give the hashes of its prefixes.
///
/// It is made empty and then set in place, so that the states are not copied after they are
/// written.
#[derive(Debug)]
pub(crate) struct PrefixHasher<'k> {
    bytes: &'k [u8],
    hash: PrefixHash,
    /// Whether the hash is the processor's CRC-32C and every word has a kept state.
    fast: bool,
    /// One state is kept per `1 << shift` words.
    shift: u32,
    /// The first `1 + (bytes.len() / WORD >> shift)` are initialised.
    kept: [MaybeUninit<KeptState>; KEPT],
}

impl<'k> PrefixHasher<'k> {
    /// Returns the hasher of the empty key.
    #[inline(always)]
    pub(crate) fn empty(hash: PrefixHash) -> Self {
        let mut kept = [MaybeUninit::uninit(); KEPT];
        kept[0].write(KeptState { state: hash.start(), word: 0 });
        Self { bytes: &[], hash, fast: false, shift: 0, kept }
    }

    /// Computes the states of `bytes`. Callers should not move the hasher afterwards: it is large.
    #[inline(always)]
    pub(crate) fn set(&mut self, hash: PrefixHash, bytes: &'k [u8]) {
        (self.hash, self.bytes) = (hash, bytes);
        self.fast = matches!(hash, PrefixHash::Hardware) && bytes.len() < KEPT * WORD;
        if !self.fast {
            self.set_slowly();
            return;
        }
        let hash = PrefixHash::Hardware;
        let mut state = hash.start();
        let words = bytes.as_chunks::<WORD>().0;
        for (kept, word) in self.kept.iter_mut().zip(words) {
            let word = u64::from_le_bytes(*word);
            kept.write(KeptState { state, word });
            state = hash.step(state, word);
        }
        self.kept[words.len() % KEPT].write(KeptState { state, word: tail(bytes) });
    }

    #[inline(never)]
    fn set_slowly(&mut self) {
        let words = self.bytes.len() / WORD;
        self.shift = (words / KEPT + 1).next_power_of_two().ilog2();
        let mut state = self.hash.start();
        for index in 0..=words {
            let word = self.word(index);
            if index & ((1 << self.shift) - 1) == 0 {
                self.kept[index >> self.shift].write(KeptState { state, word });
            }
            state = self.hash.step(state, word);
        }
    }

    /// Returns the key.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &'k [u8] {
        self.bytes
    }

    /// Returns the hash of the prefix of `len` bytes.
    #[inline(always)]
    pub(crate) fn at(&self, len: usize) -> u64 {
        debug_assert!(len <= self.bytes.len());
        if !self.fast {
            return self.at_slowly(len);
        }
        // SAFETY: `set` has written this entry, because `len` is at most the key's length.
        let kept = unsafe { self.kept[len / WORD % KEPT].assume_init() };
        PrefixHash::Hardware.finish(kept.state, first(kept.word, len), len)
    }

    #[inline(never)]
    fn at_slowly(&self, len: usize) -> u64 {
        let words = len / WORD;
        let kept = words >> self.shift;
        // SAFETY: `set_slowly` has written this entry, because `len` is at most the key's length.
        let mut state = unsafe { self.kept[kept].assume_init() }.state;
        for word in kept << self.shift..words {
            state = self.hash.step(state, self.word(word));
        }
        self.hash.finish(state, first(self.word(words), len), len)
    }

    /// Returns the hash of the key.
    #[inline(always)]
    pub(crate) fn whole(&self) -> u64 {
        self.at(self.bytes.len())
    }

    fn word(&self, index: usize) -> u64 {
        match self.bytes[index * WORD..].first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => tail(self.bytes),
        }
    }
}

/// Returns the bytes of `word` that belong to a prefix of `len` bytes which ends in it, padded with
/// zeros.
#[inline(always)]
pub(super) fn first(word: u64, len: usize) -> u64 {
    word & ((1 << (len % WORD * 8)) - 1)
}

/// Returns the bytes behind the last whole word, padded with zeros.
#[inline(always)]
pub(super) fn tail(bytes: &[u8]) -> u64 {
    let rest = bytes.len() % WORD;
    if let Some(last) = bytes.last_chunk::<WORD>() {
        // Two shifts, because a shift by 64 is not allowed.
        return (u64::from_le_bytes(*last) >> 1) >> (63 - 8 * rest);
    }
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (rest - 4))
        }
        _ => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_prefix_is_that_of_its_bytes() {
        let bytes: Vec<u8> = (0..3000_u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
        for hash in [PrefixHash::crc32c(), PrefixHash::Portable, PrefixHash::Keyed(0x1234_5678_9abc_def1)] {
            for whole in (0..40).chain([127, 128, 129, 135, 136, 255, 256, 257, 1000, 2048, 3000]) {
                let key = &bytes[..whole];
                let mut prefixes = PrefixHasher::empty(hash);
                prefixes.set(hash, key);
                for len in (0..=whole).step_by(1 + whole / 100).chain([whole]) {
                    assert_eq!(prefixes.at(len), hash.of(&key[..len]), "{hash:?}, {len} of {whole}");
                }
                assert_eq!(prefixes.whole(), hash.of(key));
            }
        }
        let longest = vec![7; crate::index::MAX_KEY_LEN];
        let hash = PrefixHash::crc32c();
        let mut prefixes = PrefixHasher::empty(hash);
        prefixes.set(hash, &longest);
        assert_eq!(prefixes.whole(), hash.of(&longest));
    }

    #[test]
    fn a_tail_holds_the_bytes_behind_the_last_whole_word() {
        let bytes: Vec<u8> = (1..=20).collect();
        for len in 0..=bytes.len() {
            let mut padded = [0; WORD];
            padded[..len % WORD].copy_from_slice(&bytes[len / WORD * WORD..len]);
            assert_eq!(tail(&bytes[..len]), u64::from_le_bytes(padded), "{len}");
        }
    }
}
