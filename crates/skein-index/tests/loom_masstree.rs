//! Models of Masstree's protocols, explored by `loom`. The nodes have three slots, so that few keys
//! reach every case:
//!
//! ```sh
//! RUSTFLAGS="--cfg skein_loom" cargo test -p skein-index --test loom_masstree --release
//! ```
//!
//! Each model runs the crate's own code with two threads. The scheduler may interrupt each run up
//! to twice (`PREEMPTIONS`).
#![cfg(all(skein_loom, not(feature = "shuttle")))]

#[path = "support/checked.rs"]
mod checked;
#[path = "support/models.rs"]
#[cfg_attr(feature = "planted-bugs", expect(dead_code, reason = "one model runs then"))]
mod models;
#[path = "support/numbers.rs"]
mod numbers;

use std::sync::Arc;

#[cfg_attr(feature = "planted-bugs", allow(unused_imports))]
use models::{PREEMPTIONS, get, put, remove, scan};
#[cfg_attr(feature = "planted-bugs", allow(unused_imports))]
use skein_index::masstree::variant::{MasstreeOfWidth, MasstreeVariant};
use skein_index::{Collector, Cursor, Inline, Masstree, OrderedIndex};

type MasstreeModel = MasstreeVariant<Inline<u64>, MasstreeOfWidth<3>>;

/// Runs [`models::model`] with the usual bound on interruptions.
fn model(
    keys: &'static [&'static str],
    writer: impl Fn(&MasstreeModel) + Copy + Send + Sync + 'static,
    reader: impl Fn(&MasstreeModel) + Copy + Send + Sync + 'static,
) {
    model_within(PREEMPTIONS, keys, writer, reader);
}

/// Runs [`model`] with another bound on interruptions, because long operations have too many
/// orders.
fn model_within(
    preemptions: usize,
    keys: &'static [&'static str],
    writer: impl Fn(&MasstreeModel) + Copy + Send + Sync + 'static,
    reader: impl Fn(&MasstreeModel) + Copy + Send + Sync + 'static,
) {
    models::model(
        || MasstreeModel::with_variant(Arc::new(Collector::new())),
        preemptions,
        keys,
        writer,
        reader,
    );
}

#[test]
fn border_insert_against_get() {
    model(
        &["a", "c"],
        |tree| assert_eq!(put(tree, "b", 9), None),
        |tree| {
            assert_eq!(get(tree, "c"), Some(1));
            let seen = get(tree, "b");
            assert!(matches!(seen, None | Some(9)));
            // A key that was found once must stay.
            assert!(seen.is_none() || get(tree, "b") == Some(9));
        },
    );
}

#[test]
fn two_inserts_into_one_node() {
    model(
        &["c"],
        |tree| assert_eq!(put(tree, "a", 8), None),
        |tree| {
            assert_eq!(put(tree, "b", 9), None);
            assert_eq!(get(tree, "c"), Some(0));
        },
    );
}

