//! The format version of the file, and files that lack a key space.

use std::path::Path;

use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::spaces::{crash, key, open};
use super::{FOLDER, SHAPES};
use crate::page::{PAGE, PagePlace};
use crate::page_buf::PageBuf;
use crate::page_file::{FORMAT_VERSION, forge_format};
use crate::store::{FILE, inspect};
use crate::{DiskError, Values};

/// Files of other versions are refused by this error, and are not touched. The numbers from 3 to 9
/// were those of builds before the first release.
#[test]
fn other_versions_are_refused_and_not_touched() {
    for (shape, values) in SHAPES.into_iter().zip([Values::Bytes, Values::Rows].into_iter().cycle()) {
        let storage = SimStorage::new();
        let store = open(&storage, shape, values).unwrap();
        (0..30).for_each(|number| _ = store.set(&key(number), &[number as u8; 50]).unwrap());
        crash(&storage, store, 1);
        let path = Path::new(FOLDER).join(FILE);
        for other in [0, 1, 2, 3, FORMAT_VERSION - 1, FORMAT_VERSION + 1, u32::MAX] {
            forge_format(&storage, &path, other);
            let before = storage.contents(&path);
            let opened = open(&storage, shape, values).unwrap_err();
            let seen = inspect(FOLDER, &storage).unwrap_err();
            for error in [opened, seen] {
                let text = error.to_string();
                let says = format!(
                    "has format version {other}, and this program reads version {FORMAT_VERSION} alone"
                );
                assert!(text.contains(&says), "{text}");
                let DiskError::UnknownFormat { found, known, .. } = error else { panic!("{text}") };
                assert_eq!((found, known), (other, FORMAT_VERSION));
            }
            assert!(storage.contents(&path) == before, "version {other}");
        }
        forge_format(&storage, &path, FORMAT_VERSION);
        assert_eq!(open(&storage, shape, values).unwrap().len(), 30);
    }
}

/// Changes the kind of values in the catalog. A store of plain bytes has no space but `main`.
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

/// A file has all spaces from its first checkpoint on, so a missing one is damage. Making it anew
/// would lose its keys, and a record of the log could name it before the file has it.
#[test]
fn a_file_without_a_space_is_damaged() {
    for shape in SHAPES {
        let storage = SimStorage::new();
        let store = open(&storage, shape, Values::Bytes).unwrap();
        store.set(b"goose", b"honks").unwrap();
        store.close().unwrap();
        forge_values(&storage, Values::Rows);
        let before = storage.contents(&Path::new(FOLDER).join(FILE));
        let error = open(&storage, shape, Values::Rows).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, DiskError::Damaged { .. }), "{text}");
        assert!(text.contains("the catalog has no `members`"), "{text}");
        assert!(storage.contents(&Path::new(FOLDER).join(FILE)) == before, "{shape}");
    }
}
