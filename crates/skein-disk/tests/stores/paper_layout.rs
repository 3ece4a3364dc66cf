//! The paper's layout through the store: its operations on integers, also after crashes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use skein_disk::{DiskError, DiskOptions, DiskStore, Durability, Result, TrieShape};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

const SHAPES: [TrieShape; 3] =
    [TrieShape::FixedLinked { k: 4 }, TrieShape::FixedClassical { n: 16 }, TrieShape::FixedHash { n: 16 }];

fn open(storage: &SimStorage, shape: TrieShape) -> Result<DiskStore> {
    let options = DiskOptions {
        shape,
        durability: Durability::Sync,
        cache_pages: 24,
        checkpoint_bytes: 0,
        segment_bytes: 64 << 10,
        ..DiskOptions::default()
    };
    DiskStore::open_on(storage.share(), "/db", options)
}

fn key(number: u8) -> Vec<u8> {
    format!("n_view_{}", number % 30).into_bytes()
}

#[derive(Clone, Debug)]
enum CounterStep {
    Set(u8, i32),
    Inc(u8, i64),
    Cas(u8, i32),
    Remove(u8),
    Checkpoint,
    Crash(u64),
}

fn steps() -> impl Strategy<Value = Vec<CounterStep>> {
    let step = prop_oneof![
        4 => (any::<u8>(), any::<i32>()).prop_map(|(at, to)| CounterStep::Set(at, to)),
        4 => (any::<u8>(), -3_000_000_000_i64..3_000_000_000).prop_map(|(at, by)| CounterStep::Inc(at, by)),
        2 => (any::<u8>(), any::<i32>()).prop_map(|(at, to)| CounterStep::Cas(at, to)),
        2 => any::<u8>().prop_map(CounterStep::Remove),
        1 => Just(CounterStep::Checkpoint),
        1 => any::<u64>().prop_map(CounterStep::Crash),
    ];
    prop::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn integers_survive_any_crash(steps in steps(), which in 0..SHAPES.len()) {
        let storage = SimStorage::new();
        let mut store = open(&storage, SHAPES[which]).unwrap();
        let mut model: BTreeMap<Vec<u8>, i32> = BTreeMap::new();
        for step in steps {
            match step {
                CounterStep::Set(at, to) => {
                    store.set(&key(at), to.to_string().as_bytes()).unwrap();
                    model.insert(key(at), to);
                }
                CounterStep::Inc(at, by) => {
                    let sum = i64::from(model.get(&key(at)).copied().unwrap_or(0)) + by;
                    match (store.inc(&key(at), by), i32::try_from(sum)) {
                        (Ok(is), Ok(sum)) => {
                            prop_assert_eq!(is, i64::from(sum));
                            model.insert(key(at), sum);
                        }
                        (Err(DiskError::NotASmallInteger { value }), Err(_)) => {
                            prop_assert_eq!(value, sum.to_string());
                        }
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
                CounterStep::Cas(at, to) => {
                    let version = store.get_entry(&key(at)).unwrap().map(|(version, _)| version);
                    store.cas(&key(at), version, to.to_string().as_bytes()).unwrap();
                    let refused = store.cas(&key(at), version, b"1").unwrap_err();
                    prop_assert!(matches!(refused, DiskError::VersionDiffers { .. }), "{}", refused);
                    model.insert(key(at), to);
                }
                CounterStep::Remove(at) => {
                    prop_assert_eq!(store.remove(&key(at)).unwrap(), model.remove(&key(at)).is_some());
                }
                CounterStep::Checkpoint => store.checkpoint().unwrap(),
                CounterStep::Crash(seed) => {
                    storage.reboot(seed);
                    drop(store);
                    store = open(&storage, SHAPES[which]).unwrap();
                }
            }
        }
        prop_assert_eq!(store.check().unwrap().main.keys, model.len());
        for (key, value) in &model {
            prop_assert_eq!(store.get(key).unwrap(), Some(value.to_string().into_bytes()));
        }
        if SHAPES[which].is_ordered() {
            let mut cursor = store.cursor().unwrap();
            for key in model.keys() {
                prop_assert_eq!(cursor.next().unwrap().map(|entry| entry.key), Some(key.clone()));
            }
            prop_assert_eq!(cursor.next().unwrap(), None);
        } else {
            prop_assert!(matches!(store.cursor(), Err(DiskError::NoOrder)), "a cursor");
        }
    }
}

/// The paper's 100,000 keys of articles' counters (section 3.2), and the bytes that each takes.
#[test]
fn a_hundred_thousand_counters_fit_the_papers_layout() {
    for (shape, bytes_most) in [
        (TrieShape::FixedLinked { k: 12 }, 200),
        (TrieShape::FixedClassical { n: 16 }, 400),
        (TrieShape::FixedHash { n: 16 }, 4_500),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = DiskOptions { shape, durability: Durability::None, ..DiskOptions::default() };
        let store = DiskStore::open(folder.path(), options.clone()).unwrap();
        let count = if shape.is_ordered() { 100_000_u32 } else { 5_000 };
        let key = |id: u32| format!("n_view_{}", id * 7_919 % count).into_bytes();
        for id in 0..count {
            store.set(&key(id), id.to_string().as_bytes()).unwrap();
        }
        let census = store.check().unwrap().main;
        store.close().unwrap();
        let store = DiskStore::open(folder.path(), options).unwrap();
        for id in (0..count).step_by(7) {
            assert_eq!(store.get(&key(id)).unwrap(), Some(id.to_string().into_bytes()));
        }
        let bytes = census.pages * 4_096 / count as usize;
        println!("{shape}: {bytes} bytes a key, {census:?}");
        assert_eq!(census.keys, count as usize);
        assert!(bytes <= bytes_most, "{shape}: {bytes} bytes a key, {census:?}");
    }
}
