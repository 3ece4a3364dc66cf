//! Models of the Cuckoo Trie's protocols, explored by `loom`. The tables have two buckets, so that
//! a few keys fill them:
//!
//! ```sh
//! RUSTFLAGS="--cfg skein_loom" cargo test -p skein-index --test loom_cuckoo_trie --release
//! ```
//!
//! Each model runs the crate's own code with two threads, mostly with one operation each. The
//! scheduler may interrupt each run once, because a change has some hundred steps. Longer
//! operations (concurrent removals, jumps that are removed, a table that shrinks) are sampled in
//! `schedules.rs`.
//!
//! A model shows nothing if its case does not occur. So each writer first runs alone, and the
//! table's shape before and after must say that an entry moved or the table grew.
//!
//! Keys of one byte with different first symbols, such as `0` and `8`, are leaves right below the
//! root; `a` to `g` share a branch.
#![cfg(all(skein_loom, not(feature = "shuttle")))]
#![cfg(not(feature = "planted-bugs"))]

#[path = "support/checked.rs"]
mod checked;
#[path = "support/models.rs"]
mod models;
#[path = "support/numbers.rs"]
mod numbers;

use std::sync::Arc;

use models::{get, put, remove, scan};
use skein_index::cuckoo_trie::CuckooTrieShape;
use skein_index::cuckoo_trie::variant::{CuckooOfLeastBits, CuckooTrieVariant};
use skein_index::{Collector, CuckooTrie, Inline};

type CuckooModelIndex = CuckooTrieVariant<Inline<u64>, CuckooOfLeastBits<1>>;
type CuckooModelKeys = &'static [&'static str];

fn new() -> CuckooModelIndex {
    CuckooModelIndex::with_variant(Arc::new(Collector::new()))
}

fn filled(keys: CuckooModelKeys) -> CuckooModelIndex {
    let index = new();
    models::fill(&index, keys);
    index
}

fn model(
    keys: CuckooModelKeys,
    writer: impl Fn(&CuckooModelIndex) + Copy + Send + Sync + 'static,
    reader: impl Fn(&CuckooModelIndex) + Copy + Send + Sync + 'static,
) {
    models::model(new, 1, keys, writer, reader);
}

/// Runs a writer alone and passes the shape before and after to `holds`, which must return true.
fn rehearse(
    make: fn() -> CuckooModelIndex,
    writer: fn(&CuckooModelIndex),
    holds: fn(CuckooTrieShape, CuckooTrieShape) -> bool,
) {
    models::explore(0, move || {
        let mut index = make();
        let before = index.check().unwrap();
        writer(&index);
        let after = index.check().unwrap();
        assert!(holds(before, after), "the case did not occur: {before:?}, then {after:?}");
    });
}

#[test]
fn insert_of_a_neighbour_against_get() {
    model(
        &["(", "8"],
        |index| assert_eq!(put(index, "0", 9), None),
        |index| {
            assert_eq!(get(index, "8"), Some(1));
            let seen = get(index, "0");
            assert!(matches!(seen, None | Some(9)));
            // A key that was found once must stay.
            assert!(seen.is_none() || get(index, "0") == Some(9));
        },
    );
}

#[test]
fn two_inserts_under_one_branch() {
    model(
        &["c", "d"],
        |index| assert_eq!(put(index, "a", 8), None),
        |index| assert_eq!(put(index, "b", 9), None),
    );
}

/// A branch with two leaves replaces a leaf.
#[test]
fn parting_of_a_leaf_against_get() {
    model(
        &["a"],
        |index| assert_eq!(put(index, "c", 9), None),
        |index| {
            assert_eq!(get(index, "a"), Some(0));
            assert!(matches!(get(index, "c"), None | Some(9)));
        },
    );
}

/// A shorter jump, a branch and the rest of the jump replace a jump.
#[test]
fn fork_in_a_jump_against_get() {
    model(
        &["aaaaa", "aaaab"],
        |index| assert_eq!(put(index, "aab", 9), None),
        |index| assert_eq!(get(index, "aaaab"), Some(1)),
    );
}

/// Four entries are in one bucket and one in the other. An entry in its secondary bucket must move
/// for one more entry.
const CROWDED: CuckooModelKeys = &["h", "8", "H", "(", "0"];

fn crowded() -> CuckooModelIndex {
    filled(CROWDED)
}

