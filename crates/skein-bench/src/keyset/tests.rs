//! The guarantees of all key sets: the seed decides every key, all keys differ, absent keys are
//! absent, and the figures are as stated.

use std::collections::HashSet;

use super::family::{self, NameSuffix};
use super::{KeySet, KeyStatistics, make};

fn set(name: &str, count: usize, extra: usize, seed: u64) -> KeySet {
    make(name, count, extra, seed).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns an example of every family that generates keys.
fn generated() -> Vec<&'static str> {
    let families = family::ALL.into_iter().filter(|family| family.takes != NameSuffix::Path);
    families.map(|family| family.example).collect()
}

#[test]
fn the_seed_decides_every_key() {
    for name in generated() {
        let (one, same, other) = (set(name, 500, 50, 1), set(name, 500, 50, 1), set(name, 500, 50, 2));
        assert!(one.keys == same.keys && one.absent == same.absent, "{name}");
        let shared = one.keys.iter().collect::<HashSet<_>>();
        let again = other.keys.iter().filter(|key| shared.contains(key)).count();
        assert!(again < 50, "{name}: {again} of 500 keys come with another seed too");
    }
}

#[test]
fn keys_are_distinct_and_absent_keys_are_absent() {
    for name in generated() {
        let set = set(name, 3000, 700, 5);
        assert_eq!((set.keys.len(), set.absent.len()), (3000, 700), "{name}");
        let different: HashSet<_> = set.keys.iter().chain(set.absent.iter()).collect();
        assert_eq!(different.len(), 3700, "{name}");
        let lengths = || set.keys.iter().chain(set.absent.iter()).map(<[u8]>::len);
        assert_eq!((Some(set.shortest), Some(set.longest)), (lengths().min(), lengths().max()), "{name}");
    }
}

#[test]
fn keys_are_in_random_order() {
    for name in generated() {
        let set = set(name, 3000, 0, 5);
        let rising = (1..3000).filter(|&n| set.keys.get(n - 1) < set.keys.get(n)).count();
        assert!((1350..1650).contains(&rising), "{name}: {rising} of 2999 steps go up");
    }
}

#[test]
fn the_order_has_every_key_once() {
    for name in generated() {
        let set = set(name, 1000, 0, 5);
        let order = set.order();
        assert_eq!(order.len(), 1000, "{name}");
        let rising = |pair: &[u32]| set.keys.get(pair[0] as usize) < set.keys.get(pair[1] as usize);
        assert!(order.windows(2).all(rising), "{name}");
    }
}

/// Checks that every key has a length in this range and only allowed characters.
fn check(name: &str, lengths: std::ops::RangeInclusive<usize>, allowed: impl Fn(u8) -> bool) {
    let set = set(name, 5000, 0, 3);
    assert!(
        lengths.contains(&set.shortest) && lengths.contains(&set.longest),
        "{name}: {}..{}",
        set.shortest,
        set.longest
    );
    for key in set.keys.iter() {
        assert!(key.iter().all(|&byte| allowed(byte)), "{name}: {}", key.escape_ascii());
    }
}

