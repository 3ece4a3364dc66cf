//! Transactions under test: stores in which several threads read and write rows in transactions.
//!
//! A file here implements [`TransactionContender`] and is listed in [`ALL`], as `redb.rs` is. The
//! others are `ours`, and the rivals `fjall` and `rocksdb`. The bodies of transactions are written
//! once, over [`TransactionRows`]. Each store begins, commits and repeats them in its own way.
//!
//! Keys are numbers, 8 bytes with the greatest first. Values are numbers too.

#[cfg(feature = "rivals")]
mod fjall;
mod ours;
#[cfg(feature = "rivals")]
mod redb;
#[cfg(have_rocksdb)]
mod rocksdb;

use std::fmt::Display;
use std::path::Path;

pub use ours::{DISK, MEMORY};

use super::store::{StoreResult, text, why_absent};

/// Why the body of a transaction ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransactionStop {
    /// Another transaction is in the way; the store repeats the body.
    #[error("it conflicts with another transaction")]
    Conflict,
    /// The store failed, or a row is missing.
    #[error("{0}")]
    Failed(String),
}

/// The result of an operation within a transaction.
pub type RowResult<T> = Result<T, TransactionStop>;

/// The rows as an open transaction sees them.
pub trait TransactionRows {
    /// Returns the value of a key, which must be present, for a transaction that is going to
    /// write.
    ///
    /// # Errors
    /// The key is absent, the transaction conflicts with another one, or the store failed.
    fn get(&mut self, key: u64) -> RowResult<u64>;

    /// Reads the rows from the key `from` on, one for each place in `values`. All must be present.
    ///
    /// # Errors
    /// As for `get`.
    fn scan(&mut self, from: u64, values: &mut [u64]) -> RowResult<()>;

    /// Sets a key to a value.
    ///
    /// # Errors
    /// The transaction conflicts with another one, or the store failed.
    fn put(&mut self, key: u64, value: u64) -> RowResult<()>;
}

/// The body of a transaction. It may run several times.
pub type Body<'a> = &'a mut dyn FnMut(&mut dyn TransactionRows) -> RowResult<()>;

/// A store with transactions.
pub trait TransactionContender: Sync {
    /// Runs a transaction and repeats it until it commits. Returns how often it met another one.
    ///
    /// # Errors
    /// The error of the body or of the store, in its own words.
    fn transact(&self, durability: CommitDurability, body: Body<'_>) -> StoreResult<u64>;

    /// Closes the store and returns errors that a drop would hide.
    ///
    /// # Errors
    /// That of the store.
    fn close(self: Box<Self>) -> StoreResult<()> {
        Ok(())
    }
}

/// Whether a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitDurability {
    /// It does not.
    Relaxed,
    /// A commit returns when it would survive a power cut.
    Sync,
}

/// A registered store.
#[derive(Debug)]
pub struct RegisteredTransactions {
    /// Its name in reports.
    pub name: &'static str,
    /// Its version and configuration.
    pub about: &'static str,
    /// Creates a store in an empty folder.
    pub open: fn(&Path) -> StoreResult<Box<dyn TransactionContender>>,
}

/// The stores of this build, in the order of reports and of turns.
pub static ALL: &[&RegisteredTransactions] = &[
    &ours::IN_MEMORY,
    &ours::ON_DISK,
    #[cfg(feature = "rivals")]
    &redb::ENTRY,
    #[cfg(feature = "rivals")]
    &fjall::ENTRY,
    #[cfg(have_rocksdb)]
    &rocksdb::OPTIMISTIC,
    #[cfg(have_rocksdb)]
    &rocksdb::LOCKS,
];

/// The stores of others, whether this build has them or not.
const OTHERS: [&str; 4] = ["redb", "fjall", "rocksdb-optimistic", "rocksdb-locks"];

/// Returns the stores that this build lacks, and how to make each available.
pub fn absent() -> Vec<(&'static str, String)> {
    let missing = OTHERS.into_iter().filter(|name| ALL.iter().all(|entry| entry.name != *name));
    missing.map(|name| (name, why_absent(name).to_owned())).collect()
}

