//! Errors name the type, the part, the position, and the bytes found there.

use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

use skeindb::typed::{DecodeError, EncodeKey, Key, StoredValue};

/// Decodes bytes that are no key of type `K`, and returns the error.
fn error_of<K: Key>(bytes: &[u8]) -> DecodeError {
    K::from_key_bytes(bytes).err().expect("bytes that are no key")
}

/// Checks the position of the part that failed, and the sentence on it.
#[track_caller]
fn check<K: Key>(bytes: &[u8], position: usize, sentence: &str) {
    let error = error_of::<K>(bytes);
    assert_eq!(error.position(), position, "{error}");
    assert_eq!(error.type_name(), std::any::type_name::<K>());
    assert!(error.to_string().contains(sentence), "{error}");
}

#[test]
fn bytes_are_missing_or_left() {
    check::<u32>(&[1, 2], 0, "`u32` at byte 0 takes 4 bytes, and 2 are left");
    check::<(u8, u16)>(&[1, 2], 1, "`u16` at byte 1 takes 2 bytes, and 1 is left");
    check::<(u8, u8)>(&[1, 2, 3], 2, "at byte 2 ends there, and 1 is left");
    check::<(u8, String, u8)>(b"\x01ab", 1, "String` at byte 1 has no end: the byte 0x00");
    check::<Vec<bool>>(&[1, 0], 2, "`alloc::vec::Vec<bool>` at byte 2 takes 1 bytes, and 0 are left");
}

#[test]
fn bytes_have_no_meaning() {
    check::<(u8, bool)>(&[1, 2], 1, "`bool` at byte 1 has the tag 0x02 instead of 0 or 1");
    check::<Option<u8>>(&[9], 0, "has the tag 0x09 instead of 0 (None) or 1 (Some)");
    check::<Reverse<Option<u8>>>(&[9], 0, "has the tag 0xf6 instead of");
    check::<Vec<u16>>(&[1, 0, 7, 3], 3, "has the tag 0x03 instead of 0 (end) or 1 (item)");
    check::<char>(&[0, 0, 0xd8, 0], 0, "has 0x0000d800, which is no Unicode scalar value");
    check::<(u8, String)>(b"\x01ab\xff", 1, "String` at byte 1 has the byte 0xff behind 2 bytes of UTF-8");
    check::<(String, u8)>(&[b'a', 1, 3, 0, 1], 0, "has the byte 0x03 behind an escape at byte 2");
    let second = [7_u32.to_be_bytes(), [0; 4], 1_000_000_000_u32.to_be_bytes()].concat();
    check::<Duration>(&second, 8, "has 1000000000 nanoseconds, more than a second");
}

#[test]
fn moments_that_the_system_cannot_represent_are_errors() {
    for seconds in [i64::MIN, i64::MAX] {
        let key = (seconds, 999_999_999_u32);
        match SystemTime::from_key_bytes(&key.to_key_bytes()) {
            Ok(moment) => assert_eq!(moment.to_key_bytes(), key.to_key_bytes()),
            Err(error) => assert!(error.to_string().contains("cannot represent"), "{error}"),
        }
    }
}

#[test]
fn dates_that_do_not_exist_are_errors() {
    let leap_day = (2005_i16, 2_i8, 29_i8).to_key_bytes();
    check::<jiff::civil::Date>(&leap_day, 0, "`jiff::civil::date::Date` at byte 0 has ");
    let late = (25_i8, 0_i8, 0_i8, 0_u32).to_key_bytes();
    check::<(u8, jiff::civil::Time)>(
        &[&[1][..], &late].concat(),
        1,
        "`jiff::civil::time::Time` at byte 1 has ",
    );
}

#[test]
fn values_name_their_type() {
    let error = f64::decode_value(&[1, 2, 3]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot decode a value as `f64`: `f64` at byte 0 takes 8 bytes, and 3 are left; \
         open the keyspace with the types that it was written with"
    );
}