/// The model that fails with the planted bug.
fn split_against_get() {
    model(
        &["a", "b", "d"],
        |tree| assert_eq!(put(tree, "c", 9), None),
        |tree| {
            assert_eq!(get(tree, "d"), Some(2), "the split hides a key");
            assert_eq!(get(tree, "a"), Some(0));
        },
    );
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn a_split_hides_no_key() {
    split_against_get();
}

#[test]
#[cfg(feature = "planted-bugs")]
#[should_panic(expected = "the split hides a key")]
fn a_lost_split_check_is_noticed() {
    split_against_get();
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn split_against_insert() {
    model(
        &["a", "b", "d"],
        |tree| assert_eq!(put(tree, "c", 9), None),
        |tree| assert_eq!(put(tree, "e", 8), None),
    );
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn split_against_cursor() {
    model(
        &["a", "b", "d"],
        |tree| assert_eq!(put(tree, "c", 9), None),
        |tree| {
            let guard = tree.collector().enter();
            let mut cursor = tree.cursor(&guard);
            let mut met = Vec::new();
            while cursor.next() {
                met.push(cursor.key().unwrap()[0]);
            }
            assert!(met == b"abd" || met == b"abcd", "{met:?}");
        },
    );
}

#[test]
fn remove_with_slot_reuse_against_get() {
    model(
        &["a", "b", "c"],
        |tree| {
            assert_eq!(remove(tree, "b"), Some(1));
            assert_eq!(put(tree, "d", 9), None);
        },
        |tree| {
            assert!(matches!(get(tree, "b"), None | Some(1)), "the slot's new value under its old key");
            assert!(matches!(get(tree, "d"), None | Some(9)));
        },
    );
}

#[test]
fn a_new_layer_against_get() {
    model(
        &["prefix-one"],
        |tree| assert_eq!(put(tree, "prefix-two", 9), None),
        |tree| {
            assert_eq!(get(tree, "prefix-one"), Some(0));
            assert!(matches!(get(tree, "prefix-two"), None | Some(9)));
        },
    );
}

/// Once, a seek read a slot with a long key twice, and between the two reads the slot became a
/// layer. Consequence: a backward scan began above the key at which it should begin. Fix: the seek
/// uses the result of its first read.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn a_new_layer_against_a_seek() {
    model(
        &["prefix--m"],
        |tree| assert_eq!(put(tree, "prefix--z", 9), None),
        |tree| {
            let guard = tree.collector().enter();
            let mut cursor = tree.cursor(&guard);
            assert!(cursor.seek_back(b"prefix--n"));
            assert_eq!(cursor.key(), Some(&b"prefix--m"[..]));
        },
    );
}

#[test]
fn a_growing_layer_against_get() {
    model(
        &["prefix-one", "prefix-two"],
        |tree| assert_eq!(put(tree, "prefix-six", 9), None),
        |tree| assert_eq!(get(tree, "prefix-two"), Some(1)),
    );
}

/// Three keys fill the node of a deeper layer. The fourth splits it, so the link above is outdated.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn a_split_in_a_deeper_layer_hides_no_key() {
    model_within(
        1,
        &["prefix--a", "prefix--b", "prefix--d"],
        |tree| assert_eq!(put(tree, "prefix--c", 9), None),
        |tree| assert_eq!(get(tree, "prefix--d"), Some(2)),
    );
}

/// The link is outdated from the start: one thread repairs it while the other reads through it.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn mending_a_stale_link_against_get() {
    model_within(
        1,
        &["prefix--a", "prefix--b", "prefix--c", "prefix--d"],
        |tree| assert_eq!(put(tree, "prefix--e", 9), None),
        |tree| assert_eq!(get(tree, "prefix--d"), Some(3)),
    );
}

#[test]
fn a_growing_layer_against_update() {
    model(
        &["prefix-one", "prefix-two"],
        |tree| assert_eq!(put(tree, "prefix-six", 9), None),
        |tree| {
            assert_eq!(put(tree, "prefix-two", 7), Some(1));
            assert_eq!(get(tree, "prefix-two"), Some(7));
        },
    );
}

#[test]
fn a_layer_that_moves_up_against_get() {
    model(
        &["prefix-one", "prefix-two"],
        |tree| assert_eq!(remove(tree, "prefix-one"), Some(0)),
        |tree| assert_eq!(get(tree, "prefix-two"), Some(1)),
    );
}

#[test]
fn a_layer_that_moves_up_against_insert() {
    model(
        &["prefix-one", "prefix-two"],
        |tree| assert_eq!(remove(tree, "prefix-one"), Some(0)),
        |tree| {
            assert_eq!(put(tree, "prefix-six", 9), None);
            assert_eq!(get(tree, "prefix-six"), Some(9));
        },
    );
}

