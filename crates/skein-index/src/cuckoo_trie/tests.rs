//! What shows only from inside: how the table follows the keys, and what it does when there is no place.

use std::sync::Arc;

use skein_sync::reclaim::Collector;

use super::table::Table;
use super::*;
use crate::slot::Inline;

fn trie<const V: usize>() -> CuckooTrie<Inline<u64>, V> {
    CuckooTrie::with_variant(Arc::new(Collector::new()))
}

/// Numbers without order, none twice.
fn number(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

#[test]
fn the_table_follows_the_keys_by_few_buckets_at_a_time() {
    let mut index = trie::<4>();
    let mut most = 0;
    for n in 0..50_000 {
        let before = index.table.size();
        index.insert(&number(n), Inline(n), &index.base.collector.enter()).unwrap();
        most = most.max(index.table.size() - before);
    }
    // A write that needs room in two places may take a step for each, and one more while it tries.
    assert!(most <= 24, "one insert added {most} buckets");
    let shape = index.check().unwrap();
    let load = 100 * shape.entries() / shape.slots;
    assert!((60..=87).contains(&load), "{load} of 100 slots are in use");

    for n in 0..50_000 {
        let before = index.table.size();
        assert_eq!(index.remove(&number(n), &index.base.collector.enter()), Some(n));
        assert!(
            before - index.table.size() <= 8,
            "one removal took {} buckets away",
            before - index.table.size()
        );
        if n % 10_000 == 0 {
            index.check().unwrap();
        }
    }
    assert_eq!((index.table.size(), index.len()), (Table::<4>::LEAST, 0));
}

#[test]
fn an_insert_moves_few_entries_however_many_there_are() {
    let index = trie::<4>();
    let (mut most, mut last) = (0, 0);
    for n in 0..50_000 {
        index.insert(&number(n), Inline(n), &index.base.collector.enter()).unwrap();
        let moved = index.moved();
        (most, last) = (most.max(moved - last), moved);
    }
    assert!((1..=128).contains(&most), "one insert moved {most} entries");
    assert!(last >= index.table.size() as usize, "splits move entries: {last} moved");
}

#[test]
fn a_table_with_room_does_not_grow() {
    for first in [0, 3_000] {
        let mut index = trie::<4>();
        let insert = |numbers: std::ops::Range<u64>| {
            for n in numbers {
                index.insert(&number(n), Inline(n), &index.base.collector.enter()).unwrap();
            }
        };
        insert(0..first);
        let before = index.table.size();
        // What a key needs goes up and down with their number.
        index.reserve(15_000).unwrap();
        let size = index.table.size();
        assert!(size > before + 1_000, "{size} buckets after {before}");
        insert(first..first + 10_000);
        assert_eq!(index.table.size(), size, "after {first} keys");
        assert_eq!(index.check().unwrap().keys as u64, first + 10_000);
    }
}

#[test]
fn room_that_may_not_be_is_refused_and_the_index_goes_on() {
    let mut index = trie::<4>().with_budget(1 << 20);
    let guard = index.base.collector.enter();
    assert!(matches!(index.reserve(1 << 30), Err(Refused::OverBudget { .. })));
    index.insert(b"goose", Inline(7), &guard).unwrap();
    drop(guard);
    assert_eq!(index.check().unwrap().keys, 1);
    let index = trie::<1>();
    assert!(matches!(index.reserve(usize::MAX), Err(Refused::Full { keys: 0 })));
    assert_eq!(index.table.size(), Table::<1>::MOST);
}

#[test]
fn a_full_table_refuses_keys_and_loses_none() {
    let mut index = trie::<1>();
    let refused = (0..).find_map(|n| {
        let outcome = index.insert(&number(n), Inline(n), &index.base.collector.enter());
        outcome.err().map(|refused| (n, refused))
    });
    let Some((count, refused)) = refused else { panic!("never refused") };
    assert_eq!(refused, Refused::Full { keys: count as usize });
    assert!(count as usize > Table::<1>::MOST as usize * 2, "refused at {count} keys");
    let guard = index.base.collector.enter();
    assert!((0..count).all(|n| index.get(&number(n), &guard) == Some(n)));
    assert_eq!(index.get(&number(count), &guard), None);
    // Removing makes room again.
    for n in 0..count / 4 {
        assert_eq!(index.remove(&number(n), &guard), Some(n));
    }
    index.insert(&number(count), Inline(count), &guard).unwrap();
    drop(guard);
    index.check().unwrap();
}

#[test]
fn keys_that_share_much_are_parted_by_jumps_and_leave_none_behind() {
    let mut index = trie::<2>();
    let long = |last: u8| [vec![b'x'; 5000], vec![last]].concat();
    for last in [1, 2, 200] {
        index.insert(&long(last), Inline(last.into()), &index.base.collector.enter()).unwrap();
    }
    let shape = index.check().unwrap();
    assert!(shape.jump_symbols >= 7990, "{shape:?}");
    assert!(shape.jumps <= shape.jump_symbols.div_ceil(15) + 1, "{shape:?}");
    for last in [2, 1] {
        index.remove(&long(last), &index.base.collector.enter()).unwrap();
        index.check().unwrap();
    }
    let shape = index.check().unwrap();
    assert_eq!((shape.keys, shape.jumps, shape.branches), (1, 0, 1));
}
