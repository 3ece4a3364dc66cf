use std::ops::Bound;

use proptest::prelude::*;

use super::{FIXED, SHAPES, TestTrie, WalkDirection};
use crate::buffer::WalkStop;
use crate::page::PageId;

fn keys() -> impl Iterator<Item = Vec<u8>> {
    (0..200_u32).map(|at| format!("key/{}/{}", at % 7, at * 37 % 200).into_bytes())
}

/// Calls every operation of a trie. Only a panic or an endless loop would fail the test.
fn use_all(store: &TestTrie) {
    for key in keys().step_by(13) {
        let _ = store.get(&key);
        let _ = store.get_many(&[&key, b"", &key]);
        let mut writer = store.buffer.write();
        let _ = store.trie.set(&mut writer, &key, 2, &store.value(2, 200));
        drop(writer);
        let _ = store.trie.remove(&mut store.buffer.write(), &key);
    }
    for direction in [WalkDirection::Forward, WalkDirection::Backward] {
        let _ = store.collect(Bound::Unbounded, direction, 1_000);
        let _ = store.collect(Bound::Excluded(b"key/3"), direction, 10);
    }
    let _ = store.buffer.read_with(|mut view| store.trie.check(&mut view, |_| Ok(())));
    let _ = store.buffer.read_with(|mut view| store.catalog.list(&mut view));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Pages with correct checksums and arbitrary bytes. Only a bug of this program could write
    /// them, and it must not cause worse.
    #[test]
    fn pages_of_arbitrary_bytes_give_errors_and_no_panic(
        shape in 0_usize..17,
        damages in prop::collection::vec((any::<u32>(), 0_usize..4_080, any::<u8>()), 1..12),
        in_directory in any::<bool>(),
    ) {
        let shape = SHAPES.get(shape).copied().unwrap_or_else(|| FIXED[shape - SHAPES.len()]);
        // Some hashes are equal.
        let store = TestTrie::new(shape, 64, if shape.is_ordered() { u128::MAX } else { u128::MAX << 122 });
        for (key, at) in keys().zip(0..) {
            store.set(&key, 1, &store.value(7, if at % 20 == 0 { 2_000 } else { 10 })).unwrap();
        }
        let pages = store.buffer.ids_in_use() as u32;
        let mut writer = store.buffer.write();
        for (page, at, byte) in damages {
            let at = if in_directory { at % 100 } else { at };
            writer.page_mut(PageId(page % pages)).unwrap().body_mut()[at] ^= byte;
        }
        writer.publish().unwrap();
        use_all(&store);
    }
}

#[test]
fn unreachable_and_shared_records_are_found() {
    for shape in [SHAPES[0], SHAPES[3]] {
        let store = TestTrie::new(shape, 64, u128::MAX);
        for key in keys() {
            store.set(&key, 1, b"value").unwrap();
        }
        let root = store.trie.root();
        let damage = |change: &dyn Fn(&mut crate::record::PageRecordsMut<'_>) -> Result<(), String>| {
            let mut writer = store.buffer.write();
            crate::record::change(&mut writer, root.page, change).unwrap();
            store.trie.check(&mut writer, |_| Ok(())).unwrap_err()
        };
        let WalkStop::Damaged(page, what) = damage(&|records| records.insert(b"lost").map(|_| ())) else {
            panic!()
        };
        assert!(page == root.page && what.contains("pointers lead to"), "{what}");
        let found = damage(&|records| {
            let children = crate::trie::node::TrieNode::of(records.read().get(root.slot)?)?.children;
            let (_, child) = children.iter().next().ok_or("the root has no child")?;
            let below = crate::trie::node::TrieNode::of(records.read().get(child.slot)?)?.children;
            let (_, twice) = below.iter().next().ok_or("its child has no child")?;
            let record = records.get_mut(child.slot)?;
            crate::trie::node::replace_pointers(record, |old| (old != twice).then_some(twice))
        });
        let WalkStop::Damaged(_, what) = found else { panic!() };
        assert!(what.contains("two pointers lead to it"), "{what}");
    }
}

