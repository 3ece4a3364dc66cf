use std::ops::Bound;

use super::{FIXED, SHAPES, ScanRequest, TestTrie, TrieShape, WalkDirection, of_bytes};
use crate::catalog::CatalogEntry;
use crate::record::change;
use crate::trie::core::DescentEnd;
use crate::trie::node::set_writing;
use crate::trie::{KEY_MOST, TrieLayout};
use crate::{DiskError, TrieKind, Values};

#[test]
fn keys_of_any_length_work() {
    for shape in SHAPES {
        let store = TestTrie::new(shape, 64, u128::MAX);
        let long = |len: usize, end: u8| {
            let mut key = vec![b'k'; len];
            key.push(end);
            key
        };
        let keys: Vec<Vec<u8>> = [0, 1, 511, 512, 513, 1_024, 30_000, 60_000, KEY_MOST - 1]
            .into_iter()
            .flat_map(|len| [long(len, 0), long(len, b'k'), long(len, 255)])
            .chain([Vec::new(), vec![0, 0]])
            .collect();
        for (key, version) in keys.iter().zip(1..) {
            assert!(store.set(key, version, &key[..key.len().min(5)]).unwrap(), "{shape} {}", key.len());
            store.check();
        }
        for (key, version) in keys.iter().zip(1..) {
            assert_eq!(store.get(key).unwrap(), Some((version, key[..key.len().min(5)].to_vec())));
            assert!(!store.set(key, version + 100, b"again").unwrap());
        }
        assert_eq!(store.get(&vec![b'k'; 40_000]).unwrap(), None);
        if !matches!(shape, TrieShape::Hash { .. }) {
            let mut sorted = keys.clone();
            sorted.sort();
            for direction in [WalkDirection::Forward, WalkDirection::Backward] {
                let found = store.collect(Bound::Unbounded, direction, 1_000).unwrap();
                assert!(found.iter().map(|entry| &entry.key).eq(&sorted), "{shape}");
                sorted.reverse();
            }
        }
        for key in &keys {
            assert!(store.remove(key).unwrap());
            store.check();
        }
        assert_eq!(store.check().nodes, 1);
    }
}

#[test]
fn values_of_any_length_work_and_free_their_pages() {
    for shape in [TrieShape::Linked, TrieShape::Classical { n: 8 }, TrieShape::Hash { n: 16 }] {
        let store = TestTrie::new(shape, 64, u128::MAX);
        let value = |len: usize| -> Vec<u8> { (0..len).map(|at| (at * at / 7) as u8).collect() };
        let lens = [0, 1, 1_023, 1_024, 1_025, 4_075, 4_076, 4_077, 8_152, 8_153, 50_000, 100_000];
        for (&len, version) in lens.iter().chain(lens.iter().rev()).zip(1..) {
            store.set(b"key", version, &value(len)).unwrap();
            store.set(&(len as u32).to_le_bytes(), version, &value(len)).unwrap();
            assert_eq!(store.get(b"key").unwrap(), Some((version, value(len))));
            store.check();
        }
        for &len in &lens {
            assert_eq!(store.get(&(len as u32).to_le_bytes()).unwrap().unwrap().1, value(len));
            assert!(store.remove(&(len as u32).to_le_bytes()).unwrap());
        }
        assert!(store.remove(b"key").unwrap());
        assert_eq!((store.check().overflow_pages, store.check().nodes), (0, 1));
    }
}

/// A node with the longest prefix and value and a child for each symbol. Some children were leaves
/// in its record and had to be moved out.
#[test]
fn a_node_that_has_all_that_it_can_fits_a_page() {
    for shape in [
        TrieShape::Linked,
        TrieShape::Classical { n: 16 },
        TrieShape::Classical { n: 256 },
        TrieShape::Hash { n: 256 },
    ] {
        let store = TestTrie::new(shape, 64, u128::MAX);
        let mut model = std::collections::BTreeMap::new();
        let mut set = |key: Vec<u8>, version: u64, len: usize| {
            let value = vec![version as u8; len];
            store.set(&key, version, &value).unwrap();
            if model.len() % 16 == 0 {
                store.check();
            }
            model.insert(key, (version, value));
        };
        let at = |symbol: u8, end: &[u8]| [&[b'k'; 512][..], &[symbol], end].concat();
        // First as many leaves as fit, then the parts that take their room: prefix, value,
        // pointers.
        (0..40)
            .for_each(|symbol| set(at(symbol * 6, b"x"), symbol.into(), [3, 200, 20][symbol as usize % 3]));
        set(vec![b'k'; 512], 1 << 40, 1_024);
        (0..=255).for_each(|symbol| set(at(symbol, b"longer"), 100, 150));
        (0..=255).for_each(|symbol| set(at(symbol, b"longer"), 200, [0, 240, 1_024][symbol as usize % 3]));
        (0..=255).for_each(|symbol| set(at(symbol, b"x"), u64::MAX - 1, 6));
        for (key, value) in &model {
            assert_eq!(store.get(key).unwrap().as_ref(), Some(value), "{shape}");
        }
        for (key, at) in model.keys().zip(0..) {
            assert!(store.remove(key).unwrap(), "{shape}");
            if at % 16 == 0 {
                store.check();
            }
        }
        assert_eq!((store.check().nodes, store.check().pages), (1, 1), "{shape}");
    }
}

