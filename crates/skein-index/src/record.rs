//! Records: a key and its value in one block.
//!
//! ```text
//!   kind 0:    │ length 2 │ key ...  to whole words │ value 8 │
//!   kind k:    │ key, exactly 8 k bytes             │ value 8 │      k = 1 .. 7
//! ```
//!
//! Blocks are rounded up to 8 bytes, so for most keys the length takes no extra memory. For a key
//! of whole words it would take a word. For those keys, the length is in the word that leads to the
//! record, in the three bits that an address leaves free.
//!
//! The value is last, so the key has the same position with or without a value. An index that keeps
//! values elsewhere allocates records *without* a value, and passes `VALUED` = false when it frees
//! them.
//!
//! # Invariants
//! 1. The key never changes after the record is linked. The value is an atomic word.
//! 2. A record is used only while it is live: it was reached under a guard that is still held, or
//!    it is not shared yet, or the index is borrowed mutably.

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

/// Returns the kind of a record for a key of this length.
#[inline(always)]
pub(crate) fn kind_of(key_len: usize) -> u64 {
    let words = key_len / 8;
    if key_len.is_multiple_of(8) && words <= KIND_MAX { words as u64 } else { 0 }
}

/// A record, identified by the word that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRecord(TaggedPointer);

impl KeyRecord {
    /// Allocates a record. It has no value if `value` is `None`.
    #[inline]
    pub(crate) fn new(arena: &Arena, tag: u16, key: &[u8], value: Option<u64>) -> Self {
        let kind = kind_of(key.len());
        let start = key_start(kind);
        let block = arena.alloc(size(kind, key.len(), value.is_some()), MemoryPart::Keys);
        // SAFETY: the block is exclusively ours, aligned to 8, and long enough for all parts.
        unsafe {
            if let Some(value) = value {
                block.add(value_start(kind, key.len())).cast::<AtomicU64>().write(AtomicU64::new(value));
            }
            if kind == 0 {
                let length = u16::try_from(key.len()).expect("a key has at most MAX_KEY_LEN bytes");
                block.cast::<u16>().write(length);
            }
            std::ptr::copy_nonoverlapping(key.as_ptr(), block.as_ptr().add(start), key.len());
        }
        Self(TaggedPointer::new(tag, address_of(block), kind))
    }

    /// Returns the record that `word` leads to; `None` if `word` is 0.
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

    /// Returns the record's word with another tag, for the slots of a leaf that is hashed again.
    pub(crate) fn with_tag(self, tag: u16) -> Self {
        Self(TaggedPointer::new(tag, self.0.address(), self.0.kind()))
    }

    #[inline(always)]
    fn block(self) -> NonNull<u8> {
        // SAFETY: `new` made the address.
        unsafe { at_address(self.0.address()) }
    }

    #[inline(always)]
    fn value_word<'a>(self) -> &'a AtomicU64 {
        let start = value_start(self.0.kind(), self.key_len());
        // SAFETY: the record is live (invariant 2), and callers know that it has a value word at
        // this offset.
        unsafe { self.block().add(start).cast().as_ref() }
    }

    /// Returns the value. The record must have one.
    #[inline(always)]
    pub(crate) fn value(self) -> u64 {
        self.value_word().load(PROTECT)
    }

    /// Replaces the value. The record must have one, and the caller must hold the lock of its leaf.
    #[inline(always)]
    pub(crate) fn set_value(self, value: u64) {
        // Release: pairs with the load in `value`; the target of the word is initialised.
        self.value_word().store(value, Ordering::Release);
    }

    #[inline(always)]
    pub(crate) fn key<'a>(self) -> &'a [u8] {
        self.bytes(self.key_len())
    }

    #[inline(always)]
    fn key_len(self) -> usize {
        let kind = self.0.kind();
        if kind == 0 { self.length() } else { 8 * kind as usize }
    }

    /// Returns the length of the key. The record must be of kind 0.
    #[inline(always)]
    fn length(self) -> usize {
        // SAFETY: the record is live (invariant 2), and a record of kind 0 has its length there,
        // which does not change (invariant 1).
        unsafe { self.block().cast::<u16>().read().into() }
    }

    /// Returns the key, given its length.
    #[inline(always)]
    fn bytes<'a>(self, length: usize) -> &'a [u8] {
        // SAFETY: the record is live (invariant 2). Its key has this length and does not change
        // (invariant 1).
        unsafe { std::slice::from_raw_parts(self.block().as_ptr().add(key_start(self.0.kind())), length) }
    }

    /// Returns whether this is the record of `key`.
    #[inline(always)]
    pub(crate) fn is_of(self, key: &[u8]) -> bool {
        self.0.kind() == kind_of(key.len()) && self.has_key(key)
    }

