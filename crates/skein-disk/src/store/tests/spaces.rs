//! Key spaces: their keys, their creation and their replay.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

use skein_log::Durability;
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::{FOLDER, SHAPES, contents, open_options};
use crate::store::log_record::{self, LoggedWrite};
use crate::store::{DiskOptions, DiskStore, inspect};
use crate::trie::{ScanRequest, TrieShape};
use crate::{DiskError, KeySpace, Result, Values};

pub(super) fn open(storage: &SimStorage, shape: TrieShape, values: Values) -> Result<DiskStore> {
    let options = DiskOptions { values, ..open_options(shape, Durability::Sync) };
    DiskStore::open_on(storage.share(), FOLDER, options)
}

pub(super) fn key(number: usize) -> Vec<u8> {
    format!("goose {}", number * 37 % 101).into_bytes()
}

pub(super) fn set_in(store: &DiskStore, space: KeySpace, key: &[u8], value: &[u8]) -> Result<u64> {
    store.write(|transaction| transaction.set_in(space, key, value))
}

pub(super) fn get_in(store: &DiskStore, space: KeySpace, key: &[u8]) -> Option<Vec<u8>> {
    store.space(space).unwrap().get(key).unwrap()
}

/// Cuts the power now.
pub(super) fn crash(storage: &SimStorage, store: DiskStore, seed: u64) {
    storage.cut_power_at(storage.operations() + 1);
    drop(store);
    storage.reboot(seed);
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
        let lower = Bound::Excluded(&sorted[10][..]);
        let request = ScanRequest { lower, keys: 7, values: false, ..ScanRequest::default() };
        let ranges = [members.range(&request), store.begin().range_in(KeySpace::Members, &request)];
        for found in ranges {
            let found: Vec<_> = found.unwrap().entries.into_iter().map(|entry| entry.key).collect();
            assert_eq!(found, sorted[11..18], "{shape}");
        }
        let census = store.check().unwrap();
        assert_eq!((census.main.keys, census.members.unwrap().keys), (60, 70), "{shape}");
        store.close().unwrap();
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

/// A snapshot sees all spaces at one moment: a member always has the version after its key's.
#[test]
fn a_snapshot_sees_both_spaces_at_one_moment() {
    let store = open(&SimStorage::new(), TrieShape::Hash { n: 16 }, Values::Rows).unwrap();
    let set_both = |number: usize| {
        let done: Result<u64> = store.write(|transaction| {
            transaction.set(b"goose", &vec![number as u8; number % 3 * 3_000])?;
            transaction.set_in(KeySpace::Members, b"goose", &vec![number as u8; number % 5 * 2_000])
        });
        done.unwrap();
    };
    set_both(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut key, mut member) = (Vec::new(), Vec::new());
                while !done.load(Ordering::Relaxed) {
                    let moment = store.snapshot().unwrap();
                    let of_key = moment.get_in(KeySpace::Main, b"goose", &mut key).unwrap();
                    let of_member = moment.get_in(KeySpace::Members, b"goose", &mut member).unwrap();
                    assert_eq!(of_member, of_key.map(|version| version + 1));
                    assert!(key.iter().chain(&member).all(|byte| *byte == *key.first().unwrap_or(byte)));
                }
            });
        }
        (1..2_000).for_each(set_both);
        done.store(true, Ordering::Relaxed);
    });
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
