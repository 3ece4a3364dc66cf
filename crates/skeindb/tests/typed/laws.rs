//! The laws of every key type, and samples of keys that are close to each other.

use std::cmp::{Ordering, Reverse};
use std::fmt::Debug;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use skeindb::typed::{EncodeKey, Key, KeyReader};

/// A type with samples that meet its edge cases and are often equal, or have common beginnings.
pub trait Samples: Sized + Debug {
    fn samples() -> BoxedStrategy<Self>;
}

/// Strings of few characters, among them those that are escaped.
pub fn text() -> BoxedStrategy<String> {
    vec(select(vec!['\0', '\u{1}', '\u{2}', 'a', '\u{10ffff}']), 0..4).prop_map(String::from_iter).boxed()
}

/// Checks the laws over pairs of samples: the order of the bytes is `order`, the encodings of parts
/// are prefix-free, both encodings are read back, and `Reverse` inverts the order.
pub fn check_laws<K: Key + Debug>(
    samples: impl Strategy<Value = K>,
    order: impl Fn(&K, &K) -> Ordering + Copy,
) {
    let samples = &samples;
    let pairs = (samples, samples);
    TestRunner::default()
        .run(&pairs, |(left, right)| {
            let expected = order(&left, &right);
            check_encodings(&left, &right, expected, |decoded| order(decoded, &left) == Ordering::Equal)?;
            let (left, right) = (Reverse(left), Reverse(right));
            check_encodings(&left, &right, expected.reverse(), |decoded| {
                order(&decoded.0, &left.0) == Ordering::Equal
            })
        })
        .unwrap();
}

/// Checks the laws of two keys with the order `expected`. `is_left` tells whether a key is `left`.
fn check_encodings<K: Key + Debug>(
    left: &K,
    right: &K,
    expected: Ordering,
    is_left: impl Fn(&K) -> bool,
) -> Result<(), TestCaseError> {
    let (part, other) = (part_bytes(left), part_bytes(right));
    prop_assert_eq!(part.cmp(&other), expected, "{:?} and {:?} as parts", part, other);
    prop_assert!(part == other || !(part.starts_with(&other) || other.starts_with(&part)));
    prop_assert_eq!(left.to_key_bytes().cmp(&right.to_key_bytes()), expected, "as whole keys");

    // The bytes that follow a part do not belong to it.
    let followed = [&part[..], &other].concat();
    let mut reader = KeyReader::new(&followed);
    let decoded = K::decode_part(&mut reader)?;
    prop_assert!(is_left(&decoded), "read back as {:?}", decoded);
    prop_assert_eq!(reader.position(), part.len());

    let decoded = K::from_key_bytes(&left.to_key_bytes())?;
    prop_assert!(is_left(&decoded), "read back as {:?}", decoded);
    Ok(())
}

fn part_bytes(key: &impl EncodeKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode_part(&mut bytes);
    bytes
}

/// Implements [`Samples`] for integers: zero, the ends, powers of two, and their neighbours, beside
/// any numbers.
macro_rules! integer_samples {
    ($($t:ty),*) => {$(
        impl Samples for $t {
            fn samples() -> BoxedStrategy<Self> {
                let powers = (0..<$t>::BITS).map(|bit| (1 as $t) << bit);
                let centers = powers.chain([0, <$t>::MIN, <$t>::MAX]).flat_map(|key| [key, key.wrapping_neg()]);
                let near = centers.flat_map(|key| [key.wrapping_sub(1), key, key.wrapping_add(1)]);
                prop_oneof![select(near.collect::<Vec<_>>()), 0..=3 as $t, any::<$t>()].boxed()
            }
        }
    )*};
}
integer_samples!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);

/// Implements [`Samples`] for floats of all kinds of bits: zeros, infinities, subnormal numbers and
/// NaNs of both signs.
macro_rules! float_samples {
    ($($t:ty, $bits:ty);*) => {$(
        impl Samples for $t {
            fn samples() -> BoxedStrategy<Self> {
                let edges = [0.0, 1.0, <$t>::MIN_POSITIVE, <$t>::MAX, <$t>::INFINITY, <$t>::NAN];
                let bits = edges.map(<$t>::to_bits).into_iter().flat_map(|bits| [bits.saturating_sub(1), bits, bits + 1]);
                let edges = bits.map(<$t>::from_bits).flat_map(|key| [key, -key]);
                prop_oneof![select(edges.collect::<Vec<_>>()), any::<$bits>().prop_map(<$t>::from_bits)].boxed()
            }
        }
    )*};
}
float_samples!(f32, u32; f64, u64);

impl Samples for String {
    fn samples() -> BoxedStrategy<Self> {
        prop_oneof![text(), any::<String>()].boxed()
    }
}

impl Samples for bool {
    fn samples() -> BoxedStrategy<Self> {
        any::<bool>().boxed()
    }
}

impl Samples for char {
    fn samples() -> BoxedStrategy<Self> {
        let edges = vec!['\0', 'a', '\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}', char::MAX];
        prop_oneof![select(edges), any::<char>()].boxed()
    }
}

impl<T: Samples + 'static> Samples for Option<T> {
    fn samples() -> BoxedStrategy<Self> {
        prop::option::of(T::samples()).boxed()
    }
}

impl<T: Samples + 'static> Samples for Vec<T> {
    fn samples() -> BoxedStrategy<Self> {
        vec(T::samples(), 0..4).boxed()
    }
}

impl<T: Samples + 'static> Samples for [T; 2] {
    fn samples() -> BoxedStrategy<Self> {
        [T::samples(), T::samples()].boxed()
    }
}

impl<T: Samples + 'static> Samples for Reverse<T> {
    fn samples() -> BoxedStrategy<Self> {
        T::samples().prop_map(Reverse).boxed()
    }
}

impl<A: Samples + 'static, B: Samples + 'static> Samples for (A, B) {
    fn samples() -> BoxedStrategy<Self> {
        (A::samples(), B::samples()).boxed()
    }
}

impl<A: Samples + 'static, B: Samples + 'static, C: Samples + 'static> Samples for (A, B, C) {
    fn samples() -> BoxedStrategy<Self> {
        (A::samples(), B::samples(), C::samples()).boxed()
    }
}
