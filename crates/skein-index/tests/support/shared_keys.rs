//! Sets of distinct keys for tests with several threads.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::random::TestRandom;

/// Returns random numbers of eight bytes each.
pub fn numbers(count: usize) -> Vec<Vec<u8>> {
    let mut random = TestRandom::new(5);
    (0..count).map(|_| random.next().to_be_bytes().to_vec()).collect()
}

/// Returns made-up paths: long shared prefixes, few names per folder, and no two lengths of one
/// slice that differ in zero bytes only.
pub fn paths(count: usize) -> Vec<Vec<u8>> {
    let mut random = TestRandom::new(6);
    let mut keys = BTreeSet::new();
    while keys.len() < count {
        let mut path = String::from("/srv");
        for _ in 0..=random.below(4) {
            path.push_str(["/lib", "/shared-objects", "/very/long/folder/name", "/a"][random.below(4)]);
        }
        write!(path, "/file-{:04}", random.below(count)).expect("a string takes all");
        if random.below(3) == 0 {
            path.push_str(".with-a-longer-name");
        }
        keys.insert(path.into_bytes());
    }
    let mut keys: Vec<_> = keys.into_iter().collect();
    random.shuffle(&mut keys);
    keys
}

/// Returns keys that share their first hundred bytes, or some hundreds.
pub fn long(count: usize) -> Vec<Vec<u8>> {
    let mut random = TestRandom::new(9);
    let mut keys: Vec<_> = (0..count)
        .map(|number| [vec![b'x'; 100 + 70 * random.below(4)], number.to_string().into_bytes()].concat())
        .collect();
    random.shuffle(&mut keys);
    keys
}

/// Returns keys of up to eight bytes, of all lengths, that share long parts. Some differ in
/// trailing zeros only.
pub fn short(count: usize) -> Vec<Vec<u8>> {
    let mut random = TestRandom::new(7);
    let mut keys = BTreeSet::new();
    while keys.len() < count {
        let mut key: Vec<u8> =
            (0..random.below(8)).map(|_| [0, 1, b'a', b'b', 0xff][random.below(5)]).collect();
        if random.below(3) == 0 {
            key.push(random.below(256) as u8);
        }
        keys.insert(key);
    }
    let mut keys: Vec<_> = keys.into_iter().collect();
    random.shuffle(&mut keys);
    keys
}

/// Returns keys of eight bytes. All prefixes of all lengths end in the same eleven bits except for
/// two of them.
pub fn crowded(count: usize) -> Vec<Vec<u8>> {
    let mut random = TestRandom::new(8);
    let mut keys = BTreeSet::new();
    while keys.len() < count {
        keys.insert((0..8).map(|_| 8 * random.below(4) as u8).collect());
    }
    let mut keys: Vec<_> = keys.into_iter().collect();
    random.shuffle(&mut keys);
    keys
}
