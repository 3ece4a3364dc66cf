use std::ops::Bound;
use std::time::Instant;

use skein_sync::atomic::{AtomicBool, Ordering};

use super::{TestTrie, TrieShape, WalkDirection};
use crate::test_fixtures::{TestEnd, random_numbers};

/// Returns realistic keys in random order: counters of articles, and paths of files.
fn real_keys(count: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(move |at| {
        let id = at * 7_919 % count;
        let key = match id % 2 {
            0 => format!("n_view_{id}"),
            _ => format!("/srv/www/{}/articles/{}/{id}.html", id % 50, id / 1_000),
        };
        key.into_bytes()
    })
}

#[test]
fn real_keys_take_few_bytes_and_few_pages_each() {
    const KEYS: u64 = 100_000;
    for (shape, bytes_most, depth_most) in [
        (TrieShape::Linked, 45, 5),
        (TrieShape::Classical { n: 16 }, 70, 9),
        (TrieShape::Hash { n: 16 }, 130, 6),
    ] {
        let store = TestTrie::new(shape, 10_000, u128::MAX);
        let begin = Instant::now();
        for (key, version) in real_keys(KEYS).zip(0..) {
            assert!(store.set(&key, version, &version.to_le_bytes()).unwrap());
        }
        let set = begin.elapsed();
        let begin = Instant::now();
        for (key, version) in real_keys(KEYS).zip(0_u64..) {
            assert_eq!(store.get(&key).unwrap(), Some((version, version.to_le_bytes().to_vec())));
        }
        let got = begin.elapsed();
        let census = store.check();
        let bytes = (census.pages * crate::page::PAGE) as u64 / KEYS;
        let fill = census.node_bytes * 100 / (census.pages * crate::page::PAGE);
        println!("{shape}: set {set:?}, got {got:?}, {bytes} bytes a key, {fill} % full, {census:?}");
        assert_eq!(census.keys as u64, KEYS);
        assert!(bytes <= bytes_most, "{bytes} bytes a key, {census:?}");
        assert!(census.page_depth <= depth_most, "{census:?}");
        for key in real_keys(KEYS) {
            assert!(store.remove(&key).unwrap());
        }
        assert_eq!(store.check().pages, 1);
    }
}

/// Pages that are freed after removals are nearly empty: the remaining keys take only a fraction of
/// the pages.
#[test]
fn keys_left_after_removals_lie_in_few_pages() {
    for shape in [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }] {
        let store = TestTrie::new(shape, 2_000, u128::MAX);
        for (key, version) in real_keys(20_000).zip(0..) {
            store.set(&key, version, b"value").unwrap();
        }
        let before = store.check();
        for (key, at) in real_keys(20_000).zip(0..) {
            assert!(at % 20 == 0 || store.remove(&key).unwrap());
        }
        let after = store.check();
        println!("{shape}: {before:?}, then {after:?}");
        assert_eq!(after.keys, 1_000);
        assert!(after.pages * 5 < before.pages, "{before:?}, then {after:?}");
    }
}

/// Random keys with values of up to a kilobyte in nodes are set, extended, shortened and removed.
/// Pages split and are freed again and again.
#[test]
fn random_writes_leave_pages_a_third_full() {
    for shape in [
        TrieShape::Linked,
        TrieShape::Classical { n: 256 },
        TrieShape::Classical { n: 16 },
        TrieShape::Hash { n: 64 },
    ] {
        let store = TestTrie::new(shape, 4_000, u128::MAX);
        let mut model = std::collections::BTreeMap::new();
        let mut next = random_numbers(1);
        for version in 1..30_000 {
            let key = next(6_000).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec();
            if next(3) == 0 {
                assert_eq!(store.remove(&key).unwrap(), model.remove(&key).is_some());
                continue;
            }
            let len = [next(16), next(200), next(1_024)][next(3) as usize];
            let value = vec![version as u8; len as usize];
            let is_new = store.set(&key, version, &value).unwrap();
            assert_eq!(model.insert(key, (version, value)).is_none(), is_new);
        }
        let census = store.check();
        let fill = census.node_bytes * 100 / (census.pages * crate::page::PAGE);
        println!("{shape}: {fill} % full, {census:?}");
        assert_eq!(census.keys, model.len());
        assert!(fill > 33, "{shape}: {fill} % full, {census:?}");
        for (key, value) in &model {
            assert_eq!(store.get(key).unwrap().as_ref(), Some(value));
        }
    }
}

