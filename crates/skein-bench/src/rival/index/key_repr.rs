//! The representation of keys in foreign maps: integers if all keys have 8 bytes, boxes otherwise.
//!
//! Integers are built from the bytes in big-endian order, so they sort as the bytes do.

use std::borrow::Borrow;
use std::hash::Hash;
use std::ops::Bound;

/// A representation of keys.
pub trait KeyRepr: 'static {
    /// The type of a stored key.
    type Owned: Borrow<Self::Seen> + Ord + Hash + Clone + Send + Sync + 'static;
    /// The type of a search key.
    type Seen: Ord + Hash + ?Sized;
    /// The least and the greatest length of keys in this representation.
    const KEY_BYTES: (usize, usize);
    /// Whether keys are integers.
    const WORDS: bool;

    /// Returns a key to store.
    fn own(key: &[u8]) -> Self::Owned;

    /// Calls `of` with the search key.
    fn ask<R>(key: &[u8], of: impl FnOnce(&Self::Seen) -> R) -> R;

    /// Calls `to` with the bytes of a stored key.
    fn show<R>(key: &Self::Owned, to: impl FnOnce(&[u8]) -> R) -> R;
}

/// Keys as big-endian integers.
pub struct IntegerKeys;

/// Keys in a box each.
pub struct BoxedKeys;

/// Returns a key of 8 bytes as an integer.
#[inline(always)]
pub fn word(key: &[u8]) -> u64 {
    u64::from_be_bytes(key.try_into().expect("the bench gives this contender keys of 8 bytes"))
}

impl KeyRepr for IntegerKeys {
    type Owned = u64;
    type Seen = u64;
    const KEY_BYTES: (usize, usize) = (8, 8);
    const WORDS: bool = true;

    #[inline(always)]
    fn own(key: &[u8]) -> u64 {
        word(key)
    }

    #[inline(always)]
    fn ask<R>(key: &[u8], of: impl FnOnce(&u64) -> R) -> R {
        of(&word(key))
    }

    #[inline(always)]
    fn show<R>(key: &u64, to: impl FnOnce(&[u8]) -> R) -> R {
        to(&key.to_be_bytes())
    }
}

impl KeyRepr for BoxedKeys {
    type Owned = Box<[u8]>;
    type Seen = [u8];
    const KEY_BYTES: (usize, usize) = (0, usize::MAX);
    const WORDS: bool = false;

    #[inline(always)]
    fn own(key: &[u8]) -> Box<[u8]> {
        key.into()
    }

    #[inline(always)]
    fn ask<R>(key: &[u8], of: impl FnOnce(&[u8]) -> R) -> R {
        of(key)
    }

    #[inline(always)]
    fn show<R>(key: &Box<[u8]>, to: impl FnOnce(&[u8]) -> R) -> R {
        to(key)
    }
}

/// Returns the range of all keys at or after `from`.
pub fn upward<Q: ?Sized>(from: &Q) -> (Bound<&Q>, Bound<&Q>) {
    (Bound::Included(from), Bound::Unbounded)
}

/// Returns the range of all keys at or before `from`.
pub fn downward<Q: ?Sized>(from: &Q) -> (Bound<&Q>, Bound<&Q>) {
    (Bound::Unbounded, Bound::Included(from))
}
