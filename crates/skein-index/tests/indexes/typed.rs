//! The typed map over MlpIndex: key codes keep the order and can be decoded, and the map behaves
//! like a `BTreeMap`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};

use proptest::prelude::*;
use skein_index::{Boxed, ComputeAction, Guard, IndexError, Inline, MlpError, MlpKey, MlpMap, ShortBytes};

/// A key type with its edge cases, and its order, defined without its code.
trait KeySample: MlpKey + Debug {
    fn order(&self, other: &Self) -> Ordering;
    fn edges() -> Vec<Self>;
    fn any() -> BoxedStrategy<Self>;
}

/// Zero, the ends, powers of two, and their neighbours.
macro_rules! integer_sample {
    ($($t:ty),*) => {$(
        impl KeySample for $t {
            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
            fn edges() -> Vec<Self> {
                let powers = (0..<$t>::BITS).map(|bit| (1 as $t) << bit);
                let around = powers.chain([0, <$t>::MIN, <$t>::MAX]).flat_map(|key| [key, key.wrapping_neg()]);
                around.flat_map(|key| [key.wrapping_sub(1), key, key.wrapping_add(1)]).collect()
            }
            fn any() -> BoxedStrategy<Self> {
                any::<$t>().boxed()
            }
        }
    )*};
}
integer_sample!(u32, u64, i32, i64);

impl KeySample for f64 {
    fn order(&self, other: &Self) -> Ordering {
        self.total_cmp(other)
    }
    fn edges() -> Vec<Self> {
        let least = f64::from_bits(1);
        let numbers = [
            0.0,
            least,
            2.0 * least,
            f64::MIN_POSITIVE.next_down(),
            f64::MIN_POSITIVE,
            0.1,
            f64::MAX,
            f64::INFINITY,
        ];
        let powers = (-1074..1024).step_by(53).map(|power| 2_f64.powi(power));
        let all = numbers.into_iter().chain(powers).flat_map(|key| [key.next_down(), key, key.next_up()]);
        all.flat_map(|key| [key, -key]).collect()
    }
    fn any() -> BoxedStrategy<Self> {
        any::<u64>().prop_map(f64::from_bits).prop_filter("a number", |key| !key.is_nan()).boxed()
    }
}

impl KeySample for (u32, u32) {
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }
    fn edges() -> Vec<Self> {
        let halves = [0, 1, 2, 255, 256, 1 << 31, u32::MAX - 1, u32::MAX];
        halves.into_iter().flat_map(|first| halves.map(|second| (first, second))).collect()
    }
    fn any() -> BoxedStrategy<Self> {
        any::<(u32, u32)>().boxed()
    }
}

impl KeySample for ShortBytes {
    fn order(&self, other: &Self) -> Ordering {
        Iterator::cmp(self.iter(), other.iter())
    }
    fn edges() -> Vec<Self> {
        let byte_lists = [0, 1, 0xff].into_iter().flat_map(|byte| (0..=8).map(move |len| vec![byte; len]));
        let tailed = (0..8).flat_map(|zeros| [1, 0xff].map(|last| [vec![0; zeros], vec![last]].concat()));
        byte_lists.chain(tailed).map(|bytes| ShortBytes::new(&bytes).unwrap()).collect()
    }
    fn any() -> BoxedStrategy<Self> {
        let byte = prop_oneof![Just(0_u8), Just(b'a'), any::<u8>()];
        prop::collection::vec(byte, 0..9).prop_map(|bytes| ShortBytes::new(&bytes).unwrap()).boxed()
    }
}

/// Returns random keys. Half of them are edge cases.
fn sample<K: KeySample + 'static>() -> BoxedStrategy<K> {
    prop_oneof![prop::sample::select(K::edges()), K::any()].boxed()
}

/// Returns keys drawn from a few, so that they repeat often.
fn crowd<K: KeySample + 'static>() -> impl Strategy<Value = Vec<K>> {
    prop::collection::vec(sample::<K>(), 1..40)
}

fn same<K: KeySample>(one: &K, other: &K) -> bool {
    one.order(other).is_eq()
}

