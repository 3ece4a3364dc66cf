//! Faults of the medium and wrong uses, through the store: the error names value, limit and way
//! out, and the file stays unchanged.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use skein_disk::{
    DiskError, DiskOptions, DiskStore, Durability, KeySpace, PAGE, Result, TrieKind, TrieShape, Values,
    inspect, kind_of,
};
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

const FILE: &str = "/db/data.skein";

fn options() -> DiskOptions {
    DiskOptions {
        durability: Durability::Sync,
        cache_pages: 16,
        checkpoint_bytes: 0,
        segment_bytes: 64 << 10,
        ..DiskOptions::default()
    }
}

fn open(storage: &SimStorage) -> Result<DiskStore> {
    DiskStore::open_on(storage.share(), "/db", options())
}

fn key(number: u32) -> Vec<u8> {
    format!("n_view_{}", number * 7 % 100).into_bytes()
}

type FaultTestModel = BTreeMap<Vec<u8>, Vec<u8>>;

/// Sets keys to this round's values. Acknowledged writes enter the model.
fn set_some(store: &DiskStore, model: &mut FaultTestModel, round: u8) {
    for number in 0..100 {
        let value = vec![round; 900];
        store.set(&key(number), &value).unwrap();
        model.insert(key(number), value);
    }
}

fn assert_has(store: &DiskStore, model: &FaultTestModel, about: &str) {
    for (key, value) in model {
        assert_eq!(store.get(key).unwrap().as_ref(), Some(value), "{about}");
    }
}

/// Incident: a sync of a header failed, or the process died before it. The store was opened again
/// and used the header that the system still had in memory. Consequence: places that only the
/// previous header led to were overwritten. Then the power was cut, and the disk had the previous
/// header without its pages: acknowledged writes were lost and the file was damaged. Fix: the state
/// that opening accepts is made durable before anything else is written.
#[test]
fn an_undurable_header_is_synced_before_old_places_are_reused() {
    for at in 1..60 {
        let storage = SimStorage::new();
        let mut model = FaultTestModel::new();
        let store = open(&storage).unwrap();
        set_some(&store, &mut model, 1);
        store.checkpoint().unwrap();
        set_some(&store, &mut model, 2);
        storage.fail_at(storage.operations() + at, SimError::Io, true);
        _ = store.checkpoint();
        drop(store);
        storage.no_faults();
        let store = open(&storage).unwrap();
        set_some(&store, &mut model, 3);
        set_some(&store, &mut model, 4);
        for seed in 0..3 {
            storage.reboot(at + 100 * seed);
            let about = format!("failed at {at}, rebooted with {seed}");
            let store = open(&storage).unwrap_or_else(|error| panic!("{about}: {error}"));
            assert_has(&store, &model, &about);
            store.check().unwrap();
        }
        drop(store);
    }
}

/// Returns a closed store with nodes in many pages and a long value.
fn closed(shape: TrieShape) -> (SimStorage, FaultTestModel) {
    closed_as(shape, Values::Bytes)
}

/// As `closed`; a store of rows has members, too.
fn closed_as(shape: TrieShape, values: Values) -> (SimStorage, FaultTestModel) {
    let storage = SimStorage::new();
    let store =
        DiskStore::open_on(storage.share(), "/db", DiskOptions { shape, values, ..options() }).unwrap();
    for number in (0..200_u32).filter(|_| values == Values::Rows) {
        let (member, value) = (number.to_string().into_bytes(), vec![number as u8; number as usize * 9]);
        store.write(|transaction| transaction.set_in(KeySpace::Members, &member, &value)).unwrap();
    }
    let mut model = FaultTestModel::new();
    for number in 0..150_u32 {
        let (key, value) = (format!("goose {number}").into_bytes(), number.to_string().into_bytes());
        store.set(&key, &value).unwrap();
        model.insert(key, value);
    }
    if shape == TrieShape::Linked {
        store.set(b"long", &vec![7; 30_000]).unwrap();
        model.insert(b"long".to_vec(), vec![7; 30_000]);
    }
    store.close().unwrap();
    (storage, model)
}

