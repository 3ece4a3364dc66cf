//! The contenders: our own structures, and those that a user would otherwise pick.
//!
//! | folder | what | measured by |
//! | --- | --- | --- |
//! | `index/` | ordered (and, as the bound, unordered) maps in memory | [`crate::workload`] |
//! | `store/` | embedded stores, which keep rows on disk | the experiments `store` and `bitbase-rivals` |
//! | `server/` | servers, started on loopback | the experiments `server`, `masstree-fig13` and `wormhole-fig12` |
//!
//! A contender is one file and one line in its folder's `mod.rs`; the file registers itself. Everything of others that would be
//! compiled or linked is behind the feature `rivals`; what then is not installed is named as left out, with the package that has it.

pub mod index;
pub mod server;
pub mod store;

/// The names of all contenders of this build that a user may choose from.
pub fn names() -> Vec<&'static str> {
    let mut names = index::names();
    names.extend(store::all().into_iter().map(|entry| entry.name));
    names.extend(server::all().into_iter().map(|entry| entry.name));
    names.push(server::NOOP);
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a user may choose, or leave out, what has this name: a contender, or a step of one.
pub fn is_known(name: &str) -> bool {
    names().contains(&name) || index::parent_of_step(name).is_some()
}

/// The contenders that this build could have and has not, with what would bring them in.
pub fn absent() -> Vec<(&'static str, String)> {
    let mut absent = index::absent();
    absent.extend(store::absent(store::StoreRole::Both));
    absent
}
