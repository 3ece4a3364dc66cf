//! Models of the skip list's protocols, explored by `loom`. Towers have at most two levels:
//!
//! ```sh
//! RUSTFLAGS="--cfg skein_loom" cargo test -p skein-index --test loom_skip_list --release
//! ```
//!
//! Each model runs the crate's own code with two threads. The scheduler may interrupt each run
//! twice, or once where operations are long. With the seed used here every key has two levels, so
//! that each node is linked and unlinked twice (`towers_are_high`).
#![cfg(all(skein_loom, not(feature = "shuttle")))]
#![cfg_attr(feature = "planted-bugs", allow(dead_code, unused_imports))]

#[path = "support/checked.rs"]
mod checked;
#[path = "support/models.rs"]
mod models;
#[path = "support/numbers.rs"]
mod numbers;
#[cfg(feature = "planted-bugs")]
#[path = "support/planted.rs"]
mod planted;

use std::sync::Arc;

use models::{PREEMPTIONS, get, put, remove, scan};
use skein_index::skip_list::variant::{BareSkipListOf, SkipListOf, SkipListVariant};
use skein_index::{Collector, ComputeAction, Inline, OrderedIndex, SkipList};

type SkipListModel = SkipListVariant<Inline<u64>, SkipListOf<2, 0>>;

fn new() -> SkipListModel {
    SkipListModel::with_variant(Arc::new(Collector::new())).with_seed(SEED)
}

fn model(
    preemptions: usize,
    keys: &'static [&'static str],
    writer: impl Fn(&SkipListModel) + Copy + Send + Sync + 'static,
    reader: impl Fn(&SkipListModel) + Copy + Send + Sync + 'static,
) {
    models::model(new, preemptions, keys, writer, reader);
}

/// With this seed the keys `a` to `d` have two levels.
const SEED: u64 = 22;

#[test]
fn towers_are_high() {
    models::explore(0, || {
        let mut list = new();
        models::fill(&list, &["a", "b", "c", "d"]);
        let shape = list.check().unwrap();
        assert_eq!((shape.nodes, shape.links), (4, 8), "choose another seed");
    });
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn insert_against_get_of_a_neighbour() {
    model(
        PREEMPTIONS,
        &["b"],
        |list| assert_eq!(put(list, "a", 9), None),
        |list| {
            assert_eq!(get(list, "b"), Some(0));
            let seen = get(list, "a");
            assert!(matches!(seen, None | Some(9)));
            // A key that was found once must stay.
            assert!(seen.is_none() || get(list, "a") == Some(9));
        },
    );
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn two_inserts_side_by_side() {
    model(1, &["a"], |list| assert_eq!(put(list, "b", 8), None), |list| assert_eq!(put(list, "c", 9), None));
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn two_inserts_of_one_key() {
    model(
        PREEMPTIONS,
        &[],
        |list| assert!(matches!(put(list, "a", 8), None | Some(9))),
        |list| assert!(matches!(put(list, "a", 9), None | Some(8))),
    );
}

/// The node is marked and unlinked while a reader may be on it or on the node before it.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn remove_against_get_and_scan() {
    model(
        PREEMPTIONS,
        &["a", "b", "c"],
        |list| assert_eq!(remove(list, "b"), Some(1)),
        |list| {
            assert_eq!(get(list, "c"), Some(2));
            let keys = scan(list, true);
            assert!(keys == [b"a", b"b", b"c"] || keys == [b"a", b"c"], "{keys:?}");
        },
    );
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn removes_side_by_side() {
    model(
        PREEMPTIONS,
        &["a", "b"],
        |list| assert_eq!(remove(list, "a"), Some(0)),
        |list| assert_eq!(remove(list, "b"), Some(1)),
    );
}

/// The new node belongs behind a node that is being removed.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn remove_against_insert_behind_it() {
    model(
        PREEMPTIONS,
        &["a", "c"],
        |list| assert_eq!(remove(list, "a"), Some(0)),
        |list| assert_eq!(put(list, "b", 9), None),
    );
}

/// The maker may still be linking the node when it is removed: the thread that finishes last
/// retires it.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn insert_against_remove_of_the_same_key() {
    model(
        PREEMPTIONS,
        &[],
        |list| assert!(put(list, "a", 9).is_none()),
        |list| {
            let removed = remove(list, "a");
            assert!(matches!(removed, None | Some(9)));
            assert!(removed.is_none() || get(list, "a").is_none());
        },
    );
}

/// A new node replaces a removed node of the same key.
///
/// Once, a search saw the old node unmarked on level 1 and missing on level 0, and returned a path
/// that put the new node before the old one. Consequence: the thread that unlinked the old node
/// searched only up to its key, and retired it while level 1 still led to it. Fix: a search starts
/// over if its levels disagree about the key's node.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn remove_against_insert_of_the_same_key() {
    model(
        PREEMPTIONS,
        &["a"],
        |list| assert!(matches!(remove(list, "a"), Some(0 | 9))),
        |list| assert!(matches!(put(list, "a", 9), None | Some(0))),
    );
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn two_increments_of_an_absent_key() {
    fn add(list: &SkipListModel) {
        let guard = list.collector().enter();
        let add = |seen: Option<u64>| ComputeAction::Put(Inline(seen.unwrap_or(0) + 1));
        list.compute(b"a", add, &guard).unwrap();
    }
    models::explore(PREEMPTIONS, || {
        let list = Arc::new(new());
        let shared = Arc::clone(&list);
        let thread = loom::thread::spawn(move || add(&shared));
        add(&list);
        thread.join().unwrap();
        assert_eq!(get(&*list, "a"), Some(2));
    });
}

/// A claimed link, against another node that is inserted there and against the removal of the node
/// before it.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn a_claimed_place_against_neighbours() {
    fn keep(list: &SkipListModel) {
        let guard = list.collector().enter();
        let mut calls = 0;
        let done = list.compute(
            b"b",
            |seen| {
                calls += 1;
                assert_eq!(seen, None);
                ComputeAction::Keep
            },
            &guard,
        );
        assert!(calls == 1 && !done.unwrap().changed);
    }
    model(1, &["a", "d"], keep, |list| assert_eq!(put(list, "c", 9), None));
    model(1, &["a", "d"], keep, |list| assert_eq!(remove(list, "a"), Some(0)));
    model(1, &["a", "d"], keep, |list| assert_eq!(remove(list, "d"), Some(1)));
}

