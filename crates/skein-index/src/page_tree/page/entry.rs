//! Entries: the keys in the heap of a page, and the values that are embedded.
//!
//! ```text
//!   near   │ length │ the bytes behind the prefix │ value │
//!   far    │ 127 │ length, 2 bytes │ address, 8 bytes │ value │  ──►  the whole key
//!
//!   value  embedded: its bytes; else the word of the value, 8 bytes, and bit 7 of the length is set
//! ```
//!
//! Only values of types that embed lie here, at an even address. Of all others, the words are in an
//! array of the page.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::memory::{Arena, MemoryPart, address_of, copy_short};
use crate::slot::Slot;

/// The greatest length of a key behind the prefix that lies in the page.
pub(super) const NEAR: usize = 126;
/// The length of an entry whose key lies elsewhere.
pub(super) const FAR: u8 = 127;
/// Set beside the length if the word of the value follows the key, and not its bytes.
pub(super) const WORD: u8 = 1 << 7;
/// The bytes of a key that lies elsewhere: the byte above, the key's length, its address.
pub(super) const FAR_KEY: usize = 1 + 2 + 8;

/// Returns the bytes in the heap of a key that has so many bytes behind the prefix, without value.
#[inline(always)]
pub(super) fn near_or_far(rest_len: usize) -> usize {
    if rest_len > NEAR { FAR_KEY } else { 1 + rest_len }
}

/// Returns the bytes of an entry whose key takes `key` bytes and whose value takes `value`.
#[inline(always)]
pub(super) fn padded<S: Slot>(key: usize, value: usize) -> usize {
    if S::EMBEDS { key.next_multiple_of(2) + value.next_multiple_of(2) } else { key }
}

/// Returns the bytes of an entry with a key of so many bytes behind the prefix.
#[inline]
pub(in crate::page_tree) fn entry_size<S: Slot>(rest_len: usize, value: &EntryValue<S>) -> usize {
    padded::<S>(near_or_far(rest_len), value.size())
}

/// The bytes that the parts of an entry take in the heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntrySizes {
    pub(super) key: usize,
    pub(super) value: usize,
}

impl EntrySizes {
    /// Returns the sizes of an entry.
    ///
    /// # Safety
    /// The entry is complete.
    #[inline]
    pub(super) unsafe fn of<S: Slot>(entry: NonNull<u8>) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let length = entry.read() & !WORD;
            let key = if length == FAR { FAR_KEY } else { 1 + usize::from(length) };
            if !S::EMBEDS {
                return Self { key, value: 0 };
            }
            let key = key.next_multiple_of(2);
            let is_word = entry.read() & WORD != 0;
            let value = if is_word { size_of::<u64>() } else { S::embedded_size_at(entry.add(key)) };
            Self { key, value: value.next_multiple_of(2) }
        }
    }

    /// Returns the sizes of an entry that takes `sum` bytes.
    ///
    /// # Safety
    /// The entry is complete.
    #[inline(always)]
    pub(super) unsafe fn within<S: Slot>(entry: NonNull<u8>, sum: usize) -> Self {
        if !S::EMBEDS {
            return Self { key: sum, value: 0 };
        }
        // SAFETY: the caller's promise.
        let length = unsafe { entry.read() } & !WORD;
        let key = if length == FAR { FAR_KEY } else { 1 + usize::from(length) }.next_multiple_of(2);
        Self { key, value: sum - key }
    }

    #[inline(always)]
    pub(super) fn sum(self) -> usize {
        self.key + self.value
    }
}

/// Copies a value with its padding.
///
/// # Safety
/// A complete entry has the value at `from`. There are `len` bytes at `to`, aligned to 2, which no
/// other thread can reach.
#[inline(always)]
pub(super) unsafe fn copy_value<S: Slot>(from: NonNull<u8>, to: NonNull<u8>, len: usize) {
    let changing = S::EMBEDDED_ATOMIC.min(len);
    // SAFETY: the caller's promise. Other threads use the bytes that change as atomics of 16 bits.
    unsafe {
        for at in (0..changing).step_by(size_of::<u16>()) {
            // Relaxed: each is a hint of its own.
            let pair = from.add(at).cast::<AtomicU16>().as_ref().load(Ordering::Relaxed);
            to.add(at).cast::<u16>().write(pair);
        }
        copy_short(from.add(changing), to.add(changing), len - changing);
    }
}

/// The key of an entry behind the page's prefix, or a whole key that lies elsewhere.
#[derive(Clone, Copy, Debug)]
pub(in crate::page_tree) enum EntryKey<'k> {
    /// In two parts.
    Near(&'k [u8], &'k [u8]),
    /// The whole key.
    Far(NonNull<u8>, u16),
}

