//! How maps of others hold keys: as numbers where all have 8 bytes, in boxes otherwise.
//!
//! Numbers come from the bytes in big-endian order, so they sort as the bytes do.

use std::borrow::Borrow;
use std::hash::Hash;
use std::ops::Bound;

/// A way to hold keys.
pub trait KeyRepr: 'static {
    /// What a map owns.
    type Owned: Borrow<Self::Seen> + Ord + Hash + Clone + Send + Sync + 'static;
    /// What it is asked for.
    type Seen: Ord + Hash + ?Sized;
    /// The least and the greatest length of such keys.
    const KEY_BYTES: (usize, usize);
    /// Whether keys are numbers.
    const WORDS: bool;

    /// A key to keep.
    fn own(key: &[u8]) -> Self::Owned;

    /// Shows a key to a map.
    fn ask<R>(key: &[u8], of: impl FnOnce(&Self::Seen) -> R) -> R;

    /// Shows a map's key as bytes.
    fn show<R>(key: &Self::Owned, to: impl FnOnce(&[u8]) -> R) -> R;
}

/// A big-endian number.
pub struct IntegerKeys;

/// A box of its own for each key.
pub struct BoxedKeys;

/// A key of 8 bytes as a number.
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

/// All keys from one on.
pub fn upward<Q: ?Sized>(from: &Q) -> (Bound<&Q>, Bound<&Q>) {
    (Bound::Included(from), Bound::Unbounded)
}

/// All keys up to one.
pub fn downward<Q: ?Sized>(from: &Q) -> (Bound<&Q>, Bound<&Q>) {
    (Bound::Unbounded, Bound::Included(from))
}