fn add_one(index: &CuckooModelIndex) {
    assert_eq!(put(index, "P", 9), None);
}

/// The new entry cannot explain that a secondary bucket lost one.
#[test]
fn relocation_hides_no_key() {
    rehearse(crowded, add_one, |before, after| {
        before.slots == after.slots && after.secondary < before.secondary
    });
    models::model(crowded, 1, &[], add_one, |index| assert_eq!(get(index, "8"), Some(1)));
}

#[test]
#[ignore = "half a minute and more; CONTRIBUTING.md says how to run it"]
fn relocation_hides_no_other_key() {
    models::model(crowded, 1, &[], add_one, |index| assert_eq!(get(index, "h"), Some(0)));
    models::model(crowded, 1, &[], add_one, |index| assert_eq!(get(index, "H"), Some(2)));
    models::model(crowded, 1, &[], add_one, |index| assert_eq!(get(index, "("), Some(3)));
    models::model(crowded, 1, &[], add_one, |index| assert_eq!(get(index, "0"), Some(4)));
}

const FULL: CuckooModelKeys = &["`", "p", "8", "0", "X", "h", "P"];

fn full() -> CuckooModelIndex {
    filled(FULL)
}

fn add_one_more(index: &CuckooModelIndex) {
    assert_eq!(put(index, "(", 9), None);
}

#[test]
fn growth_hides_no_key() {
    rehearse(full, add_one_more, |before, after| before.slots < after.slots);
    models::model(full, 1, &[], add_one_more, |index| assert_eq!(get(index, "p"), Some(1)));
}

#[test]
#[ignore = "half a minute and more; CONTRIBUTING.md says how to run it"]
fn growth_hides_no_other_key() {
    models::model(full, 1, &[], add_one_more, |index| assert_eq!(get(index, "`"), Some(0)));
    models::model(full, 1, &[], add_one_more, |index| assert_eq!(get(index, "8"), Some(2)));
    models::model(full, 1, &[], add_one_more, |index| assert_eq!(get(index, "0"), Some(3)));
    models::model(full, 1, &[], add_one_more, |index| assert_eq!(get(index, "X"), Some(4)));
    models::model(full, 1, &[], add_one_more, |index| assert_eq!(get(index, "h"), Some(5)));
    models::model(full, 1, &[], add_one_more, |index| assert_eq!(get(index, "P"), Some(6)));
}

fn two_leaves() -> CuckooModelIndex {
    filled(&["a", "b"])
}

fn remove_a(index: &CuckooModelIndex) {
    assert_eq!(remove(index, "a"), Some(0));
}

#[test]
fn collapse_of_a_branch_against_get() {
    rehearse(two_leaves, remove_a, |before, after| after.branches < before.branches);
    models::model(two_leaves, 1, &[], remove_a, |index| assert_eq!(get(index, "b"), Some(1)));
    models::model(two_leaves, 1, &[], remove_a, |index| assert!(matches!(get(index, "a"), None | Some(0))));
}

#[test]
fn collapse_of_a_branch_against_insert() {
    models::model(two_leaves, 1, &[], remove_a, |index| assert_eq!(put(index, "c", 9), None));
}

/// An insert that finds the removed leaf revives it.
#[test]
fn remove_against_insert_of_the_same_key() {
    model(
        &["("],
        |index| assert!(matches!(remove(index, "("), Some(0 | 9))),
        |index| assert!(matches!(put(index, "(", 9), None | Some(0))),
    );
}

/// Scans must return the keys that are present throughout, while `new` is inserted.
fn scans(keys: CuckooModelKeys, new: &'static str, forward: bool) {
    let insert = move |index: &CuckooModelIndex| assert_eq!(put(index, new, 9), None);
    model(keys, insert, move |index| {
        let mut met = scan(index, forward);
        assert!(met.is_sorted_by(|a, b| if forward { a < b } else { a > b }));
        met.retain(|key| key != new.as_bytes());
        assert_eq!(met.len(), keys.len());
    });
}

#[test]
fn scan_against_insert() {
    scans(&["("], "0", true);
}

#[test]
#[ignore = "a minute and more; CONTRIBUTING.md says how to run it"]
fn scans_of_a_branch_against_insert() {
    scans(&["a", "d"], "c", true);
    scans(&["a", "d"], "c", false);
}
