//! Embedded stores under test: they keep rows on disk.
//!
//! A file here implements [`StoreContender`] and describes it by a [`RegisteredStore`], which is
//! listed in [`ALL`].
//!
//! Operations take a microsecond or more, so the dynamic call for each does not show in the
//! figures. Read this file first, then `rows.rs` and `redb.rs` as an example. The others: `ours`,
//! `disk` (our disk engine), and a rival each in `bf_tree`, `fjall`, `lmdb` and `rocksdb`.

#[cfg(feature = "rivals")]
mod bf_tree;
mod disk;
#[cfg(feature = "rivals")]
mod fjall;
#[cfg(feature = "rivals")]
mod lmdb;
mod ours;
#[cfg(feature = "rivals")]
mod redb;
#[cfg(have_rocksdb)]
pub(super) mod rocksdb;
mod rows;

use std::ops::Range;
use std::path::Path;

pub use disk::{DISK_LINKED, DiskTrieSetup, PAPER_TRIES, TRIES};
pub use ours::NAME as OURS;
pub use rows::{BenchRows, INTEGER_BYTES};

/// The result of a store's operation, or the store's own error message.
pub type StoreResult<T> = std::result::Result<T, String>;

/// The durability of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityLevel {
    /// The store logs nothing, if it can be told so, and nothing waits for the disk. A crash may
    /// lose all writes since the last force.
    None,
    /// Nothing waits for the disk. A crash of the machine may lose the last moments.
    Relaxed,
    /// A commit returns when it would survive a power cut.
    Sync,
}

/// The parameters with which a store is opened.
#[derive(Debug, Clone, Copy)]
pub struct StoreSetup<'a> {
    /// A folder for this store only; it exists.
    pub folder: &'a Path,
    /// The durability of its commits.
    pub level: DurabilityLevel,
    /// The bytes of keys and values that it will hold.
    pub bytes: u64,
    /// The bytes of its cache, if it has one. `None`: enough that no store reads from the disk.
    pub cache: Option<u64>,
}

impl StoreSetup<'_> {
    /// Returns the bytes of the cache.
    pub fn cache_bytes(&self) -> u64 {
        self.cache.unwrap_or((2 * self.bytes).max(4 << 30))
    }
}

/// The receiver of rows: gets the number of each, and its value if the store has it.
pub type FoundRow<'a> = &'a mut dyn FnMut(usize, Option<&[u8]>);

/// An embedded store under test. Every error is the store's own message.
#[expect(clippy::missing_errors_doc, reason = "every method fails as its store does")]
pub trait StoreContender {
    /// Puts rows; all or nothing.
    fn put_batch(&mut self, rows: &BenchRows, numbers: Range<usize>) -> StoreResult<()>;

    /// Puts one row.
    fn put(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        self.put_batch(rows, n..n + 1)
    }

    /// Adds one to a row's value, an integer in decimal digits. All or nothing, if the store has
    /// transactions.
    fn inc(&mut self, _rows: &BenchRows, n: usize) -> StoreResult<()> {
        Err(format!("it does not support increments (row {n})"))
    }

    /// Forces everything to disk.
    fn force(&mut self) -> StoreResult<()>;

