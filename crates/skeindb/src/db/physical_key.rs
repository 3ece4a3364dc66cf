//! The keys of keyspaces among the engine's keys; see "Keyspaces" in `docs/format.md`.
//!
//! ```text
//!   ff 53 4b 00 │ number u32 │ key     a key of a named keyspace, numbers from 1
//!   ff 53 4b 00 │ 0 u32      │ name    the catalog
//!   any other bytes                    a key of the default keyspace
//! ```
//!
//! The prefix has 8 bytes, one slice of a Masstree key, so each keyspace is a tree of its own
//! there.

use std::ops::{Bound, Deref};

use skein_data::successor;

use crate::{Error, Result};

/// The first bytes of all keys of named keyspaces.
pub(super) const RESERVED: [u8; 4] = *b"\xffSK\0";
/// The least key behind all of those.
pub(super) const AFTER_RESERVED: [u8; 4] = *b"\xffSK\x01";
/// Bytes of a prefix.
pub(super) const PREFIX: usize = 8;
/// The longest key that is put together on the stack.
const SHORT: usize = 64;

/// The number of a keyspace; 0 stands for the default keyspace, which has no prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct KeyspaceNumber(pub(super) u32);

/// The prefix of the keys with the names of keyspaces, which must not be evicted; see "Keyspaces"
/// in `docs/format.md`.
pub const CATALOG: [u8; PREFIX] = *b"\xffSK\0\0\0\0\0";

/// A key of the engine.
pub(super) enum PhysicalKey<'k> {
    /// Without a prefix.
    Plain(&'k [u8]),
    Short([u8; SHORT], usize),
    Long(Vec<u8>),
}

impl Deref for PhysicalKey<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Plain(key) => key,
            Self::Short(bytes, len) => &bytes[..*len],
            Self::Long(key) => key,
        }
    }
}

impl KeyspaceNumber {
    pub(super) const DEFAULT: Self = Self(0);

    pub(super) fn is_default(self) -> bool {
        self == Self::DEFAULT
    }

    /// Returns the prefix of the keyspace's keys. REQUIRES: a named keyspace.
    pub(super) fn prefix(self) -> [u8; PREFIX] {
        let mut prefix = CATALOG;
        prefix[RESERVED.len()..].copy_from_slice(&self.0.to_be_bytes());
        prefix
    }

    /// Returns the bytes that the engine's limit of keys leaves to the keys of this keyspace.
    fn limit(self, limit: usize) -> usize {
        if self.is_default() { limit } else { limit.saturating_sub(PREFIX) }
    }

    /// Returns the engine's key.
    ///
    /// # Errors
    /// The key is longer than the limit, or reserved.
    #[inline]
    pub(super) fn physical(self, key: &[u8], limit: usize) -> Result<PhysicalKey<'_>> {
        let limit = self.limit(limit);
        if key.len() > limit {
            return Err(Error::KeyTooLong { len: key.len(), limit });
        }
        if self.is_default() {
            return if key.starts_with(&RESERVED) {
                Err(Error::KeyReserved)
            } else {
                Ok(PhysicalKey::Plain(key))
            };
        }
        let len = PREFIX + key.len();
        if len > SHORT {
            return Ok(PhysicalKey::Long([&self.prefix()[..], key].concat()));
        }
        let mut bytes = [0; SHORT];
        bytes[..PREFIX].copy_from_slice(&self.prefix());
        bytes[PREFIX..len].copy_from_slice(key);
        Ok(PhysicalKey::Short(bytes, len))
    }

    /// Returns the engine's key of a key that was read.
    pub(super) fn key_of(self, key: &[u8]) -> Vec<u8> {
        if self.is_default() { key.to_vec() } else { [&self.prefix()[..], key].concat() }
    }

    /// Returns the bounds of the engine's keys.
    pub(super) fn bounds(
        self,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
    ) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        if self.is_default() {
            return (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        }
        let prefix = self.prefix();
        let with_prefix = |bound: Bound<&[u8]>| bound.map(|key| [&prefix[..], key].concat());
        let lower = match lower {
            Bound::Unbounded => Bound::Included(prefix.to_vec()),
            bound => with_prefix(bound),
        };
        let upper = match upper {
            Bound::Unbounded => successor(&prefix).map_or(Bound::Unbounded, Bound::Excluded),
            bound => with_prefix(bound),
        };
        (lower, upper)
    }

    /// Returns the keyspace's key in an engine's key.
    pub(super) fn logical(self, key: &[u8]) -> &[u8] {
        if self.is_default() { key } else { key.get(PREFIX..).unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_keyspaces_are_apart_and_in_order() {
        let of = |number, key: &[u8]| KeyspaceNumber(number).physical(key, 1000).expect("a key").to_vec();
        assert!(of(1, b"z") < of(2, b""));
        assert!(of(1, b"a") < of(1, b"b"));
        assert_eq!(KeyspaceNumber(7).logical(&of(7, b"grey")), b"grey");
        let long = vec![7; 300];
        assert_eq!(KeyspaceNumber(7).logical(&of(7, &long)), long);
        for number in [1, 255, u32::MAX] {
            let (lower, upper) = KeyspaceNumber(number).bounds((Bound::Unbounded, Bound::Unbounded));
            let (Bound::Included(lower), Bound::Excluded(upper)) = (lower, upper) else { panic!("bounds") };
            assert!(lower <= of(number, b"") && of(number, &[255; 20]) < upper);
            assert!(lower.starts_with(&RESERVED) && upper <= AFTER_RESERVED.to_vec());
        }
    }

    #[test]
    fn limits_and_reserved_keys_are_errors() {
        let named = KeyspaceNumber(1).physical(&[0; 93], 100).err();
        assert!(matches!(named, Some(Error::KeyTooLong { len: 93, limit: 92 })), "{named:?}");
        assert!(KeyspaceNumber::DEFAULT.physical(&[0; 100], 100).is_ok());
        assert!(matches!(KeyspaceNumber::DEFAULT.physical(b"\xffSK\0", 100), Err(Error::KeyReserved)));
        assert!(KeyspaceNumber(1).physical(b"\xffSK\0", 100).is_ok());
    }
}
