use super::TestSet;
use crate::DiskError;
use crate::buffer::CACHE_LEAST;
use crate::counted::SET_KEY_MOST;
use crate::counted::key_page::INLINE_MOST;
use crate::trie::WalkDirection;

/// Returns a key of this length that ends with some bytes.
fn long(len: usize, end: &[u8]) -> Vec<u8> {
    let mut key = vec![b'k'; len - end.len()];
    key.extend(end);
    key
}

#[test]
fn keys_of_the_greatest_length_have_ranks() {
    let store = TestSet::new(100);
    let mut keys =
        vec![Vec::new(), long(SET_KEY_MOST, b"a"), long(SET_KEY_MOST, b"b"), long(SET_KEY_MOST - 1, b"")];
    keys.extend((INLINE_MOST - 2..INLINE_MOST + 3).map(|len| long(len, b"")));
    keys.extend((0..60).map(|end| long(20_000, &[end, 1])));
    for is_new in [true, false] {
        assert!(keys.iter().all(|key| store.insert(key).unwrap() == is_new));
    }
    keys.sort();
    assert_eq!(store.walk(0, WalkDirection::Forward, 100).unwrap(), keys);
    for (key, rank) in keys.iter().zip(0..) {
        assert_eq!(store.rank(key), rank);
        let behind = [&key[..], &[0]].concat();
        assert_eq!(store.rank(&behind), rank + 1);
    }
    let census = store.check();
    assert!(census.leaves > 1, "separators are long, too: {census:?}");
    assert!(keys.iter().all(|key| store.remove(key).unwrap()));
    assert_eq!(store.check().pages(), 1);
}

#[test]
fn a_key_beyond_the_limit_is_rejected() {
    let store = TestSet::new(CACHE_LEAST);
    let key = long(SET_KEY_MOST + 1, b"");
    let DiskError::KeyTooLong { len: 65_552, limit: SET_KEY_MOST } = store.insert(&key).unwrap_err() else {
        panic!("the key is too long")
    };
    assert!(!store.remove(&key).unwrap());
    assert!(!store.contains(&key).unwrap());
    assert_eq!(store.rank(&key), 0);
}

/// All keys of a full page share a long prefix, and the new key does not: the page cannot be
/// written with the shorter prefix.
#[test]
fn a_key_with_another_prefix_gets_a_page_beside_a_full_one() {
    for other in [b"a", b"z"] {
        let store = TestSet::new(CACHE_LEAST);
        for at in 0..250_u8 {
            assert!(store.insert(&long(900, &[at, 0, 0, 0, 0])).unwrap());
        }
        assert_eq!(store.check().leaves, 1, "the prefix is stored once");
        assert!(store.insert(other).unwrap());
        let census = store.check();
        assert_eq!((census.leaves, census.keys), (2, 251));
    }
}
