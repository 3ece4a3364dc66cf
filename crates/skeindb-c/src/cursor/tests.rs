//! Rows without a value, which no program in C can write: a server's, or one over the store.

use skeindb::Db;
use skeindb::store::{Store, StoreOptions};

use super::*;
use crate::memory;
use Status::{SKEIN_NOT_FOUND, SKEIN_OK, SKEIN_WRONG_KIND};

/// Enough for several reads ahead.
const ROWS: usize = 60;

fn key_of(cursor: &CursorHandle) -> Option<Vec<u8>> {
    match &lock(&cursor.0).place {
        Place::On(key, _) => Some(key.clone()),
        _ => None,
    }
}

/// Walks over all rows and checks each. Every third row has columns.
fn walk(db: &Db, source: Source, backward: bool) {
    let cursor = memory::give(CursorHandle::new(source, &db.default_keyspace()));
    // SAFETY: `give` has made it, and it is used once (invariant 5).
    let cursor = unsafe { Box::from_raw(cursor) };
    let step = if backward { skein_cursor_prev } else { skein_cursor_next };
    let mut numbers: Vec<usize> = (0..ROWS).collect();
    if backward {
        numbers.reverse();
    }
    for number in numbers {
        let expected = if number % 3 == 0 { SKEIN_WRONG_KIND } else { SKEIN_OK };
        assert_eq!(step(Some(&cursor)), expected, "row {number}");
        assert_eq!(key_of(&cursor), Some(format!("{number:03}").into_bytes()));
        assert_eq!(skein_cursor_value(Some(&cursor)).len, if number % 3 == 0 { 0 } else { 5 });
    }
    assert_eq!(step(Some(&cursor)), SKEIN_NOT_FOUND);
}

#[test]
fn rows_without_a_value_are_stepped_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path().join("store"), StoreOptions::default()).expect("a store");
    for number in 0..ROWS {
        let key = format!("{number:03}").into_bytes();
        if number % 3 == 0 {
            store.put_columns(&key, &[(b"species", b"goose")]).expect("a write");
        } else {
            store.put(&key, b"value").expect("a write");
        }
    }
    store.close().expect("a close");
    let db = Db::open(folder.path().join("store")).expect("the same folder");
    for backward in [false, true] {
        walk(&db, Source::Present, backward);
        walk(&db, Source::Snapshot(db.snapshot().expect("a snapshot")), backward);
        let transaction = SharedTxn::new(db.begin().expect("a transaction"));
        walk(&db, Source::Transaction(transaction), backward);
    }
}
