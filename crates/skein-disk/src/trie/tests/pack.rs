//! Packing by the steps of a compaction, between random writes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{SHAPES, TestTrie, TrieShape};
use crate::page::PAGE;

/// Runs a compaction's walk over the trie. Returns the number of freed pages, and that of steps
/// that changed something.
fn merge(store: &TestTrie) -> (usize, usize) {
    let (mut before, mut freed, mut changes) = (None, 0, 0);
    loop {
        let mut writer = store.buffer.write();
        let step = store.trie.merge(&mut writer, before).unwrap();
        if step.is_changed {
            writer.publish().unwrap();
            changes += 1;
        }
        freed += step.pages;
        if step.is_done {
            return (freed, changes);
        }
        before = step.before;
    }
}

/// Returns a key that looks random.
fn spread(at: u64) -> [u8; 8] {
    let number = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).to_be_bytes()
}

#[test]
fn packed_pages_are_full_and_stay() {
    // With few pages in the cache, the children of a node move in many steps.
    for (shape, cache, keys, percent) in [
        (TrieShape::Linked, 4_000, 40_000, 82),
        (TrieShape::Linked, 20, 40_000, 82),
        (TrieShape::Classical { n: 16 }, 4_000, 20_000, 70),
        (TrieShape::Hash { n: 64 }, 4_000, 20_000, 84),
    ] {
        let store = TestTrie::new(shape, 4_000, u128::MAX);
        for first in (0..keys).step_by(100) {
            let mut writer = store.buffer.write();
            for at in first..first + 100 {
                store.trie.set(&mut writer, &spread(at), at, &[at as u8; 100]).unwrap();
            }
            writer.publish().unwrap();
        }
        let before = store.check();
        store.checkpoint(keys);
        store.buffer.resize(cache).unwrap();
        let (freed, _) = merge(&store);
        // Loads all pages, so that the walk of `check` does not restart for each of them.
        store.buffer.resize(4_000).unwrap();
        for at in 0..keys {
            assert_eq!(store.get(&spread(at)).unwrap(), Some((at, vec![at as u8; 100])), "{shape}");
        }
        let after = store.check();
        let fill = after.node_bytes * 100 / (after.pages * PAGE);
        println!("{shape}, {cache} pages of cache: {before:?}, then {after:?}, {fill} % full");
        assert_eq!((after.keys, before.pages - after.pages), (keys as usize, freed), "{shape}");
        assert!(fill >= percent, "{shape}: {fill} % full");
        let (freed, changes) = merge(&store);
        assert!(freed * 200 <= after.pages && changes <= 2, "{shape}: {freed} freed in {changes} steps");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn a_packed_trie_is_a_map(
        rounds in prop::collection::vec((any::<u64>(), 1_u64..800, 0_usize..300), 1..8),
        shape in prop::sample::select(&SHAPES[..]),
        cache in 16_usize..60,
    ) {
        let store = TestTrie::new(shape, cache, u128::MAX);
        let (mut model, mut version) = (BTreeMap::new(), 0);
        for (seed, writes, len) in rounds {
            for at in 0..writes {
                version += 1;
                // Keys with common prefixes of all lengths; a third of the writes removes one.
                let number = seed.wrapping_add(at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let key = format!("{:x}", number % 4_000).into_bytes();
                if number % 3 == 0 {
                    prop_assert_eq!(store.remove(&key).unwrap(), model.remove(&key).is_some());
                } else {
                    let value = vec![at as u8; len * (number % 5) as usize / 4];
                    store.set(&key, version, &value).unwrap();
                    model.insert(key, (version, value));
                }
            }
            let before = store.check();
            let (freed, _) = merge(&store);
            let after = store.check();
            prop_assert_eq!((after.keys, before.pages - after.pages), (model.len(), freed));
            for (key, value) in &model {
                prop_assert_eq!(&store.get(key).unwrap(), &Some(value.clone()));
            }
        }
    }
}
