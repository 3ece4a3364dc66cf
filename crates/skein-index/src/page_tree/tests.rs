//! Tests that need chosen keys: long ones, whose bytes lie outside the pages.

use std::sync::Arc;

use super::variant::{PageTreeOfWidth, PageTreeSettings, PageTreeVariant};
use super::{PackPass, PageTree};
use crate::index::{Cursor, OrderedIndex};
use crate::slot::Inline;
use skein_sync::reclaim::Collector;

/// Incident: a long key may end with its page's prefix, or one byte behind it, and its head was
/// read from the bytes behind the key. Consequence: ranks were out of order, and a removal took
/// away another key. Fix: missing bytes count as zeros.
#[test]
fn a_long_key_may_end_with_its_pages_prefix() {
    let mut index =
        PageTreeVariant::<Inline<u64>, PageTreeOfWidth<4>>::with_variant(Arc::new(Collector::new()));
    let key = |end: &str| [&[b'p'; 319], end.as_bytes()].concat();
    for end in ["b", "ba", "bb", "bc", "a", "bd"] {
        index.insert(&key(end), Inline(1), &index.collector().enter()).unwrap();
    }
    index.check().unwrap();
    let guard = index.collector().enter();
    assert_eq!(index.remove(&key("ba"), &guard), Some(1));
    let (mut left, mut cursor) = (Vec::new(), index.cursor(&guard));
    while cursor.next() {
        left.extend(cursor.key().map(<[u8]>::to_vec));
    }
    assert_eq!(left, ["a", "b", "bb", "bc", "bd"].map(key));
    drop(guard);
    index.check().unwrap();
}

/// Incident: keys came and went until all slots of a page were used. The page that replaced it was
/// smaller than a first page. Consequence: an empty index was not at its empty footprint.
/// Fix: only the new half of a split gets the size of the old page.
#[test]
fn keys_that_come_and_go_leave_nothing() {
    let mut index = PageTree::<Inline<u64>>::new();
    let empty = index.memory().live();
    for _ in 0..100 {
        let guard = index.collector().enter();
        index.insert(b"goose", Inline(1), &guard).unwrap();
        index.remove(b"goose", &guard);
    }
    index.check().unwrap();
    assert_eq!(index.memory().live(), empty);
}

/// A removal at the edge of a node merges two pages with a prefix of 60,000 bytes. They keep it.
#[test]
fn merged_pages_keep_the_prefix_that_they_share() {
    let mut index =
        PageTreeVariant::<Inline<u64>, PageTreeOfWidth<8>>::with_variant(Arc::new(Collector::new()));
    let long = |number: u64| [vec![b'p'; 60_000].as_slice(), &number.to_be_bytes()].concat();
    let numbers = 0..if cfg!(miri) { 20_u64 } else { 400 };
    for number in numbers.clone() {
        let guard = index.collector().enter();
        for key in [b"a".to_vec(), b"z".to_vec()] {
            index.insert(&[&key[..], &number.to_be_bytes()].concat(), Inline(0), &guard).unwrap();
        }
        index.insert(&long(number), Inline(number), &guard).unwrap();
    }
    for number in numbers {
        let before = index.memory().keys;
        assert_eq!(index.remove(&long(number), &index.collector().enter()), Some(number));
        assert!(index.memory().keys <= before + (64 << 10), "a removal copies at most one key");
    }
    index.check().unwrap();
}

/// Packs until no page is replaced any more.
fn pack_all<V: PageTreeSettings>(index: &PageTreeVariant<Inline<u64>, V>) {
    // The first pass marks the pages.
    let mut is_first = true;
    loop {
        let mut pass = PackPass::default();
        while index.pack(&mut pass, 16, &index.collector().enter()) {}
        if pass.replaced() == 0 && !is_first {
            return;
        }
        is_first = false;
    }
}

/// Random inserts leave pages two thirds full, and packing fills them.
#[test]
#[cfg_attr(miri, ignore = "it takes too many keys")]
fn packed_pages_are_full() {
    let mut index = PageTree::<Inline<u64>>::new();
    let hash = crate::hash::PrefixHash::crc32c();
    for number in 0..60_000_u64 {
        let key = format!("{:016x}", hash.of(&number.to_be_bytes()));
        index.insert(key.as_bytes(), Inline(number), &index.collector().enter()).unwrap();
    }
    let before = index.check().unwrap();
    pack_all(&index);
    let after = index.check().unwrap();
    assert_eq!(before.keys, after.keys);
    assert!(100 * before.keys > 55 * before.slots, "the pages are hardly half full: {before:?}");
    assert!(100 * after.keys > 80 * after.slots, "the pages are not full: {after:?}");
}

/// Incident: prefixes of more than 8 KiB left the pages without room, because their size was
/// rounded down to a class that does not exist. Consequence: a page for each eight keys. Fix: only
/// sizes with classes are rounded.
#[test]
fn pages_with_long_prefixes_have_room() {
    for prefix in [7_000, 30_000] {
        let mut index = PageTree::<Inline<u64>>::new();
        for number in 0..if cfg!(miri) { 20 } else { 1_500_u64 } {
            let key = [vec![b'p'; prefix].as_slice(), &number.wrapping_mul(7_919).to_be_bytes()].concat();
            index.insert(&key, Inline(number), &index.collector().enter()).unwrap();
        }
        let stats = index.check().unwrap();
        assert!(stats.keys >= 25 * (stats.pages - 1), "{stats:?}");
    }
}