/// Flips one bit in every page of the file, one after the other. `inspect` must name the page, or
/// the page is free and nothing is missing.
#[test]
fn a_flipped_bit_in_any_page_is_found_and_named() {
    let stores = [TrieShape::Linked, TrieShape::Hash { n: 16 }, TrieShape::FixedLinked { k: 12 }];
    let stores = stores.map(|shape| (shape, Values::Bytes));
    for (shape, values) in stores.into_iter().chain([(TrieShape::Hash { n: 16 }, Values::Rows)]) {
        let (storage, model) = closed_as(shape, values);
        let path = Path::new(FILE);
        let sound = storage.contents(path);
        let (mut named, mut free) = (0, 0);
        for page in 0..sound.len() / PAGE {
            let at = page * PAGE + (page * 1_237 + 20) % PAGE;
            storage.damage(path, at as u64, &[4]);
            let found = inspect("/db", &storage).unwrap();
            let offset = (page * PAGE) as u64;
            let names =
                |error: &DiskError| matches!(error, DiskError::Damaged { offset: at, .. } if *at == offset);
            if found.damage.iter().any(names) {
                named += 1;
                assert_eq!(found.damage.len(), 1, "page {page}: {:?}", found.damage);
            } else {
                let is_header = page < 2;
                assert_eq!(found.unfinished_header, is_header.then_some(offset), "page {page}");
                // Without the newer header the file has its previous state, and the log has the
                // rest.
                if found.damage.is_empty() && (!is_header || is_older_header(&sound, page)) {
                    free += 1;
                    assert_eq!(found.tries[0].census.unwrap().keys, model.len(), "page {page}");
                }
            }
            assert_eq!(storage.contents(path).len(), sound.len());
            storage.damage(path, at as u64, &[4]);
        }
        assert!(storage.contents(path) == sound && named >= 5 && free > 0, "{named} and {free}");
        let found = inspect("/db", &storage).unwrap();
        assert_eq!(found.free_bytes, ((sound.len() / PAGE - 2 - named) * PAGE) as u64, "{shape}");
        assert!(found.damage.is_empty(), "{:?}", found.damage);
        let newer = u64::from(is_older_header(&sound, 0)) * PAGE as u64;
        storage.damage(path, newer + 100, &[4]);
        let options = DiskOptions { shape, values, ..options() };
        let store = DiskStore::open_on(storage.share(), "/db", options).unwrap();
        assert_has(&store, &model, "from the older header and the log");
    }
}

/// Returns whether a header is the one with the lesser generation.
fn is_older_header(file: &[u8], page: usize) -> bool {
    let generation = |page: usize| {
        file[page * PAGE + 16..][..8].iter().rev().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte))
    };
    generation(page) < generation(1 - page)
}

#[test]
fn a_full_disk_loses_nothing_and_the_store_continues() {
    let storage = SimStorage::new();
    let store = DiskStore::open_on(
        storage.share(),
        "/db",
        DiskOptions { durability: Durability::None, cache_pages: 32, ..options() },
    )
    .unwrap();
    let mut model = FaultTestModel::new();
    let mut reported = 0;
    // Values in pages of their own: after some hundred the file must grow.
    for number in 0..2_500_u32 {
        let (key, value) = (format!("goose {number}").into_bytes(), vec![number as u8; 3_000]);
        if number == 900 {
            storage.fail_at(storage.operations(), SimError::NoSpace, true);
        }
        if number == 1_000 {
            storage.no_faults();
        }
        match store.set(&key, &value) {
            Ok(_) => _ = model.insert(key, value),
            Err(DiskError::Io { kind, cause, .. }) => {
                assert_eq!(kind, std::io::ErrorKind::StorageFull, "{cause}");
                assert!((900..1_000).contains(&number), "{number}");
                reported += 1;
            }
            Err(error) => panic!("{number}: {error}"),
        }
    }
    assert!(reported > 50, "{reported}");
    assert!(model.len() > 2_300);
    assert_has(&store, &model, "with space again");
    store.close().unwrap();
    let found = inspect("/db", &storage).unwrap();
    assert!(found.damage.is_empty() && found.file_bytes > 2 * 1024 * PAGE as u64, "{found:?}");
    let store = open(&storage).unwrap();
    assert_has(&store, &model, "opened again");
    assert_eq!(store.check().unwrap().main.keys, model.len());
}