#[test]
fn too_long_keys_and_values_are_refused() {
    for shape in [TrieShape::Linked, TrieShape::Hash { n: 16 }] {
        let store = TestTrie::new(shape, 16, u128::MAX);
        store.set(b"key", 1, b"value").unwrap();
        let before = store.check();
        let error = store.set(&vec![1; KEY_MOST + 1], 2, b"").unwrap_err();
        assert_eq!(
            error.to_string(),
            "a key has 65536 bytes, and the limit is 65535; shorten it, or hash it"
        );
        assert_eq!(store.get(&vec![1; KEY_MOST + 1]).unwrap(), None);
        assert!(!store.remove(&vec![1; KEY_MOST + 1]).unwrap());
        assert_eq!(store.get(b"key").unwrap(), Some((1, b"value".to_vec())));
        assert_eq!(store.check(), before);
        // A value of more pages than the cache has.
        store.set(b"key", 2, &vec![1; 100_000]).unwrap();
        assert_eq!(store.get(b"key").unwrap(), Some((2, vec![1; 100_000])));
        store.set(b"key", 3, b"value").unwrap();
        assert_eq!(store.check().pages, before.pages);
    }
}

/// Section 5: a write that stopped between the value and its version. Pages are published whole, so
/// only a bug could leave one.
#[test]
fn an_interrupted_set_is_told_and_can_be_done_again() {
    for shape in [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }] {
        let store = TestTrie::new(shape, 16, u128::MAX);
        store.set(b"other", 1, b"value").unwrap();
        store.set(b"key\n", 2, b"value").unwrap();
        let mut writer = store.buffer.write();
        let TrieLayout::Compressed { core, hashing } = &store.trie.nodes else { panic!() };
        let descent = match hashing {
            Some(hashing) => hashing.descent_to(core, &mut writer, b"key\n"),
            None => core.find(&mut writer, b"key\n"),
        };
        let descent = descent.unwrap();
        let (id, leaf) = (descent.last().id, descent.leaf_symbol());
        assert_eq!(descent.end, DescentEnd::Here);
        change(&mut writer, id.page, |records| set_writing(records.get_mut(id.slot)?, leaf, true)).unwrap();
        writer.publish().unwrap();
        let error = store.get(b"key\n").unwrap_err();
        assert!(matches!(error, DiskError::Interrupted { .. }));
        assert!(error.to_string().contains(r"`key\n` was interrupted"), "{error}");
        if !matches!(shape, TrieShape::Hash { .. }) {
            let scan = store.collect(Bound::Unbounded, WalkDirection::Forward, 9);
            assert!(matches!(scan, Err(DiskError::Interrupted { .. })));
        }
        assert!(!store.set(b"key\n", 3, b"new").unwrap());
        assert_eq!(store.get(b"key\n").unwrap(), Some((3, b"new".to_vec())));
        assert_eq!(store.check().keys, 2);
    }
}

#[test]
fn a_walk_in_portions_gives_every_key_once() {
    // All keys with one hash, with sixteen hashes, and with hashes of their own.
    let masks = [0, 15 << 124, u128::MAX];
    for (shape, mask) in SHAPES.into_iter().chain(FIXED).flat_map(|shape| masks.map(|mask| (shape, mask))) {
        let store = TestTrie::new(shape, 64, mask);
        let keys: Vec<Vec<u8>> =
            (0..60_u32).map(|at| at.wrapping_mul(0x9e37_79b9).to_be_bytes().to_vec()).collect();
        for (at, key) in (0..).zip(&keys) {
            store.set(key, at + 1, at.to_string().as_bytes()).unwrap();
        }
        for (most, values) in [(1, true), (7, false), (1_000, true)] {
            let (mut seen, mut last) = (std::collections::BTreeMap::new(), None::<Vec<u8>>);
            loop {
                let lower = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let request = ScanRequest { lower, keys: most, values, ..ScanRequest::default() };
                let found = store.buffer.read_pages(|pages| store.trie.walk(pages, &request)).unwrap();
                // Keys with the same hash may be returned together.
                assert!(found.entries.len() <= most || store.is_fixed(), "{shape}");
                last = found.entries.last().map(|entry| entry.key.clone());
                for entry in found.entries {
                    assert!(seen.insert(entry.key, (entry.version, entry.value)).is_none(), "{shape}: twice");
                }
                if !found.more {
                    break;
                }
            }
            assert_eq!(seen.len(), keys.len(), "{shape}, {mask:x}, {most} at once");
            for (at, key) in (0..).zip(&keys) {
                let value = if values { at.to_string().into_bytes() } else { Vec::new() };
                assert_eq!(seen[key], (at + 1, value), "{shape}");
            }
        }
    }
}

