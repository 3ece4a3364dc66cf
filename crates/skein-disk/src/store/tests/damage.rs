//! Damaged pages, lost pages and pages of two owners: each is named, and other keys are readable.

use std::path::Path;

use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::spaces::{open as open_as, set_in};
use super::{FOLDER, open};
use crate::page::{DiskPageKind, PAGE};
use crate::record::{change, records};
use crate::store::{DiskStore, FILE, inspect};
use crate::trie::TrieShape;
use crate::{DiskError, KeySpace, Values};

#[test]
fn a_damaged_page_is_named_and_other_keys_are_readable() {
    let storage = SimStorage::new();
    let store = open(&storage).unwrap();
    for number in 0..2_000_u32 {
        store.set(format!("{number:04}").as_bytes(), &[1; 30]).unwrap();
    }
    store.close().unwrap();
    let path = Path::new(FOLDER).join(FILE);
    let store = open(&storage).unwrap();
    let pages = store.check().unwrap().main.pages;
    assert!(pages > 20, "{pages}");
    drop(store);
    storage.damage(&path, 30 * 4096 + 100, &[0x40]);
    let store = open(&storage).unwrap();
    let (mut found, mut lost) = (0, 0);
    for number in 0..2_000_u32 {
        match store.get(format!("{number:04}").as_bytes()) {
            Ok(value) => {
                assert_eq!(value, Some(vec![1; 30]));
                found += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("its checksum is"), "{error}");
                lost += 1;
            }
        }
    }
    assert!(found > 1_000 && lost > 0, "{found} and {lost}");
    assert!(matches!(store.check(), Err(DiskError::Damaged { .. })));
}

/// Returns the messages of a check of the store and of an inspection of its file. `damage` changes
/// pages.
fn damage_found(damage: impl Fn(&DiskStore)) -> [String; 2] {
    let storage = SimStorage::new();
    let reopen = || open_as(&storage, TrieShape::Linked, Values::Rows).unwrap();
    let store = reopen();
    set_in(&store, KeySpace::Members, b"goose", &[1; 9_000]).unwrap();
    store.set(b"goose", &[2; 9_000]).unwrap();
    assert!(store.check().is_ok());
    damage(&store);
    store.close().unwrap();
    let seen = inspect(FOLDER, &storage).unwrap();
    assert_eq!(seen.damage.len(), 1, "{:?}", seen.damage);
    [reopen().check().unwrap_err().to_string(), seen.damage[0].to_string()]
}

#[test]
fn a_page_without_an_owner_or_with_two_is_found() {
    let lost = damage_found(|store| {
        let mut writer = store.shared.buffer.write();
        writer.make(DiskPageKind::Records).unwrap();
        writer.publish().unwrap();
    });
    assert!(lost.iter().all(|text| text.contains("it is in use, but no pointer leads to it")), "{lost:?}");
    let twice = damage_found(|store| {
        // The root of `members` becomes that of `main`.
        let mut writer = store.shared.buffer.write();
        let catalog = store.shared.catalog;
        let entry = |writer: &mut _, slot| records(writer, catalog).unwrap().get(slot).unwrap().to_vec();
        let (main, mut members) = (entry(&mut writer, 1), entry(&mut writer, 2));
        members[20..28].copy_from_slice(&main[20..28]);
        change(&mut writer, catalog, |records| records.replace(2, &members)).unwrap();
        writer.publish().unwrap();
    });
    let says = "it belongs to the trie `main`, and again to the trie `members`";
    assert!(twice.iter().all(|text| text.contains(says)), "{twice:?}");
}

/// Damage of a page of members is named, and the keys of the main space are read all the same.
#[test]
fn a_damaged_page_of_members_leaves_the_main_space_readable() {
    let storage = SimStorage::new();
    let store = open_as(&storage, TrieShape::Hash { n: 16 }, Values::Rows).unwrap();
    store.set(b"goose", b"honks").unwrap();
    set_in(&store, KeySpace::Members, b"goose", &[0xA5; 3_000]).unwrap();
    store.close().unwrap();
    let path = Path::new(FOLDER).join(FILE);
    let at = storage.contents(&path).windows(64).position(|bytes| bytes == [0xA5; 64]).unwrap();
    storage.damage(&path, at as u64, &[1]);
    let store = open_as(&storage, TrieShape::Hash { n: 16 }, Values::Rows).unwrap();
    assert_eq!(store.get(b"goose").unwrap(), Some(b"honks".to_vec()));
    let errors = [
        store.space(KeySpace::Members).unwrap().get(b"goose").map(drop).unwrap_err(),
        store.check().unwrap_err(),
        inspect(FOLDER, &storage).unwrap().damage[0].clone(),
    ];
    for error in errors {
        let offset = (at / PAGE * PAGE) as u64;
        assert!(matches!(error, DiskError::Damaged { offset: is, .. } if is == offset), "{error}");
    }
}

/// Incident: two pages of a file were exchanged that were versions of one page, and both had that
/// page's id and a correct checksum. Consequence: the store opened and answered with values from
/// before the last checkpoint. Fix: a page names the place where it was written.
#[test]
fn an_older_version_of_a_page_at_another_place_is_damage() {
    let storage = SimStorage::new();
    let path = Path::new(FOLDER).join(FILE);
    let of_value = |byte| {
        let file = storage.contents(&path);
        let at = file.windows(64).position(|bytes| bytes == [byte; 64]).unwrap() / PAGE * PAGE;
        (at, file[at..at + PAGE].to_vec())
    };
    for value in [[0xA5; 200], [0x5A; 200]] {
        let store = open(&storage).unwrap();
        store.set(b"goose", &value).unwrap();
        store.close().unwrap();
    }
    let ((_, old), (at, _)) = (of_value(0xA5), of_value(0x5A));
    let file = storage.open(&path, true).unwrap();
    file.write_at(&old, at as u64).unwrap();
    file.sync_data().unwrap();
    let read = open(&storage).unwrap().get(b"goose");
    let error = read.expect_err("the older version was taken for the newest one");
    assert!(matches!(error, DiskError::Damaged { offset, .. } if offset == at as u64), "{error}");
    let seen = inspect(FOLDER, &storage).unwrap();
    assert!(seen.damage.iter().any(|found| found.to_string() == error.to_string()), "{:?}", seen.damage);
}
