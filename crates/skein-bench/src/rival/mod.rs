//! The contenders: our own structures, and those that a user would otherwise choose.
//!
//! | folder | contenders | measured by |
//! | --- | --- | --- |
//! | `index/` | maps in memory; hash tables are the upper bound | [`crate::workload`] |
//! | `store/` | embedded stores, which keep rows on disk | experiments `store`, `bitbase-rivals` |
//! | `server/` | servers, started on loopback | `server`, `masstree-fig13`, `wormhole-fig12` |
//! | `transaction/` | stores with transactions | experiment `transactions` |
//!
//! A contender is one file, its `mod` line and its line in the list of the folder's `mod.rs`.
//! All foreign code that is compiled or linked is behind the feature `rivals`. With the feature, a
//! contender without an installed library is reported as left out, together with the package that
//! has the library.

pub mod index;
pub mod server;
pub mod store;
pub mod transaction;

/// Returns the names of all contenders of this build that a user may choose.
pub fn names() -> Vec<&'static str> {
    let mut names = index::names();
    names.extend(store::ALL.iter().map(|entry| entry.name));
    names.extend(transaction::ALL.iter().map(|entry| entry.name));
    names.extend(server::all().map(|entry| entry.name));
    names.push(server::NOOP);
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns whether a user may choose or exclude this name: a contender, or a step of one.
pub fn is_known(name: &str) -> bool {
    names().contains(&name) || index::parent_of_step(name).is_some()
}

/// Returns the contenders that this build lacks, and how to make each available.
pub fn absent() -> Vec<(&'static str, String)> {
    let mut absent = index::absent();
    absent.extend(store::absent(store::StoreRole::Both));
    absent.extend(transaction::absent());
    absent
}
