//! Records: a key with its value, in a block of its own.
//!
//! ```text
//!   kind 0:    │ length 2 │ key ...  to whole words │ value 8 │
//!   kind k:    │ key, exactly 8 k bytes             │ value 8 │      k = 1 .. 7
//! ```
//!
//! Blocks are rounded up to 8 bytes, so the length costs nothing beside most keys; where the key fills whole words it would cost a
//! word, and the word that leads to the record says the length instead, in the three bits that an address leaves free.
//!
//! The value is last, so the key is found whether or not there is a value. An index that keeps
//! values elsewhere makes records *without* one. Its `VALUED` is false wherever a record is freed.
//!
//! # Invariants
//! 1. The key never changes once the record is linked; the value is an atomic word.
//! 2. A record is used only while it is live: it was reached under a guard that is still held, or it is not shared yet, or the
//!    index is borrowed mutably.

use std::ptr::NonNull;

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::reclaim::{GracePeriod, Guard, PROTECT};

use crate::memory::{Arena, CACHE_LINE, MemoryPart, address_of, at_address, prefetch_read};
use crate::tagged_pointer::TaggedPointer;

/// Bytes of the value word.
const VALUE: usize = size_of::<AtomicU64>();
/// Bytes of the length, in records of kind 0.
const LENGTH: usize = size_of::<u16>();
/// The greatest kind: keys of 56 bytes.
const KIND_MAX: usize = 7;

/// The kind of the records of keys so long.
#[inline(always)]
pub(crate) fn kind_of(key_len: usize) -> u64 {
    let words = key_len / 8;
    if key_len.is_multiple_of(8) && words <= KIND_MAX { words as u64 } else { 0 }
}

/// A record, by the word that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRecord(TaggedPointer);

impl KeyRecord {
    /// Allocates a record, without a value if `value` is `None`.
    #[inline]
    pub(crate) fn new(arena: &Arena, tag: u16, key: &[u8], value: Option<u64>) -> Self {
        let kind = kind_of(key.len());
        let start = key_start(kind);
        let block = arena.alloc(size(kind, key.len(), value.is_some()), MemoryPart::Keys);
        // SAFETY: the block is ours alone, aligned to 8, and long enough for all parts.
        unsafe {
            if let Some(value) = value {
                block.add(value_start(kind, key.len())).cast::<AtomicU64>().write(AtomicU64::new(value));
            }
            if kind == 0 {
                let length = u16::try_from(key.len()).expect("a key is not longer than the longest");
                block.cast::<u16>().write(length);
            }
            std::ptr::copy_nonoverlapping(key.as_ptr(), block.as_ptr().add(start), key.len());
        }
        Self(TaggedPointer::new(tag, address_of(block), kind))
    }

    /// The record that `word` leads to; none if it is 0.
    ///
    /// # Safety
    /// The word came from [`Self::word`] if it is not 0, and invariant 2 holds for the record.
    #[inline(always)]
    pub(crate) unsafe fn from_word(word: u64) -> Option<Self> {
        (word != 0).then_some(Self(TaggedPointer(word)))
    }

    #[inline(always)]
    pub(crate) fn word(self) -> u64 {
        self.0.0
    }

    #[inline(always)]
    pub(crate) fn tag(self) -> u16 {
        self.0.tag()
    }

    /// The record under another tag: what a leaf that is hashed anew puts into its slots.
    pub(crate) fn with_tag(self, tag: u16) -> Self {
        Self(TaggedPointer::new(tag, self.0.address(), self.0.kind()))
    }

    #[inline(always)]
    fn block(self) -> NonNull<u8> {
        // SAFETY: the address is `new`'s.
        unsafe { at_address(self.0.address()) }
    }

    #[inline(always)]
    fn value_word<'a>(self) -> &'a AtomicU64 {
        let start = value_start(self.0.kind(), self.key_len());
        // SAFETY: the record is live (invariant 2), and has its value word there, since callers
        // know that it has one.
        unsafe { self.block().add(start).cast().as_ref() }
    }

    /// The value. REQUIRES: the record has one.
    #[inline(always)]
    pub(crate) fn value(self) -> u64 {
        self.value_word().load(PROTECT)
    }

    /// Replaces the value. The caller holds the lock of the record's leaf. REQUIRES: the record has
    /// a value.
    #[inline(always)]
    pub(crate) fn set_value(self, value: u64) {
        // Release: pairs with the load in `value`; what the word points to is initialised.
        self.value_word().store(value, Ordering::Release);
    }

    /// The key.
    #[inline(always)]
    pub(crate) fn key<'a>(self) -> &'a [u8] {
        self.bytes(self.key_len())
    }

    #[inline(always)]
    fn key_len(self) -> usize {
        let kind = self.0.kind();
        if kind == 0 { self.length() } else { 8 * kind as usize }
    }

    /// The length of the key. REQUIRES: kind 0.
    #[inline(always)]
    fn length(self) -> usize {
        // SAFETY: the record is live (invariant 2), and such a one has its length there, which does not change (invariant 1).
        unsafe { self.block().cast::<u16>().read().into() }
    }

