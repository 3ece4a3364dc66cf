//! Tests of the paper's layout alone. `trie/tests` checks that these tries are maps and survive
//! crashes, together with the other tries.

use std::ops::Bound;

use super::super::tests::{TestTrie, of_bytes};
use super::super::{TrieLayout, TrieShape, WalkDirection};
use super::node_allocation::NodeAllocation;
use super::{FixedTrie, KEY_MOST, node};
use crate::DiskError;
use crate::buffer::{PageWriter, WalkStop};
use crate::record::RecordId;

const ALL: [TrieShape; 3] =
    [TrieShape::FixedClassical { n: 16 }, TrieShape::FixedLinked { k: 12 }, TrieShape::FixedHash { n: 16 }];

fn store(shape: TrieShape) -> TestTrie {
    TestTrie::new(shape, 1_500, u128::MAX)
}

fn fixed(store: &TestTrie) -> &FixedTrie {
    let TrieLayout::Fixed(fixed) = &store.trie.nodes else { panic!("it is compressed") };
    fixed
}

#[test]
fn nodes_have_the_papers_length_without_gaps() {
    for (shape, len) in [
        (TrieShape::FixedClassical { n: 4 }, 40),
        (TrieShape::FixedClassical { n: 16 }, 136),
        (TrieShape::FixedHash { n: 64 }, 520),
        (TrieShape::FixedLinked { k: 4 }, 52),
        (TrieShape::FixedLinked { k: 12 }, 124),
    ] {
        let store = store(shape);
        assert_eq!(fixed(&store).form.len(), len);
        for number in 0..300 {
            store.set(format!("n_view_{number}").as_bytes(), 1, b"5").unwrap();
        }
        let census = store.check();
        assert_eq!(census.node_bytes, census.nodes * len);
        let in_the_first = 4_056 / len;
        let pages = 1 + (census.nodes - in_the_first).div_ceil(4_080 / len);
        assert_eq!(census.pages, pages, "{shape}: {census:?}");
    }
}

/// Figure 3: "HI" leads to value 5 with version 2, through two nodes below the root.
#[test]
fn a_key_has_a_node_for_each_character() {
    let store = store(TrieShape::FixedLinked { k: 4 });
    assert!(store.set(b"HI", 2, b"5").unwrap());
    assert_eq!(store.get(b"HI").unwrap(), Some((2, b"5".to_vec())));
    assert_eq!(store.check().nodes, 3);
    store.set(b"HAVE", 3, b"-7").unwrap();
    store.set(b"", 4, b"0").unwrap();
    assert_eq!(store.check().nodes, 6);
    assert_eq!((store.get(b"H").unwrap(), store.get(b"HIS").unwrap()), (None, None));
}

#[test]
fn children_continue_in_chained_nodes_in_order() {
    for k in [1, 2, 7, 255, 256] {
        let store = store(TrieShape::FixedLinked { k });
        let characters = || (0..=255_u8).map(|at| at.wrapping_mul(77));
        for character in characters() {
            assert!(store.set(&[character], 1 + u64::from(character), b"1").unwrap());
        }
        assert_eq!(store.check().nodes, 256 + 256_usize.div_ceil(k.into()));
        for direction in [WalkDirection::Forward, WalkDirection::Backward] {
            let found = store.collect(Bound::Unbounded, direction, 1_000).unwrap();
            let mut keys: Vec<u8> = found.iter().map(|entry| entry.key[0]).collect();
            if direction == WalkDirection::Backward {
                keys.reverse();
            }
            assert!(keys.into_iter().eq(0..=255));
        }
        for character in characters().take(250) {
            assert!(store.remove(&[character]).unwrap());
        }
        assert_eq!(store.check().nodes, 6 + 6_usize.div_ceil(k.into()));
    }
}

