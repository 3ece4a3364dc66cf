//! Models of MlpIndex's protocols, explored by `loom`, on a table of four buckets:
//!
//! ```sh
//! RUSTFLAGS="--cfg skein_loom" cargo test -p skein-index --test loom_mlp_index --release
//! ```
//!
//! Each model runs the crate's own code; threads are two, one operation each for the most part, and the scheduler may interrupt each run once: a
//! change has some hundred steps. In models the last bits of a name are its bucket, and the next bucket is its other one (`name.rs`, `table.rs`), so
//! keys are of the bytes 0, 8, 16 and 24, and it is known which nodes meet. All keys begin with two zeros: there are few names of three symbols.
#![cfg(all(skein_loom, not(feature = "shuttle")))]
#![cfg(not(feature = "planted-bugs"))]

#[path = "support/checked.rs"]
mod checked;
#[path = "support/models.rs"]
mod models;

use std::sync::Arc;

use models::{get, put, remove, scan};
use skein_index::{Collector, Inline, MlpIndex};

type Index = MlpIndex<Inline<u64>>;
type Keys = &'static [&'static str];

/// Keys by their bytes after the two zeros: `A` is 8, `B` 16, `C` 24 and `D` 0.
const D_: &str = "\0\0\0";
const B_: &str = "\0\0\x10";
const C_: &str = "\0\0\x18";
const AA: &str = "\0\0\x08\x08";
const AB: &str = "\0\0\x08\x10";
const AC: &str = "\0\0\x08\x18";
const AD: &str = "\0\0\x08\0";
const AAA: &str = "\0\0\x08\x08\x08";
const AAB: &str = "\0\0\x08\x08\x10";
const AAC: &str = "\0\0\x08\x08\x18";

fn new() -> Index {
    Index::with_variant(Arc::new(Collector::new()))
}

fn model(
    keys: Keys,
    writer: impl Fn(&Index) + Copy + Send + Sync + 'static,
    reader: impl Fn(&Index) + Copy + Send + Sync + 'static,
) {
    models::model(new, 1, keys, writer, reader);
}

/// A leaf goes down a level, to another bucket, and an inner node takes its place.
#[test]
#[ignore = "takes several minutes"]
fn parting_of_a_leaf_against_get() {
    model(
        &[AA],
        |index| assert_eq!(put(index, AB, 9), None),
        |index| {
            assert_eq!(get(index, AA), Some(0));
            assert!(matches!(get(index, AB), None | Some(9)));
        },
    );
}

#[test]
fn two_inserts_under_one_node() {
    model(
        &[AA, AB],
        |index| assert_eq!(put(index, AD, 8), None),
        |index| assert_eq!(put(index, AC, 9), None),
    );
}

/// Two keys of one name of three symbols, of which there was none.
#[test]
#[ignore = "takes a minute"]
fn two_inserts_at_the_top() {
    model(&[], |index| assert_eq!(put(index, AA, 8), None), |index| assert_eq!(put(index, AB, 9), None));
}

/// The other leaf takes the place of the inner node.
#[test]
fn collapse_against_get() {
    model(
        &[AA, AB],
        |index| assert_eq!(remove(index, AA), Some(0)),
        |index| {
            assert_eq!(get(index, AB), Some(1));
            assert!(matches!(get(index, AA), None | Some(0)));
        },
    );
}

#[test]
#[ignore = "takes a minute"]
fn collapse_against_insert() {
    model(
        &[AA, AB],
        |index| assert_eq!(remove(index, AA), Some(0)),
        |index| assert_eq!(put(index, AC, 9), None),
    );
}

/// A removal that makes the least key greater, against an insert that makes it less.
#[test]
#[ignore = "takes several minutes"]
fn least_keys_against_each_other() {
    model(
        &[AD, AAB, AAC],
        |index| assert_eq!(remove(index, AD), Some(0)),
        |index| assert_eq!(put(index, AAA, 9), None),
    );
}

#[test]
#[ignore = "takes several minutes"]
fn removals_of_both_keys_of_a_node() {
    model(
        &[AA, AB],
        |index| assert_eq!(remove(index, AA), Some(0)),
        |index| assert_eq!(remove(index, AB), Some(1)),
    );
}

/// The buckets fill up, so that nodes make way for others.
#[test]
fn relocation_against_get() {
    model(
        &[D_, AA, AB, B_, C_, AD],
        |index| assert_eq!(put(index, AC, 9), None),
        |index| {
            assert_eq!(get(index, AA), Some(1));
            assert_eq!(get(index, B_), Some(3));
        },
    );
}

#[test]
#[ignore = "takes several minutes"]
fn scan_against_insert() {
    model(
        &[AA, B_],
        |index| assert_eq!(put(index, AB, 9), None),
        |index| {
            let met = scan(index, true);
            assert!(met.is_sorted() && (2..=3).contains(&met.len()), "{met:?}");
            assert_eq!((met.first(), met.last()), (Some(&AA.into()), Some(&B_.into())));
        },
    );
}
