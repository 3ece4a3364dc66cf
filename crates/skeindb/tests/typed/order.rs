//! The bytes of every type are in the order of its keys.

use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use proptest::collection::vec;
use proptest::prelude::*;
use skeindb::typed::Key;
use uuid::Uuid;

use crate::laws::{Samples, check_laws, text};

/// Checks the laws of types that have an order of their own.
macro_rules! check_ordered {
    ($($t:ty),* $(,)?) => { $(check_laws(<$t>::samples(), Ord::cmp);)* };
}

#[test]
fn integers() {
    check_ordered!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);
}

#[test]
fn floats_by_total_order() {
    check_laws(f32::samples(), f32::total_cmp);
    check_laws(f64::samples(), f64::total_cmp);
    check_laws(<(f64, u8)>::samples(), |left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
}

#[test]
fn booleans_and_characters() {
    check_ordered!(bool, char);
    check_laws(Just(()), Ord::cmp);
}

#[test]
fn strings() {
    check_ordered!(String, (String, String), (String, u8), [String; 2], (u8, String, String));
    // As bytes, strings are in the order of their characters.
    check_laws(vec(0..4_u8, 0..5), Ord::cmp);
    check_laws((vec(0..4_u8, 0..5), vec(0..4_u8, 0..3)), Ord::cmp);
    check_laws((vec(any::<u8>(), 0..40), any::<u8>()), Ord::cmp);
}

#[test]
fn sequences() {
    check_ordered!(
        Vec<u16>,
        Vec<String>,
        Vec<Vec<u8>>,
        Vec<Vec<String>>,
        (Vec<bool>, u8),
        [i16; 2],
        [Vec<u8>; 2]
    );
    check_laws(text().prop_map(|text| [text; 0]), Ord::cmp);
    check_laws([0..2_u8, 0..2, 0..2, 0..2, 0..2], Ord::cmp);
}

#[test]
fn options_and_reverse() {
    check_ordered!(
        Option<u16>,
        Option<Option<bool>>,
        (Option<String>, Option<String>),
        Reverse<String>,
        (Reverse<String>, String),
        Reverse<(Option<Vec<u8>>, Reverse<String>)>,
        Vec<Reverse<Option<String>>>,
    );
}

#[test]
fn tuples() {
    check_ordered!(
        (u32, i64),
        (String, Option<i8>, String),
        ((String, u8), String),
        (Vec<(String, bool)>, u8)
    );
    let bits = || 0..2_u8;
    let twelve =
        (bits(), bits(), bits(), bits(), bits(), bits(), bits(), bits(), bits(), bits(), text(), text());
    check_laws(twelve, Ord::cmp);
}

/// Yields nanoseconds, close to whole seconds and not.
fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(999_999_999), 0..1_000_000_000_u64]
}

#[test]
fn durations_and_moments() {
    let seconds = || prop_oneof![0..3_u64, any::<u64>()];
    check_laws((seconds(), nanos()).prop_map(|(secs, nanos)| Duration::new(secs, nanos as u32)), Ord::cmp);
    let seconds = || prop_oneof![-3..3_i64, -10_000_000_000..10_000_000_000_i64, Just(i64::MIN)];
    let moments = (seconds(), nanos()).prop_map(|(secs, nanos)| {
        let whole = Duration::from_secs(secs.unsigned_abs());
        let second = if secs < 0 { SystemTime::UNIX_EPOCH - whole } else { SystemTime::UNIX_EPOCH + whole };
        second + Duration::from_nanos(nanos)
    });
    check_laws((moments, any::<u8>()), Ord::cmp);
}

#[test]
fn times_of_jiff() {
    let ends = prop_oneof![Just(Timestamp::MIN), Just(Timestamp::MAX)];
    let seconds = prop_oneof![-3..3_i64, -9_000_000_000..9_000_000_000_i64];
    let near = (seconds, -999_999_999..1_000_000_000_i32).prop_map(|(second, nanos)| {
        Timestamp::from_nanosecond(i128::from(second) * 1_000_000_000 + i128::from(nanos)).unwrap()
    });
    check_laws(prop_oneof![ends, near], Ord::cmp);

    let days = || {
        let near = (-9999..=9999_i16, 1..=12_i8, 1..=28_i8).prop_map(|(y, m, d)| Date::new(y, m, d).unwrap());
        prop_oneof![Just(Date::MIN), Just(Date::MAX), near]
    };
    let times = || {
        let any = (0..24_i8, 0..60_i8, 0..60_i8, 0..1_000_000_000_i32);
        any.prop_map(|(hour, minute, second, nanos)| Time::new(hour, minute, second, nanos).unwrap())
    };
    check_laws(days(), Ord::cmp);
    check_laws(times(), Ord::cmp);
    check_laws((days(), times()).prop_map(|(date, time)| DateTime::from_parts(date, time)), Ord::cmp);
}

#[test]
fn uuids() {
    check_laws(any::<u128>().prop_map(Uuid::from_u128), Ord::cmp);
}

/// Decodes the bytes as a key. If they are one, they must be its encoding.
fn check_bytes<K: Key>(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok(key) = K::from_key_bytes(bytes) {
        prop_assert_eq!(key.to_key_bytes(), bytes);
    }
    Ok(())
}

/// Checks that these bytes have one meaning at most, for each of the types.
macro_rules! check_types {
    ($bytes:expr => $($t:ty),* $(,)?) => { $(check_bytes::<$t>($bytes)?;)* };
}

proptest! {
    #[test]
    fn any_bytes_decode_to_their_key_or_an_error(
        few in vec(prop_oneof![0..3_u8, 254..=255_u8, any::<u8>()], 0..24),
    ) {
        check_types!(&few =>
            (), u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64, bool, char,
            String, (String, String), Vec<u8>, (Vec<u8>, u8), [String; 3], [u8; 5],
            Vec<bool>, Vec<Vec<Option<u8>>>, Option<Option<String>>, Reverse<(String, u8)>,
            (Reverse<Vec<String>>, bool), Duration, SystemTime, (bool, SystemTime),
            Timestamp, Date, Time, DateTime, Uuid, (u32, i64), crate::derived::Event, crate::derived::Reading,
        );
    }
}
