//! Key spaces: what each has, folders of older programs, replay and damage.

use std::ops::Bound;
use std::path::Path;

use skein_log::Durability;
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

use super::{FOLDER, SHAPES, contents, open_options};
use crate::page::{DiskPageKind, PAGE, PageId, u32_at};
use crate::page_buf::PageBuf;
use crate::record::{change, records};
use crate::store::log_record::{self, LoggedWrite};
use crate::store::{DiskOptions, DiskStore, FILE, inspect};
use crate::trie::{ScanRequest, TrieShape, WalkDirection};
use crate::{DiskError, KeySpace, Result, TrieKind, Values, kind_of};

fn open(storage: &SimStorage, shape: TrieShape, values: Values) -> Result<DiskStore> {
    let options = DiskOptions { values, ..open_options(shape, Durability::Sync) };
    DiskStore::open_on(storage.share(), FOLDER, options)
}

fn key(number: usize) -> Vec<u8> {
    format!("goose {}", number * 37 % 101).into_bytes()
}

fn set_in(store: &DiskStore, space: KeySpace, key: &[u8], value: &[u8]) -> Result<u64> {
    store.write(|transaction| transaction.set_in(space, key, value))
}

fn get_in(store: &DiskStore, space: KeySpace, key: &[u8]) -> Option<Vec<u8>> {
    store.space(space).unwrap().get(key).unwrap()
}

/// Cuts the power now.
fn crash(storage: &SimStorage, store: DiskStore, seed: u64) {
    storage.cut_power_at(storage.operations() + 1);
    drop(store);
    storage.reboot(seed);
}

/// Returns the format versions of both headers.
fn formats(storage: &SimStorage) -> [u32; 2] {
    let file = storage.contents(&Path::new(FOLDER).join(FILE));
    [0, PAGE].map(|header| u32_at(&file, header + 8))
}

/// Changes the kind of values in the catalog. A store of plain bytes has the layout that older
/// programs gave to a store of rows: the trie `main` alone.
fn forge_values(storage: &SimStorage, values: Values) {
    let path = Path::new(FOLDER).join(FILE);
    let bytes = storage.contents(&path);
    let name = bytes.windows(4).position(|bytes| bytes == b"main").unwrap();
    let start = name / PAGE * PAGE;
    let mut page = PageBuf::of_any_bytes();
    page.0.copy_from_slice(&bytes[start..start + PAGE]);
    // Before the name: the kind of values, the secret of the hash, the pointer to the root.
    page.0[name - start - 8 - 16 - 1] = values.number();
    page.seal();
    let file = storage.open(&path, true).unwrap();
    file.write_at(&page.0, start as u64).unwrap();
    file.sync_data().unwrap();
}

const IN_FILE: usize = 30;
const IN_LOG: usize = 30;

/// Makes a folder as an older program left it after a crash: with keys in the file and others in
/// the log.
fn older_folder(shape: TrieShape) -> SimStorage {
    let storage = SimStorage::new();
    let store = open(&storage, shape, Values::Bytes).unwrap();
    for number in 0..IN_FILE + IN_LOG {
        store.set(&key(number), &[number as u8; 50]).unwrap();
        if number + 1 == IN_FILE {
            store.checkpoint().unwrap();
        }
    }
    crash(&storage, store, 1);
    forge_values(&storage, Values::Rows);
    storage
}

fn assert_has_older_keys(store: &DiskStore, about: &str) {
    for number in 0..IN_FILE + IN_LOG {
        assert_eq!(store.get(&key(number)).unwrap(), Some(vec![number as u8; 50]), "{about}");
    }
    assert_eq!(store.len(), (IN_FILE + IN_LOG) as u64, "{about}");
}