#[test]
fn lengths_and_alphabets_are_as_described() {
    let any = |_| true;
    let digit = |byte: u8| byte.is_ascii_digit();
    let capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-';
    for (name, length) in [
        ("rand-8", 8),
        ("rand-16", 16),
        ("K3", 8),
        ("K4", 16),
        ("K6", 64),
        ("K8", 256),
        ("K10", 1024),
        ("Kshort(5)", 5),
        ("Kshort(13)", 13),
        ("Klong(4)", 4),
        ("Klong(512)", 512),
        ("osm", 8),
        ("mlp-a", 8),
        ("mlp-b", 8),
    ] {
        check(name, length..=length, any);
    }
    check("decimal", 1..=10, digit);
    check("intkey(10000)", 1..=4, digit);
    check("prefixed(0)", 8..=8, digit);
    check("prefixed(40)", 48..=48, digit);
    check("ycsb", 5..=24, |byte| digit(byte) || b"user".contains(&byte));
    check("az1", 35..=36, capital);
    check("az2", 35..=36, capital);
    check("reddit", 3..=20, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    check("url", 30..=200, |byte| byte.is_ascii_lowercase() || digit(byte) || b":/.-".contains(&byte));
}

#[test]
fn prefixes_are_shared_where_promised() {
    let klong = set("Klong(30)", 1000, 0, 1);
    assert!(klong.keys.iter().all(|key| key.starts_with(&[b'0'; 26])));
    let prefixed = set("prefixed(12)", 1000, 0, 1);
    assert!(prefixed.keys.iter().all(|key| key.starts_with(b"012345678901")));
    let ycsb = set("ycsb", 1000, 0, 1);
    assert!(ycsb.keys.iter().all(|key| key.starts_with(b"user")));
}

#[test]
fn az1_and_az2_swap_items_and_users() {
    let fields = |name: &str| -> Vec<Vec<Vec<u8>>> {
        let set = set(name, 2000, 0, 1);
        let split = |key: &[u8]| key.split(|&byte| byte == b'-').map(<[u8]>::to_vec).collect();
        set.keys.iter().map(split).collect()
    };
    let user = |field: &[u8]| field.starts_with(b"A") && (13..=14).contains(&field.len());
    let item = |field: &[u8]| field.starts_with(b"B00") && field.len() == 10;
    let midnight = |field: &[u8]| {
        let text = std::str::from_utf8(field).expect("digits");
        text.len() == 10 && text.parse::<u64>().expect("digits").is_multiple_of(86_400)
    };
    for key in fields("az1") {
        assert!(key.len() == 3 && item(&key[0]) && user(&key[1]) && midnight(&key[2]), "{key:?}");
    }
    for key in fields("az2") {
        assert!(key.len() == 3 && user(&key[0]) && item(&key[1]) && midnight(&key[2]), "{key:?}");
    }
}

#[test]
fn nineteen_in_twenty_decimals_are_long() {
    let set = set("decimal", 20_000, 0, 1);
    let long = set.keys.iter().filter(|key| key.len() >= 9).count();
    // A fraction 1 - 10^8 / 2^31 of all numbers has 9 or 10 digits.
    assert!((18_900..19_200).contains(&long), "{long}");
}

/// At a hundred thousand keys, the models' figures differ from the papers' by at most these
/// fractions.
#[test]
fn models_have_the_papers_figures() {
    for (name, bytes, bits) in [("az1", 0.01, 0.05), ("osm", 0.001, 0.03), ("reddit", 0.03, 0.03)] {
        let measured = KeyStatistics::of(&set(name, 100_000, 0, 1).keys);
        let family = family::ALL.into_iter().find(|family| family.name == name).expect("registered");
        let paper = family.papers.iter().find(|paper| paper.unique_prefix_bits.is_some()).expect("figures");
        let near =
            |ours: f64, theirs: Option<f64>, part: f64| (ours / theirs.expect("a figure") - 1.0).abs() < part;
        assert!(near(measured.mean_bytes, paper.mean_bytes, bytes), "{name}: {measured:?}");
        assert!(near(measured.unique_prefix_bits, paper.unique_prefix_bits, bits), "{name}: {measured:?}");
    }
    let url = KeyStatistics::of(&set("url", 100_000, 0, 1).keys);
    assert!((81.0..83.0).contains(&url.mean_bytes) && (38.0..42.0).contains(&url.shared_bytes), "{url:?}");
}

#[test]
fn random_keys_have_the_prefixes_of_the_formula() {
    for name in ["rand-8", "rand-16", "K10"] {
        let measured = KeyStatistics::of(&set(name, 20_000, 0, 1).keys);
        let expected = KeyStatistics::random_bits(20_000);
        assert!((measured.unique_prefix_bits - expected).abs() < 0.1, "{name}: {measured:?}, not {expected}");
    }
    let klong = KeyStatistics::of(&set("Klong(64)", 20_000, 0, 1).keys);
    let expected = 60.0 * 8.0 + KeyStatistics::random_bits(20_000);
    assert!((klong.unique_prefix_bits - expected).abs() < 0.1, "{klong:?}, not {expected}");
}

#[test]
fn too_many_and_too_few_keys_are_rejected() {
    let error = |name: &str, count, extra| make(name, count, extra, 1).expect_err("refused").to_string();
    assert!(error("rand-8", 0, 5).contains("ask for 1 or more"));
    assert!(error("rand-8", usize::MAX, 5).contains("at most 4294967294"));
    assert!(error("mlp-a", 466_560_000, 1).contains("there are 466560000 different keys"));
    assert!(error("intkey(7)", 6, 2).contains("8 are asked for"));
    assert_eq!(set("intkey(7)", 6, 1, 1).absent.len(), 1);
}

#[test]
fn keys_of_other_lengths_are_left_out_and_counted() {
    let mut set = set("decimal", 5000, 500, 1);
    let of_nine = set.keys.iter().filter(|key| key.len() == 9).count();
    assert_eq!(set.leave_out(9, 9), 5000 - of_nine);
    assert_eq!((set.keys.len(), set.shortest, set.longest), (of_nine, 9, 9));
    assert!(set.absent.iter().all(|key| key.len() == 9) && !set.absent.is_empty());
    assert_eq!(set.leave_out(0, 100), 0);
}
