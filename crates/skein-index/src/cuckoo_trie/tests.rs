//! Tests of the inside: the size of the table, its behaviour when full, and hints.

use std::sync::Arc;

use skein_sync::reclaim::Collector;

use super::entry::CuckooNodeKind;
use super::prefixes::KeyPrefixes;
use super::table::CuckooTable;
use super::transaction::CuckooAbort;
use super::variant::{CuckooOfLeastBits, CuckooTrieVariant};
use super::*;
use crate::index::OrderedIndex;
use crate::slot::Inline;

pub(super) fn trie<V: CuckooSettings>() -> CuckooTrieVariant<Inline<u64>, V> {
    CuckooTrieVariant::with_variant(Arc::new(Collector::new()))
}

/// Returns distinct numbers in random order.
fn number(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

#[test]
fn the_table_follows_the_keys_by_few_buckets_at_a_time() {
    let mut index = trie::<CuckooOfLeastBits<4>>();
    let mut most = 0;
    for n in 0..50_000 {
        let before = index.engine.table.size();
        index.insert(&number(n), Inline(n), &index.base.collector.enter()).unwrap();
        most = most.max(index.engine.table.size() - before);
    }
    // A write that needs room in two places may take a step for each, and one more while it
    // retries.
    assert!(most <= 24, "one insert added {most} buckets");
    let shape = index.check().unwrap();
    let load = 100 * shape.entries() / shape.slots;
    assert!((60..=87).contains(&load), "{load} of 100 slots are in use");

    for n in 0..50_000 {
        let before = index.engine.table.size();
        assert_eq!(index.remove(&number(n), &index.base.collector.enter()), Some(n));
        assert!(
            before - index.engine.table.size() <= 8,
            "one removal took {} buckets away",
            before - index.engine.table.size()
        );
        if n % 10_000 == 0 {
            index.check().unwrap();
        }
    }
    assert_eq!((index.engine.table.size(), index.len()), (CuckooTable::<CuckooOfLeastBits<4>>::LEAST, 0));
}

/// Incident: for a while some buckets could not be merged, because there was no room for their
/// entries. The last removals took away eight buckets each, which was not enough to catch up.
/// Consequence: an empty index kept some memory, about one in five thousand small ones that were
/// filled with long keys and emptied. Fix: the removal of the last key takes all remaining buckets
/// away.
#[test]
fn an_empty_index_has_as_few_buckets_as_a_new_one() {
    let index = trie::<CuckooOfLeastBits<4>>();
    for n in 0..1_000 {
        index.insert(&number(n), Inline(n), &index.base.collector.enter()).unwrap();
    }
    let resizing = index.engine.table.try_lock().unwrap();
    for n in 1..1_000 {
        index.remove(&number(n), &index.base.collector.enter());
    }
    assert!(index.engine.table.size() > 100);
    drop(resizing);
    index.remove(&number(0), &index.base.collector.enter());
    assert_eq!(index.engine.table.size(), CuckooTable::<CuckooOfLeastBits<4>>::LEAST);
}

/// Incident: a removal joined a leaf with the jumps above it, one after the other. It mistook a
/// node that an insert had just put in the leaf's place for the leaf. Consequence: a branch, or
/// more symbols than a jump has room for, replaced a jump, and keys were lost. Fix: `join` checks
/// the nodes that it joins.
#[test]
fn join_rejects_nodes_that_do_not_fit_a_jump() {
    let mut index = trie::<CuckooOfLeastBits<4>>();
    for (last, value) in [(b"x", 0), (b"y", 1)] {
        let key = [&[b'a'; 60][..], last].concat();
        index.insert(&key, Inline(value), &index.base.collector.enter()).unwrap();
    }
    let guard = index.base.collector.enter();
    let mut path = Vec::new();
    index.descend(&mut KeyPrefixes::of(&index.engine.table, &[b'a'; 61]), |named| path.push(*named)).unwrap();
    let kinds: Vec<CuckooNodeKind> = path.iter().map(|named| named.node.entry.kind()).collect();
    let pairs: Vec<usize> =
        (1..path.len()).filter(|&below| kinds[below - 1] == CuckooNodeKind::Jump).collect();
    assert!(
        pairs.iter().any(|&below| kinds[below] == CuckooNodeKind::Jump)
            && kinds.ends_with(&[CuckooNodeKind::Jump])
    );
    let branch = index.below_jump(path.last().unwrap()).unwrap();
    for below in pairs {
        assert_eq!(index.join(&path[below - 1], &path[below], &guard), Err(CuckooAbort::Changed));
    }
    assert_eq!(index.join(path.last().unwrap(), &branch, &guard), Err(CuckooAbort::Changed));
    drop(guard);
    assert_eq!(index.check().unwrap().keys, 2);
}

#[test]
fn an_insert_moves_few_entries_however_many_there_are() {
    let index = trie::<CuckooOfLeastBits<4>>();
    let (mut most, mut last) = (0, 0);
    for n in 0..50_000 {
        index.insert(&number(n), Inline(n), &index.base.collector.enter()).unwrap();
        let moved = index.moved();
        (most, last) = (most.max(moved - last), moved);
    }
    assert!((1..=128).contains(&most), "one insert moved {most} entries");
    assert!(last >= index.engine.table.size() as usize, "splits move entries: {last} moved");
}

#[test]
fn a_table_with_room_does_not_grow() {
    for first in [0, 3_000] {
        let mut index = trie::<CuckooOfLeastBits<4>>();
        let insert = |numbers: std::ops::Range<u64>| {
            for n in numbers {
                index.insert(&number(n), Inline(n), &index.base.collector.enter()).unwrap();
            }
        };
        insert(0..first);
        let before = index.engine.table.size();
        // The number of entries per key rises and falls with the number of keys.
        index.reserve(15_000).unwrap();
        let size = index.engine.table.size();
        assert!(size > before + 1_000, "{size} buckets after {before}");
        insert(first..first + 10_000);
        assert_eq!(index.engine.table.size(), size, "after {first} keys");
        assert_eq!(index.check().unwrap().keys as u64, first + 10_000);
    }
}

#[test]
fn a_refused_reservation_leaves_the_index_usable() {
    let mut index = trie::<CuckooOfLeastBits<4>>().with_budget(1 << 20);
    let guard = index.base.collector.enter();
    assert!(matches!(index.reserve(1 << 30), Err(IndexError::OverBudget { .. })));
    index.insert(b"goose", Inline(7), &guard).unwrap();
    drop(guard);
    assert_eq!(index.check().unwrap().keys, 1);
    let index = trie::<CuckooOfLeastBits<1>>();
    assert!(matches!(index.reserve(usize::MAX), Err(IndexError::Full { keys: 0 })));
    assert_eq!(index.engine.table.size(), CuckooTable::<CuckooOfLeastBits<1>>::MOST);
}

#[test]
fn a_full_table_refuses_keys_and_keeps_the_others() {
    let mut index = trie::<CuckooOfLeastBits<1>>();
    let refused = (0..).find_map(|n| {
        let outcome = index.insert(&number(n), Inline(n), &index.base.collector.enter());
        outcome.err().map(|refused| (n, refused))
    });
    let Some((count, refused)) = refused else { panic!("never refused") };
    assert_eq!(refused, IndexError::Full { keys: count as usize });
    assert!(
        count as usize > CuckooTable::<CuckooOfLeastBits<1>>::MOST as usize * 2,
        "refused at {count} keys"
    );
    let guard = index.base.collector.enter();
    assert!((0..count).all(|n| index.get(&number(n), &guard) == Some(n)));
    assert_eq!(index.get(&number(count), &guard), None);
    // Undoing a write depends on this: a present key can be changed even in a full table.
    for n in 0..count {
        assert_eq!(index.insert(&number(n), Inline(n + 1), &guard), Ok(Some(n)));
        assert_eq!(index.insert(&number(n), Inline(n), &guard), Ok(Some(n + 1)));
    }
    let removed = index.compute(&number(0), |_| ComputeAction::Remove, &guard).map(|done| done.before);
    assert_eq!(removed, Ok(Some(0)));
    // Removals make room again.
    for n in 1..count / 4 {
        assert_eq!(index.remove(&number(n), &guard), Some(n));
    }
    index.insert(&number(count), Inline(count), &guard).unwrap();
    drop(guard);
    index.check().unwrap();
}

/// Returns keys that share much and diverge at many depths.
fn path(n: u64) -> Vec<u8> {
    let name = number(n).map(|byte| b'a' + byte % 16);
    format!("/usr/share/doc/{}/examples/{:03}/{}", n % 7, n % 97, String::from_utf8_lossy(&name)).into_bytes()
}

fn hint(index: &CuckooTrieVariant<Inline<u64>, CuckooOfLeastBits<4>>, key: &[u8]) -> Option<hints::Hint> {
    let mut sums = hints::HintSums::new();
    index.engine.table.hints.prefetch(key, &mut sums);
    index.engine.table.hints.deepest(&sums, u32::MAX)
}

#[test]
fn lookups_with_stale_hints_return_correct_values() {
    let mut index = trie::<CuckooOfLeastBits<4>>();
    let count = 20_000;
    let guard = index.base.collector.enter();
    let found = |index: &CuckooTrieVariant<Inline<u64>, CuckooOfLeastBits<4>>, n: u64| {
        index.get(&path(n), &index.base.collector.enter())
    };
    for n in 0..count {
        index.insert(&path(n), Inline(n), &guard).unwrap();
    }
    let led = (0..count).filter(|&n| hint(&index, &path(n)).is_some()).count() as u64;
    assert!(
        index.engine.table.depths.start().is_none() && led > count * 9 / 10,
        "hints for {led} of {count} keys"
    );
    assert!((0..count).all(|n| found(&index, n) == Some(n)));
    // Half of the nodes are removed, others are joined; the hints stay.
    for n in (0..count).step_by(2) {
        assert_eq!(index.remove(&path(n), &guard), Some(n));
    }
    assert!((0..2 * count).all(|n| found(&index, n) == (n < count && n % 2 == 1).then_some(n)));
    // Prefixes, extensions and neighbours of the keys.
    for n in 0..count {
        assert!((1..60).all(|len| index.get(&path(n)[..len.min(path(n).len() - 1)], &guard).is_none()));
        assert_eq!(index.get(&[path(n), vec![0]].concat(), &guard), None);
        index.insert(&path(n), Inline(n + 1), &guard).unwrap();
    }
    assert!((0..count).all(|n| found(&index, n) == Some(n + 1)));
    drop(guard);
    assert_eq!(index.check().unwrap().keys as u64, count);
}

/// Incident: where the children of a branch differ in the first bits after a multiple of eight
/// bytes, each child was recorded as the node below those bytes, and the other children's keys
/// followed it. Consequence: 3 % of the lookups of paths had to search from the root. Fix: the hint
/// leads to the branch.
#[test]
fn a_hint_ends_at_the_branch_where_keys_diverge() {
    let index = trie::<CuckooOfLeastBits<4>>();
    let count = 20_000;
    let key = |n: u64| {
        let name = u64::from_be_bytes(number(n));
        format!("/usr/{}{name:x}", &"share/doc/examples/"[..n as usize % 19]).into_bytes()
    };
    for n in 0..count {
        index.insert(&key(n), Inline(n), &index.base.collector.enter()).unwrap();
    }
    let size = index.engine.table.places();
    let is_astray = |n: &u64| {
        let key = key(*n);
        let path = hint(&index, &key)
            .map(|hint| lookup::LookupPath::from_hint(&index.engine.table, size, &key, hint));
        path.is_some_and(|path| index.follow_path(path, size).is_none_or(|record| record.key() != key))
    };
    let astray = (0..count).filter(is_astray).count() as u64;
    assert!(!index.engine.table.hints.is_empty() && astray < count / 200, "{astray} of {count} keys");
}

#[test]
fn a_wrong_hint_does_not_change_answers() {
    let mut index = trie::<CuckooOfLeastBits<4>>();
    let key = |place: u64, n: u64| format!("/{place:09}/shared part/{n:05}").into_bytes();
    let guard = index.base.collector.enter();
    for n in (0..12_000).step_by(2) {
        for place in [0, 1] {
            index.insert(&key(place, n), Inline(n), &guard).unwrap();
        }
    }
    assert!(!index.engine.table.hints.is_empty());
    // Stores the nodes of one place as hints for keys of the other.
    let noted = |index: &CuckooTrieVariant<Inline<u64>, CuckooOfLeastBits<4>>, n: u64| {
        let (mut trail, mut last) = (hints::HintTrail::new(true), 0);
        let each = |named: &search::NamedNode| {
            trail.meet(named);
            last = named.depth;
        };
        index.descend(&mut prefixes::KeyPrefixes::of(&index.engine.table, &key(1, n)), each).unwrap();
        // The checksums of one key, and the nodes of the other.
        index.engine.table.hints.prefetch(&key(0, n), &mut trail.sums);
        index.engine.table.hints.note(&trail);
        let hint = hint(index, &key(0, n)).unwrap();
        let ours = key(0, n);
        let mut prefixes = prefixes::KeyPrefixes::of(&index.engine.table, &ours);
        let astray = index.guess(prefixes.start_at(hint.hash, hint.depth)).is_some();
        assert!(astray && hint.depth <= last, "{hint:?}");
    };
    for n in (0..12_000).step_by(194) {
        noted(&index, n);
        assert_eq!(index.get(&key(0, n), &guard), Some(n));
        noted(&index, n + 1);
        assert_eq!(index.get(&key(0, n + 1), &guard), None);
        noted(&index, n + 1);
        index.insert(&key(0, n + 1), Inline(n), &guard).unwrap();
        noted(&index, n);
        assert_eq!(index.remove(&key(0, n), &guard), Some(n));
        assert_eq!(index.get(&key(1, n + 1), &guard), None);
        assert_eq!(index.get(&key(1, n), &guard), Some(n));
    }
    drop(guard);
    assert_eq!(index.check().unwrap().keys, 12_000);
}

#[test]
fn any_prefetch_depth_gives_the_same_answers() {
    for depth in [0, 1, 3, prefixes::PREFETCH_DEPTH_MAX, u32::MAX] {
        let index = trie::<CuckooOfLeastBits<4>>().with_prefetch_depth(depth);
        assert!((1..=prefixes::PREFETCH_DEPTH_MAX).contains(&index.engine.table.ahead));
        let guard = index.base.collector.enter();
        for n in 0..3_000 {
            index.insert(&path(n), Inline(n), &guard).unwrap();
            index.insert(&number(n), Inline(n), &guard).unwrap();
        }
        assert!((0..4_000).all(|n| {
            let expected = (n < 3_000).then_some(n);
            index.get(&path(n), &guard) == expected && index.get(&number(n), &guard) == expected
        }));
    }
}

#[test]
fn removing_long_shared_prefixes_leaves_no_jumps() {
    let mut index = trie::<CuckooOfLeastBits<2>>();
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
