//! A tagged pointer: 16 bits of a hash, an address, and the kind of its target, in one word.
//!
//! ```text
//!   63        48 47                          3 2    0
//!  ┌────────────┬─────────────────────────────┬──────┐
//!  │ tag        │ address, a multiple of 8    │ kind │
//!  └────────────┴─────────────────────────────┴──────┘
//! ```
//!
//! Leaves point to their records, and the trie's table to its nodes, by such words. A search skips
//! most non-matching targets without following a pointer (Wormhole, sections 3.1 and 3.2). User
//! space has 47 bits of addresses on `x86_64` and 48 on `aarch64`.

const TAG_SHIFT: u32 = 48;
const KIND: u64 = 7;

/// A tagged pointer; 0 is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaggedPointer(pub(super) u64);

impl TaggedPointer {
    /// Combines the parts into a word.
    ///
    /// # Panics
    /// Panics if the address has more than 48 bits or is not a multiple of 8. No system returns
    /// such memory unless asked for it.
    #[inline(always)]
    pub(crate) fn new(tag: u16, address: u64, kind: u64) -> Self {
        assert!(
            address >> TAG_SHIFT == 0 && address & KIND == 0,
            "an address must have at most 48 bits and be a multiple of 8"
        );
        Self(u64::from(tag) << TAG_SHIFT | address | kind)
    }

    /// Returns whether tag and kind match. Does not follow the address.
    #[inline(always)]
    pub(crate) fn looks_like(self, tag: u16, kind: u64) -> bool {
        const SEEN: u64 = !(u64::MAX >> 16) | KIND;
        self.0 & SEEN == (u64::from(tag) << TAG_SHIFT | kind)
    }

    #[inline(always)]
    pub(crate) fn tag(self) -> u16 {
        (self.0 >> TAG_SHIFT) as u16
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> u64 {
        self.0 & KIND
    }

    #[inline(always)]
    pub(crate) fn address(self) -> u64 {
        self.0 & (u64::MAX >> 16) & !KIND
    }
}
