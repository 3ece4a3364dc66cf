//! Contents longer than a row, a record or a limit allows are rejected by every function, and
//! nothing is written.

use crate::common::{open, options};
use skein_store::{
    Durability, Error, IndexKind, Row, RowAllocator, RowChange, RowWriter as _, Store, StoreOptions,
    VALUE_BYTES_MAX,
};

/// Incident: writes that make their row before they know whether it is needed panicked on a value
/// longer than any row. So did a closure of [`Writer::update`](skein_store::RowWriter::update).
#[test]
fn values_over_the_row_limit_are_refused_by_all_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    // Untouched pages: they use no memory, and the test must not read them.
    let huge = vec![0; 1 << 30];
    let too_long = |answer: Result<bool, Error>| {
        assert!(matches!(answer, Err(Error::ValueTooLong { limit: VALUE_BYTES_MAX, .. })), "{answer:?}");
    };
    too_long(store.put(b"k", &huge).map(|_| true));
    too_long(store.put_if_absent(b"k", &huge));
    too_long(store.compare_and_swap(b"k", 0, &huge).map(|done| done.is_ok()));
    too_long(store.compare_value_and_swap(b"k", None, &huge));
    too_long(store.put_columns(b"k", &[(b"c", &huge)]).map(|_| true));
    let update = |make: fn(&RowAllocator, &[u8]) -> Result<Option<Row>, Error>| {
        let mut session = store.session();
        let written = session.write(|writer| {
            writer.update::<Error>(b"k", |_, rows| {
                Ok(make(rows, &huge)?.map_or(RowChange::Keep, RowChange::Put))
            })
        });
        written.unwrap().0.map(|done| done.changed)
    };
    too_long(update(|rows, huge| rows.value(&[b"a", huge]).map(Some)));
    too_long(update(|rows, huge| rows.columns(&[(b"a", huge)])));
    too_long(update(|rows, huge| rows.merged(None, &[(b"a", b""), (b"b", huge)], &[])));
    assert!(store.is_empty());
}

/// Incident: the log record of a removal of columns had all given names, present or not. If it was
/// longer than records may be, the write panicked, after the columns were removed.
#[test]
fn absent_names_are_not_logged() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Sync);
    let names: Vec<String> = (0..1000).map(|i| format!("{i:030}")).collect();
    let columns: Vec<(&[u8], &[u8])> = names.iter().map(|name| (name.as_bytes(), &b"value"[..])).collect();
    store.put_columns(b"row", &columns).unwrap();
    let huge = vec![0; 1 << 30];
    assert_eq!(store.remove_columns(b"row", &[&huge, names[7].as_bytes(), &huge]).unwrap(), 1);
    store.close().unwrap();
    assert_eq!(open(folder.path(), Durability::Sync).get_columns(b"row", None).unwrap().len(), 999);
}

/// An index for short keys has its own limit, below that of the options: a longer key is rejected
/// and absent, and all else works.
#[test]
fn an_index_for_short_keys_says_its_own_limit() {
    let folder = tempfile::tempdir().unwrap();
    let short = || StoreOptions { index: IndexKind::Mlp, ..options(Durability::Sync) };
    let store = Store::open(folder.path(), short()).unwrap();
    let refused = store.put(b"nine byte", b"value").unwrap_err();
    assert!(matches!(refused, Error::KeyTooLong { len: 9, limit: 8 }), "{refused:?}");
    let refused = store.put_columns(b"nine byte", &[(b"column", b"value")]).unwrap_err();
    assert!(matches!(refused, Error::KeyTooLong { len: 9, limit: 8 }), "{refused:?}");
    assert!(store.get(b"nine byte").unwrap().is_none() && store.is_empty());
    for key in 0..500_u64 {
        store.put(&key.to_be_bytes(), b"value").unwrap();
    }
    store.put(b"", b"the empty key").unwrap();
    store.close().unwrap();
    let store = Store::open(folder.path(), short()).unwrap();
    assert_eq!(store.len(), 501);
    store.put(b"", b"again").unwrap();
    store.close().unwrap();
    // Any other index accepts its keys.
    assert_eq!(open(folder.path(), Durability::Sync).len(), 501);
}

/// Incident: over an index for short keys, a checkpoint with a longer key was reported as damaged:
/// "a block holds what is not a row". Consequence: the advice was to restore the file from a copy.
/// Fix: the error names the key that the index does not allow.
#[test]
fn a_checkpoint_with_long_keys_names_the_key_over_mlp() {
    let folder = tempfile::tempdir().unwrap();
    let over = |index| StoreOptions { index, ..options(Durability::None) };
    let store = Store::open(folder.path(), over(IndexKind::Masstree)).unwrap();
    store.put(b"nine byte", b"value").unwrap();
    store.close().unwrap();
    let refused = Store::open(folder.path(), over(IndexKind::Mlp)).unwrap_err().to_string();
    assert!(
        refused.contains("a key of 9 bytes, and the index mlp takes keys of up to 8; open it with another"),
        "{refused}"
    );
    assert_eq!(Store::open(folder.path(), over(IndexKind::Masstree)).unwrap().len(), 1);
}
