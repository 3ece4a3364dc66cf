//! Entries: keys in the heap of a page.
//!
//! ```text
//!   near   │ length │ the bytes behind the prefix │
//!   far    │ 255 │ length, 2 bytes │ address, 8 bytes │  ──►  the whole key
//! ```

use std::ptr::NonNull;

use crate::memory::{Arena, MemoryPart};

/// The greatest length of a key behind the prefix that lies in the page.
pub(super) const NEAR: usize = 254;
/// The length byte of an entry whose key lies elsewhere.
pub(super) const FAR: u8 = 255;
/// The bytes of such an entry: the byte above, the key's length, its address.
pub(super) const FAR_ENTRY: usize = 1 + 2 + 8;

/// Returns the bytes in the heap of a key that has so many bytes behind the prefix.
pub(in crate::page_tree) fn entry_size(rest_len: usize) -> usize {
    if rest_len > NEAR { FAR_ENTRY } else { 1 + rest_len }
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
    /// Returns the entry of a key for a page with a prefix of so many bytes. A long key is copied to
    /// the arena.
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

    pub(super) fn size(&self) -> usize {
        match self {
            Self::Near(head, tail) => 1 + head.len() + tail.len(),
            Self::Far(..) => FAR_ENTRY,
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
        u16::from_be_bytes([byte(0), byte(1)])
    }
}