/// Repeats an attempt until it does not conflict. Returns the number of conflicts.
#[cfg(feature = "rivals")]
fn repeat(mut attempt: impl FnMut() -> RowResult<()>) -> StoreResult<u64> {
    let mut conflicts = 0;
    loop {
        match attempt() {
            Ok(()) => return Ok(conflicts),
            Err(TransactionStop::Conflict) => conflicts += 1,
            Err(TransactionStop::Failed(why)) => return Err(why),
        }
    }
}

/// Returns a store's error.
fn failed(error: impl Display) -> TransactionStop {
    TransactionStop::Failed(text(error))
}

/// Returns the error for a row that should be there.
fn missing(key: u64) -> TransactionStop {
    TransactionStop::Failed(format!("it has no row {key}"))
}

/// Returns the number that a value's bytes are.
fn number(key: u64, value: &[u8]) -> RowResult<u64> {
    value.try_into().map(u64::from_be_bytes).map_err(|_| {
        TransactionStop::Failed(format!("the value of row {key} has {} bytes instead of 8", value.len()))
    })
}

/// Returns the number of a row that a store has looked up.
fn found<V: AsRef<[u8]>, E: Display>(key: u64, looked_up: Result<Option<V>, E>) -> RowResult<u64> {
    number(key, looked_up.map_err(failed)?.ok_or_else(|| missing(key))?.as_ref())
}

/// Fills `values` with rows in the order of their keys. Fails if one is missing.
fn fill<V: AsRef<[u8]>, E: Display>(
    from: u64,
    values: &mut [u64],
    mut rows: impl Iterator<Item = Result<V, E>>,
) -> RowResult<()> {
    (from..).zip(values).try_for_each(|(key, value)| {
        *value = found(key, rows.next().transpose())?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::on_threads;

    const KEYS: u64 = 30;

    /// Opens each store of this build in a folder of its own, with [`KEYS`] rows of 0.
    fn with_each(look: impl Fn(&str, &dyn TransactionContender)) {
        for entry in ALL {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let store = (entry.open)(folder.path()).expect(entry.name);
            let mut fill = |rows: &mut dyn TransactionRows| (0..KEYS).try_for_each(|key| rows.put(key, 0));
            store.transact(CommitDurability::Relaxed, &mut fill).expect(entry.name);
            look(entry.name, store.as_ref());
            store.close().expect(entry.name);
        }
    }

    /// Returns all values.
    fn values(store: &dyn TransactionContender) -> Vec<u64> {
        let mut values = vec![0; KEYS as usize];
        let mut read = |rows: &mut dyn TransactionRows| rows.scan(0, &mut values);
        store.transact(CommitDurability::Relaxed, &mut read).expect("it reads");
        values
    }

    #[test]
    fn every_store_is_available_or_reported_as_absent() {
        let mut names: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
        assert_eq!(names[..2], [MEMORY, DISK]);
        names.extend(absent().into_iter().map(|(name, _)| name));
        names.sort_unstable();
        let mut expected = vec![MEMORY, DISK];
        expected.extend(OTHERS);
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert!(absent().iter().all(|(_, why)| why.contains("build")));
    }

    #[test]
    fn no_update_is_lost() {
        with_each(|name, store| {
            let work = |thread: usize| {
                for n in 0..100 {
                    // The threads meet on two keys, in both orders.
                    let (a, b) = if (n + thread).is_multiple_of(2) { (3, 7) } else { (7, 3) };
                    let mut body = |rows: &mut dyn TransactionRows| {
                        let (x, y) = (rows.get(a)?, rows.get(b)?);
                        rows.put(a, x + 1)?;
                        rows.put(b, y + 1)
                    };
                    let durability = if n == 0 { CommitDurability::Sync } else { CommitDurability::Relaxed };
                    store.transact(durability, &mut body).expect(name);
                }
            };
            on_threads(2, work).expect("pinned");
            let values = values(store);
            assert_eq!((values[3], values[7], values.iter().sum::<u64>()), (200, 200, 400), "{name}");
        });
    }

    #[test]
    fn a_failed_body_leaves_nothing() {
        with_each(|name, store| {
            let mut body = |rows: &mut dyn TransactionRows| {
                rows.put(5, 1)?;
                let mut values = [0; 3];
                rows.scan(KEYS - 2, &mut values)
            };
            let error = store.transact(CommitDurability::Relaxed, &mut body).expect_err(name);
            assert!(error.contains("it has no row 30"), "{name}: {error}");
            assert_eq!(values(store), vec![0; KEYS as usize], "{name}");
        });
    }
}