impl<'k> EntryKey<'k> {
    /// Returns the entry of a key for a page with a prefix of so many bytes. A long key is copied
    /// to the arena.
    pub(in crate::page_tree) fn of(arena: &Arena, key: &'k [u8], prefix_len: usize) -> Self {
        if key.len() - prefix_len <= NEAR {
            return Self::Near(&key[prefix_len..], &[]);
        }
        Self::far(arena, key)
    }

    /// Copies a whole key to the arena, and returns its entry.
    pub(super) fn far(arena: &Arena, key: &[u8]) -> Self {
        let block = arena.alloc(key.len(), MemoryPart::Keys);
        block.as_ptr().expose_provenance();
        // SAFETY: allocated with this size, and exclusively ours.
        unsafe { block.copy_from_nonoverlapping(NonNull::from(key).cast(), key.len()) };
        Self::Far(block, key.len() as u16)
    }

    /// Returns whether this key lies elsewhere, but would not in a page with a longer prefix.
    pub(super) fn becomes_near(&self, prefix_len: usize) -> bool {
        matches!(self, Self::Far(_, length) if usize::from(*length) <= prefix_len + NEAR)
    }

    /// Returns the bytes of the key in the heap.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Near(head, tail) => 1 + head.len() + tail.len(),
            Self::Far(..) => FAR_KEY,
        }
    }

    /// Returns the first two bytes behind the prefix, as a number.
    pub(super) fn head(&self, prefix_len: usize) -> u16 {
        let byte = |at: usize| match self {
            Self::Near(head, tail) => head.iter().chain(*tail).nth(at).copied().unwrap_or(0),
            // SAFETY: a block has as many bytes as its key. The key may end with the prefix.
            Self::Far(block, length) if prefix_len + at < usize::from(*length) => unsafe {
                block.add(prefix_len + at).read()
            },
            Self::Far(..) => 0,
        };
        match self {
            Self::Near([first, second, ..], _) => u16::from_be_bytes([*first, *second]),
            _ => u16::from_be_bytes([byte(0), byte(1)]),
        }
    }

    /// Writes the key, and the value behind it if entries have values.
    ///
    /// # Safety
    /// There are as many bytes at `entry` as both take, and no other thread can reach them. `entry`
    /// is aligned to 2.
    pub(super) unsafe fn write_with<S: Slot>(self, value: EntryValue<S>, entry: NonNull<u8>) {
        let key_size = self.size();
        // SAFETY: the caller's promise.
        unsafe {
            self.write(entry, if S::EMBEDS { value.mark() } else { 0 });
            if S::EMBEDS {
                value.write(entry.add(key_size.next_multiple_of(2)));
            }
        }
    }

    /// Writes the key. `mark` is [`WORD`] or 0.
    ///
    /// # Safety
    /// There are [`size`](Self::size) bytes at `entry`, which no other thread can reach.
    unsafe fn write(self, entry: NonNull<u8>, mark: u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Near(head, tail) => {
                    entry.write((head.len() + tail.len()) as u8 | mark);
                    let start = entry.add(1);
                    copy_short(NonNull::from(head).cast(), start, head.len());
                    copy_short(NonNull::from(tail).cast(), start.add(head.len()), tail.len());
                }
                Self::Far(block, length) => {
                    entry.write(FAR | mark);
                    entry.add(1).cast::<u16>().write_unaligned(length);
                    entry.add(3).cast::<u64>().write_unaligned(address_of(block));
                }
            }
        }
    }
}

/// The value of an entry that is being written.
#[derive(Debug)]
pub(in crate::page_tree) enum EntryValue<S> {
    /// The word of a value that is not embedded.
    Word(u64),
    /// A new value, to be embedded, and its bytes.
    New(S, usize),
    /// A value that is embedded in another page, and its bytes.
    Copy(NonNull<u8>, usize),
}

impl<S: Slot> EntryValue<S> {
    /// Returns how a new value lies in a page.
    pub(in crate::page_tree) fn of(value: S) -> Self {
        match value.embedded_size() {
            Some(size) if S::EMBEDS => Self::New(value, size),
            _ => Self::Word(value.into_word()),
        }
    }

    /// Returns the bytes of the value in the heap.
    #[inline]
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Word(_) => size_of::<u64>(),
            Self::New(_, size) | Self::Copy(_, size) => *size,
        }
    }

    /// Returns the bit beside the length of the key.
    pub(super) fn mark(&self) -> u8 {
        if matches!(self, Self::Word(_)) { WORD } else { 0 }
    }

    /// Writes the value.
    ///
    /// # Safety
    /// There are [`size`](Self::size) bytes at `to`, aligned to 2, which no other thread can reach.
    pub(super) unsafe fn write(self, to: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Word(word) => to.cast::<u64>().write_unaligned(word),
                Self::New(value, _) => value.embed(to),
                Self::Copy(from, len) => copy_value::<S>(from, to, len),
            }
        }
    }
}