#[test]
fn a_ring_of_value_pages_is_found() {
    let store = TestTrie::new(SHAPES[0], 64, u128::MAX);
    store.set(b"key", 1, &vec![5; 20_000]).unwrap();
    let pages: Vec<PageId> = (0..store.buffer.ids_in_use() as u32).map(PageId).collect();
    let mut writer = store.buffer.write();
    let chain: Vec<PageId> = pages
        .into_iter()
        .filter(|id| writer.page(*id).unwrap().kind() == Some(crate::page::DiskPageKind::Overflow))
        .collect();
    assert_eq!(chain.len(), 5);
    // Each page leads to the one made first, which is the last of the value.
    for id in &chain {
        writer.page_mut(*id).unwrap().body_mut()[..4].copy_from_slice(&chain[0].0.to_le_bytes());
    }
    let WalkStop::Damaged(_, what) = store.trie.get(&mut writer, b"key").unwrap_err() else { panic!() };
    assert_eq!(what, "the pages of a value form a ring at it");
    // A reader reports the damage whether the pages are in memory or must be read.
    writer.publish().unwrap();
    let get = || store.buffer.read_pages(|pages| store.trie.get(pages, b"key")).unwrap_err().to_string();
    assert!(get().contains("form a ring at it"), "{}", get());
    store.checkpoint(1);
    for number in 0..200_u32 {
        store.set(&number.to_be_bytes(), 2, &[7; 900]).unwrap();
    }
    assert!(get().contains("form a ring at it"), "{}", get());
}

/// Incident: two values of a damaged file had the same pages, and one write freed both values.
/// Consequence: each page was freed twice, so two new pages had the same id, and intact keys got
/// the bytes of others. Fix: a write errors if it accesses a page that it has freed.
#[test]
fn pages_shared_by_two_values_are_freed_once() {
    let store = TestTrie::new(SHAPES[0], 64, u128::MAX);
    store.set(b"a", 1, &vec![1; 9_000]).unwrap();
    store.set(b"b", 2, &vec![2; 9_000]).unwrap();
    let root = store.trie.root();
    let mut writer = store.buffer.write();
    crate::record::change(&mut writer, root.page, |records| {
        let bytes = records.get_mut(root.slot)?;
        // Length and first page, at the end of each leaf.
        let ends: Vec<usize> = bytes
            .windows(4)
            .enumerate()
            .filter(|at| *at.1 == 9_000_u32.to_le_bytes())
            .map(|at| at.0)
            .collect();
        assert_eq!(ends.len(), 2);
        bytes.copy_within(ends[0]..ends[0] + 8, ends[1]);
        Ok(())
    })
    .unwrap();
    writer.publish().unwrap();
    let mut writer = store.buffer.write();
    assert!(store.trie.remove(&mut writer, b"a").unwrap());
    let error = store.trie.remove(&mut writer, b"b").unwrap_err().to_string();
    assert!(error.contains("it was freed, but a pointer leads to it"), "{error}");
}

/// Incident: a walk that met a pointer to a free page waited for the page to be read, was told that
/// there is none, took that for a concurrent write, and restarted. Consequence: with such a pointer
/// in a page with a correct checksum, each read of a key below it looped forever. Fix: if nothing
/// was published since the walk began, the missing page is damage.
#[test]
fn a_pointer_to_a_free_page_is_damage() {
    for shape in SHAPES.into_iter().chain(FIXED) {
        let store = TestTrie::new(shape, 64, u128::MAX);
        for key in keys() {
            store.set(&key, 1, &store.value(7, 100)).unwrap();
        }
        let root = store.trie.root().page;
        let ids = (0..store.buffer.ids_in_use() as u32).map(PageId);
        let mut writer = store.buffer.write();
        ids.filter(|id| *id != root && *id != store.catalog.first()).for_each(|id| writer.free(id));
        writer.publish().unwrap();
        let missing = |error: Result<(), crate::DiskError>| {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("there is no such page"), "{shape}: {error}");
        };
        let keys: Vec<_> = keys().collect();
        missing(keys.iter().try_for_each(|key| store.get(key).map(drop)));
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        missing(store.get_many(&keys).map(drop));
        missing(store.buffer.read_with(|mut view| store.trie.check(&mut view, |_| Ok(()))).map(drop));
        if shape.is_ordered() {
            missing(store.collect(Bound::Unbounded, WalkDirection::Forward, 1_000).map(drop));
            missing(store.collect(Bound::Unbounded, WalkDirection::Backward, 1_000).map(drop));
        }
    }
}
