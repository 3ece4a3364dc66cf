use proptest::prelude::*;

use super::TestSet;
use crate::buffer::{PageWriter, WalkStop};
use crate::counted::descent::{change_keys, key_page};
use crate::counted::entries::KeyEntries;
use crate::counted::insert::write_entries;
use crate::counted::key_page::{CountedChild, KeyPageHead, PREFIX_AT};
use crate::counted::key_page_mut::KeyPageMut;
use crate::counted::long_key::StoredKey;
use crate::page::{DiskPageKind, PageId};
use crate::record::BODY;
use crate::trie::WalkDirection;

/// Keys of several lengths, some of them long. Several share their first bytes, up to 700, so
/// separators are long and the tree has three levels.
fn keys() -> impl Iterator<Item = Vec<u8>> {
    (0..400_u32).map(|at| {
        let mut key = format!("key/{}/{}", at % 7, at * 37 % 400 / 8).into_bytes();
        key.resize(key.len() + [700, 20, 700, 700, 1_500][at as usize % 5], b'.');
        key.extend(at.to_be_bytes());
        key
    })
}

fn filled() -> TestSet {
    let store = TestSet::new(256);
    keys().for_each(|key| assert!(store.insert(&key).unwrap()));
    assert!(store.check().depth >= 3, "{:?}", store.check());
    store
}

