//! Keys that hold columns or sets, as a server or the store leaves them, beside values.

use skeindb::store::{Store, StoreOptions};
use skeindb::{Db, Entry, Error};

/// Opens a database with a value, then a hash, then a value.
fn with_a_hash(folder: &std::path::Path) -> skeindb::Result<Db> {
    let store = Store::open(folder, StoreOptions::default())?;
    store.put(b"a", b"1")?;
    store.put_columns(b"h", &[(b"size", b"40")])?;
    store.put(b"z", b"2")?;
    store.close()?;
    Db::open(folder)
}

fn is_wrong_kind<T>(read: skeindb::Result<T>) -> bool {
    read.is_err_and(|error| error.kind() == skeindb::ErrorKind::WrongKind)
}

#[test]
fn other_kinds_are_errors_of_their_own_row() -> skeindb::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let db = with_a_hash(folder.path())?;
    let rows = db.default_keyspace();
    assert!(is_wrong_kind(rows.get("h")) && rows.contains_key("h")?);
    assert_eq!(rows.entry("h")?, Some(Entry::Columns(vec![(b"size".to_vec(), b"40".to_vec())])));
    assert_eq!(rows.keys().count(), 3);
    let mut iter = rows.iter();
    assert!(iter.next().is_some_and(|row| row.is_ok()));
    assert!(iter.next().is_some_and(is_wrong_kind));
    iter.seek_back("h");
    assert!(iter.next_back().is_none(), "the front has yielded h");
    assert_eq!(rows.iter().flatten().count(), 2);
    assert!(is_wrong_kind(rows.update("h", |old| old.map(<[u8]>::to_vec))));
    rows.insert("h", "a value")?;
    assert_eq!(rows.iter().flatten().count(), 3);
    Ok(())
}

/// Incident: a transaction that overwrote a hash showed the hash's error beside its own row.
/// Consequence: one key twice, and out of order. Fix: rows without a value have their key, too.
#[test]
fn a_transaction_replaces_other_kinds() -> skeindb::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let db = with_a_hash(folder.path())?;
    let rows = db.default_keyspace();
    let mut tx = db.begin()?;
    tx.insert(&rows, "b", "3")?;
    let shown: Vec<_> = tx.iter(&rows).map(|row| row.map(|(key, _)| key).ok()).collect();
    assert_eq!(shown, [Some(b"a".to_vec()), Some(b"b".to_vec()), None, Some(b"z".to_vec())]);
    tx.insert(&rows, "h", "4")?;
    assert_eq!(tx.iter(&rows).rev().flatten().count(), 4);
    tx.commit()?;
    assert_eq!(rows.get("h")?.as_deref(), Some(&b"4"[..]));
    Ok(())
}

/// Incident: a read of a hash failed and was not noted. Consequence: its change was no conflict.
/// Fix: the version is noted before the value is looked at.
#[test]
fn a_read_of_another_kind_is_checked() -> skeindb::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let db = with_a_hash(folder.path())?;
    let rows = db.default_keyspace();
    let mut tx = db.begin()?;
    assert!(is_wrong_kind(tx.get(&rows, "h")));
    tx.insert(&rows, "seen", "a hash")?;
    rows.insert("h", "a value")?;
    assert!(matches!(tx.commit(), Err(Error::Conflict { .. })));
    Ok(())
}
