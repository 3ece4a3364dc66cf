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

use std::borrow::Cow;
use std::ops::Deref;

use skein_data::{EngineBounds, KEYSPACE_PREFIX, StoredKeyspace, is_reserved};

use super::range_reader::OwnedBounds;
use crate::{Error, Result};

/// The longest key that is put together on the stack.
const SHORT: usize = 64;

/// The prefix of the keys with the names of keyspaces, which must not be evicted; see "Keyspaces"
/// in `docs/format.md`.
pub const CATALOG: [u8; KEYSPACE_PREFIX] = *b"\xffSK\0\0\0\0\0";

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

/// The engine's keys for those of a keyspace.
pub(super) trait KeyspaceKeys {
    /// Returns the engine's key.
    ///
    /// # Errors
    /// The key is longer than the limit, or reserved.
    fn physical(self, key: &[u8], limit: usize) -> Result<PhysicalKey<'_>>;

    /// Returns the bounds of the engine's keys.
    fn owned_bounds(self, bounds: EngineBounds<'_>) -> OwnedBounds;

    /// Returns the keyspace's key in an engine's key.
    fn logical(self, key: &[u8]) -> &[u8];
}

impl KeyspaceKeys for StoredKeyspace {
    #[inline]
    fn physical(self, key: &[u8], limit: usize) -> Result<PhysicalKey<'_>> {
        let limit = limit.saturating_sub(self.prefix_bytes());
        if key.len() > limit {
            return Err(Error::KeyTooLong { len: key.len(), limit });
        }
        if self.is_default() {
            return if is_reserved(key) { Err(Error::KeyReserved) } else { Ok(PhysicalKey::Plain(key)) };
        }
        let len = KEYSPACE_PREFIX + key.len();
        if len > SHORT {
            return Ok(PhysicalKey::Long(self.stored(key).into_owned()));
        }
        let mut bytes = [0; SHORT];
        bytes[..KEYSPACE_PREFIX].copy_from_slice(&self.prefix());
        bytes[KEYSPACE_PREFIX..len].copy_from_slice(key);
        Ok(PhysicalKey::Short(bytes, len))
    }

    fn owned_bounds(self, bounds: EngineBounds<'_>) -> OwnedBounds {
        let (lower, upper) = self.bounds(bounds);
        (lower.map(Cow::into_owned), upper.map(Cow::into_owned))
    }

    fn logical(self, key: &[u8]) -> &[u8] {
        key.get(self.prefix_bytes()..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use skein_data::{AFTER_RESERVED, RESERVED};

    use super::*;

    #[test]
    fn keys_of_keyspaces_are_apart_and_in_order() {
        let of = |number, key: &[u8]| {
            StoredKeyspace::of_number(number).physical(key, 1000).expect("a key").to_vec()
        };
        assert!(of(1, b"z") < of(2, b""));
        assert!(of(1, b"a") < of(1, b"b"));
        assert_eq!(StoredKeyspace::of_number(7).logical(&of(7, b"grey")), b"grey");
        let long = vec![7; 300];
        assert_eq!(StoredKeyspace::of_number(7).logical(&of(7, &long)), long);
        for number in [1, 255, u32::MAX] {
            let (lower, upper) =
                StoredKeyspace::of_number(number).owned_bounds((Bound::Unbounded, Bound::Unbounded));
            let (Bound::Included(lower), Bound::Excluded(upper)) = (lower, upper) else { panic!("bounds") };
            assert!(lower <= of(number, b"") && of(number, &[255; 20]) < upper);
            assert!(lower.starts_with(&RESERVED) && upper <= AFTER_RESERVED.to_vec());
        }
    }

    #[test]
    fn limits_and_reserved_keys_are_errors() {
        let named = StoredKeyspace::of_number(1).physical(&[0; 93], 100).err();
        assert!(matches!(named, Some(Error::KeyTooLong { len: 93, limit: 92 })), "{named:?}");
        assert!(StoredKeyspace::DEFAULT.physical(&[0; 100], 100).is_ok());
        assert!(matches!(StoredKeyspace::DEFAULT.physical(b"\xffSK\0", 100), Err(Error::KeyReserved)));
        assert!(StoredKeyspace::of_number(1).physical(b"\xffSK\0", 100).is_ok());
    }
}
