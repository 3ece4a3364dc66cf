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

use models::{PREEMPTIONS, explore, get, put, remove, scan};
use numbers::{EmbeddedNumber, NumberSlot};
use skein_index::page_tree::PackPass;
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

/// Pages of four are too small to be worth packing.
type PackedModel<S> = PageTreeVariant<S, PageTreeOfWidth<8>>;

/// Returns a key of so many bytes that few of them make a page long.
fn long_key(letter: char) -> String {
    format!("{letter}-key-of-more-than-forty-bytes-so-that-pages-are-long")
}

fn long_get<S: NumberSlot>(index: &PackedModel<S>, letter: char) -> Option<u64> {
    get(index, &long_key(letter))
}

fn long_put<S: NumberSlot>(index: &PackedModel<S>, letter: char, value: u64) -> Option<u64> {
    put(index, &long_key(letter), value)
}

/// Makes a pass of packing. Returns the number of pages that were replaced.
fn pack<S: NumberSlot>(index: &PackedModel<S>) -> usize {
    let mut pass = PackPass::default();
    while index.pack(&mut pass, 4, &index.collector().enter()) {}
    pass.replaced()
}

/// Returns an index of the keys from `a` to `m` but for `b`, each with its position as value. It has
/// three pages, which are marked as quiet and have room in two.
fn packable<S: NumberSlot>() -> PackedModel<S> {
    let index = PackedModel::with_variant(Arc::new(Collector::new()));
    // Towards the middle, so that pages split in halves.
    for (value, letter) in
        [0, 12, 1, 11, 2, 10, 3, 9, 4, 8, 5, 7, 6].map(|at| (at, (b'a' + at as u8) as char))
    {
        assert_eq!(long_put(&index, letter, value), None);
    }
    assert_eq!(remove(&index, &long_key('b')), Some(1));
    assert_eq!(pack(&index), 0, "the first pass only marks pages");
    index
}

/// Runs a packer beside another thread.
fn packing<S: NumberSlot>(preemptions: usize, other: fn(&PackedModel<S>)) {
    let replaced = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = Arc::clone(&replaced);
    explore(preemptions, move || {
        let index = Arc::new(packable::<S>());
        let (shared, counter) = (Arc::clone(&index), Arc::clone(&counter));
        let packer = loom::thread::spawn(move || {
            counter.fetch_add(pack(&shared), std::sync::atomic::Ordering::Relaxed);
        });
        other(&index);
        packer.join().unwrap();
        let mut index = Arc::into_inner(index).expect("the packer is done");
        index.check().unwrap();
    });
    assert!(replaced.load(std::sync::atomic::Ordering::Relaxed) > 0, "nothing was ever packed");
}

/// Makes a test that runs a packer beside a function, once with words and once with embedded values.
macro_rules! packing_models {
    ($($(#[$doc:meta])* $name:ident($preemptions:expr, $other:ident);)+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            packing::<Inline<u64>>($preemptions, $other);
            packing::<EmbeddedNumber>($preemptions, $other);
        }
    )+};
}

packing_models! {
    packing_against_get(PREEMPTIONS, find_ends_of_packed);
    packing_against_insert(PREEMPTIONS, insert_into_packed);
    packing_against_update(PREEMPTIONS, update_packed);
    packing_against_removal(PREEMPTIONS, remove_from_packed);
    packing_against_scans(1, scan_packed);
    packing_against_packing(PREEMPTIONS, pack_too);
}

fn find_ends_of_packed<S: NumberSlot>(index: &PackedModel<S>) {
    assert_eq!((long_get(index, 'm'), long_get(index, 'a')), (Some(12), Some(0)));
}

fn insert_into_packed<S: NumberSlot>(index: &PackedModel<S>) {
    assert_eq!(long_put(index, 'b', 44), None);
    assert_eq!((long_get(index, 'b'), long_get(index, 'g')), (Some(44), Some(6)));
}

fn update_packed<S: NumberSlot>(index: &PackedModel<S>) {
    assert_eq!(long_put(index, 'g', 50), Some(6));
    assert_eq!(long_put(index, 'g', 40), Some(50));
}

fn remove_from_packed<S: NumberSlot>(index: &PackedModel<S>) {
    assert_eq!((remove(index, &long_key('a')), long_get(index, 'a')), (Some(0), None));
    assert_eq!(long_get(index, 'g'), Some(6));
}

fn scan_packed<S: NumberSlot>(index: &PackedModel<S>) {
    let letters: Vec<_> = ('a'..='m').filter(|&letter| letter != 'b').collect();
    for forward in [true, false] {
        let mut met = scan(index, forward);
        if !forward {
            met.reverse();
        }
        assert!(met.iter().zip(&letters).all(|(key, &letter)| *key == long_key(letter).into_bytes()));
        assert_eq!(met.len(), letters.len());
    }
}

fn pack_too<S: NumberSlot>(index: &PackedModel<S>) {
    pack(index);
    assert_eq!(long_get(index, 'g'), Some(6));
}