/// Calls every operation of a set. Only a panic or an endless loop would fail the test.
fn use_all(store: &TestSet) {
    for key in keys().step_by(29) {
        let _ = store.contains(&key);
        let _ = store.read(|set, pages| set.rank_by(pages, |other| other < &key[..]));
        let _ = store.set.remove(&mut store.buffer.write(), &key);
        let _ = store.set.insert(&mut store.buffer.write(), &[&key[..], b"+"].concat());
    }
    for direction in [WalkDirection::Forward, WalkDirection::Backward] {
        for position in [0, 1, 150, 399, 400, u64::MAX] {
            let _ = store.walk(position, direction, usize::MAX);
        }
    }
    let _ = store.read(|set, pages| set.len(pages));
    let _ = store.read(|set, pages| set.check(pages, |_| Ok(())));
    let mut writer = store.buffer.write();
    for key in keys() {
        if store.set.insert(&mut writer, &[&key[..], b"-"].concat()).is_err() {
            break;
        }
    }
    drop(writer);
    let mut writer = store.buffer.write();
    for key in keys() {
        if store.set.remove(&mut writer, &key).is_err() {
            break;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Pages with correct checksums and arbitrary bytes. Only a bug of this program could write
    /// them, and it must not cause worse.
    #[test]
    fn pages_of_arbitrary_bytes_give_errors_and_no_panic(
        damages in prop::collection::vec((any::<u32>(), 0_usize..4_080, any::<u8>()), 1..12),
        in_columns in any::<bool>(),
    ) {
        let store = filled();
        let pages = store.buffer.ids_in_use() as u32;
        let mut writer = store.buffer.write();
        for (page, at, byte) in damages {
            let at = if in_columns { at % 200 } else { at };
            writer.page_mut(PageId(page % pages)).unwrap().body_mut()[at] ^= byte;
        }
        writer.publish().unwrap();
        use_all(&store);
    }
}

/// Incident: a page with a wrong number of dead bytes lost an entry. Consequence: the page then had
/// more dead bytes than its heap, and the computation of its size panicked. Fix: `remove` refuses.
#[test]
fn a_removal_refuses_more_dead_bytes_than_the_heap_has() {
    let mut body = vec![0; BODY];
    let mut page = KeyPageMut::clear(&mut body, 0, b"");
    for (at, key) in [&b"a long key"[..], b"another long key"].into_iter().enumerate() {
        let key = StoredKey { inline: key.into(), chain: None };
        assert!(page.insert(at, &key, CountedChild::NONE).unwrap());
    }
    let head = page.read().head();
    KeyPageHead { dead: head.heap, ..head }.write(&mut body);
    let mut page = KeyPageMut::of(&mut body).unwrap();
    let error = page.remove(0..1).unwrap_err();
    assert!(error.contains("24 of 18 bytes of its heap would be dead"), "{error}");
    assert_eq!(page.read().used(), PREFIX_AT + 16, "the refusal changed the page");
}

fn children_of(writer: &mut PageWriter<'_>, page: PageId) -> Vec<PageId> {
    let page = key_page(writer, page).unwrap();
    (0..page.len()).map(|at| page.child(at).unwrap()).collect()
}

/// Damages the set in a write that is dropped, and returns the page and the violation that `check`
/// finds.
fn found(store: &TestSet, damage: impl FnOnce(&mut PageWriter<'_>)) -> (PageId, String) {
    let mut writer = store.buffer.write();
    damage(&mut writer);
    match store.set.check(&mut writer, |_| Ok(())) {
        Err(WalkStop::Damaged(page, what)) => (page, what),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_violation_of_an_invariant_is_found() {
    let store = filled();
    let (root, child) = (store.set.root(), children_of(&mut store.buffer.write(), store.set.root())[0]);
    let (page, what) = found(&store, |writer| {
        change_keys(writer, root, |page| page.add(0, 1)).unwrap();
    });
    assert!(page == child && what.contains("but the page above it expects level"), "{what}");
    let (page, what) = found(&store, |writer| {
        change_keys(writer, child, |page| page.remove(1..2)).unwrap();
    });
    assert!(page == child && what.contains("but the page above it expects level"), "{what}");
    let (_, what) = found(&store, |writer| {
        let page = key_page(writer, child).unwrap();
        let (mut all, first) = (KeyEntries::of(&page).unwrap(), page.counted_child(0).unwrap());
        all.insert(2, &StoredKey { inline: b"zzz"[..].into(), chain: None }, first);
        write_entries(writer, child, &all, 0..3).unwrap();
        let count = key_page(writer, child).unwrap().total();
        change_keys(writer, root, |page| page.set_count(0, count)).unwrap();
    });
    assert!(what.contains("is not in order, or outside of the separators"), "{what}");
    let (_, what) = found(&store, |writer| {
        let next = children_of(writer, child);
        writer.page_mut(next[1]).unwrap().reset(next[1], DiskPageKind::Keys);
    });
    assert!(what.contains("it has no keys"), "{what}");
}

/// Two pointers lead to each page of the next level, so there are 2^16 paths to the last one.
#[test]
fn a_page_with_two_owners_is_found() {
    const LEVELS: u8 = 16;
    let store = TestSet::new(64);
    let mut writer = store.buffer.write();
    let stored = |key| StoredKey { inline: [key][..].to_vec().into(), chain: None };
    let mut below = CountedChild { page: writer.make(DiskPageKind::Keys).unwrap(), count: 1 };
    change_keys(&mut writer, below.page, |leaf| leaf.insert(0, &stored(1), CountedChild::NONE)).unwrap();
    for level in 1..=LEVELS {
        let root = store.set.root();
        let page = if level == LEVELS { root } else { writer.make(DiskPageKind::Keys).unwrap() };
        let mut content = KeyPageMut::clear(writer.page_mut(page).unwrap().body_mut(), level, b"");
        content.insert_first_child(below).unwrap();
        assert!(content.insert(1, &stored(9), below).unwrap());
        below = CountedChild { page, count: (2 * below.count).min(60_000) };
    }
    writer.publish().unwrap();
    let has_two_owners = |error: crate::Result<()>| {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("two pointers lead to it"), "{error}");
    };
    has_two_owners(store.walk(0, WalkDirection::Forward, usize::MAX).map(drop));
    has_two_owners(store.walk(u64::MAX, WalkDirection::Backward, usize::MAX).map(drop));
    assert!(store.read(|set, pages| set.check(pages, |_| Ok(()))).is_err());
    let mut writer = store.buffer.write();
    let removed = std::iter::repeat_with(|| store.set.remove(&mut writer, &[1]));
    let error = removed.take(1_000).find_map(Result::err).expect("a damaged page").to_string();
    assert!(error.contains("is damaged"), "{error}");
}

/// A pointer to a page that does not exist.
#[test]
fn a_pointer_to_a_free_page_is_damage() {
    let store = filled();
    let mut writer = store.buffer.write();
    for page in children_of(&mut writer, store.set.root()) {
        writer.free(page);
    }
    writer.publish().unwrap();
    let missing = |error: crate::Result<()>| {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("there is no such page"), "{error}");
    };
    missing(store.contains(b"key").map(drop));
    missing(store.read(|set, pages| set.check(pages, |_| Ok(()))).map(drop));
    missing(store.walk(0, WalkDirection::Forward, 1).map(drop));
    missing(store.insert(b"key").map(drop));
    missing(store.remove(b"key").map(drop));
}
