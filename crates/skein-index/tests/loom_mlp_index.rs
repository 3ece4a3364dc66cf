//! Models of MlpIndex's protocols, explored by `loom`. The table has four buckets of two slots:
//!
//! ```sh
//! RUSTFLAGS="--cfg skein_loom" cargo test -p skein-index --test loom_mlp_index --release
//! ```
//!
//! Each model runs the crate's own code with two threads, mostly with one operation each. The
//! scheduler may interrupt each run twice, or once where changes are long: they have some hundred
//! steps. In these models the last bits of a name are its bucket. So keys of the bytes 0, 8, 16 and
//! 24 show which nodes share a bucket (`name.rs`, `table.rs`). All keys begin with two zeros,
//! because there are few names of three symbols.
#![cfg(all(skein_loom, not(feature = "shuttle")))]
#![cfg(not(feature = "planted-bugs"))]

#[path = "support/checked.rs"]
mod checked;
#[path = "support/models.rs"]
mod models;
#[path = "support/numbers.rs"]
mod numbers;

use std::sync::Arc;

use models::{PREEMPTIONS, get, put, remove, scan};
use skein_index::{Collector, ComputeAction, Inline, MlpIndex, OrderedIndex as _};

type MlpModelIndex = MlpIndex<Inline<u64>>;
type MlpModelKeys = &'static [&'static str];

/// Keys, named by their bytes after the two zeros: `A` is 8, `B` 16, `C` 24 and `D` 0.
const D_: &str = "\0\0\0";
const B_: &str = "\0\0\x10";
const BB: &str = "\0\0\x10\x10";
const BD: &str = "\0\0\x10\0";
const AA: &str = "\0\0\x08\x08";
const AB: &str = "\0\0\x08\x10";
const AC: &str = "\0\0\x08\x18";
const AD: &str = "\0\0\x08\0";
const AAA: &str = "\0\0\x08\x08\x08";
const AAB: &str = "\0\0\x08\x08\x10";
const AAC: &str = "\0\0\x08\x08\x18";

fn new() -> MlpModelIndex {
    MlpModelIndex::with_variant(Arc::new(Collector::new()))
}

fn model(
    preemptions: usize,
    keys: MlpModelKeys,
    writer: impl Fn(&MlpModelIndex) + Copy + Send + Sync + 'static,
    other: impl Fn(&MlpModelIndex) + Copy + Send + Sync + 'static,
) {
    models::model(new, preemptions, keys, writer, other);
}

/// A leaf moves down a level, to another bucket, and an inner node takes its place.
#[test]
fn parting_of_a_leaf_against_get() {
    model(
        PREEMPTIONS,
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
        PREEMPTIONS,
        &[AA, AB],
        |index| assert_eq!(put(index, AD, 8), None),
        |index| assert_eq!(put(index, AC, 9), None),
    );
}

/// Two keys with the same name of three symbols, which did not exist before.
#[test]
fn two_inserts_at_the_top() {
    model(
        PREEMPTIONS,
        &[],
        |index| assert_eq!(put(index, AA, 8), None),
        |index| assert_eq!(put(index, AB, 9), None),
    );
}

/// The other leaf takes the place of the inner node.
#[test]
fn collapse_against_get() {
    model(
        PREEMPTIONS,
        &[AA, AB],
        |index| assert_eq!(remove(index, AA), Some(0)),
        |index| {
            assert_eq!(get(index, AB), Some(1));
            assert!(matches!(get(index, AA), None | Some(0)));
        },
    );
}

#[test]
fn collapse_against_insert() {
    model(
        1,
        &[AA, AB],
        |index| assert_eq!(remove(index, AA), Some(0)),
        |index| assert_eq!(put(index, AC, 9), None),
    );
}

/// A removal that raises a least key, against an insert that lowers it.
#[test]
fn least_keys_against_each_other() {
    model(
        1,
        &[AD, AAB, AAC],
        |index| assert_eq!(remove(index, AD), Some(0)),
        |index| assert_eq!(put(index, AAA, 9), None),
    );
}

#[test]
fn removals_of_both_keys_of_a_node() {
    model(
        1,
        &[AA, AB],
        |index| assert_eq!(remove(index, AA), Some(0)),
        |index| assert_eq!(remove(index, AB), Some(1)),
    );
}

/// A removal below a node whose least key is removed at the same time. `schedules.rs` describes the
/// incident.
#[test]
fn removals_of_the_two_least_keys() {
    model(
        1,
        &[AD, AAA, AAB, AC],
        |index| assert_eq!(remove(index, AAA), Some(1)),
        |index| assert_eq!(remove(index, AD), Some(0)),
    );
}

