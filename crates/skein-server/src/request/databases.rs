//! The databases of a server, and where their keys are.
//!
//! ```text
//!   database          0        1        2  …          SWAPDB 0 2 swaps two entries of this table,
//!                     │        │        │             and writes the table into a row of the store
//!   keyspace       default  ffff0001 ffff0002         (`skein_data::DATABASES_KEY`)
//!                     │        │
//!   key in the store  goose    ff 53 4b 00 ff ff 00 01 goose
//! ```
//!
//! A database with the default keyspace, at first database 0, costs one load per request. The keys
//! of requests to others are rewritten before the command runs (`stored_request`), so handlers and
//! engines do not depend on databases.
//!
//! # Invariants
//! 1. The table changes only while no other worker runs requests (`exclusion_gate`). So a request
//!    sees one table from its begin to its end.
//! 2. The table is a permutation: each keyspace belongs to one database.
//!
//! Design: `docs/design/databases.md`.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use skein_data::{DATABASES_KEY, DATABASES_MAX, DatabaseTable, Engine, EngineKeys, StoredKeyspace, Ticket};
use skein_syntax::number::parse_i64;

use crate::StartError;
use crate::request::command_error::{CommandError, NOT_AN_INTEGER};

const NO_SUCH_DATABASE: CommandError = CommandError::text("ERR DB index is out of range");

/// Parses an integer of 32 bits. Returns `no_integer` for other texts and `too_large` for larger
/// numbers.
pub(crate) fn parse_index(
    text: &[u8],
    no_integer: CommandError,
    too_large: CommandError,
) -> Result<i32, CommandError> {
    i32::try_from(parse_i64(text).ok_or(no_integer)?).map_err(|_| too_large)
}

/// Returns the database of this number.
pub(crate) fn database_of(index: i32, count: u32) -> Result<u32, CommandError> {
    u32::try_from(index).ok().filter(|database| *database < count).ok_or(NO_SUCH_DATABASE)
}

/// Parses the number of one of `count` databases.
pub(crate) fn parse_database(text: &[u8], count: u32) -> Result<u32, CommandError> {
    let out_of_range = CommandError::out_of_range(i32::MIN.into(), i32::MAX.into());
    database_of(parse_index(text, NOT_AN_INTEGER, out_of_range)?, count)
}

/// The databases of a server.
#[derive(Debug)]
pub(crate) struct Databases {
    /// How many a client can select.
    count: AtomicU32,
    /// For each database the number of its keyspace.
    keyspaces: Box<[AtomicU32]>,
    /// For each database how often it was swapped.
    swaps: Box<[AtomicU32]>,
    /// Grows with each change of the table.
    generation: AtomicU64,
    /// The longest key in the store.
    key_bytes_max: AtomicUsize,
}

// Relaxed in all of this file: invariant 1, and the exclusion gate orders the changes.
impl Databases {
    /// Returns so many databases, each in its own keyspace.
    pub(crate) fn new(count: u32) -> Self {
        let own = |database| AtomicU32::new(StoredKeyspace::of_database(database).number());
        Self {
            count: AtomicU32::new(count),
            keyspaces: (0..DATABASES_MAX).map(own).collect(),
            swaps: (0..DATABASES_MAX).map(|_| AtomicU32::new(0)).collect(),
            generation: AtomicU64::new(0),
            key_bytes_max: AtomicUsize::new(usize::MAX),
        }
    }

    /// Returns how many databases there are.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the keyspace of a database.
    #[inline]
    pub(crate) fn keyspace(&self, database: u32) -> StoredKeyspace {
        StoredKeyspace::of_number(self.keyspaces[database as usize].load(Ordering::Relaxed))
    }

    /// Returns the database that has its keys in a keyspace.
    pub(crate) fn holding(&self, keyspace: StoredKeyspace) -> Option<u32> {
        let own = keyspace.database()?;
        if self.keyspace(own) == keyspace {
            return Some(own);
        }
        (0..DATABASES_MAX).find(|database| self.keyspace(*database) == keyspace)
    }

    /// Returns how often a database was swapped.
    pub(crate) fn swaps(&self, database: u32) -> u32 {
        self.swaps[database as usize].load(Ordering::Relaxed)
    }

    /// Returns a number that changes with the table.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Returns the longest name of a key in a keyspace.
    pub(crate) fn name_bytes_max(&self, keyspace: StoredKeyspace) -> usize {
        self.key_bytes_max.load(Ordering::Relaxed).saturating_sub(keyspace.prefix_bytes())
    }

    /// Reads the table of an engine that is about to be served.
    ///
    /// # Errors
    /// The row cannot be read, or is no table.
    pub(crate) fn open(&self, engine: &Engine) -> Result<(), StartError> {
        let failed = |why: String| StartError::Databases { why };
        let longest = engine.key_bytes_max();
        self.key_bytes_max.store(longest, Ordering::Relaxed);
        if self.name_bytes_max(StoredKeyspace::of_database(1)) == 0 && self.count() > 1 {
            tracing::warn!(
                "there is only database 0, because the index takes keys of up to {longest} bytes, and \
                 those of other databases have {} more",
                skein_data::KEYSPACE_PREFIX
            );
            self.count.store(1, Ordering::Relaxed);
        }
        self.load(engine).map_err(failed)?;
        let hidden = |database: &u32| engine.keyspace_stats(self.keyspace(*database)).keys > 0;
        if let Some(database) = (self.count()..DATABASES_MAX).find(hidden) {
            tracing::warn!(
                database,
                count = self.count(),
                "there are keys in a database that no client can select; raise `databases`"
            );
        }
        Ok(())
    }

    /// Reads the table again, after the engine has undone a transaction that swapped databases.
    pub(crate) fn reload(&self, engine: &Engine) {
        if let Err(why) = self.load(engine) {
            tracing::error!("the table of databases cannot be read: {why}");
        }
    }

    fn load(&self, engine: &Engine) -> Result<(), String> {
        let table = DatabaseTable::of(engine)?;
        for (own, keyspace) in self.keyspaces.iter().zip(table.keyspaces()) {
            own.store(keyspace.number(), Ordering::Relaxed);
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the present table.
    pub(crate) fn table(&self) -> DatabaseTable {
        (0..DATABASES_MAX).map(|database| self.keyspace(database)).collect()
    }

    /// Swaps the contents of two databases. Returns the ticket of the row. REQUIRES: no other
    /// worker runs requests.
    pub(crate) fn swap(
        &self,
        keys: &mut EngineKeys,
        first: u32,
        second: u32,
    ) -> Result<Ticket, CommandError> {
        let mut table = self.table();
        table.swap(first, second);
        let (written, ticket) = keys.write(|writer| writer.put(DATABASES_KEY, &table.to_row()));
        written??;
        for (database, other) in [(first, self.keyspace(second)), (second, self.keyspace(first))] {
            self.keyspaces[database as usize].store(other.number(), Ordering::Relaxed);
            self.swaps[database as usize].fetch_add(1, Ordering::Relaxed);
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok(ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_keyspace_is_found_after_swaps() {
        let databases = Databases::new(16);
        let third = StoredKeyspace::of_database(3);
        assert_eq!(databases.holding(third), Some(3));
        databases.keyspaces[0].store(third.number(), Ordering::Relaxed);
        databases.keyspaces[3].store(0, Ordering::Relaxed);
        assert_eq!(databases.holding(third), Some(0));
        assert_eq!(databases.holding(StoredKeyspace::DEFAULT), Some(3));
        assert_eq!(databases.holding(StoredKeyspace::of_number(7)), None);
    }
}