    /// The key, whose length is given.
    #[inline(always)]
    fn bytes<'a>(self, length: usize) -> &'a [u8] {
        // SAFETY: the record is live (invariant 2) and its key, which does not change (invariant 1), so long.
        unsafe { std::slice::from_raw_parts(self.block().as_ptr().add(key_start(self.0.kind())), length) }
    }

    /// Whether the key is this one.
    #[inline(always)]
    pub(crate) fn is_of(self, key: &[u8]) -> bool {
        self.0.kind() == kind_of(key.len()) && self.has_key(key)
    }

    /// Whether the key is this one, which is of the record's kind.
    #[inline(always)]
    pub(crate) fn has_key(self, key: &[u8]) -> bool {
        let kind = self.0.kind();
        debug_assert_eq!(kind, kind_of(key.len()));
        // Of any other kind, the length is the kind's.
        (kind != 0 || self.length() == key.len()) && same_bytes(self.bytes(key.len()), key)
    }

    fn size(self, valued: bool) -> usize {
        size(self.0.kind(), self.key_len(), valued)
    }

    /// Asks for the lines of the record: all of them where the word says the length, two beyond the first otherwise.
    #[inline(always)]
    pub(crate) fn prefetch(word: u64) {
        let block: *const u8 = std::ptr::without_provenance(TaggedPointer(word).address() as usize);
        prefetch_read(block);
        let kind = TaggedPointer(word).kind();
        if kind == 0 {
            prefetch_read(block.wrapping_add(CACHE_LINE));
            prefetch_read(block.wrapping_add(2 * CACHE_LINE - 8));
        } else {
            // Whole words, so the last one may lie in the next line, and no further.
            prefetch_read(block.wrapping_add(8 * kind as usize));
        }
    }

    /// Frees the record, but not what its value owns.
    ///
    /// # Safety
    /// Nobody can reach the record, it is counted as `part`, and `VALUED` says whether it has a
    /// value.
    pub(crate) unsafe fn free<const VALUED: bool>(self, part: MemoryPart) {
        // SAFETY: allocated in `new` with this size; the caller vouches for the rest.
        unsafe { Arena::free(self.block(), self.size(VALUED), part) };
    }

    /// Frees the record, but not what its value owns, once nobody can see it.
    ///
    /// # Safety
    /// The record is unlinked: no one who takes a guard from now on can reach it. `VALUED` says
    /// whether it has a value.
    pub(crate) unsafe fn retire<const VALUED: bool>(self, guard: &impl Guard) {
        unsafe fn reclaim<const VALUED: bool>(word: *mut u8, _: &GracePeriod) {
            // SAFETY: the collector gives back what `retire` gave it, after the grace period.
            unsafe { KeyRecord(TaggedPointer(word.addr() as u64)).free::<VALUED>(MemoryPart::Retired) };
        }
        // SAFETY: the record is live and counted as `Keys`; the caller vouches that it is unlinked. The collector hands the
        // word back as it is: it never reads through what it is given.
        unsafe {
            Arena::recount(self.block(), self.size(VALUED), MemoryPart::Keys, MemoryPart::Retired);
            guard.defer_retire(
                std::ptr::without_provenance_mut::<u8>(self.word() as usize),
                reclaim::<VALUED>,
            );
        }
    }
}

/// Strings longer than this are compared by a call, which takes more bytes at a time.
const CALL_FROM: usize = 128;

/// Whether two strings of one length are the same; by words, the last of which may overlap the one before, without a call, since most
/// keys are short.
#[inline(always)]
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.len() > CALL_FROM {
        return a == b;
    }
    let (Some(last), Some(other_last)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) else {
        return a.iter().zip(b).all(|(a, b)| a == b);
    };
    let heads = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    last == other_last && heads.into_iter().all(|(a, b)| a == b)
}

#[inline(always)]
fn key_start(kind: u64) -> usize {
    if kind == 0 { LENGTH } else { 0 }
}

/// Where the value lies behind a key.
#[inline(always)]
fn value_start(kind: u64, key_len: usize) -> usize {
    (key_start(kind) + key_len).next_multiple_of(VALUE)
}

/// The bytes of a record.
#[inline(always)]
fn size(kind: u64, key_len: usize, valued: bool) -> usize {
    if valued { value_start(kind, key_len) + VALUE } else { key_start(kind) + key_len }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_length_round_trip() {
        let arena = Arena::new();
        for len in (0..200).chain([crate::index::MAX_KEY_LEN]) {
            let key: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
            let record = KeyRecord::new(&arena, 0xabcd, &key, Some(7));
            assert_eq!((record.key(), record.value(), record.tag()), (&*key, 7, 0xabcd));
            record.set_value(8);
            // SAFETY: the word is the record's own, which is live.
            assert_eq!(unsafe { KeyRecord::from_word(record.word()) }.map(KeyRecord::value), Some(8));
            if len % 8 == 0 && (8..=56).contains(&len) {
                assert_eq!((record.size(true), record.size(false)), (8 + len, len));
            }
            let bare = KeyRecord::new(&arena, 0xabcd, &key, None);
            assert_eq!((bare.key(), bare.tag()), (&*key, 0xabcd));
            // SAFETY: ours alone.
            unsafe {
                record.free::<true>(MemoryPart::Keys);
                bare.free::<false>(MemoryPart::Keys);
            }
        }
        assert_eq!(arena.live(MemoryPart::Keys), 0);
    }
}