/// These keys fill both buckets of `D_`. `BB` moves from its primary bucket to its secondary one to
/// make room.
const FULL: MlpModelKeys = &[BB, BD, AA, AD];

#[test]
fn a_node_makes_way() {
    models::explore(0, || {
        let mut index = new();
        models::fill(&index, FULL);
        let before = index.check().unwrap();
        assert_eq!(put(&index, D_, 9), None);
        let after = index.check().unwrap();
        assert_eq!((before.secondary, after.secondary), (0, 2), "{before:?} {after:?}");
    });
}

/// The protocol of the buckets' versions: a node moves from one bucket to another, and a reader of
/// both buckets must find it whole.
#[test]
fn relocation_against_get() {
    model(
        PREEMPTIONS,
        FULL,
        |index| assert_eq!(put(index, D_, 9), None),
        |index| assert_eq!(get(index, BB), Some(0)),
    );
}

#[test]
fn relocation_against_scan() {
    model(
        1,
        FULL,
        |index| assert_eq!(put(index, D_, 9), None),
        |index| {
            let met = scan(index, true);
            let known: Vec<&[u8]> = [AD, AA, BD, BB].map(str::as_bytes).to_vec();
            assert!(met.ends_with(&known.iter().map(|key| key.to_vec()).collect::<Vec<_>>()), "{met:?}");
            assert!(met.len() == known.len() || met[0] == D_.as_bytes(), "{met:?}");
        },
    );
}

/// The node that moves gets another value meanwhile, or is removed.
#[test]
fn relocation_against_writes_of_the_moved_node() {
    model(
        1,
        FULL,
        |index| assert_eq!(put(index, D_, 9), None),
        |index| assert_eq!(put(index, BB, 8), Some(0)),
    );
    model(
        1,
        FULL,
        |index| assert_eq!(put(index, D_, 9), None),
        |index| assert_eq!(remove(index, BB), Some(0)),
    );
}

#[test]
fn scan_against_insert() {
    model(
        PREEMPTIONS,
        &[AA, B_],
        |index| assert_eq!(put(index, AB, 9), None),
        |index| {
            let met = scan(index, true);
            assert!(met.is_sorted() && (2..=3).contains(&met.len()), "{met:?}");
            assert_eq!((met.first(), met.last()), (Some(&AA.into()), Some(&B_.into())));
        },
    );
}

/// Removes a key by `compute`. Returns the value that its closure saw, which is the removed one.
fn take(index: &MlpModelIndex, key: &str) -> Option<u64> {
    let mut shown = None;
    let decide = |seen| {
        shown = seen;
        ComputeAction::Remove
    };
    let guard = index.collector().enter();
    let done = index.compute(key.as_bytes(), decide, &guard).unwrap();
    assert_eq!((done.before, done.changed), (shown, shown.is_some()));
    shown
}

/// Runs a removal by a closure against another write of the same key. `allowed` checks the two
/// answers and the value that the key holds in the end.
fn taken_against(
    keys: MlpModelKeys,
    other: fn(&MlpModelIndex, &str) -> Option<u64>,
    allowed: fn(Option<u64>, Option<u64>, Option<u64>) -> bool,
) {
    models::explore(1, move || {
        let index = Arc::new(new());
        models::fill(&*index, keys);
        let shared = Arc::clone(&index);
        let thread = loom::thread::spawn(move || take(&shared, AA));
        let told = other(&index, AA);
        let (taken, last) = (thread.join().unwrap(), get(&*index, AA));
        assert!(allowed(taken, told, last), "taken {taken:?}, told {told:?}, last {last:?}");
        Arc::into_inner(index).expect("the thread is done").check().unwrap();
    });
}

/// Without the claim, the key could be written between the decision and the removal.
#[test]
fn a_claimed_key_against_put() {
    taken_against(
        &[AA, AB],
        |index, key| put(index, key, 9),
        |taken, told, last| {
            matches!((taken, told, last), (Some(0), None, Some(9)) | (Some(9), Some(0), None))
        },
    );
}

#[test]
fn a_claimed_key_against_remove() {
    taken_against(&[AA], remove, |taken, told, last| {
        matches!((taken, told, last), (Some(0), None, None) | (None, Some(0), None))
    });
}

#[test]
fn a_claimed_key_against_another_claim() {
    taken_against(&[AA], take, |taken, told, last| {
        matches!((taken, told, last), (Some(0), None, None) | (None, Some(0), None))
    });
}
