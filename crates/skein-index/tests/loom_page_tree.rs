//! Models of the page tree's protocols, explored by `loom`. Pages and nodes have four entries, so
//! that few keys reach every case:
//!
//! ```sh
//! RUSTFLAGS="--cfg skein_loom" cargo test -p skein-index --test loom_page_tree --release
//! ```
//!
//! Each model runs the crate's own code with two threads, over words and over embedded values. A
//! thread may be interrupted at each access to a version, to a lock and to the root. The arrays of
//! a page are plain atomics here, between which no thread is interrupted; the stress tests are for
//! these.
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
use numbers::{EmbeddedNumber, NumberSlot};
use skein_index::page_tree::variant::{PageTreeOfWidth, PageTreeVariant};
use skein_index::{Collector, Inline, OrderedIndex};

type PageTreeModel<S> = PageTreeVariant<S, PageTreeOfWidth<4>>;

/// Runs two threads over an index of these keys, once with words and once with embedded values.
macro_rules! models {
    ($($(#[$doc:meta])* $name:ident($preemptions:expr, $keys:expr, $writer:ident, $reader:ident);)+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            models::model(tree::<Inline<u64>>, $preemptions, $keys, $writer, $reader);
            models::model(tree::<EmbeddedNumber>, $preemptions, $keys, $writer, $reader);
        }
    )+};
}

fn tree<S: NumberSlot>() -> PageTreeModel<S> {
    PageTreeModel::with_variant(Arc::new(Collector::new()))
}

models! {
    insert_against_get(PREEMPTIONS, &["a", "c"], insert_b, find_b_once_found);
    two_inserts_into_one_page(PREEMPTIONS, &["c"], insert_a, insert_b);
    a_split_hides_no_key(PREEMPTIONS, &["a", "b", "d", "e"], insert_c, find_ends);
    split_against_insert(PREEMPTIONS, &["a", "b", "d", "e"], insert_c, insert_f);
    split_against_scans(1, &["a", "b", "d", "e"], insert_c, scan_both_ways);
    /// Incident: a split unlocked its new pages before it marked the old one as deleted.
    /// Consequence: a reader with a place in the old page read what another write had replaced.
    /// Fix: the new pages are unlocked last.
    split_against_get_at(PREEMPTIONS, &["a", "b", "d", "e"], insert_c, update_a_and_find_it);
    /// The writer replaces the page when its heap is used up.
    update_against_get(PREEMPTIONS, &["a", "c"], update_c, find_c);
    two_updates(1, &["a", "c"], update_c, update_c_too);
    /// The writer removes the whole of a page, which merges with its neighbour.
    merge_against_get(1, &["a", "b", "c", "d", "e", "f"], remove_most, find_ends_of_six);
    merge_against_scan(1, &["a", "b", "c", "d", "e", "f"], remove_most, scan_ends_of_six);
    merge_against_insert(1, &["a", "b", "c", "d", "e"], remove_c_and_d, insert_f);
}

fn insert_a<S: NumberSlot>(index: &PageTreeModel<S>) {
    assert_eq!(put(index, "a", 8), None);
}

fn insert_b<S: NumberSlot>(index: &PageTreeModel<S>) {
    assert_eq!(put(index, "b", 9), None);
    assert_eq!(get(index, "c").map(|value| value <= 1), Some(true));
}

fn insert_c<S: NumberSlot>(index: &PageTreeModel<S>) {
    assert_eq!(put(index, "c", 9), None);
}

fn insert_f<S: NumberSlot>(index: &PageTreeModel<S>) {
    assert_eq!(put(index, "f", 8), None);
}

fn find_b_once_found<S: NumberSlot>(index: &PageTreeModel<S>) {
    assert_eq!(get(index, "c"), Some(1));
    let seen = get(index, "b");
    assert!(matches!(seen, None | Some(9)));
    // A key that was found once must stay.
    assert!(seen.is_none() || get(index, "b") == Some(9));
}

fn find_ends<S: NumberSlot>(index: &PageTreeModel<S>) {
    assert_eq!((get(index, "e"), get(index, "a")), (Some(3), Some(0)));
}

fn scan_both_ways<S: NumberSlot>(index: &PageTreeModel<S>) {
    for forward in [true, false] {
        let mut met = scan(index, forward);
        assert!(met.is_sorted_by(|a, b| if forward { a < b } else { a > b }));
        met.retain(|key| key != b"c");
        assert_eq!(met.len(), 4, "forward: {forward}");
    }
}

fn update_c<S: NumberSlot>(index: &PageTreeModel<S>) {
    for value in [50, 49, 48] {
        assert!(put(index, "c", value).is_some());
    }
}

fn update_c_too<S: NumberSlot>(index: &PageTreeModel<S>) {
    assert!(put(index, "c", 47).is_some());
    assert!(matches!(get(index, "c"), Some(47..=50)));
}

/// A value that was found stays readable while the guard is held, whatever the writer does.
fn find_c<S: NumberSlot>(index: &PageTreeModel<S>) {
    let guard = index.collector().enter();
    let first = index.get(b"c", &guard).expect("it is present");
    let second = index.get(b"c", &guard).expect("it is present");
    assert!(first == 1 || second != 1, "values do not return: {first}, then {second}");
    assert_eq!(index.get(b"a", &guard), Some(0));
}

fn remove_most<S: NumberSlot>(index: &PageTreeModel<S>) {
    for (key, value) in [("b", 1), ("c", 2), ("d", 3), ("e", 4)] {
        assert_eq!(remove(index, key), Some(value));
    }
}

fn find_ends_of_six<S: NumberSlot>(index: &PageTreeModel<S>) {
    assert_eq!((get(index, "f"), get(index, "a")), (Some(5), Some(0)));
}

fn scan_ends_of_six<S: NumberSlot>(index: &PageTreeModel<S>) {
    let met = scan(index, true);
    assert!(met.is_sorted() && met.first() == Some(&b"a".to_vec()) && met.last() == Some(&b"f".to_vec()));
}

fn remove_c_and_d<S: NumberSlot>(index: &PageTreeModel<S>) {
    assert_eq!((remove(index, "c"), remove(index, "d")), (Some(2), Some(3)));
}

fn update_a_and_find_it<S: NumberSlot>(index: &PageTreeModel<S>) {
    let guard = index.collector().enter();
    let mut place = None;
    index.locate_many(&[b"a"], &guard, |_, _, found| place = found);
    assert_eq!(put(index, "a", 77), Some(0));
    // SAFETY: the place is of this tree and key, and the guard is the same.
    let found = unsafe { index.get_at(b"a", place.expect("a place"), &guard) };
    assert_eq!(found, Some(77));
}