    /// Returns whether this is the record of `key`. The kinds of key and record must be the same.
    #[inline(always)]
    pub(crate) fn has_key(self, key: &[u8]) -> bool {
        let kind = self.0.kind();
        debug_assert_eq!(kind, kind_of(key.len()));
        // For any other kind, the kind is the length.
        (kind != 0 || self.length() == key.len()) && same_bytes(self.bytes(key.len()), key)
    }

    fn size(self, valued: bool) -> usize {
        size(self.0.kind(), self.key_len(), valued)
    }

    /// Prefetches the record: all lines if the word contains the length, otherwise the first line
    /// and up to two more.
    #[inline(always)]
    pub(crate) fn prefetch(word: u64) {
        let block: *const u8 = std::ptr::without_provenance(TaggedPointer(word).address() as usize);
        prefetch_read(block);
        let kind = TaggedPointer(word).kind();
        if kind == 0 {
            prefetch_read(block.wrapping_add(CACHE_LINE));
            prefetch_read(block.wrapping_add(2 * CACHE_LINE - 8));
        } else {
            // Whole words, so the last one lies at most in the next line.
            prefetch_read(block.wrapping_add(8 * kind as usize));
        }
    }

    /// Prefetches the parts of the record for a comparison of keys that skips this many bytes.
    #[inline(always)]
    pub(crate) fn prefetch_from(word: u64, skip: usize) {
        let block: *const u8 = std::ptr::without_provenance(TaggedPointer(word).address() as usize);
        prefetch_read(block);
        if skip > 0 {
            prefetch_read(block.wrapping_add(skip));
        }
    }

    /// Frees the record, but not the memory that its value owns.
    ///
    /// # Safety
    /// No thread can reach the record, it is counted as `part`, and `VALUED` says whether it has a
    /// value.
    pub(crate) unsafe fn free<const VALUED: bool>(self, part: MemoryPart) {
        // SAFETY: allocated in `new` with this size; the rest is the caller's promise.
        unsafe { Arena::free(self.block(), self.size(VALUED), part) };
    }

    /// Frees the record, but not the memory that its value owns, when no thread can see it any
    /// more.
    ///
    /// # Safety
    /// The record is unlinked: no guard entered from now on can reach it. `VALUED` says whether it
    /// has a value.
    pub(crate) unsafe fn retire<const VALUED: bool>(self, guard: &impl Guard) {
        unsafe fn reclaim<const VALUED: bool>(word: *mut u8, _: &GracePeriod) {
            // SAFETY: the collector passes the pointer that `retire` gave it, after the grace
            // period.
            unsafe { KeyRecord(TaggedPointer(word.addr() as u64)).free::<VALUED>(MemoryPart::Retired) };
        }
        // SAFETY: the record is live and counted as `Keys`; the caller guarantees that it is
        // unlinked. The collector passes the word back unchanged and never reads through it.
        unsafe {
            Arena::recount(self.block(), self.size(VALUED), MemoryPart::Keys, MemoryPart::Retired);
            guard.defer_retire(
                std::ptr::without_provenance_mut::<u8>(self.word() as usize),
                reclaim::<VALUED>,
            );
        }
    }
}

/// Strings longer than this are compared by a library call, which compares more bytes at a time.
const CALL_FROM: usize = 128;

/// Returns whether two strings of equal length are the same. Compares words without a call, because
/// most keys are short; the last word may overlap the one before.
#[inline(always)]
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if a.len() > CALL_FROM {
        return a == b;
    }
    let (Some(last), Some(other_last)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) else {
        return same_few_bytes(a, b);
    };
    let heads = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    last == other_last && heads.into_iter().all(|(a, b)| a == b)
}

/// Returns whether two strings of the same length below 8 are the same.
#[inline(always)]
fn same_few_bytes(a: &[u8], b: &[u8]) -> bool {
    match (a.first_chunk::<4>(), b.first_chunk::<4>()) {
        (Some(first), Some(other)) => first == other && a.last_chunk::<4>() == b.last_chunk::<4>(),
        _ => a.iter().zip(b).all(|(a, b)| a == b),
    }
}

#[inline(always)]
fn key_start(kind: u64) -> usize {
    if kind == 0 { LENGTH } else { 0 }
}

/// Returns the offset of the value after a key.
#[inline(always)]
fn value_start(kind: u64, key_len: usize) -> usize {
    (key_start(kind) + key_len).next_multiple_of(VALUE)
}

/// Returns the size of a record in bytes.
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
            // SAFETY: exclusively ours.
            unsafe {
                record.free::<true>(MemoryPart::Keys);
                bare.free::<false>(MemoryPart::Keys);
            }
        }
        assert_eq!(arena.live(MemoryPart::Keys), 0);
    }
}