#[test]
fn foreign_folders_are_refused_unchanged() {
    let refused = |change: &dyn Fn(&SimStorage), shape: TrieShape, says: &str| {
        let (storage, _) = closed(TrieShape::Linked);
        change(&storage);
        let before = storage.contents(Path::new(FILE));
        let error =
            DiskStore::open_on(storage.share(), "/db", DiskOptions { shape, ..options() }).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(storage.contents(Path::new(FILE)) == before, "{says}");
        error
    };
    let becomes = |bytes: &'static [u8]| {
        move |storage: &SimStorage| {
            let file = storage.open(Path::new(FILE), true).unwrap();
            file.set_len(0).unwrap();
            file.write_at(bytes, 0).unwrap();
        }
    };
    refused(&becomes(b"dear diary"), TrieShape::Linked, "it has 10 bytes, fewer than its headers");
    refused(&becomes(&[b'x'; 10_000]), TrieShape::Linked, "its first bytes are not those of such a file");
    let shrunk = |storage: &SimStorage| {
        storage.open(Path::new(FILE), true).unwrap().set_len(4 * PAGE as u64).unwrap();
    };
    refused(&shrunk, TrieShape::Linked, "it was cut off");
    let newer = |storage: &SimStorage| {
        let file = storage.open(Path::new(FILE), true).unwrap();
        for header in [0, PAGE as u64] {
            let (mut page, format) = ([0; PAGE], 11u32.to_le_bytes());
            assert_eq!(file.read_at(&mut page, header).unwrap(), PAGE);
            let checksum = crc32c::crc32c_append(crc32c::crc32c(&format), &page[16..]).to_le_bytes();
            file.write_at(&[format, checksum].concat(), header + 8).unwrap();
        }
        file.sync_data().unwrap();
    };
    refused(&newer, TrieShape::Linked, "has format version 11, and this program reads version 10 alone");
    for shape in [TrieShape::Hash { n: 16 }, TrieShape::Classical { n: 16 }, TrieShape::FixedLinked { k: 12 }]
    {
        let error = refused(&|_| (), shape, "is a linked trie, but was opened as");
        assert!(error.to_string().contains(&shape.to_string()), "{error}");
    }
    let options = DiskOptions { shape: TrieShape::Classical { n: 12 }, ..options() };
    let error = DiskStore::open_on(SimStorage::new().share(), "/db", options).unwrap_err().to_string();
    assert!(error.contains("the option `n` cannot be 12"), "{error}");
    let missing = inspect("/nowhere", &SimStorage::new()).unwrap_err().to_string();
    assert!(missing.contains("name the data folder of a disk store"), "{missing}");
}

#[test]
fn refused_writes_leave_the_file_unchanged() {
    let (storage, mut model) = closed(TrieShape::Linked);
    let store = open(&storage).unwrap();
    for (key, value) in [(&b"text"[..], &b"honk"[..]), (b"most", b"9223372036854775807")] {
        store.set(key, value).unwrap();
        model.insert(key.to_vec(), value.to_vec());
    }
    store.checkpoint().unwrap();
    let (before, sequence) = (storage.contents(Path::new(FILE)), store.stats().sequence);
    let refused = |result: Result<()>, says: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    refused(store.inc(b"text", 1).map(|_| ()), "the value `honk` is not an integer from -2^63 to 2^63 - 1");
    refused(store.inc(b"most", 1).map(|_| ()), "the sum of 9223372036854775807 and 1 does not fit 64 bits");
    refused(store.set(&vec![1; 65_536], b"").map(|_| ()), "a key has 65536 bytes, and the limit is 65535");
    refused(store.cas(b"text", Some(1), b"").map(|_| ()), "and version 1 was expected");
    refused(store.cas(b"none", Some(1), b"").map(|_| ()), "the key has no value");
    assert!(storage.contents(Path::new(FILE)) == before);
    assert_has(&store, &model, "after refusals");
    assert!(store.stats().sequence <= sequence + 2, "a number is taken by a write that begins");
    store.close().unwrap();
    let store = open(&storage).unwrap();
    assert_has(&store, &model, "opened again");
    assert_eq!(store.check().unwrap().main.keys, model.len());
}

/// Writes bytes into the file, and a matching checksum in the same page. The checksum is at
/// `checksum` and covers these ranges of the page.
fn forge(storage: &SimStorage, at: usize, bytes: &[u8], checksum: usize, covered: &[Range<usize>]) {
    let file = storage.open(Path::new(FILE), true).unwrap();
    let page = at / PAGE * PAGE;
    file.write_at(bytes, at as u64).unwrap();
    let mut all = vec![0; PAGE];
    file.read_at(&mut all, page as u64).unwrap();
    let sum = covered.iter().fold(0, |sum, range| crc32c::crc32c_append(sum, &all[range.clone()]));
    file.write_at(&sum.to_le_bytes(), (page + checksum) as u64).unwrap();
    file.sync_data().unwrap();
}