/// Without versions, a value is written in place under a claim. No write may be lost, and no reader
/// may see a value of a removed key.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn writes_in_place_against_each_other() {
    type Bare = SkipListVariant<Inline<u64>, BareSkipListOf<2, 0>>;
    let new = || Bare::with_variant(Arc::new(Collector::new())).with_seed(SEED);
    models::model(
        new,
        PREEMPTIONS,
        &["a"],
        |list| assert!(matches!(put(list, "a", 8), None | Some(0))),
        |list| {
            let removed = remove(list, "a");
            assert!(matches!(removed, Some(0 | 8)));
            assert!(matches!((removed, get(list, "a")), (Some(0), None | Some(8)) | (Some(8), None)));
        },
    );
    models::model(
        new,
        PREEMPTIONS,
        &["a"],
        |list| assert!(matches!(put(list, "a", 8), Some(0 | 9))),
        |list| {
            assert!(matches!(get(list, "a"), Some(0 | 8)));
            assert!(matches!(put(list, "a", 9), Some(0 | 8)));
            assert!(matches!(get(list, "a"), Some(8 | 9)));
        },
    );
}

/// The decision about an absent key is carried out before another thread inserts the key, or the
/// closure sees that thread's value.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn a_claimed_place_against_an_insert_of_its_key() {
    model(
        PREEMPTIONS,
        &[],
        |list| {
            let guard = list.collector().enter();
            let double = |seen: Option<u64>| {
                seen.map_or(ComputeAction::Keep, |seen| ComputeAction::Put(Inline(2 * seen)))
            };
            let done = list.compute(b"a", double, &guard).unwrap();
            assert_eq!(done.changed, done.before.is_some());
            assert_eq!(get(list, "a").is_some_and(|value| value == 8), done.changed);
        },
        |list| {
            assert_eq!(put(list, "a", 4), None);
            assert!(matches!(get(list, "a"), Some(4 | 8)));
        },
    );
}

/// Two writes, one after the other, against a snapshot of both keys. If the snapshot shows the
/// second write, it shows the first, and it shows the same when read again.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn writes_against_a_snapshot() {
    model(
        PREEMPTIONS,
        &["a", "b"],
        |list| {
            put(list, "a", 8);
            put(list, "b", 9);
        },
        |list| {
            let (live, snapshot) = (get(list, "a"), list.snapshot().unwrap());
            let guard = list.collector().enter();
            let look = || (snapshot.get(b"a", &guard), snapshot.get(b"b", &guard));
            let seen = look();
            assert!(matches!(seen, (Some(0), Some(1)) | (Some(8), Some(1 | 9))), "{seen:?}");
            assert!(
                live == Some(0) || seen.0 == Some(8),
                "the snapshot lacks a write that was seen before it: {seen:?}"
            );
            assert_eq!(look(), seen);
        },
    );
}

/// A key is inserted and removed. The snapshot shows it or does not show it, and the node is
/// removed with the last snapshot that needs it.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn insert_and_remove_against_a_snapshot() {
    model(
        PREEMPTIONS,
        &[],
        |list| {
            put(list, "a", 8);
            assert_eq!(remove(list, "a"), Some(8));
        },
        |list| {
            let snapshot = list.snapshot().unwrap();
            let guard = list.collector().enter();
            let seen = snapshot.get(b"a", &guard);
            assert!(matches!(seen, None | Some(8)));
            assert_eq!(snapshot.get(b"a", &guard), seen);
        },
    );
}

/// A note is left while its snapshot is dropped. The checker fails if the version is not pruned.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn a_write_against_the_drop_of_a_snapshot() {
    models::explore(PREEMPTIONS, || {
        let list = Arc::new(new());
        put(&*list, "a", 1);
        let snapshot = list.snapshot().unwrap();
        let shared = Arc::clone(&list);
        let thread = loom::thread::spawn(move || put(&*shared, "a", 2));
        drop(snapshot);
        assert_eq!(thread.join().unwrap(), Some(1));
        let mut list = Arc::into_inner(list).expect("the writer is done");
        assert_eq!(list.check().unwrap().kept, 0);
    });
}

/// With a gate that does not wait, a write is stamped with a past moment, and a snapshot starts to
/// show it.
#[test]
#[cfg(feature = "planted-bugs")]
fn a_snapshot_that_waits_for_nobody_is_noticed() {
    let run = || {
        models::explore(PREEMPTIONS, || {
            let list = Arc::new(new());
            put(&*list, "a", 1);
            let shared = Arc::clone(&list);
            let thread = loom::thread::spawn(move || put(&*shared, "a", 2));
            let snapshot = list.snapshot().unwrap();
            let look = || snapshot.get(b"a", &list.collector().enter());
            let seen = look();
            thread.join().unwrap();
            assert_eq!(look(), seen, "the snapshot has changed");
            drop(snapshot);
        });
    };
    assert!(planted::caught(&["the snapshot has changed"], run), "the planted bug went unnoticed");
}