/// Checks that codes are in the order of their keys and decode to the same keys.
fn check_law<K: KeySample>(one: K, other: K) {
    let (code, other_code) = (one.encode().unwrap(), other.encode().unwrap());
    assert_eq!(code.cmp(&other_code), one.order(&other), "{one:?} {other:?}");
    assert_eq!(Ord::cmp(&*code, &*other_code), one.order(&other), "{one:?} {other:?}");
    assert!(same(&K::decode(code), &one), "{one:?}");
}

/// A key in its type's order.
#[derive(Clone, Copy, Debug)]
struct InKeyOrder<K>(K);

impl<K: KeySample> Ord for InKeyOrder<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

impl<K: KeySample> PartialOrd for InKeyOrder<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: KeySample> PartialEq for InKeyOrder<K> {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}

impl<K: KeySample> Eq for InKeyOrder<K> {}

type NumberMap<K> = MlpMap<K, Inline<u64>>;
type TypedMapModel<K> = BTreeMap<InKeyOrder<K>, u64>;
type TypedEntry<K> = Option<(InKeyOrder<K>, u64)>;

fn entry<K>(found: Option<(K, u64)>) -> TypedEntry<K> {
    found.map(|(key, value)| (InKeyOrder(key), value))
}

fn of_model<K: KeySample>(found: Option<(&InKeyOrder<K>, &u64)>) -> TypedEntry<K> {
    found.map(|(key, value)| (*key, *value))
}

/// Makes the same change to both and compares their answers.
fn change_both<K: KeySample>(
    map: &NumberMap<K>,
    model: &mut TypedMapModel<K>,
    (key, what, value): (K, u8, u64),
    guard: &impl Guard,
) {
    let before = model.get(&InKeyOrder(key)).copied();
    match what {
        0..3 => {
            assert_eq!(map.insert(key, Inline(value), guard).unwrap(), before);
            model.insert(InKeyOrder(key), value);
        }
        3 => {
            assert_eq!(map.insert_if_absent(key, Inline(value), guard).unwrap(), before);
            model.entry(InKeyOrder(key)).or_insert(value);
        }
        4 => {
            let sum = before.unwrap_or(0).wrapping_add(value);
            assert_eq!(map.increment(key, value, guard).unwrap(), sum);
            model.insert(InKeyOrder(key), sum);
        }
        5 => {
            let turn = |value: Option<u64>| {
                value.map_or(ComputeAction::Keep, |value| ComputeAction::Put(Inline(!value)))
            };
            let computed = map.compute(key, turn, guard).unwrap();
            assert_eq!((computed.before, computed.changed), (before, before.is_some()));
            model.entry(InKeyOrder(key)).and_modify(|value| *value = !*value);
        }
        _ => {
            assert_eq!(map.remove(key, guard), before);
            model.remove(&InKeyOrder(key));
        }
    }
}

/// Compares the entries at, before and after a key.
fn compare_near<K: KeySample>(map: &NumberMap<K>, model: &TypedMapModel<K>, key: K, guard: &impl Guard) {
    let (at, beyond) = (Bound::Included(InKeyOrder(key)), Bound::Excluded(InKeyOrder(key)));
    assert_eq!(map.get(key, guard), model.get(&InKeyOrder(key)).copied());
    let upward = |near| of_model(model.range((near, Bound::Unbounded)).next());
    assert_eq!(entry(map.lower_bound(key, guard).unwrap()), upward(at));
    assert_eq!(entry(map.upper_bound(key, guard).unwrap()), upward(beyond));
    let before = of_model(model.range((Bound::Unbounded, beyond)).next_back());
    assert_eq!(entry(map.predecessor(key, guard).unwrap()), before);
}

