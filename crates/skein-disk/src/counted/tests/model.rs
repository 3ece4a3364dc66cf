use std::collections::BTreeSet;

use proptest::prelude::*;

use super::TestSet;
use crate::test_fixtures::random_numbers;
use crate::trie::WalkDirection;

type SetModel = BTreeSet<Vec<u8>>;

#[derive(Clone, Debug)]
enum SetStep {
    Insert(Vec<u8>),
    Remove(Vec<u8>),
    RemoveNth(usize),
    Rank(Vec<u8>),
    Walk(usize, bool, usize),
    Checkpoint,
    Crash(u64),
}

/// Keys with few different bytes, keys of scores, and keys around the limit of a page.
fn keys() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop_oneof![Just(0_u8), Just(1), Just(b'a'), Just(255), any::<u8>()];
    prop_oneof![
        4 => prop::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(b'a')], 0..6),
        4 => prop::collection::vec(byte(), 0..7),
        4 => (0_u8..3, any::<u16>(), byte()).prop_map(|(set, score, member)| {
            let mut key = [&[0; 7], &[set][..]].concat();
            key.extend(u64::from(score).to_be_bytes());
            key.extend([member; 20]);
            key
        }),
        1 => (byte(), 900_usize..1_000, byte()).prop_map(|(from, len, end)| {
            let mut key = vec![b'x', from % 2];
            key.resize(len, b'y');
            key.push(end);
            key
        }),
        1 => (0_usize..3, 0_u8..3).prop_map(|(pages, end)| {
            let mut key = vec![b'x'; 960 + pages * 4_076];
            key.extend(vec![end; usize::from(end)]);
            key
        }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<SetStep>> {
    let step = prop_oneof![
        20 => keys().prop_map(SetStep::Insert),
        2 => keys().prop_map(SetStep::Remove),
        6 => any::<usize>().prop_map(SetStep::RemoveNth),
        3 => keys().prop_map(SetStep::Rank),
        3 => (any::<usize>(), any::<bool>(), 0_usize..30).prop_map(|(at, back, most)| SetStep::Walk(at, back, most)),
        1 => Just(SetStep::Checkpoint),
        1 => any::<u64>().prop_map(SetStep::Crash),
    ];
    prop::collection::vec(step, 1..300)
}

fn check_reads(store: &TestSet, model: &SetModel, key: &[u8]) {
    let less = model.iter().filter(|other| &other[..] < key).count() as u64;
    assert_eq!(store.rank(key), less);
    assert_eq!(store.contains(key).unwrap(), model.contains(key));
}

fn check_walk(store: &TestSet, model: &SetModel, at: usize, is_backward: bool, most: usize) {
    let position = at % (model.len() + 2);
    let (direction, expected): (_, Vec<_>) = if is_backward {
        let before = model.iter().take(position).rev();
        (WalkDirection::Backward, before.take(most).cloned().collect())
    } else {
        (WalkDirection::Forward, model.iter().skip(position).take(most).cloned().collect())
    };
    assert_eq!(store.walk(position as u64, direction, most).unwrap(), expected);
}

fn run_step(store: &mut TestSet, model: &mut SetModel, durable: &mut SetModel, step: SetStep) {
    match step {
        SetStep::Insert(key) => assert_eq!(store.insert(&key).unwrap(), model.insert(key)),
        SetStep::Remove(key) => assert_eq!(store.remove(&key).unwrap(), model.remove(&key)),
        SetStep::RemoveNth(at) => {
            let Some(key) = model.iter().nth(at % model.len().max(1)).cloned() else { return };
            assert!(store.remove(&key).unwrap() && model.remove(&key));
        }
        SetStep::Rank(key) => check_reads(store, model, &key),
        SetStep::Walk(at, is_backward, most) => check_walk(store, model, at, is_backward, most),
        SetStep::Checkpoint => {
            store.checkpoint(1);
            durable.clone_from(model);
        }
        SetStep::Crash(seed) => {
            store.crash(seed);
            model.clone_from(durable);
        }
    }
}

fn run(steps: Vec<SetStep>, cache: usize) {
    let mut store = TestSet::new(cache);
    let (mut model, mut durable) = (SetModel::new(), SetModel::new());
    for step in steps {
        run_step(&mut store, &mut model, &mut durable, step);
        assert_eq!(store.check().keys, model.len() as u64);
        assert_eq!(store.read(|set, pages| set.len(pages)).unwrap(), model.len() as u64);
    }
    for (position, direction, end) in
        [(0, WalkDirection::Forward, model.first()), (u64::MAX, WalkDirection::Backward, model.last())]
    {
        assert_eq!(store.walk(position, direction, 1).unwrap().first(), end);
    }
    for (key, rank) in model.iter().zip(0..) {
        assert_eq!(store.rank(key), rank);
    }
    for key in &model {
        assert!(store.remove(key).unwrap());
    }
    let census = store.check();
    assert_eq!((census.keys, census.pages()), (0, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_counted_set_is_a_sorted_set(steps in steps(), cache in 16_usize..20) {
        run(steps, cache);
    }
}

/// Four keys each share their first 850 bytes, so half of the separators are as long, and a page
/// has few children. Splits and merges happen at all levels.
#[test]
fn long_separators_make_a_high_tree() {
    let key = |next: &mut dyn FnMut(u64) -> u64| {
        let mut key = next(400).to_be_bytes().to_vec();
        key.resize(850, b'y');
        key.push(next(4) as u8);
        key
    };
    let (store, mut model, mut next) = (TestSet::new(128), SetModel::new(), random_numbers(6));
    let mut depth = 0;
    for round in 0..6_000 {
        let key = key(&mut next);
        if next(100) < if round < 3_000 { 80 } else { 20 } {
            assert_eq!(store.insert(&key).unwrap(), model.insert(key));
        } else if let Some(key) = model.range(key..).next().cloned() {
            assert!(store.remove(&key).unwrap() && model.remove(&key));
        }
        if round % 10 == 0 {
            let census = store.check();
            assert_eq!(census.keys, model.len() as u64);
            depth = depth.max(census.depth);
        }
    }
    assert!(depth >= 4, "{depth}");
    for (key, rank) in model.iter().zip(0..) {
        assert_eq!(store.rank(key), rank);
    }
    assert!(model.iter().all(|key| store.remove(key).unwrap()));
    assert_eq!(store.check().pages(), 1);
}

/// 100,000 keys of scores, inserted and removed at random, with a check every so often.
#[test]
fn many_keys_stay_a_sorted_set() {
    let (store, mut model, mut next) = (TestSet::new(4_096), SetModel::new(), random_numbers(7));
    let key = |next: &mut dyn FnMut(u64) -> u64| {
        let mut key = next(3).to_be_bytes().to_vec();
        key.extend(next(1 << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        key.extend(next(2).to_be_bytes());
        key
    };
    for round in 0..200_000_u32 {
        let key = key(&mut next);
        if next(100) < if round < 130_000 { 90 } else { 20 } {
            assert_eq!(store.insert(&key).unwrap(), model.insert(key));
        } else if let Some(key) = model.range(key..).next().cloned() {
            assert!(store.remove(&key).unwrap() && model.remove(&key));
        }
        if round % 20_000 == 19_999 {
            let census = store.check();
            assert_eq!(census.keys, model.len() as u64);
            let all = store.walk(0, WalkDirection::Forward, usize::MAX).unwrap();
            assert!(all.iter().eq(&model));
        }
    }
    for (key, rank) in model.iter().zip(0..).step_by(37) {
        assert_eq!(store.rank(key), rank);
        assert_eq!(store.walk(rank, WalkDirection::Forward, 1).unwrap(), [&key[..]]);
    }
}