    /// Reads the rows one after the other, and calls `found` with each.
    fn get_each(&mut self, rows: &BenchRows, numbers: &[usize], found: FoundRow<'_>) -> StoreResult<()>;

    /// Closes the store and returns errors that a drop would hide.
    fn close(self: Box<Self>) -> StoreResult<()> {
        Ok(())
    }
}

/// A registered store.
#[derive(Debug)]
pub struct RegisteredStore {
    /// Its name in reports.
    pub name: &'static str,
    /// Its version and configuration.
    pub about: &'static str,
    /// The comparisons that it takes part in.
    pub part: StoreRole,
    /// Whether its rows can be forced to disk, and exist when it is opened again.
    pub durable: bool,
    /// Opens a store, or creates it.
    pub open: fn(&StoreSetup<'_>) -> StoreResult<Box<dyn StoreContender>>,
}

/// The kind of store, for comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreRole {
    /// A store of rows, with all data in memory.
    Rows,
    /// An engine for more data than its cache holds.
    Pages,
    /// Both.
    Both,
}

impl StoreRole {
    /// Returns whether a store of this kind takes part in comparisons of the other.
    pub fn takes(self, other: Self) -> bool {
        self == other || self == Self::Both || other == Self::Both
    }
}

/// The stores of this build, in the order of reports and of turns.
pub static ALL: &[&RegisteredStore] = &[
    &ours::ENTRY,
    &disk::LINKED,
    &disk::CLASSICAL,
    &disk::HASH,
    #[cfg(feature = "rivals")]
    &lmdb::ENTRY,
    #[cfg(feature = "rivals")]
    &redb::ENTRY,
    #[cfg(feature = "rivals")]
    &bf_tree::ENTRY,
    #[cfg(feature = "rivals")]
    &fjall::ENTRY,
    #[cfg(have_rocksdb)]
    &rocksdb::ENTRY,
];

/// The stores of others, whether this build has them or not.
const OTHERS: [(&str, StoreRole); 5] = [
    ("lmdb", StoreRole::Both),
    ("redb", StoreRole::Both),
    ("fjall", StoreRole::Rows),
    ("rocksdb", StoreRole::Both),
    ("bf-tree", StoreRole::Pages),
];

/// Returns the stores for such comparisons that this build lacks, and how to make each available.
pub fn absent(part: StoreRole) -> Vec<(&'static str, String)> {
    let known = OTHERS.into_iter().filter(|(_, takes)| takes.takes(part)).map(|(name, _)| name);
    let missing = known.filter(|name| ALL.iter().all(|entry| entry.name != *name));
    missing.map(|name| (name, why_absent(name).to_owned())).collect()
}

/// Returns why this build lacks a store, and how to make it available.
pub(super) fn why_absent(name: &str) -> &'static str {
    match name {
        name if !name.starts_with("rocksdb") => "not in this build; build with --features rivals",
        _ if cfg!(feature = "rivals") => {
            "not installed when this was built; install Debian's package librocksdb-dev and build again"
        }
        _ => "not in this build; install Debian's package librocksdb-dev and build with --features rivals",
    }
}

/// Returns the decimal integer that follows this one; "1" if there is no value yet.
#[cfg(feature = "rivals")]
fn one_more(value: Option<&[u8]>) -> StoreResult<String> {
    let text = value.map_or(Ok("0"), std::str::from_utf8).map_err(text)?;
    Ok((text.parse::<i64>().map_err(self::text)? + 1).to_string())
}

/// Returns a store's error as text.
pub(super) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_is_available_or_reported_as_absent() {
        let mut names: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
        assert_eq!(names[0], OURS);
        names.extend(absent(StoreRole::Both).into_iter().map(|(name, _)| name));
        names.sort_unstable();
        let others = OTHERS.map(|(name, _)| name);
        let mut expected: Vec<&str> =
            TRIES.iter().map(|trie| trie.name).chain(others).chain([OURS]).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert!(absent(StoreRole::Both).iter().all(|(_, why)| why.contains("build")));
    }

    #[test]
    fn every_store_keeps_its_rows() {
        let rows = BenchRows::new(500, 40, 1);
        for entry in ALL.iter().filter(|entry| entry.durable) {
            let folder = tempfile::tempdir().expect("a temporary folder");
            for level in [DurabilityLevel::Relaxed, DurabilityLevel::Sync] {
                let setup = StoreSetup { folder: folder.path(), level, bytes: rows.bytes(), cache: None };
                let mut store = (entry.open)(&setup).expect(entry.name);
                if level == DurabilityLevel::Relaxed {
                    store.put_batch(&rows, 0..400).expect("a batch goes in");
                } else {
                    store.put(&rows, 400).expect("a row goes in");
                }
                store.force().expect("the disk takes it");
                store.close().expect("it closes");
            }
            let (folder, level) = (folder.path(), DurabilityLevel::Relaxed);
            let setup = StoreSetup { folder, level, bytes: rows.bytes(), cache: None };
            let mut store = (entry.open)(&setup).expect("it opens again");
            let mut right = Vec::new();
            let numbers: Vec<usize> = (0..402).collect();
            let mut look = |n: usize, value: Option<&[u8]>| {
                if value.is_some_and(|value| rows.is(n, value)) {
                    right.push(n);
                }
            };
            store.get_each(&rows, &numbers, &mut look).expect("it reads");
            assert!(right.into_iter().eq(0..401), "{}", entry.name);
        }
    }
}