fn compare_range<K: KeySample>(
    map: &NumberMap<K>,
    model: &TypedMapModel<K>,
    bounds: (Bound<K>, Bound<K>),
    guard: &impl Guard,
) {
    let wanted: Vec<_> = (model.iter())
        .filter(|(key, _)| (bounds.0.map(InKeyOrder), bounds.1.map(InKeyOrder)).contains(key))
        .map(|(key, value)| (*key, *value))
        .collect();
    let range = || map.range(bounds, guard).unwrap().map(|(key, value)| (InKeyOrder(key), value));
    assert_eq!(range().collect::<Vec<_>>(), wanted, "{bounds:?}");
    assert!(range().rev().eq(wanted.iter().rev().copied()), "{bounds:?}");

    let (mut entries, mut wanted) = (range(), wanted.into_iter());
    for turn in 0.. {
        let next = if turn % 3 == 0 { entries.next_back() } else { entries.next() };
        assert_eq!(next, if turn % 3 == 0 { wanted.next_back() } else { wanted.next() }, "{bounds:?}");
        if next.is_none() {
            break;
        }
    }
    assert_eq!((entries.next(), entries.next_back()), (None, None), "an exhausted range must stay exhausted");
}

/// Compares all answers of a map, for all of `keys`.
fn compare_all<K: KeySample>(map: &NumberMap<K>, model: &TypedMapModel<K>, keys: &[K], guard: &impl Guard) {
    assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
    assert_eq!(entry(map.first(guard)), of_model(model.first_key_value()));
    assert_eq!(entry(map.last(guard)), of_model(model.last_key_value()));
    let mut values = vec![None; keys.len()];
    map.get_many(keys, guard, |at, value| values[at] = Some(value));
    assert!(values.into_iter().eq(keys.iter().map(|key| Some(model.get(&InKeyOrder(*key)).copied()))));
    for key in keys {
        compare_near(map, model, *key, guard);
    }
    compare_range(map, model, (Bound::Unbounded, Bound::Unbounded), guard);
    for pair in keys.windows(2) {
        let kinds: [fn(K) -> Bound<K>; 3] = [Bound::Included, Bound::Excluded, |_| Bound::Unbounded];
        for start in kinds {
            for end in kinds {
                compare_range(map, model, (start(pair[0]), end(pair[1])), guard);
            }
        }
    }
}

fn check_map<K: KeySample>(keys: &[K], changes: &[(prop::sample::Index, u8, u64)]) {
    let (map, mut model) = (NumberMap::new(), TypedMapModel::new());
    let guard = map.collector().enter();
    for (key, what, value) in changes {
        change_both(&map, &mut model, (*key.get(keys), *what, *value), &guard);
        compare_near(&map, &model, *key.get(keys), &guard);
    }
    compare_all(&map, &model, keys, &guard);
    for key in keys {
        assert_eq!(map.remove(*key, &guard), model.remove(&InKeyOrder(*key)));
    }
    compare_all(&map, &model, keys, &guard);
}

macro_rules! for_each_key_type {
    ($($name:ident: $t:ty),*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn codes_of_edges_keep_the_law() {
                let edges = <$t>::edges();
                for one in &edges {
                    for other in &edges {
                        check_law(*one, *other);
                    }
                }
            }

            #[test]
            fn a_map_of_all_edges() {
                let (map, mut model) = (NumberMap::new(), TypedMapModel::new());
                let guard = map.collector().enter();
                for (value, key) in (0..).zip(<$t>::edges()) {
                    change_both(&map, &mut model, (key, 0, value), &guard);
                }
                compare_all(&map, &model, &<$t>::edges(), &guard);
            }

            proptest! {
                #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

                #[test]
                fn codes_keep_the_law(one in sample::<$t>(), other in sample::<$t>()) {
                    check_law(one, other);
                }

                #[test]
                fn a_map_behaves_like_a_btree_map(
                    keys in crowd::<$t>(),
                    changes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..9, any::<u64>()), 0..300),
                ) {
                    check_map(&keys, &changes);
                }
            }
        }
    )*};
}
for_each_key_type!(of_u32: u32, of_u64: u64, of_i32: i32, of_i64: i64, of_f64: f64, of_pairs: (u32, u32), of_short_bytes: ShortBytes);

