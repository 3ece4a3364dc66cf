//! Keyspaces: ranges of keys that share a prefix; see "Keyspaces" in `docs/format.md`.
//!
//! ```text
//!   ff 53 4b 00 │ number u32 │ key     a key of a numbered keyspace
//!   ff 53 4b 00 │ 0 u32      │ name    rows that a program keeps for itself
//!   any other bytes                    a key of the default keyspace
//! ```
//!
//! A store is one set of keys, and rows, logs and checkpoints know nothing of keyspaces. Only the
//! numbers of keys are kept for each of a server's databases ([`totals`]), because a server shows
//! them often. `bounds` makes ranges of stored keys of ranges of names.

mod bounds;
mod totals;

use std::borrow::Cow;

pub use bounds::{KeyBounds, StoredBounds, borrowed_bounds};
pub use totals::{KeyspaceChange, KeyspaceStats, KeyspaceTotal, KeyspaceTotals};

/// The first bytes of all keys outside of the default keyspace.
pub const RESERVED: [u8; 4] = *b"\xffSK\0";
/// The least key behind all of those.
pub const AFTER_RESERVED: [u8; 4] = *b"\xffSK\x01";
/// Bytes of the prefix of a numbered keyspace.
pub const KEYSPACE_PREFIX: usize = 8;
/// The most databases that a server can have.
pub const DATABASES_MAX: u32 = 1024;

/// The number of database 0, which has no keys of its own: its keyspace is the default one.
const DATABASE_NUMBERS: u32 = 0xffff_0000;

/// Returns whether a key begins with [`RESERVED`].
///
/// ```
/// assert!(skein_model::is_reserved(b"\xffSK\0\0\0\0\x01goose"));
/// assert!(!skein_model::is_reserved(b"goose"));
/// ```
#[inline]
pub fn is_reserved(key: &[u8]) -> bool {
    // One compare for almost all keys.
    key.first() == Some(&RESERVED[0]) && key.starts_with(&RESERVED)
}

/// Returns the name that a key of the store has within its keyspace.
///
/// ```
/// use skein_model::{StoredKeyspace, name_within};
///
/// let stored = StoredKeyspace::of_database(3).stored(b"goose");
/// assert_eq!((name_within(&stored), name_within(b"duck")), (&b"goose"[..], &b"duck"[..]));
/// ```
#[inline]
pub fn name_within(stored: &[u8]) -> &[u8] {
    if is_reserved(stored) { stored.get(KEYSPACE_PREFIX..).unwrap_or_default() } else { stored }
}

/// A keyspace, by the prefix of its keys.
///
/// ```
/// use skein_model::StoredKeyspace;
///
/// let third = StoredKeyspace::of_database(3);
/// let stored = third.stored(b"goose");
/// assert_eq!(stored, &b"\xffSK\0\xff\xff\0\x03goose"[..]);
/// assert_eq!(StoredKeyspace::holding(&stored), Some(third));
/// assert_eq!(StoredKeyspace::holding(b"goose"), Some(StoredKeyspace::DEFAULT));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StoredKeyspace(u32);

impl StoredKeyspace {
    /// The keyspace without a prefix of its keys.
    pub const DEFAULT: Self = Self(0);

    /// Returns the keyspace with this number; 0 is the default one.
    pub const fn of_number(number: u32) -> Self {
        Self(number)
    }

    /// Returns the keyspace in which a server's database begins. `REQUIRES: database <
    /// DATABASES_MAX`
    pub const fn of_database(database: u32) -> Self {
        if database == 0 { Self::DEFAULT } else { Self(DATABASE_NUMBERS + database) }
    }

    /// Returns the database that begins in this keyspace, if there is one.
    pub fn database(self) -> Option<u32> {
        match self.0 {
            0 => Some(0),
            number => number.checked_sub(DATABASE_NUMBERS).filter(|at| (1..DATABASES_MAX).contains(at)),
        }
    }

    /// Returns the keyspace of a key of the store; `None` for rows of the number 0 and shorter keys.
    pub fn holding(stored: &[u8]) -> Option<Self> {
        if !is_reserved(stored) {
            return Some(Self::DEFAULT);
        }
        let number = stored[RESERVED.len()..].first_chunk()?;
        Some(Self(u32::from_be_bytes(*number))).filter(|keyspace| !keyspace.is_default())
    }

    /// Returns its number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns whether its keys have no prefix.
    #[inline]
    pub const fn is_default(self) -> bool {
        self.0 == 0
    }

    /// Returns the bytes that a key has in the store besides its name.
    pub const fn prefix_bytes(self) -> usize {
        if self.is_default() { 0 } else { KEYSPACE_PREFIX }
    }

    /// Returns the prefix. `REQUIRES: !is_default()`
    pub fn prefix(self) -> [u8; KEYSPACE_PREFIX] {
        let mut prefix = [0; KEYSPACE_PREFIX];
        prefix[..RESERVED.len()].copy_from_slice(&RESERVED);
        prefix[RESERVED.len()..].copy_from_slice(&self.0.to_be_bytes());
        prefix
    }

    /// Returns the key that the store has for this name.
    #[inline]
    pub fn stored(self, name: &[u8]) -> Cow<'_, [u8]> {
        if self.is_default() { Cow::Borrowed(name) } else { Cow::Owned([&self.prefix()[..], name].concat()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_have_numbers_of_their_own() {
        for database in [0, 1, 15, DATABASES_MAX - 1] {
            assert_eq!(StoredKeyspace::of_database(database).database(), Some(database));
        }
        for number in [1, DATABASE_NUMBERS, DATABASE_NUMBERS + DATABASES_MAX, u32::MAX] {
            assert_eq!(StoredKeyspace::of_number(number).database(), None, "{number}");
        }
    }

    #[test]
    fn rows_of_the_program_and_short_keys_are_in_no_keyspace() {
        for key in [&b"\xffSK\0"[..], b"\xffSK\0\0\0\0", b"\xffSK\0\0\0\0\0", b"\xffSK\0\0\0\0\0name"] {
            assert_eq!(StoredKeyspace::holding(key), None, "{key:?}");
        }
        for key in [&b""[..], b"\xff", b"\xffSK", b"\xffSK\x01", b"\xffSJ\0\0\0\0\x01"] {
            assert_eq!(StoredKeyspace::holding(key), Some(StoredKeyspace::DEFAULT), "{key:?}");
            assert_eq!(name_within(key), key);
        }
    }
}