#[test]
fn nodes_of_removed_keys_are_reused() {
    for shape in ALL {
        let store = store(shape);
        let key = |number: u64, round: u64| format!("n_view_{}", number + 1_000 * round).into_bytes();
        let mut pages = 0;
        for round in 1..5 {
            for number in 0..200 {
                assert!(store.set(&key(number, round), round, b"1").unwrap());
            }
            let census = store.check();
            assert!(round == 1 || census.pages <= pages + 1, "{shape}: {} and {pages}", census.pages);
            pages = census.pages;
            for number in 0..200 {
                assert!(store.remove(&key(number, round)).unwrap());
            }
            assert_eq!((store.check().nodes, store.check().pages), (1, pages));
        }
    }
}

#[test]
fn values_other_than_small_integers_are_refused() {
    for shape in ALL {
        let store = store(shape);
        for good in ["0", "7", "-1", "2147483647", "-2147483648"] {
            store.set(b"key", 1, good.as_bytes()).unwrap();
            assert_eq!(store.get(b"key").unwrap(), Some((1, good.as_bytes().to_vec())));
        }
        let before = store.check();
        for bad in
            ["", " 1", "01", "+1", "-0", "2147483648", "-2147483649", "1.5", "goose", "\u{0}\u{0}\u{0}\u{5}"]
        {
            for key in [&b"key"[..], b"other"] {
                let error = store.set(key, 2, bad.as_bytes()).unwrap_err();
                assert!(matches!(error, DiskError::NotASmallInteger { .. }), "{error}");
                assert!(
                    error.to_string().contains("not an integer from -2147483648 to 2147483647"),
                    "{error}"
                );
            }
        }
        for version in [0, u64::from(u32::MAX), 1 << 40] {
            let error = store.set(b"key", version, b"1").unwrap_err();
            assert!(error.to_string().contains("versions from 1 to 4294967294"), "{error}");
        }
        assert_eq!(store.get(b"key").unwrap(), Some((1, b"-2147483648".to_vec())));
        assert_eq!((store.get(b"other").unwrap(), store.check()), (None, before));
    }
}

#[test]
fn the_key_limit_is_reported() {
    for shape in ALL {
        let store = store(shape);
        let key = vec![b'k'; KEY_MOST];
        assert!(store.set(&key, 1, b"1").unwrap());
        assert_eq!(store.get(&key).unwrap(), Some((1, b"1".to_vec())));
        let longer = vec![b'k'; KEY_MOST + 1];
        let error = store.set(&longer, 2, b"1").unwrap_err().to_string();
        assert_eq!(error, "a key has 1025 bytes, and the limit is 1024; shorten it, or hash it");
        assert_eq!((store.get(&longer).unwrap(), store.remove(&longer).unwrap()), (None, false));
        assert_eq!(store.check().keys, 1);
        assert!(store.remove(&key).unwrap());
        assert_eq!(store.check().nodes, 1);
    }
}

#[test]
fn keys_of_one_hash_are_told_apart_by_their_bytes() {
    for n in [4, 16, 256] {
        // No bit of a hash is used, so all hashes are equal.
        let store = TestTrie::new(TrieShape::FixedHash { n }, 500, 0);
        let key = |number: usize| format!("{number:0len$}", len = 1 + number * 13 % 400).into_bytes();
        for number in 0..60 {
            assert!(store.set(&key(number), 1 + number as u64, number.to_string().as_bytes()).unwrap());
            store.check();
        }
        assert_eq!(store.check().keys, 60);
        for number in (0..60).step_by(7) {
            assert!(store.remove(&key(number)).unwrap() && !store.remove(&key(number)).unwrap());
            store.check();
        }
        for number in 0..60 {
            let value = (1 + number as u64, number.to_string().into_bytes());
            assert_eq!(store.get(&key(number)).unwrap(), (number % 7 != 0).then_some(value));
        }
    }
}