#[test]
fn nan_keys_are_absent_and_rejected_where_order_matters() {
    let map = MlpMap::<f64, Inline<u64>>::new();
    let guard = map.collector().enter();
    map.insert(f64::INFINITY, Inline(1), &guard).unwrap();
    map.insert(f64::NEG_INFINITY, Inline(2), &guard).unwrap();
    for nan in [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)] {
        assert_eq!((map.get(nan, &guard), map.remove(nan, &guard)), (None, None));
        let mut values = Vec::new();
        map.get_many(&[nan, f64::INFINITY, nan], &guard, |at, value| values.push((at, value)));
        values.sort_unstable();
        assert_eq!(values, [(0, None), (1, Some(1)), (2, None)]);

        let refused = MlpError::NotANumber { bits: nan.to_bits() };
        assert_eq!(map.insert(nan, Inline(3), &guard), Err(refused));
        assert_eq!(map.insert_if_absent(nan, Inline(3), &guard), Err(refused));
        assert_eq!(map.increment(nan, 3, &guard), Err(refused));
        assert_eq!(map.compute(nan, |_| ComputeAction::Put(Inline(3)), &guard).unwrap_err(), refused);
        assert_eq!(map.lower_bound(nan, &guard), Err(refused));
        assert_eq!(map.upper_bound(nan, &guard), Err(refused));
        assert_eq!(map.predecessor(nan, &guard), Err(refused));
        assert_eq!(map.range(nan.., &guard).unwrap_err(), refused);
        assert_eq!(map.range(..nan, &guard).unwrap_err(), refused);
        assert!(refused.to_string().contains(&format!("{:#018x}", nan.to_bits())), "{refused}");
    }
    assert_eq!(map.len(), 2);
}

#[test]
fn zeros_of_both_signs_are_two_keys() {
    let map = MlpMap::new();
    let guard = map.collector().enter();
    map.insert(-0.0, Inline(1_u64), &guard).unwrap();
    assert_eq!(map.get(0.0, &guard), None);
    map.insert(0.0, Inline(2), &guard).unwrap();
    let signs: Vec<_> = map.range(.., &guard).unwrap().map(|(key, _)| key.is_sign_negative()).collect();
    assert_eq!(signs, [true, false]);
    assert_eq!(map.range(0.0.., &guard).unwrap().count(), 1);
}

#[test]
fn increments_wrap_around() {
    let (up, down) = (MlpMap::<u64, Inline<u64>>::new(), MlpMap::<u64, Inline<i64>>::new());
    let (up_guard, down_guard) = (up.collector().enter(), down.collector().enter());
    up.insert(1, Inline(u64::MAX), &up_guard).unwrap();
    down.insert(1, Inline(i64::MIN), &down_guard).unwrap();
    assert_eq!(up.increment(1, 2, &up_guard), Ok(1));
    assert_eq!(down.increment(1, -1, &down_guard), Ok(i64::MAX));
    assert_eq!(down.increment(2, -5, &down_guard), Ok(-5));
}

#[test]
fn values_on_the_heap_are_borrowed() {
    let map = MlpMap::<i32, Boxed<String>>::default();
    let guard = map.collector().enter();
    for key in -50..50 {
        map.insert(key, Boxed::new(key.to_string()), &guard).unwrap();
    }
    let removed = map.remove(-7, &guard).unwrap();
    assert_eq!((removed.as_str(), map.get(-7, &guard)), ("-7", None));
    assert!(map.range(.., &guard).unwrap().all(|(key, value)| key.to_string() == *value));
    assert_eq!(map.predecessor(-6, &guard).unwrap().unwrap().1, "-8");
}

#[test]
fn a_budget_is_kept_and_the_error_is_the_index_s() {
    let map = MlpMap::<u64, Inline<u64>>::new().with_budget(4 << 20);
    let guard = map.collector().enter();
    let refused = (0..1_000_000).find_map(|key| map.insert(key, Inline(key), &guard).err());
    assert!(
        matches!(refused, Some(MlpError::Refused(IndexError::OverBudget { budget, .. })) if budget == 4 << 20)
    );
    assert!(map.memory().live() <= (4 << 20) + (64 << 10));
    assert_eq!(map.remove(0, &guard), Some(0));
}

#[test]
#[should_panic(expected = "guard")]
fn get_many_rejects_a_guard_of_another_collector() {
    let (map, other) = (NumberMap::<u64>::new(), NumberMap::<u64>::new());
    map.get_many(&[1], &other.collector().enter(), |_, _| ());
}