#[test]
fn a_hash_trie_walk_continues_after_removed_keys() {
    for shape in [TrieShape::Hash { n: 16 }, TrieShape::FixedHash { n: 16 }] {
        let store = TestTrie::new(shape, 64, u128::MAX);
        (0..50_u8).for_each(|at| _ = store.set(&[at], u64::from(at) + 1, b"1").unwrap());
        let walk = |lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction| {
            let request = ScanRequest { lower, upper, direction, keys: 10, ..ScanRequest::default() };
            store.buffer.read_pages(|pages| store.trie.walk(pages, &request))
        };
        let all = Bound::Unbounded;
        let mut left: std::collections::BTreeSet<u8> = (0..50).collect();
        let mut last = walk(all, all, WalkDirection::Forward).unwrap();
        loop {
            let keys: Vec<u8> = last.entries.iter().map(|entry| entry.key[0]).collect();
            for key in &keys {
                assert!(left.remove(key) && store.remove(&[*key]).unwrap(), "{shape}: {key}");
            }
            let Some(key) = keys.last().filter(|_| last.more) else { break };
            last = walk(Bound::Excluded(&[*key]), all, WalkDirection::Forward).unwrap();
        }
        assert!(left.is_empty(), "{shape}: {left:?}");
        let key = &[1_u8][..];
        for (lower, upper, direction) in [
            (Bound::Included(key), all, WalkDirection::Forward),
            (all, Bound::Excluded(key), WalkDirection::Forward),
            (all, all, WalkDirection::Backward),
        ] {
            assert!(matches!(walk(lower, upper, direction), Err(DiskError::NoOrder)), "{shape}");
        }
    }
}

#[test]
fn a_hash_trie_reports_that_it_has_no_order() {
    let store = TestTrie::new(TrieShape::Hash { n: 16 }, 16, u128::MAX);
    store.set(b"key", 1, b"value").unwrap();
    let scan = store.collect(Bound::Unbounded, WalkDirection::Forward, 9).unwrap_err();
    let cursor = store.trie.cursor(&store.buffer).unwrap_err();
    assert!(matches!((&scan, &cursor), (DiskError::NoOrder, DiskError::NoOrder)));
    assert!(scan.to_string().contains("use a classical or a linked trie"), "{scan}");
}

#[test]
fn parameters_that_do_not_fit_or_differ_are_refused() {
    let store = TestTrie::new(TrieShape::Classical { n: 16 }, 16, u128::MAX);
    let open = |name: &str, shape| {
        let mut writer = store.buffer.write();
        let opened = store.catalog.open(&mut writer, name, of_bytes(shape), [1; 16]);
        opened.map(|trie| trie.root()).map_err(|error| error.to_string())
    };
    for n in [0, 1, 2, 3, 5, 24, 257, 512, u16::MAX] {
        for shape in [TrieShape::Classical { n }, TrieShape::Hash { n }] {
            let error = open("new", shape).unwrap_err();
            assert!(error.starts_with(&format!("the option `n` cannot be {n}: ")), "{error}");
        }
    }
    for shape in [TrieShape::Linked, TrieShape::Classical { n: 8 }, TrieShape::Hash { n: 16 }] {
        let error = open("it", shape).unwrap_err();
        assert!(error.contains("the trie `it` is a classical trie of 16 children"), "{error}");
        assert!(error.contains(&format!("but was opened as {shape}")), "{error}");
    }
    assert!(open("", TrieShape::Linked).unwrap_err().contains("1 to 255 bytes"));
    assert!(open(&"x".repeat(256), TrieShape::Linked).is_err());
    assert_eq!(open("it", TrieShape::Classical { n: 16 }), Ok(store.trie.root()));
}

#[test]
fn a_file_has_many_tries_and_finds_all_of_them_again() {
    let mut store = TestTrie::new(TrieShape::Linked, 20, u128::MAX);
    let name = |at: usize| format!("trie {at} ").repeat(1 + at % 20);
    let kind = |at: usize| TrieKind { shape: SHAPES[at % 9], values: [Values::Bytes, Values::Rows][at % 2] };
    for at in 0..100 {
        let mut writer = store.buffer.write();
        let trie = store.catalog.open(&mut writer, &name(at), kind(at), [at as u8; 16]).unwrap();
        trie.set(&mut writer, b"key", at as u64, name(at).as_bytes()).unwrap();
        writer.publish().unwrap();
    }
    store.checkpoint(1);
    store.storage.reboot(1);
    store.buffer = crate::test_fixtures::open_file(&store.storage, 20).unwrap();
    let tries = store.buffer.read_with(|mut view| store.catalog.list(&mut view)).unwrap();
    assert_eq!(tries.len(), 101);
    for at in 0..100 {
        let found = tries.iter().find(|entry| entry.name() == name(at));
        let Some(CatalogEntry::Trie(named)) = found else { panic!("{found:?}") };
        assert_eq!(named.kind(), kind(at));
        let found = store.buffer.read_with(|mut view| named.trie.get(&mut view, b"key")).unwrap();
        assert_eq!(found, Some((at as u64, name(at).into_bytes())));
    }
}