#[test]
fn each_space_has_its_own_keys() {
    for shape in SHAPES {
        let storage = SimStorage::new();
        let store = open(&storage, shape, Values::Rows).unwrap();
        for number in 0..60 {
            store.set(&key(number), b"of main").unwrap();
        }
        for number in 30..100 {
            set_in(&store, KeySpace::Members, &key(number), &[number as u8; 90]).unwrap();
        }
        assert_eq!((store.len(), store.shape()), (60, shape));
        let members = store.space(KeySpace::Members).unwrap();
        let keys: Vec<_> = (0..100).map(key).collect();
        let wanted: Vec<_> = keys.iter().map(|key| &key[..]).collect();
        let (found, versions) =
            (members.get_many(&wanted, 1 << 20).unwrap(), members.versions(&wanted).unwrap());
        for (number, batch_version) in versions.into_iter().enumerate() {
            let expected = (number >= 30).then(|| vec![number as u8; 90]);
            assert_eq!(get_in(&store, KeySpace::Members, &key(number)), expected, "{shape}");
            assert_eq!(found.get(number).map(|found| found.1.to_vec()), expected, "{shape}");
            let version = members.get_entry(&key(number)).unwrap().map(|entry| entry.0);
            assert_eq!(batch_version, version, "{shape}");
            assert_eq!(store.get(&key(number)).unwrap().is_some(), number < 60, "{shape}");
        }
        // Members are in order, whatever the main trie's shape.
        let mut sorted: Vec<_> = (30..100).map(key).collect();
        sorted.sort();
        let mut cursor = members.cursor().unwrap();
        let all = std::iter::from_fn(|| cursor.next().unwrap().map(|entry| entry.key));
        assert_eq!(all.collect::<Vec<_>>(), sorted, "{shape}");
        let (lower, upper) = (Bound::Excluded(&sorted[10][..]), Bound::Unbounded);
        let direction = WalkDirection::Forward;
        let request = ScanRequest { lower, upper, direction, keys: 7, bytes: 1 << 20, values: false };
        let ranges = [members.range(&request), store.begin().range_in(KeySpace::Members, &request)];
        for found in ranges {
            let found: Vec<_> = found.unwrap().entries.into_iter().map(|entry| entry.key).collect();
            assert_eq!(found, sorted[11..18], "{shape}");
        }
        let census = store.check().unwrap();
        assert_eq!((census.main.keys, census.members.unwrap().keys), (60, 70), "{shape}");
        store.close().unwrap();
        assert_eq!(formats(&storage), [3, 3]);
        let tries = inspect(FOLDER, &storage).unwrap();
        assert!(tries.damage.is_empty(), "{:?}", tries.damage);
        let tries = tries.tries.into_iter().map(|trie| (trie.name, trie.shape, trie.census.unwrap().keys));
        let (main, members) = (("main".to_owned(), shape, 60), ("members".to_owned(), TrieShape::Linked, 70));
        assert_eq!(tries.collect::<Vec<_>>(), [main, members]);
    }
}

/// A transaction sees its own writes in both spaces; nobody else does. A drop undoes both.
#[test]
fn a_transaction_reads_and_drops_writes_of_both_spaces() {
    for shape in SHAPES {
        let store = open(&SimStorage::new(), shape, Values::Rows).unwrap();
        set_in(&store, KeySpace::Members, b"kept", b"1").unwrap();
        let before = (store.stats().sequence, store.check().unwrap());
        let mut transaction = store.begin();
        let version = transaction.set(b"kept", b"2").unwrap();
        assert_eq!(transaction.set_in(KeySpace::Members, b"new", &[3; 9_000]).unwrap(), version + 1);
        assert!(transaction.remove_in(KeySpace::Members, b"kept").unwrap());
        assert!(!transaction.remove_in(KeySpace::Members, b"kept").unwrap());
        let mut value = Vec::new();
        assert_eq!(transaction.get_in(KeySpace::Main, b"kept", &mut value).unwrap(), Some(version));
        assert_eq!(value, b"2");
        assert_eq!(transaction.get_in(KeySpace::Members, b"kept", &mut value).unwrap(), None);
        assert_eq!(transaction.get_in(KeySpace::Members, b"new", &mut value).unwrap(), Some(version + 1));
        assert_eq!((value.len(), transaction.keys(), store.len()), (9_000, 1, 0));
        assert_eq!(get_in(&store, KeySpace::Members, b"kept"), Some(b"1".to_vec()));
        drop(transaction);
        assert_eq!((store.stats().sequence, store.check().unwrap()), before, "{shape}");
    }
}