#[test]
fn a_store_opened_with_other_values_is_refused() {
    for (values, other) in [(Values::Bytes, Values::Rows), (Values::Rows, Values::Bytes)] {
        let storage = SimStorage::new();
        let open = |values| DiskStore::open_on(storage.share(), "/db", DiskOptions { values, ..options() });
        let store = open(values).unwrap();
        store.set(b"goose", b"honks").unwrap();
        store.close().unwrap();
        let before = storage.contents(Path::new(FILE));
        let error = open(other).unwrap_err();
        assert!(
            matches!(error, DiskError::ValuesDiffer { has, asked, .. } if (has, asked) == (values, other))
        );
        let says = format!("the values of the trie `main` are {values}, but were opened as {other}; open");
        assert!(error.to_string().starts_with(&says), "{error}");
        assert!(storage.contents(Path::new(FILE)) == before, "a refusal changed the file");
        assert_eq!(inspect("/db", &storage).unwrap().tries[0].values, values);
        let kind = TrieKind { shape: TrieShape::Linked, values };
        assert_eq!(kind_of("/db", &storage).unwrap(), Some(kind));
        assert_eq!(open(values).unwrap().get(b"goose").unwrap(), Some(b"honks".to_vec()));
    }
}

#[test]
fn rows_in_an_integer_trie_and_unknown_values_are_refused() {
    let shape = TrieShape::FixedClassical { n: 16 };
    let rows = DiskOptions { values: Values::Rows, shape, ..options() };
    let storage = SimStorage::new();
    let error = DiskStore::open_on(storage.share(), "/db", rows).unwrap_err().to_string();
    assert!(error.starts_with("the option `values` cannot be rows of a server: a classical trie"), "{error}");
    assert_eq!(kind_of("/db", &storage).unwrap(), None, "nothing was made");

    let (storage, _) = closed(TrieShape::Linked);
    let name = storage.contents(Path::new(FILE)).windows(4).position(|bytes| bytes == b"main").unwrap();
    // Before the name: the kind of values, the secret of the hash, the pointer to the root.
    forge(&storage, name - 8 - 16 - 1, &[7], 0, std::slice::from_ref(&(4..PAGE)));
    let before = storage.contents(Path::new(FILE));
    let error = open(&storage).unwrap_err().to_string();
    assert!(error.contains("the kind of values 7 is unknown") && error.contains("is damaged"), "{error}");
    assert!(storage.contents(Path::new(FILE)) == before, "a refusal changed the file");
    let found = inspect("/db", &storage).unwrap();
    assert!(matches!(&found.damage[..], [DiskError::Damaged { .. }]), "{:?}", found.damage);
}

/// Incident: the header has the number of keys, and only `DiskStore::check` compared it with the
/// tries. Consequence: a file with a wrong number in its header, because of a bug, passed
/// `skein check`, and DBSIZE returned that number forever. Fix: `inspect` counts, too.
#[test]
fn a_wrong_key_count_in_the_header_is_found() {
    let (storage, model) = closed(TrieShape::Linked);
    let newer = PAGE * usize::from(is_older_header(&storage.contents(Path::new(FILE)), 0));
    assert!(inspect("/db", &storage).unwrap().damage.is_empty());
    let wrong = model.len() as u64 + 1;
    forge(&storage, newer + 64, &wrong.to_le_bytes(), 12, &[8..12, 16..PAGE]);
    let found = inspect("/db", &storage).unwrap();
    assert_eq!(found.tries[0].census.unwrap().keys, model.len());
    let [DiskError::Damaged { offset, what, .. }] = &found.damage[..] else { panic!("{:?}", found.damage) };
    assert_eq!(*offset, newer as u64);
    assert_eq!(*what, format!("the header counts {wrong} keys, but the trie `main` has {}", model.len()));
}

#[test]
fn a_memory_engine_folder_is_refused_unchanged() {
    let storage = SimStorage::new();
    storage.create_dir_all(Path::new("/db")).unwrap();
    storage.create(Path::new("/db/identity")).unwrap();
    let error = open(&storage).unwrap_err();
    assert!(matches!(&error, DiskError::OtherEngine { path } if path == Path::new("/db")), "{error}");
    assert!(error.to_string().contains("of the engine in memory (it has a file `identity`)"), "{error}");
    let made: Vec<_> = storage.list(Path::new("/db")).unwrap().into_iter().map(|file| file.name).collect();
    assert!(made.iter().all(|name| name == "identity" || name == "lock"), "{made:?}");
}
