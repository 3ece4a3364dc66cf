//! The bytes of keys, as `docs/format.md` prints them.
//!
//! Data on disks have these bytes: a failure here means that existing keyspaces cannot be read. Add
//! examples, and change none.

use std::cmp::Reverse;
use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil;
use skeindb::typed::Key;
use uuid::Uuid;

use crate::derived::{Event, Level, Reading};

/// Returns the bytes of the key as hexadecimal text, and checks that they decode to the key.
fn hex<K: Key + PartialEq + Debug>(key: &K) -> String {
    let bytes = key.to_key_bytes();
    assert_eq!(K::from_key_bytes(&bytes).as_ref(), Ok(key));
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Checks the bytes of each key, and returns the rows of the table of examples.
macro_rules! golden {
    ($($bytes:literal $key:expr;)*) => {{
        let mut rows = String::new();
        $(
            assert_eq!(hex(&$key), $bytes.replace(' ', ""), "{}", stringify!($key));
            rows += &format!("| `{}` | `{}` |\n", stringify!($key), $bytes);
        )*
        rows
    }};
}

#[test]
fn bytes_are_those_of_the_format() {
    let rows = golden! {
        "07" 7_u8;
        "0102" 258_u16;
        "0000000000000000 0000000000000001" 1_u128;
        "7f" -1_i8;
        "80000000" 0_i32;
        "00000007 7ffffffffffffffb" (7_u32, -5_i64);
        "01" true;
        "00000061" 'a';
        "3fca7fffffffffff" -21.5_f64;
        "7fffffff" -0.0_f32;
        "c035800000000000" 21.5_f64;
        "6100" String::from("a\0");
        "0001ff" vec![0_u8, 1, 255];
        "610101 00 0007" (String::from("a\0"), 7_u16);
        "01010102ff 00 61" (vec![0_u8, 1, 255], String::from("a"));
        "01 6100 01 00 00" vec!["a".to_string(), String::new()];
        "0001 0002" [1_u16, 2];
        "00" None::<String>;
        "01 61" Some(String::from("a"));
        "00 01 07" (None::<u8>, Some(7_u8));
        "9e ff" Reverse(String::from("a"));
        "fffffff8" Reverse(7_u32);
        "0000000000000001 1dcd6500" Duration::from_millis(1500);
        "7fffffffffffffff 1dcd6500" SystemTime::UNIX_EPOCH - Duration::from_millis(500);
        "8000000000000001 00000000" Timestamp::from_second(1).unwrap();
        "87d5 87 97" civil::date(2005, 7, 23);
        "8a 80 9e 00000001" civil::time(10, 0, 30, 1);
        "0123456789abcdef 0123456789abcdef" Uuid::from_u64_pair(0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef);
        "00000007 7ffffffffffffffa" Reading { sensor: 7, at: Reverse(5) };
        "00" Event::Started;
        "01 6100 00000001" Event::Measured { sensor: String::from("a"), run: 1 };
        "02 61" Event::Failed(String::from("a"));
        "14" Level::Error;
    };
    let page = include_str!("../../../../docs/format.md");
    assert!(page.contains(&rows), "docs/format.md must have these examples:\n{rows}");
}
