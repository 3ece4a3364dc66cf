//! The contenders: our own structures, and those that a user would otherwise pick.
//!
//! | folder | what | measured by |
//! | --- | --- | --- |
//! | `index/` | ordered (and, as the bound, unordered) maps in memory | [`crate::workload`] |
//! | `store/` | embedded stores, which keep rows on disk | the experiment `store` |
//!
//! A contender is one file and one line in its folder's `mod.rs`; the file registers itself. Everything that is not ours is
//! behind the feature `rivals`; what then is not installed is named as left out, with the package that has it.

pub mod index;
pub mod store;

/// The names of all contenders of this build that a user may choose from.
pub fn names() -> Vec<&'static str> {
    let mut names = index::names();
    names.extend(store::all().into_iter().map(|entry| entry.name));
    names
}
