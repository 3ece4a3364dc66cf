//! The keyspaces of a server's databases, in the form of the row [`DATABASES_KEY`].
//!
//! ```text
//!   database u32 │ number of its keyspace u32     of each database that is not in its own keyspace
//! ```
//!
//! A database is in its own keyspace until `SWAPDB` moves it. See "Keyspaces" in `docs/format.md`.
//!
//! # Invariants
//! 1. The table is a permutation: each keyspace belongs to one database.

use skein_store::{DATABASES_MAX, StoredKeyspace};

use crate::Engine;
use crate::keyspace_ranges::DATABASES_KEY;

/// Bytes of an entry in the row.
const ENTRY: usize = 8;

/// For each database its keyspace.
///
/// ```
/// use skein_data::{DatabaseTable, StoredKeyspace};
///
/// let mut table = DatabaseTable::default();
/// table.swap(0, 3);
/// assert_eq!(table.keyspace(3), Some(StoredKeyspace::DEFAULT));
/// assert_eq!(DatabaseTable::of_row(&table.to_row()), Ok(table));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseTable(Vec<StoredKeyspace>);

impl Default for DatabaseTable {
    /// Returns the table of a server that has swapped no databases.
    fn default() -> Self {
        Self((0..DATABASES_MAX).map(StoredKeyspace::of_database).collect())
    }
}

impl DatabaseTable {
    /// Reads the table of an engine.
    ///
    /// # Errors
    /// The row cannot be read, or is no table. The error is a text for people.
    pub fn of(engine: &Engine) -> Result<Self, String> {
        let row = engine.get(DATABASES_KEY).map_err(|error| error.to_string())?;
        Self::of_row(row.as_deref().unwrap_or_default())
    }

    /// Returns the table that a row describes. The empty row is the default table.
    ///
    /// # Errors
    /// The row is no table. The error is a text for people.
    pub fn of_row(row: &[u8]) -> Result<Self, String> {
        let mut table = Self::default();
        let bad = || format!("the row of the databases is damaged: {}", row.escape_ascii());
        if !row.len().is_multiple_of(ENTRY) {
            return Err(bad());
        }
        for entry in row.chunks_exact(ENTRY) {
            let word = |at: usize| entry[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
            *table.0.get_mut(word(0) as usize).ok_or_else(bad)? = StoredKeyspace::of_number(word(4));
        }
        if table.sorted() == Self::default().sorted() { Ok(table) } else { Err(bad()) }
    }

    fn sorted(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.0.iter().map(|keyspace| keyspace.number()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Returns the row: an entry for each database that is not in its own keyspace.
    pub fn to_row(&self) -> Vec<u8> {
        let mut row = Vec::new();
        for (database, keyspace) in (0..).zip(&self.0) {
            if *keyspace != StoredKeyspace::of_database(database) {
                row.extend_from_slice(&u32::to_be_bytes(database));
                row.extend_from_slice(&keyspace.number().to_be_bytes());
            }
        }
        row
    }

    /// Returns the keyspace of a database; `None` from [`DATABASES_MAX`] on.
    pub fn keyspace(&self, database: u32) -> Option<StoredKeyspace> {
        self.0.get(database as usize).copied()
    }

    /// Returns the keyspaces in the order of their databases.
    pub fn keyspaces(&self) -> impl Iterator<Item = StoredKeyspace> + '_ {
        self.0.iter().copied()
    }

    /// Swaps the keyspaces of two databases. Panics if one is not below [`DATABASES_MAX`].
    pub fn swap(&mut self, first: u32, second: u32) {
        self.0.swap(first as usize, second as usize);
    }
}

impl FromIterator<StoredKeyspace> for DatabaseTable {
    /// Takes the keyspaces in the order of their databases. REQUIRES: invariant 1, for all
    /// databases.
    fn from_iter<I: IntoIterator<Item = StoredKeyspace>>(keyspaces: I) -> Self {
        Self(keyspaces.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_has_the_swapped_databases_alone() {
        let mut table = DatabaseTable::of_row(b"").unwrap();
        assert_eq!(table, DatabaseTable::default());
        assert_eq!(table.to_row(), b"");
        table.swap(0, 3);
        let row = table.to_row();
        assert_eq!(row, b"\0\0\0\0\xff\xff\0\x03\0\0\0\x03\0\0\0\0");
        assert_eq!(DatabaseTable::of_row(&row), Ok(table));
    }

    #[test]
    fn a_row_that_is_no_permutation_is_damage() {
        for row in [&b"\0"[..], b"\0\0\0\0\xff\xff\0\x03", b"\0\0\xff\xff\0\0\0\0", b"\0\0\0\x01\0\0\0\x07"] {
            assert!(DatabaseTable::of_row(row).unwrap_err().contains("damaged"), "{row:?}");
        }
    }
}