#[test]
fn members_are_removed_in_parts() {
    let store = open(&SimStorage::new(), TrieShape::Hash { n: 16 }, Values::Rows).unwrap();
    for number in 0..100 {
        set_in(&store, KeySpace::Members, format!("{number:02}").as_bytes(), b"").unwrap();
    }
    store.set(b"15", b"stays").unwrap();
    let (mut lower, upper, mut counts) =
        (Bound::Included(b"10".to_vec()), Bound::Excluded(&b"40"[..]), Vec::new());
    loop {
        let bounds = (lower.as_ref().map(Vec::as_slice), upper);
        let removed =
            store.write(|transaction| transaction.remove_range_in(KeySpace::Members, bounds, 13)).unwrap();
        counts.push(removed.count);
        match removed.rest {
            Some(rest) => lower = rest,
            None => break,
        }
    }
    assert_eq!(counts, [13, 13, 4]);
    let census = store.check().unwrap();
    assert_eq!((census.main.keys, census.members.unwrap().keys), (1, 70));
}

#[test]
fn a_store_of_plain_bytes_has_only_the_main_space() {
    let storage = SimStorage::new();
    let store = open(&storage, TrieShape::Linked, Values::Bytes).unwrap();
    let is_missing = |error: &DiskError| {
        let says =
            "the store has no key space `members`, because its values are plain bytes; create a store of";
        matches!(error, DiskError::NoSuchSpace { space: KeySpace::Members })
            && error.to_string().starts_with(says)
    };
    assert!(is_missing(&store.space(KeySpace::Members).unwrap_err()));
    let mut transaction = store.begin();
    let (members, mut value) = (KeySpace::Members, vec![7]);
    assert!(is_missing(&transaction.set_in(members, b"goose", b"").unwrap_err()));
    assert!(is_missing(&transaction.remove_in(members, b"goose").unwrap_err()));
    assert!(is_missing(&transaction.get_in(members, b"goose", &mut value).unwrap_err()));
    let all = (Bound::Unbounded, Bound::Unbounded);
    assert!(is_missing(&transaction.remove_range_in(members, all, 1).unwrap_err()));
    assert!(transaction.is_empty() && !transaction.is_broken());
    transaction.set(b"goose", b"honks").unwrap();
    transaction.commit().unwrap();
    assert_eq!(store.space(KeySpace::Main).unwrap().get(b"goose").unwrap(), Some(b"honks".to_vec()));
    assert_eq!(store.check().unwrap().members, None);
    store.close().unwrap();
    assert_eq!(formats(&storage), [2, 2], "older programs read the file");
}

/// An older folder has no trie `members`. Opening creates it, and then the file has the newer
/// format version, so that older programs refuse it.
#[test]
fn an_older_folder_gets_the_missing_space() {
    for shape in SHAPES {
        let storage = older_folder(shape);
        let seen = inspect(FOLDER, &storage).unwrap();
        assert!(seen.damage.is_empty() && seen.tries.len() == 1, "{seen:?}");
        assert_eq!(kind_of(FOLDER, &storage).unwrap(), Some(TrieKind { shape, values: Values::Rows }));
        assert_eq!(formats(&storage), [2, 2]);
        let store = open(&storage, shape, Values::Rows).unwrap();
        assert_eq!(formats(&storage), [3, 3], "before the first write");
        assert_eq!(store.stats().replayed, IN_LOG as u64);
        assert_has_older_keys(&store, "opened");
        set_in(&store, KeySpace::Members, b"new", b"member").unwrap();
        crash(&storage, store, 2);
        let store = open(&storage, shape, Values::Rows).unwrap();
        assert_eq!(store.stats().replayed, 1);
        assert_has_older_keys(&store, "opened again");
        assert_eq!(get_in(&store, KeySpace::Members, b"new"), Some(b"member".to_vec()));
        store.check().unwrap();
        let checkpoints = store.stats().checkpoints;
        assert_eq!(checkpoints, 0, "only the first opening changes the file");
    }
}

