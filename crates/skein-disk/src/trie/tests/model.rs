use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;

use super::{FIXED, SHAPES, ScanEntry, TestTrie, TrieShape, WalkDirection};
use crate::trie::TrieCursor;

#[derive(Clone, Debug)]
enum TrieStep {
    Set(Vec<u8>, usize),
    Remove(Vec<u8>),
    RemoveNth(usize),
    Get(Vec<u8>),
    Scan(Option<Vec<u8>>, bool, bool, usize),
    Cursor(Vec<u8>, Vec<bool>),
    Checkpoint,
    Crash(u64),
}

fn keys() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop_oneof![Just(0_u8), Just(1), Just(b'a'), Just(255), any::<u8>()];
    prop_oneof![
        4 => prop::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(b'a')], 0..6),
        4 => prop::collection::vec(byte(), 0..5),
        1 => (byte(), 0_usize..700, byte()).prop_map(|(from, len, end)| {
            let mut key = vec![b'x', from];
            key.resize(len + 2, b'y');
            key.push(end);
            key
        }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<TrieStep>> {
    let len = || prop_oneof![6 => 0_usize..30, 2 => 900_usize..1_100, 1 => 0_usize..20_000];
    let step = prop_oneof![
        16 => (keys(), len()).prop_map(|(key, len)| TrieStep::Set(key, len)),
        2 => keys().prop_map(TrieStep::Remove),
        6 => any::<usize>().prop_map(TrieStep::RemoveNth),
        3 => keys().prop_map(TrieStep::Get),
        3 => (prop::option::of(keys()), any::<bool>(), any::<bool>(), 0_usize..30)
            .prop_map(|(from, incl, back, limit)| TrieStep::Scan(from, incl, back, limit)),
        1 => (keys(), prop::collection::vec(any::<bool>(), 0..20)).prop_map(|(key, directions)| TrieStep::Cursor(key, directions)),
        1 => Just(TrieStep::Checkpoint),
        1 => any::<u64>().prop_map(TrieStep::Crash),
    ];
    prop::collection::vec(step, 1..250)
}

type TrieModel = BTreeMap<Vec<u8>, (u64, Vec<u8>)>;

fn entry((key, (version, value)): (&Vec<u8>, &(u64, Vec<u8>))) -> ScanEntry {
    ScanEntry { key: key.clone(), version: *version, value: value.clone() }
}

fn expected(model: &TrieModel, from: Bound<&[u8]>, direction: WalkDirection, limit: usize) -> Vec<ScanEntry> {
    match direction {
        WalkDirection::Forward => {
            model.range::<[u8], _>((from, Bound::Unbounded)).take(limit).map(entry).collect()
        }
        WalkDirection::Backward => {
            model.range::<[u8], _>((Bound::Unbounded, from)).rev().take(limit).map(entry).collect()
        }
    }
}

/// Steps in both directions from a key. The model's position is the number of lesser keys.
fn walk_cursor(cursor: &mut TrieCursor<'_>, model: &TrieModel, key: &[u8], directions: &[bool]) {
    let all: Vec<ScanEntry> = model.iter().map(entry).collect();
    let less = all.iter().filter(|entry| &entry.key[..] < key).count();
    assert_eq!(cursor.seek_back(key).unwrap(), all.iter().rfind(|entry| &entry.key[..] <= key).cloned());
    assert_eq!(cursor.seek(key).unwrap().as_ref(), all.get(less));
    // One more than the index, so that 0 is before the first key.
    let mut at = less + 1;
    for forward in directions {
        let found = if *forward { cursor.next().unwrap() } else { cursor.prev().unwrap() };
        at = if *forward { (at + 1).min(all.len() + 1) } else { at.saturating_sub(1) };
        assert_eq!(found.as_ref(), at.checked_sub(1).and_then(|at| all.get(at)));
    }
}

/// Gets each key by itself, and all keys at once together with missing and repeated ones.
fn get_all(store: &TestTrie, model: &TrieModel) {
    for (key, value) in model {
        assert_eq!(store.get(key).unwrap().as_ref(), Some(value));
    }
    let others = model.keys().map(|key| [&key[..], b"?"].concat()).collect::<Vec<_>>();
    let keys: Vec<&[u8]> = model.keys().chain(&others).chain(model.keys()).map(Vec::as_slice).collect();
    let expected: Vec<_> = keys.iter().map(|key| model.get(*key).cloned()).collect();
    assert_eq!(store.get_many(&keys).unwrap(), expected);
}

fn run(shape: TrieShape, steps: Vec<TrieStep>, cache: usize, mask: u128) {
    let mut store = TestTrie::new(shape, cache, mask);
    let mut model = TrieModel::new();
    let (mut durable, mut version) = (model.clone(), 0);
    for step in steps {
        version += 1;
        match step {
            TrieStep::Set(mut key, len) => {
                // A write has all its pages in memory, and the paper's layout has a node for each
                // symbol.
                key.truncate(if store.is_fixed() && shape.is_ordered() { 8 } else { usize::MAX });
                let value = store.value(version, len);
                let is_new = store.set(&key, version, &value).unwrap();
                assert_eq!(model.insert(key, (version, value)).is_none(), is_new);
            }
            TrieStep::Remove(key) => assert_eq!(store.remove(&key).unwrap(), model.remove(&key).is_some()),
            TrieStep::RemoveNth(at) => {
                let Some(key) = model.keys().nth(at % model.len().max(1)).cloned() else { continue };
                assert!(store.remove(&key).unwrap() && model.remove(&key).is_some());
            }
            TrieStep::Get(key) => assert_eq!(store.get(&key).unwrap().as_ref(), model.get(&key)),
            TrieStep::Scan(..) | TrieStep::Cursor(..) if !shape.is_ordered() => {}
            TrieStep::Scan(from, is_included, back, limit) => {
                let from = match &from {
                    None => Bound::Unbounded,
                    Some(key) if is_included => Bound::Included(&key[..]),
                    Some(key) => Bound::Excluded(&key[..]),
                };
                let direction = if back { WalkDirection::Backward } else { WalkDirection::Forward };
                let found = store.collect(from, direction, limit).unwrap();
                assert_eq!(found, expected(&model, from, direction, limit));
            }
            TrieStep::Cursor(key, directions) => {
                walk_cursor(&mut store.trie.cursor(&store.buffer).unwrap(), &model, &key, &directions);
            }
            TrieStep::Checkpoint => {
                store.checkpoint(version);
                durable = model.clone();
            }
            TrieStep::Crash(seed) => {
                store.crash(seed);
                model = durable.clone();
            }
        }
        assert_eq!(store.check().keys, model.len());
    }
    get_all(&store, &model);
    for key in model.keys() {
        assert!(store.remove(key).unwrap());
    }
    let census = store.check();
    // In the paper's layout pages are never freed.
    assert_eq!((census.keys, census.nodes, census.pages == 1 || store.is_fixed()), (0, 1, true));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_linked_trie_is_a_sorted_map(steps in steps(), cache in 16_usize..20) {
        run(TrieShape::Linked, steps, cache, u128::MAX);
    }

    #[test]
    fn a_classical_trie_is_a_sorted_map(steps in steps(), cache in 16_usize..20, shape in 1_usize..8) {
        run(SHAPES[shape], steps, cache, u128::MAX);
    }

    #[test]
    fn tries_in_the_papers_layout_are_sorted_maps(steps in steps(), cache in 16_usize..20, shape in 0_usize..5) {
        run(FIXED[shape], steps, cache, u128::MAX);
    }

    #[test]
    fn a_fixed_hash_trie_is_a_map_also_if_hashes_are_equal(
        steps in steps(),
        cache in 16_usize..20,
        mask in prop_oneof![Just(u128::MAX), Just(3), Just(0), Just(1 << 127)],
        shape in 5_usize..8,
    ) {
        run(FIXED[shape], steps, cache, mask);
    }

    #[test]
    fn a_hash_trie_is_a_map_also_if_hashes_are_equal(
        steps in steps(),
        cache in 16_usize..20,
        mask in prop_oneof![Just(u128::MAX), Just(3), Just(0), Just(1 << 127)],
        n in prop_oneof![Just(4), Just(16), Just(128)],
    ) {
        run(TrieShape::Hash { n }, steps, cache, mask);
    }
}
