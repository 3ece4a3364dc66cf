//! Thinning: how many bytes of nodes an index keeps after nine of ten keys are removed, compared
//! with a fresh index of the remaining keys.
//!
//! Both are filled in ascending order, which packs nodes as full as possible: no other fill makes
//! the fresh index smaller. Design: `docs/design/thinning.md`.
#![cfg(not(miri))]

use std::collections::BTreeSet;

use crate::support::checked::CheckedIndex;
use crate::support::random::TestRandom;
use crate::support::shared_keys;
use skein_index::page_tree::PageTree;
use skein_index::{CuckooTrie, Inline, Masstree, MlpIndex, OrderedIndex, SkipList, Wormhole};

/// The number of keys before the removals.
const KEYS: usize = 60_000;
/// The same for an index whose largest array does not shrink with the keys: so many that this array
/// is not most of the index.
const MANY_KEYS: usize = 8 * KEYS;
/// One key in this many stays.
const ONE_IN: usize = 10;

type ThinnedKeys = Vec<Vec<u8>>;

/// The order in which keys are removed.
#[derive(Clone, Copy, Debug)]
enum ThinningOrder {
    Ascending,
    Descending,
    Random,
}

impl ThinningOrder {
    const ALL: [Self; 3] = [Self::Ascending, Self::Descending, Self::Random];

    fn apply<T>(self, sorted: &mut [T]) {
        match self {
            Self::Ascending => {}
            Self::Descending => sorted.reverse(),
            Self::Random => TestRandom::new(3).shuffle(sorted),
        }
    }
}

fn decimals(count: usize) -> ThinnedKeys {
    (0..count).map(|number| format!("{number:08}").into_bytes()).collect()
}

/// Returns keys like those of a server's clients.
fn names() -> ThinnedKeys {
    (0..KEYS).map(|number| format!("user:{number:012}:profile").into_bytes()).collect()
}

/// Returns keys in layers: one prefix for every `each` of them.
fn layers(prefixes: usize, each: usize) -> ThinnedKeys {
    let key = |number: usize| format!("prefix/{:08}/shared/{:04}/tail", number / each, number % each);
    (0..prefixes * each).map(|number| key(number).into_bytes()).collect()
}

/// Returns strings of up to 30 bytes of two values: their trie forks at every byte.
fn bits() -> ThinnedKeys {
    let mut random = TestRandom::new(5);
    let keys: BTreeSet<Vec<u8>> =
        (0..KEYS).map(|_| (0..=random.below(30)).map(|_| random.below(2) as u8).collect()).collect();
    keys.into_iter().collect()
}

fn sorted(mut keys: ThinnedKeys) -> ThinnedKeys {
    keys.sort();
    keys
}

/// Returns sets of sorted keys of up to eight bytes.
fn short_keys(count: usize) -> Vec<(&'static str, ThinnedKeys)> {
    vec![("numbers", sorted(shared_keys::numbers(count))), ("decimals", decimals(count))]
}

fn all_keys() -> Vec<(&'static str, ThinnedKeys)> {
    let mut all = short_keys(KEYS);
    all.extend([
        ("names", names()),
        ("paths", sorted(shared_keys::paths(KEYS))),
        ("layers of 20", layers(2_000, 20)),
        ("layers of 200", layers(200, 200)),
        ("bits", bits()),
    ]);
    all
}

fn filled<'k, I: OrderedIndex<Inline<u64>>>(index: I, keys: impl Iterator<Item = &'k Vec<u8>>) -> I {
    for key in keys {
        let guard = index.collector().enter();
        assert_eq!(index.insert(key, Inline(1), &guard), Ok(None));
    }
    index
}

