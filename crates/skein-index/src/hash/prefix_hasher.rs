//! The hashes of all prefixes of one key.
//!
//! ```text
//!   key      │ 8 bytes │ 8 bytes │ 8 bytes │ 3 │
//!   kept     state and word 0, 1, 2, 3              one for each eight bytes, or for each 16, 32, .. of a long key
//!   at(19)   state 2, 3 bytes of word 2, the length
//! ```

use std::mem::MaybeUninit;

use super::PrefixHash;

/// Bytes of a step.
const WORD: usize = size_of::<u64>();
/// Places that are kept; a key's are further apart the longer it is.
const KEPT: usize = 32;

/// What is known of a place in a key: the state before it, and the eight bytes after.
#[derive(Clone, Copy, Debug)]
struct KeptState {
    state: u64,
    word: u64,
}

/// A key with what its prefixes' hashes follow from.
///
/// It is made empty and then set, in place: its states are not to be copied right after they were written.
#[derive(Debug)]
pub(crate) struct PrefixHasher<'k> {
    bytes: &'k [u8],
    hash: PrefixHash,
    /// Whether the hash is the processor's, and each word is kept.
    fast: bool,
    /// A place is kept for each `1 << shift` words.
    shift: u32,
    /// Of these, the first `1 + (bytes.len() / WORD >> shift)` are initialised.
    kept: [MaybeUninit<KeptState>; KEPT],
}

impl<'k> PrefixHasher<'k> {
    /// Those of the empty key.
    #[inline(always)]
    pub(crate) fn empty(hash: PrefixHash) -> Self {
        let mut kept = [MaybeUninit::uninit(); KEPT];
        kept[0].write(KeptState { state: hash.start(), word: 0 });
        Self { bytes: &[], hash, fast: false, shift: 0, kept }
    }

    /// Those of `bytes`. To be kept where it is made.
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

    /// The key.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &'k [u8] {
        self.bytes
    }

    /// The hash of the prefix of `len` bytes.
    #[inline(always)]
    pub(crate) fn at(&self, len: usize) -> u64 {
        debug_assert!(len <= self.bytes.len());
        if !self.fast {
            return self.at_slowly(len);
        }
        // SAFETY: `set` has written so many, since `len` is at most the key's length.
        let kept = unsafe { self.kept[len / WORD % KEPT].assume_init() };
        PrefixHash::Hardware.finish(kept.state, first(kept.word, len), len)
    }

    #[inline(never)]
    fn at_slowly(&self, len: usize) -> u64 {
        let words = len / WORD;
        let kept = words >> self.shift;
        // SAFETY: `set_slowly` has written so many, since `len` is at most the key's length.
        let mut state = unsafe { self.kept[kept].assume_init() }.state;
        for word in kept << self.shift..words {
            state = self.hash.step(state, self.word(word));
        }
        self.hash.finish(state, first(self.word(words), len), len)
    }

    /// The hash of the key.
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

/// The bytes of the word that a prefix of `len` bytes ends in which belong to it, zeros after them.
#[inline(always)]
fn first(word: u64, len: usize) -> u64 {
    word & ((1 << (len % WORD * 8)) - 1)
}

/// The bytes beyond the last whole word, zeros after them.
#[inline(always)]
pub(super) fn tail(bytes: &[u8]) -> u64 {
    let rest = bytes.len() % WORD;
    if let Some(last) = bytes.last_chunk::<WORD>() {
        // By two shifts, since none may be of 64.
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
    fn a_tail_is_what_no_whole_word_holds() {
        let bytes: Vec<u8> = (1..=20).collect();
        for len in 0..=bytes.len() {
            let mut padded = [0; WORD];
            padded[..len % WORD].copy_from_slice(&bytes[len / WORD * WORD..len]);
            assert_eq!(tail(&bytes[..len]), u64::from_le_bytes(padded), "{len}");
        }
    }
}