/// Incident: pages that a write only read were read without the cache and never moved there.
/// Consequence: under writes alone the inner pages left the cache permanently, and each write read
/// them from the file: here two reads per write instead of one. Fix: the pages that a write has
/// read move to the cache when it is published.
#[test]
fn writes_keep_the_path_to_the_leaves_in_the_cache() {
    const WRITES: u64 = 10_000;
    let key = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    let store = TestTrie::new(TrieShape::Linked, 48, u128::MAX);
    for at in 0..40_000 {
        store.set(&key(at), at, b"1234").unwrap();
    }
    let before = store.buffer.stats().misses;
    for at in 0..WRITES {
        assert!(!store.set(&key(at * 7_919 % 40_000), at, b"5678").unwrap());
    }
    let misses = store.buffer.stats().misses - before;
    println!("{misses} pages read, {:?}", store.check());
    assert!(misses < WRITES + WRITES / 20, "{misses} pages were read for {WRITES} writes");
}

const GROUP: u64 = 6;

fn key_of_group(at: u64) -> Vec<u8> {
    format!("key/{}/{at}", at % 3).into_bytes()
}

/// Sets all keys of the group, in several pages, to a number. Other keys are added and removed, so
/// that nodes move.
fn write_group(store: &TestTrie, number: u64) -> crate::Result<()> {
    let mut writer = store.buffer.write();
    let other = |number: u64| format!("key/{}/other {}", number % 3, number % 40).into_bytes();
    store.trie.set(&mut writer, &other(number), number, &[1; 300])?;
    for number in number + 20..number + 22 {
        store.trie.remove(&mut writer, &other(number))?;
    }
    for at in 0..GROUP {
        let value = vec![number as u8; (number * 97 + at * 331) as usize % 2_000];
        store.trie.set(&mut writer, &key_of_group(at), number, &value)?;
    }
    writer.publish()
}

fn read_group(store: &TestTrie) -> u64 {
    let values = store.buffer.read_pages(|pages| {
        let values = (0..GROUP).map(|at| store.trie.get(pages, &key_of_group(at)));
        values.collect::<Result<Option<Vec<_>>, _>>()
    });
    let values = values.unwrap().unwrap();
    let number = values[0].0;
    for (version, value) in values {
        assert_eq!(version, number);
        assert!(value.iter().all(|byte| *byte == number as u8));
    }
    number
}

/// Scans all keys. Those of the group must have the same number.
fn scan_group(store: &TestTrie) {
    if matches!(store.trie.shape(), TrieShape::Hash { .. }) {
        store.buffer.read_with(|mut view| store.trie.check(&mut view, |_| Ok(()))).unwrap();
        return;
    }
    let all = store.collect(Bound::Unbounded, WalkDirection::Forward, usize::MAX).unwrap();
    assert!(all.is_sorted_by(|a, b| a.key < b.key));
    let newest = all.iter().map(|entry| entry.version).max().unwrap();
    let of_newest = all.iter().filter(|entry| entry.version == newest).count() as u64;
    assert_eq!(of_newest, GROUP + 1, "of write {newest}");
}

#[test]
fn readers_see_all_of_a_write_or_nothing() {
    for shape in [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }] {
        let store = TestTrie::new(shape, 32, u128::MAX);
        let done = AtomicBool::new(false);
        write_group(&store, 1).unwrap();
        std::thread::scope(|scope| {
            let _done = TestEnd(&done);
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let number = read_group(&store);
                    assert!(number >= last);
                    last = number;
                }
            });
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    scan_group(&store);
                }
            });
            for number in 2..1_500 {
                write_group(&store, number).unwrap();
            }
        });
        assert_eq!(read_group(&store), 1_499);
        store.check();
    }
}
