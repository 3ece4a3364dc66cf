//! Located writes of a Masstree: a write starts at the node where a batch of lookups ended. The
//! tree changes between the two: nodes split and are removed, layers grow and are removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::checked::CheckedIndex;
use crate::support::random::TestRandom;
use crate::support::{any_key, compare_all, shared_keys, spread_key, times};
use proptest::collection::vec;
use proptest::prelude::*;
use skein_index::masstree::variant::{MasstreeOfWidth, MasstreeSettings, MasstreeStandard, MasstreeVariant};
use skein_index::{Collector, ComputeAction, Inline, Masstree, OrderedIndex};

type LocatedTree<V> = MasstreeVariant<Inline<u64>, V>;

/// One step: a batch of keys is located, other keys are written meanwhile, then the batch is
/// written.
#[derive(Debug, Clone)]
struct LocatedBatch {
    batch: Vec<(Vec<u8>, Option<u64>)>,
    meanwhile: Vec<(Vec<u8>, Option<u64>)>,
}

fn steps(key: &BoxedStrategy<Vec<u8>>) -> impl Strategy<Value = Vec<LocatedBatch>> + use<> {
    let writes = |most| vec((key.clone(), proptest::option::weighted(0.6, any::<u64>())), 0..most);
    let step = (writes(40), writes(30)).prop_map(|(batch, meanwhile)| LocatedBatch { batch, meanwhile });
    vec(step, 0..20)
}

fn change(value: Option<u64>) -> ComputeAction<Inline<u64>> {
    value.map_or(ComputeAction::Remove, |value| ComputeAction::Put(Inline(value)))
}

fn note(model: &mut BTreeMap<Vec<u8>, u64>, key: &[u8], value: Option<u64>) -> Option<u64> {
    match value {
        Some(value) => model.insert(key.to_vec(), value),
        None => model.remove(key),
    }
}

fn places_hold<V: MasstreeSettings>(steps: &[LocatedBatch]) {
    let mut tree = LocatedTree::<V>::with_variant(Arc::new(Collector::new()));
    let mut model = BTreeMap::new();
    for step in steps {
        let guard = tree.collector().enter();
        let keys: Vec<&[u8]> = step.batch.iter().map(|(key, _)| &key[..]).collect();
        let mut places = vec![None; keys.len()];
        tree.locate_many(&keys, &guard, |at, value, place| {
            assert_eq!(value, model.get(keys[at]).copied());
            places[at] = place;
        });
        for (key, value) in &step.meanwhile {
            let done = tree.compute(key, |_| change(*value), &guard).unwrap();
            assert_eq!(done.before, note(&mut model, key, *value));
        }
        for ((key, value), place) in step.batch.iter().zip(places) {
            let Some(place) = place else { continue };
            // SAFETY: the location is of this tree and key, and the guard is the same.
            let read = unsafe { tree.get_at(key, place, &guard) };
            assert_eq!(read, model.get(key).copied(), "of {key:?}");
            // SAFETY: as above.
            let done = unsafe { tree.compute_at(key, place, |_| change(*value), &guard) }.unwrap();
            assert_eq!(done.before, note(&mut model, key, *value), "of {key:?}");
        }
    }
    compare_all(&tree, &model, &tree.collector().enter());
    tree.verify();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn places_hold_in_nodes_of_width_15(steps in steps(&any_key())) {
        places_hold::<MasstreeStandard>(&steps);
    }

    #[test]
    fn places_hold_in_nodes_of_width_3(steps in steps(&spread_key())) {
        places_hold::<MasstreeOfWidth<3>>(&steps);
    }
}

#[test]
fn every_key_of_a_quiet_tree_has_a_place() {
    let tree = Masstree::<Inline<u64>>::new();
    let guard = tree.collector().enter();
    let keys: Vec<Vec<u8>> =
        (0..2_000).map(|n| format!("shared prefix/{:04}", n * 7 % 2_000).into_bytes()).collect();
    for key in keys.iter().step_by(2) {
        tree.insert(key, Inline(1), &guard).unwrap();
    }
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut located = 0;
    tree.locate_many(&keys, &guard, |_, _, place| located += usize::from(place.is_some()));
    // A lookup may reach the root of a split layer through an outdated link once.
    assert!(located > keys.len() * 9 / 10, "{located} of {}", keys.len());
}

/// Writers increment keys of their own in batches, and remove and insert them again, in nodes that
/// they share.
#[test]
fn batches_of_two_writers_lose_nothing() {
    const WRITERS: usize = 2;
    let tree = LocatedTree::<MasstreeOfWidth<3>>::with_variant(Arc::new(Collector::new()));
    let keys = shared_keys::paths(3_000);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (tree, keys) = (&tree, &keys);
            scope.spawn(move || {
                let own: Vec<&[u8]> = keys.iter().skip(writer).step_by(WRITERS).map(Vec::as_slice).collect();
                let mut counts = vec![None; own.len()];
                let mut random = TestRandom::new(writer as u64);
                for round in 0..times(600) {
                    let batch: Vec<usize> = (0..32).map(|_| random.below(own.len())).collect();
                    let batch_keys: Vec<&[u8]> = batch.iter().map(|&at| own[at]).collect();
                    let guard = tree.collector().enter();
                    let mut places = [None; 32];
                    tree.locate_many(&batch_keys, &guard, |at, value, place| {
                        assert_eq!(value, counts[batch[at]]);
                        places[at] = place;
                    });
                    for (&at, place) in batch.iter().zip(places) {
                        let next = (round % 3 > 0).then(|| counts[at].map_or(0, |count| count + 1));
                        let Some(place) = place else { continue };
                        // SAFETY: the location is of this tree and key, and the guard is the same.
                        let done =
                            unsafe { tree.compute_at(own[at], place, |_| change(next), &guard) }.unwrap();
                        assert_eq!(done.before, counts[at], "of {:?}", own[at]);
                        counts[at] = next;
                    }
                }
                let guard = tree.collector().enter();
                for (key, count) in own.iter().zip(&counts) {
                    assert_eq!(tree.get(key, &guard), *count, "of {key:?}");
                }
            });
        }
    });
    let mut tree = tree;
    tree.verify();
}