#[test]
fn a_chain_of_layers_that_moves_up_against_insert() {
    model_within(
        1,
        &["a-prefix-that-is-long-one", "a-prefix-that-is-long-two"],
        |tree| assert_eq!(remove(tree, "a-prefix-that-is-long-one"), Some(0)),
        |tree| {
            assert_eq!(put(tree, "a-prefix-too", 9), None);
            assert_eq!(get(tree, "a-prefix-that-is-long-two"), Some(1));
        },
    );
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn an_empty_node_goes_against_insert() {
    model_within(
        1,
        &["a", "b", "c", "d"],
        // Inserted in order, so "d" is alone in the right node.
        |tree| assert_eq!(remove(tree, "d"), Some(3)),
        // The checker fails if the key is not in its right place.
        |tree| assert_eq!(put(tree, "e", 9), None),
    );
}

/// Returns a tree after inserting `keys` in this order and removing some. Each key's value is its
/// place in the alphabet.
#[cfg(not(feature = "planted-bugs"))]
fn thinned(keys: &str, gone: &str) -> MasstreeModel {
    let tree = MasstreeModel::with_variant(Arc::new(Collector::new()));
    for key in keys.chars() {
        put(&tree, &key.to_string(), key as u64 - 'a' as u64);
    }
    for key in gone.chars() {
        remove(&tree, &key.to_string());
    }
    tree
}

/// Returns a tree with the nodes {a} and {c d}, which merge when the right one loses a key.
#[cfg(not(feature = "planted-bugs"))]
fn before_a_merge() -> MasstreeModel {
    thinned("abdc", "b")
}

/// Returns a tree with two interior nodes of two children each, the right one above {j k} and {m}.
/// Without "k" these leaves merge, and so do their parents, and the root is removed.
#[cfg(not(feature = "planted-bugs"))]
fn before_a_merge_of_parents() -> MasstreeModel {
    thinned("abcdefghijklm", "bcefl")
}

/// Scans in both directions while keys may move. The scans must return the keys in `stay`, once and
/// in order.
#[cfg(not(feature = "planted-bugs"))]
fn scans_meet(tree: &MasstreeModel, stay: &[u8]) {
    for forward in [true, false] {
        let met = scan(tree, forward);
        assert!(met.is_sorted_by(|a, b| if forward { a < b } else { a > b }), "{met:?}");
        let among = |key: &u8| met.iter().any(|met| met == &[*key]);
        assert!(stay.iter().all(among), "forward {forward}: {met:?}");
    }
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn a_merge_hides_no_key() {
    models::model(
        before_a_merge,
        1,
        &[],
        |tree| assert_eq!(remove(tree, "d"), Some(3)),
        |tree| {
            assert_eq!(get(tree, "c"), Some(2));
            assert_eq!(get(tree, "a"), Some(0));
            assert!(matches!(get(tree, "d"), None | Some(3)));
        },
    );
}

/// One thread updates a key that the merge moves.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn merge_against_an_update() {
    models::model(
        before_a_merge,
        1,
        &[],
        |tree| assert_eq!(remove(tree, "d"), Some(3)),
        |tree| {
            assert_eq!(put(tree, "c", 8), Some(2));
            assert_eq!(get(tree, "c"), Some(8));
        },
    );
}

/// An insert may have reached the right node before the node is removed.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn merge_against_an_insert() {
    models::model(
        before_a_merge,
        1,
        &[],
        |tree| assert_eq!(remove(tree, "d"), Some(3)),
        |tree| {
            assert_eq!(put(tree, "e", 9), None);
            assert_eq!(get(tree, "e"), Some(9));
        },
    );
}

/// Runs `other` against a merge of the nodes {a b} and {d}: the left one loses a key and takes in
/// the next node.
#[cfg(not(feature = "planted-bugs"))]
fn merge_with_the_next_node_against(other: impl Fn(&MasstreeModel) + Copy + Send + Sync + 'static) {
    models::model(|| thinned("abdc", "c"), 1, &[], |tree| assert_eq!(remove(tree, "b"), Some(1)), other);
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn a_merge_with_the_next_node_hides_no_key() {
    merge_with_the_next_node_against(|tree| {
        assert_eq!(get(tree, "d"), Some(3));
        assert_eq!(get(tree, "a"), Some(0));
        assert!(matches!(get(tree, "b"), None | Some(1)));
    });
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn merge_with_the_next_node_against_insert() {
    merge_with_the_next_node_against(|tree| {
        assert_eq!(put(tree, "c", 9), None);
        assert_eq!(get(tree, "c"), Some(9));
    });
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn merge_with_the_next_node_against_scans() {
    merge_with_the_next_node_against(|tree| scans_meet(tree, b"ad"));
}

/// Both removals find their node sparse.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn merge_against_removal_in_the_left_node() {
    models::model(
        before_a_merge,
        1,
        &[],
        |tree| assert_eq!(remove(tree, "d"), Some(3)),
        |tree| assert_eq!(remove(tree, "a"), Some(0)),
    );
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn merge_against_scans() {
    models::model(
        before_a_merge,
        1,
        &[],
        |tree| assert_eq!(remove(tree, "d"), Some(3)),
        |tree| scans_meet(tree, b"ac"),
    );
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn a_merge_of_parents_hides_no_key() {
    models::model(
        before_a_merge_of_parents,
        1,
        &[],
        |tree| assert_eq!(remove(tree, "k"), Some(10)),
        |tree| {
            assert_eq!(get(tree, "m"), Some(12));
            assert_eq!(get(tree, "g"), Some(6));
        },
    );
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn merge_of_parents_against_insert() {
    models::model(
        before_a_merge_of_parents,
        1,
        &[],
        |tree| assert_eq!(remove(tree, "k"), Some(10)),
        |tree| assert_eq!(put(tree, "n", 9), None),
    );
}

/// The other thread's removal merges nodes below the left parent.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn merges_below_two_parents() {
    models::model(
        || thinned("abcdefghijklm", "bcefhil"),
        1,
        &[],
        |tree| assert_eq!(remove(tree, "k"), Some(10)),
        |tree| assert_eq!(remove(tree, "d"), Some(3)),
    );
}