/// Returns the bytes of nodes after removals in this order, and those of a fresh index.
fn node_bytes<I: CheckedIndex>(make: fn() -> I, keys: &ThinnedKeys, order: ThinningOrder) -> (usize, usize) {
    let stays = || keys.iter().skip(3).step_by(ONE_IN);
    let mut goes: Vec<&Vec<u8>> =
        keys.iter().enumerate().filter(|(at, _)| at % ONE_IN != 3).map(|(_, key)| key).collect();
    order.apply(&mut goes);
    let mut thinned = filled(make(), keys.iter());
    for key in goes {
        let guard = thinned.collector().enter();
        assert_eq!(thinned.remove(key, &guard), Some(1));
    }
    thinned.verify();
    let fresh = filled(make(), stays());
    assert_eq!(thinned.len(), fresh.len());
    (thinned.memory().nodes, fresh.memory().nodes)
}

/// Fails if a thinned index has more than `most` times the bytes of a fresh one.
fn gives_back<I: CheckedIndex>(make: fn() -> I, sets: Vec<(&'static str, ThinnedKeys)>, most: f64) {
    gives_back_but(make, sets, most, &[]);
}

/// Does the same, with another bound for some sets.
#[expect(clippy::cast_precision_loss, reason = "bytes of small indexes")]
fn gives_back_but<I: CheckedIndex>(
    make: fn() -> I,
    sets: Vec<(&'static str, ThinnedKeys)>,
    most: f64,
    but: &[(&str, f64)],
) {
    let most_of = |set: &str| but.iter().find(|(other, _)| *other == set).map_or(most, |(_, most)| *most);
    let mut kept = Vec::new();
    for (set, keys) in sets {
        for order in ThinningOrder::ALL {
            let measure = || {
                let (thinned, fresh) = node_bytes(make, &keys, order);
                (thinned as f64 / fresh as f64, set, order, thinned, fresh)
            };
            // Hashes are secret, so by chance a table may grow once more (seen in one run). Three
            // times in a row is no chance.
            let mut measured = measure();
            for _ in 0..2 {
                if measured.0 > most_of(set) {
                    measured = measure();
                }
            }
            kept.push(measured);
        }
    }
    println!("{kept:.2?}");
    assert!(
        kept.iter().all(|&(times, set, ..)| times <= most_of(set)),
        "at most {most} times, not {kept:.2?}"
    );
}

/// Once, border nodes were removed only when they were empty. Consequence: a tree of 200,000 keys
/// that had lost nine in ten kept 9.4 times the node bytes of a fresh one, whatever the order. Fix:
/// neighbours that have become sparse merge, and so do interior nodes.
#[test]
fn masstree_gives_memory_back() {
    gives_back(Masstree::<Inline<u64>>::new, all_keys(), 3.0);
}

/// Once, a leaf merged with its right neighbour only. Consequence: if keys were removed in
/// ascending order, that neighbour was still full, and 10.2 times the node bytes of a fresh index
/// stayed. Fix: a leaf merges with its left neighbour too.
///
/// Once, keys in layers kept 2.5 times the bytes of a fresh index, and 3.1 times where fewer keys
/// were removed. Cause: keys in order got anchors of random length, and the table shrank late. Fix:
/// of the split points near the end, the one with the shortest anchor is taken, and the table is
/// rebuilt below three sixteenths. Layers that are longer than a leaf keep long anchors, which a
/// fresh index of fewer keys does not need.
#[test]
fn wormhole_gives_memory_back() {
    gives_back_but(Wormhole::<Inline<u64>>::new, all_keys(), 2.0, &[("layers of 200", 2.5)]);
}

#[test]
fn page_tree_gives_memory_back() {
    gives_back(PageTree::<Inline<u64>>::new, all_keys(), 2.0);
}

#[test]
fn skip_list_gives_memory_back() {
    gives_back(SkipList::<Inline<u64>>::new, all_keys(), 2.0);
}

#[test]
fn cuckoo_trie_gives_memory_back() {
    gives_back(CuckooTrie::<Inline<u64>>::new, all_keys(), 2.0);
}

#[test]
fn mlp_index_gives_memory_back() {
    gives_back(MlpIndex::<Inline<u64>>::new, short_keys(MANY_KEYS), 2.0);
}
