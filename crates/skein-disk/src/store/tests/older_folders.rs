//! Folders that older programs made: they have only the trie `main`.

use std::path::Path;

use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

use super::spaces::{crash, get_in, key, open, set_in};
use super::{FOLDER, SHAPES};
use crate::page::{PAGE, PagePlace, u32_at};
use crate::page_buf::PageBuf;
use crate::page_file::FileFormat;
use crate::store::{DiskStore, FILE, inspect};
use crate::trie::TrieShape;
use crate::{DiskError, KeySpace, TrieKind, Values, kind_of};

pub(super) const NEWEST: u32 = FileFormat::NEWEST as u32;

/// Returns the format versions of both headers.
pub(super) fn formats(storage: &SimStorage) -> [u32; 2] {
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
    page.seal(PagePlace((start / PAGE) as u32));
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
        assert_eq!(formats(&storage), [NEWEST; 2], "before the first write");
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
            assert_eq!(formats(&storage), [NEWEST; 2], "{about}");
            assert_has_older_keys(&store, &about);
            set_in(&store, KeySpace::Members, b"new", b"member").unwrap();
            let census = store.check().unwrap();
            assert_eq!(census.members.unwrap().keys, 1, "{about}");
        }
    }
}

/// Writes another format version of 3 or more into both headers, and the checksum that covers it.
pub(super) fn forge_format(storage: &SimStorage, format: u32) {
    let file = storage.open(&Path::new(FOLDER).join(FILE), true).unwrap();
    for header in [0, PAGE as u64] {
        let mut page = [0; PAGE];
        assert_eq!(file.read_at(&mut page, header).unwrap(), PAGE);
        let format = format.to_le_bytes();
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&format), &page[16..]).to_le_bytes();
        file.write_at(&[format, checksum].concat(), header + 8).unwrap();
    }
    file.sync_data().unwrap();
}

/// A file of rows from before there were sets, lists or streams has all spaces. It is opened with its
/// contents and with the rest of its log, and then has the newest version before the first write.
#[test]
fn a_file_from_before_sets_lists_or_streams_gets_the_newest_version() {
    for (shape, older) in SHAPES.into_iter().zip((3..NEWEST).cycle()) {
        let storage = SimStorage::new();
        let store = open(&storage, shape, Values::Rows).unwrap();
        for number in 0..IN_FILE + IN_LOG {
            store.set(&key(number), &[number as u8; 50]).unwrap();
            if number + 1 == IN_FILE {
                store.checkpoint().unwrap();
            }
        }
        crash(&storage, store, 1);
        forge_format(&storage, older);
        let store = open(&storage, shape, Values::Rows).unwrap();
        assert_eq!(formats(&storage), [NEWEST; 2], "before the first write");
        assert_has_older_keys(&store, "opened");
        crash(&storage, store, 2);
        forge_format(&storage, NEWEST + 1);
        let unknown = open(&storage, shape, Values::Rows).unwrap_err();
        let text = unknown.to_string();
        let DiskError::UnknownFormat { found, oldest: 2, known, .. } = unknown else { panic!("{text}") };
        assert_eq!((found, known), (NEWEST + 1, NEWEST), "{text}");
    }
}
