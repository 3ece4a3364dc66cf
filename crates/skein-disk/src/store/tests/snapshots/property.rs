//! Random transactions with snapshots of different ages, checkpoints, compactions and restarts,
//! against a history of models.

use proptest::prelude::*;
use skein_log::storage::sim::SimStorage;

use super::{ModelSnapshot, SHAPES, open, write};
use crate::DiskError;
use crate::store::tests::{StoreModel, key};

#[derive(Clone, Debug)]
enum SnapshotStep {
    /// A transaction; `None` removes a key.
    Write(Vec<(usize, Option<Vec<u8>>)>),
    Take,
    Drop(usize),
    Release(usize, usize),
    Get(usize, usize),
    GetMany(usize, Vec<usize>),
    ReadAll(usize),
    Checkpoint,
    Compact,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<SnapshotStep>> {
    use SnapshotStep as S;
    let value = prop_oneof![
        6 => prop::collection::vec(any::<u8>(), 0..60),
        2 => (200..1_500_usize).prop_map(|len| vec![5; len]),
        1 => (1_500..9_000_usize).prop_map(|len| vec![7; len]),
    ];
    let write = (any::<usize>(), prop::option::weighted(0.75, value));
    let step = prop_oneof![
        24 => prop::collection::vec(write, 1..5).prop_map(S::Write),
        6 => Just(S::Take),
        3 => any::<usize>().prop_map(S::Drop),
        2 => (any::<usize>(), 1..20_usize).prop_map(|(which, most)| S::Release(which, most)),
        8 => any::<(usize, usize)>().prop_map(|(which, at)| S::Get(which, at)),
        4 => (any::<usize>(), prop::collection::vec(any::<usize>(), 1..20)).prop_map(|(which, at)| S::GetMany(which, at)),
        4 => any::<usize>().prop_map(S::ReadAll),
        2 => Just(S::Checkpoint),
        1 => Just(S::Compact),
        1 => Just(S::Reopen),
    ];
    prop::collection::vec(step, 1..160)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_snapshot_shows_the_store_of_its_moment(steps in steps(), which in 0..SHAPES.len()) {
        let storage = SimStorage::new();
        let mut store = open(&storage, SHAPES[which], 16);
        let mut model = StoreModel::new();
        let mut snapshots: Vec<ModelSnapshot> = Vec::new();
        for step in &steps {
            match step {
                SnapshotStep::Write(writes) => write(&store, &mut model, writes),
                SnapshotStep::Take if snapshots.len() < 6 => {
                    snapshots.push(ModelSnapshot::take(&store, &model));
                }
                SnapshotStep::Checkpoint => store.checkpoint().unwrap(),
                SnapshotStep::Compact => _ = store.compact().unwrap(),
                SnapshotStep::Reopen => {
                    store.close().unwrap();
                    for closed in snapshots.drain(..) {
                        let error = closed.snapshot.get(&key(0)).unwrap_err();
                        prop_assert!(matches!(error, DiskError::Closed { .. }), "{}", error);
                    }
                    store = open(&storage, SHAPES[which], 16);
                }
                _ if snapshots.is_empty() => {}
                SnapshotStep::Take => {}
                SnapshotStep::Drop(which) => _ = snapshots.swap_remove(which % snapshots.len()),
                SnapshotStep::Release(which, most) => {
                    let ended = snapshots.swap_remove(which % snapshots.len());
                    let mut release = ended.snapshot.release();
                    while release.step(*most) {
                        // Another write between the steps meets versions that are not released yet.
                        write(&store, &mut model, &[(*most, Some(vec![1; *most]))]);
                    }
                }
                SnapshotStep::Get(which, at) => {
                    let ModelSnapshot { snapshot, model, .. } = &snapshots[which % snapshots.len()];
                    prop_assert_eq!(snapshot.get(&key(*at)).unwrap(), model.get(&key(*at)).cloned());
                }
                SnapshotStep::GetMany(which, at) => snapshots[which % snapshots.len()].check_many(at),
                SnapshotStep::ReadAll(which) => snapshots[which % snapshots.len()].check(),
            }
            prop_assert_eq!(store.stats().snapshots, snapshots.len());
            store.shared.buffer.check_places();
        }
        snapshots.iter().for_each(ModelSnapshot::check);
        drop(snapshots);
        let stats = store.stats();
        prop_assert_eq!((stats.snapshots, stats.kept_in_memory, stats.kept_in_file), (0, 0, 0));
        prop_assert_eq!(store.check().unwrap().main.keys, model.len());
        store.shared.buffer.check_places();
    }
}
