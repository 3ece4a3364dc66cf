//! Located writes: a write starts at the node or page where a batch of lookups ended. The tree changes
//! between the two: nodes and pages split and are removed, layers grow and are removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::checked::CheckedIndex;
use crate::support::numbers::{EmbeddedNumber, NumberSlot};
use crate::support::random::TestRandom;
use crate::support::{any_key, compare_all, shared_keys, spread_key, times};
use proptest::collection::vec;
use proptest::prelude::*;
use skein_index::masstree::MasstreeLocation;
use skein_index::masstree::variant::{MasstreeOfWidth, MasstreeStandard, MasstreeVariant};
use skein_index::page_tree::PageTreePlace;
use skein_index::page_tree::variant::{PageTreeOfWidth, PageTreeStandard, PageTreeVariant};
use skein_index::{Collector, ComputeAction, Guard, Inline};

type StandardMasstree = MasstreeVariant<Inline<u64>, MasstreeStandard>;
type NarrowMasstree = MasstreeVariant<Inline<u64>, MasstreeOfWidth<3>>;
type StandardPageTree = PageTreeVariant<EmbeddedNumber, PageTreeStandard>;
type NarrowPageTree = PageTreeVariant<EmbeddedNumber, PageTreeOfWidth<4>>;

/// An index whose writes may start at the place where a lookup ended.
trait LocatedIndex: CheckedIndex<Self::Number> + Sync {
    type Number: NumberSlot;
    type Place: Copy;

    fn create() -> Self;

    fn locate(
        &self,
        keys: &[&[u8]],
        guard: &impl Guard,
        found: impl FnMut(usize, Option<u64>, Option<Self::Place>),
    );

    /// # Safety
    /// As for `compute_at`.
    unsafe fn read_at(&self, key: &[u8], place: Self::Place, guard: &impl Guard) -> Option<u64>;

    /// Writes or removes a value. Returns the value before.
    ///
    /// # Safety
    /// As for `compute_at`.
    unsafe fn write_at(
        &self,
        key: &[u8],
        place: Self::Place,
        value: Option<u64>,
        guard: &impl Guard,
    ) -> Option<u64>;
}

macro_rules! located {
    ($($index:ty, $number:ty, $place:ty;)*) => { $(
        impl LocatedIndex for $index {
            type Number = $number;
            type Place = $place;

            fn create() -> Self {
                Self::with_variant(Arc::new(Collector::new()))
            }

            fn locate(
                &self,
                keys: &[&[u8]],
                guard: &impl Guard,
                found: impl FnMut(usize, Option<u64>, Option<$place>),
            ) {
                self.locate_many(keys, guard, found);
            }

            unsafe fn read_at(&self, key: &[u8], place: $place, guard: &impl Guard) -> Option<u64> {
                // SAFETY: the caller's promise.
                unsafe { self.get_at(key, place, guard) }
            }

            unsafe fn write_at(
                &self,
                key: &[u8],
                place: $place,
                value: Option<u64>,
                guard: &impl Guard,
            ) -> Option<u64> {
                // SAFETY: the caller's promise.
                unsafe { self.compute_at(key, place, |_| change(value), guard) }.unwrap().before
            }
        }
    )* };
}

located! {
    StandardMasstree, Inline<u64>, MasstreeLocation<MasstreeStandard>;
    NarrowMasstree, Inline<u64>, MasstreeLocation<MasstreeOfWidth<3>>;
    StandardPageTree, EmbeddedNumber, PageTreePlace;
    NarrowPageTree, EmbeddedNumber, PageTreePlace;
}

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

fn change<S: NumberSlot>(value: Option<u64>) -> ComputeAction<S> {
    value.map_or(ComputeAction::Remove, |value| ComputeAction::Put(S::of(value)))
}

fn note(model: &mut BTreeMap<Vec<u8>, u64>, key: &[u8], value: Option<u64>) -> Option<u64> {
    match value {
        Some(value) => model.insert(key.to_vec(), value),
        None => model.remove(key),
    }
}

fn places_hold<T: LocatedIndex>(steps: &[LocatedBatch]) {
    let mut tree = T::create();
    let mut model = BTreeMap::new();
    for step in steps {
        let guard = tree.collector().enter();
        let keys: Vec<&[u8]> = step.batch.iter().map(|(key, _)| &key[..]).collect();
        let mut places = vec![None; keys.len()];
        tree.locate(&keys, &guard, |at, value, place| {
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
            let read = unsafe { tree.read_at(key, place, &guard) };
            assert_eq!(read, model.get(key).copied(), "of {key:?}");
            // SAFETY: as above.
            let before = unsafe { tree.write_at(key, place, *value, &guard) };
            assert_eq!(before, note(&mut model, key, *value), "of {key:?}");
        }
    }
    compare_all(&tree, &model, &tree.collector().enter());
    tree.verify();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn places_hold_in_nodes_of_width_15(steps in steps(&any_key())) {
        places_hold::<StandardMasstree>(&steps);
    }

    #[test]
    fn places_hold_in_nodes_of_width_3(steps in steps(&spread_key())) {
        places_hold::<NarrowMasstree>(&steps);
    }

    #[test]
    fn places_hold_in_pages_of_width_64(steps in steps(&any_key())) {
        places_hold::<StandardPageTree>(&steps);
    }

    #[test]
    fn places_hold_in_pages_of_width_4(steps in steps(&spread_key())) {
        places_hold::<NarrowPageTree>(&steps);
    }
}

fn keys_of_a_quiet_tree_have_places<T: LocatedIndex>() {
    let tree = T::create();
    let guard = tree.collector().enter();
    let keys: Vec<Vec<u8>> =
        (0..2_000).map(|n| format!("shared prefix/{:04}", n * 7 % 2_000).into_bytes()).collect();
    for key in keys.iter().step_by(2) {
        tree.insert(key, T::Number::of(1), &guard).unwrap();
    }
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut located = 0;
    tree.locate(&keys, &guard, |_, _, place| located += usize::from(place.is_some()));
    // A lookup may reach the root of a split layer through an outdated link once.
    assert!(located > keys.len() * 9 / 10, "{located} of {}", keys.len());
}

#[test]
fn every_key_of_a_quiet_tree_has_a_place() {
    keys_of_a_quiet_tree_have_places::<StandardMasstree>();
    keys_of_a_quiet_tree_have_places::<StandardPageTree>();
}

/// Writers increment keys of their own in batches, and remove and insert them again, in nodes that
/// they share.
fn two_writers_lose_nothing<T: LocatedIndex>() {
    const WRITERS: usize = 2;
    let tree = T::create();
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
                    tree.locate(&batch_keys, &guard, |at, value, place| {
                        assert_eq!(value, counts[batch[at]]);
                        places[at] = place;
                    });
                    for (&at, place) in batch.iter().zip(places) {
                        let next = (round % 3 > 0).then(|| counts[at].map_or(0, |count| count + 1));
                        let Some(place) = place else { continue };
                        // SAFETY: the location is of this tree and key, and the guard is the same.
                        let before = unsafe { tree.write_at(own[at], place, next, &guard) };
                        assert_eq!(before, counts[at], "of {:?}", own[at]);
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

#[test]
fn batches_of_two_writers_lose_nothing() {
    two_writers_lose_nothing::<NarrowMasstree>();
    two_writers_lose_nothing::<NarrowPageTree>();
}