/// Section 5, as in the compressed tries.
#[test]
fn an_interrupted_set_is_told_and_can_be_done_again() {
    for shape in ALL {
        let store = store(shape);
        store.set(b"key", 2, b"5").unwrap();
        let mut writer = store.buffer.write();
        let trie = fixed(&store);
        let end = match &trie.hashing {
            None => trie.end_of(&mut writer, b"key"),
            Some(hashing) => trie.hashed(hashing).get(&mut writer, b"key"),
        };
        node::set_version(trie.node_mut(&mut writer, end.unwrap().unwrap()).unwrap(), node::INVALID);
        writer.publish().unwrap();
        let error = store.get(b"key").unwrap_err();
        assert!(matches!(error, DiskError::Interrupted { .. }), "{error}");
        if shape.is_ordered() {
            let scan = store.collect(Bound::Unbounded, WalkDirection::Forward, 9);
            assert!(matches!(scan, Err(DiskError::Interrupted { .. })));
        }
        assert!(!store.set(b"key", 3, b"6").unwrap());
        assert_eq!(store.get(b"key").unwrap(), Some((3, b"6".to_vec())));
        assert_eq!(store.check().keys, 1);
    }
}

#[test]
fn parameters_that_do_not_fit_or_differ_are_refused() {
    let store = store(TrieShape::FixedLinked { k: 12 });
    let refused = |name: &str, shape| {
        let mut writer = store.buffer.write();
        store.catalog.open(&mut writer, name, of_bytes(shape), [1; 16]).unwrap_err().to_string()
    };
    for k in [0, 257, u16::MAX] {
        let error = refused("new", TrieShape::FixedLinked { k });
        assert!(error.starts_with(&format!("the option `k` cannot be {k}: a node has 1 to 256")), "{error}");
    }
    for n in [0, 2, 17, 512] {
        for shape in [TrieShape::FixedClassical { n }, TrieShape::FixedHash { n }] {
            assert!(refused("new", shape).starts_with(&format!("the option `n` cannot be {n}: ")));
        }
    }
    for shape in [TrieShape::Linked, TrieShape::FixedLinked { k: 13 }, TrieShape::FixedHash { n: 16 }] {
        let error = refused("it", shape);
        assert!(error.contains("`it` is a linked trie of 12 children in the paper's layout"), "{error}");
    }
}

/// Damages a trie and returns what its check reports.
fn found(store: &TestTrie, damage: impl Fn(&FixedTrie, &mut PageWriter<'_>, &[RecordId])) -> String {
    let mut writer = store.buffer.write();
    let trie = fixed(store);
    let trail = trie.trail(&mut writer, b"goose").unwrap();
    assert_eq!(trail.len(), 6);
    damage(trie, &mut writer, &trail);
    match trie.check(&mut writer, |_| Ok(())).unwrap_err() {
        WalkStop::Damaged(_, what) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn violated_invariants_are_found() {
    let store = store(TrieShape::FixedLinked { k: 2 });
    for key in [&b"goose"[..], b"geese", b"gander", b"h"] {
        store.set(key, 1, b"1").unwrap();
    }
    store.check();
    let lost = found(&store, |trie, writer, trail| trie.set_child(writer, trail[1], b'o', None).unwrap());
    assert!(lost.contains("of them are in use or free"), "{lost}");
    let twice = found(&store, |trie, writer, trail| {
        trie.set_child(writer, trail[0], b'z', Some(trail[2])).unwrap();
    });
    assert!(twice.contains("two pointers lead to it"), "{twice}");
    let ring = found(&store, |trie, writer, trail| {
        trie.set_child(writer, trail[5], b'x', Some(trail[3])).unwrap();
    });
    assert!(ring.contains("two pointers lead to it"), "{ring}");
    let empty = found(&store, |trie, writer, trail| {
        node::set_version(trie.node_mut(writer, trail[5]).unwrap(), 0);
    });
    assert!(empty.contains("neither a value nor a child"), "{empty}");
    let freed = found(&store, |trie, writer, trail| {
        let state = NodeAllocation { free: Some(trail[4]), ..trie.state(writer).unwrap() };
        state.write(writer.page_mut(trie.root.page).unwrap().body_mut());
    });
    assert!(freed.contains("two pointers lead to it"), "{freed}");
}