/// The power is cut, or an operation fails, at every moment of the first opening.
#[test]
fn the_first_opening_of_an_older_folder_may_fail_anywhere() {
    let shape = TrieShape::Hash { n: 16 };
    let storage = older_folder(shape);
    let begun = storage.operations();
    drop(open(&storage, shape, Values::Rows).unwrap());
    let operations = storage.operations() - begun;
    assert!(operations > 20, "{operations}");
    for fault in [None, Some(SimError::Io), Some(SimError::NoSpace)] {
        for at in 1..=operations {
            let about = format!("{fault:?} at {at} of {operations}");
            let storage = older_folder(shape);
            match fault {
                None => storage.cut_power_at(storage.operations() + at),
                Some(error) => storage.fail_at(storage.operations() + at, error, at % 2 == 0),
            }
            drop(open(&storage, shape, Values::Rows));
            storage.no_faults();
            storage.reboot(at);
            let seen = inspect(FOLDER, &storage).unwrap();
            assert!(seen.damage.is_empty(), "{about}: {:?}", seen.damage);
            let store = open(&storage, shape, Values::Rows).unwrap();
            assert_eq!(formats(&storage), [3, 3], "{about}");
            assert_has_older_keys(&store, &about);
            set_in(&store, KeySpace::Members, b"new", b"member").unwrap();
            let census = store.check().unwrap();
            assert_eq!(census.members.unwrap().keys, 1, "{about}");
        }
    }
}

/// Only a bug can log a write to a space that the file lacks. Replay must not ignore it.
#[test]
fn a_logged_write_to_a_missing_space_is_damage() {
    let storage = SimStorage::new();
    let store = open(&storage, TrieShape::Linked, Values::Bytes).unwrap();
    let last = store.set(b"goose", b"honks").unwrap();
    let mut record = Vec::new();
    let write = LoggedWrite { space: KeySpace::Members, key: b"goose", value: Some(b"honks") };
    log_record::append(&mut record, last + 1, &write);
    let operation = store.shared.log.enter(0).unwrap();
    operation.append(operation.epoch(), |out| out.extend_from_slice(&record));
    drop(operation);
    store.sync().unwrap();
    crash(&storage, store, 1);
    let mut errors = vec![open(&storage, TrieShape::Linked, Values::Bytes).unwrap_err().to_string()];
    errors.extend(inspect(FOLDER, &storage).unwrap().damage.iter().map(ToString::to_string));
    assert_eq!(errors.len(), 2, "{errors:?}");
    for error in errors {
        let says = "the record writes to the key space `members`, which the store does not have";
        assert!(error.contains(says) && error.contains("/db/log/"), "{error}");
    }
}

/// Returns the messages of a check of the store and of an inspection of its file. `damage` changes
/// pages.
fn damage_found(damage: impl Fn(&DiskStore)) -> [String; 2] {
    let storage = SimStorage::new();
    let reopen = || open(&storage, TrieShape::Linked, Values::Rows).unwrap();
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
        let catalog: PageId = store.shared.catalog;
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
    let store = open(&storage, TrieShape::Hash { n: 16 }, Values::Rows).unwrap();
    store.set(b"goose", b"honks").unwrap();
    set_in(&store, KeySpace::Members, b"goose", &[0xA5; 3_000]).unwrap();
    store.close().unwrap();
    let path = Path::new(FOLDER).join(FILE);
    let at = storage.contents(&path).windows(64).position(|bytes| bytes == [0xA5; 64]).unwrap();
    storage.damage(&path, at as u64, &[1]);
    let store = open(&storage, TrieShape::Hash { n: 16 }, Values::Rows).unwrap();
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

/// A store that ended in the middle of its creation has no space yet, and gets both.
#[test]
fn a_creation_may_end_anywhere() {
    let storage = SimStorage::new();
    drop(open(&storage, TrieShape::Linked, Values::Rows).unwrap());
    let operations = storage.operations();
    for cut in 1..=operations {
        let storage = SimStorage::new();
        storage.cut_power_at(cut);
        drop(open(&storage, TrieShape::Linked, Values::Rows));
        storage.reboot(cut);
        let store = open(&storage, TrieShape::Linked, Values::Rows).unwrap();
        set_in(&store, KeySpace::Members, b"goose", b"honks").unwrap();
        assert!(contents(&store).unwrap().is_empty());
        store.check().unwrap();
        store.close().unwrap();
        assert!(inspect(FOLDER, &storage).unwrap().damage.is_empty(), "cut at {cut}");
    }
}
