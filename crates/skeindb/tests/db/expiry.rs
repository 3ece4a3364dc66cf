//! When keys expire, at once and in a transaction: one rule.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use skeindb::{Batch, Db, Expiry, Keyspace, Transaction};

use crate::common::on_every_kind;

/// A time that is far away, in whole milliseconds.
const FAR: Duration = Duration::from_millis(4_102_444_800_123);

/// A write of both kinds, by a keyspace and by a transaction, to a key that holds "1".
type Write = (
    &'static str,
    fn(&Keyspace) -> skeindb::Result<()>,
    fn(&mut Transaction, &Keyspace) -> skeindb::Result<()>,
);

/// The writes that keep the time of a key.
const KEEPING: [Write; 5] = [
    (
        "increment",
        |rows| rows.increment("increment", 1).map(drop),
        |tx, rows| tx.increment(rows, "increment", 1).map(drop),
    ),
    (
        "update",
        |rows| rows.update("update", |_| Some("2")).map(drop),
        |tx, rows| tx.update(rows, "update", |_| Some("2")).map(drop),
    ),
    (
        "merge",
        |rows| rows.merge("merge", "2", |_, new| new.to_vec()).map(drop),
        |tx, rows| tx.merge(rows, "merge", "2", |_, new| new.to_vec()).map(drop),
    ),
    (
        "swap",
        |rows| rows.compare_and_swap("swap", Some(b"1"), Some(b"2")).map(drop),
        |tx, rows| tx.compare_and_swap(rows, "swap", Some(b"1"), Some(b"2")).map(drop),
    ),
    ("none", |_| Ok(()), |_, _| Ok(())),
];

/// Incident: a transaction's `increment` and `update` dropped the time that those of a keyspace
/// keep. Consequence: sessions and counters that a transaction touched never expired. Fix: one
/// rule.
#[test]
fn writes_that_change_a_value_keep_its_time() {
    on_every_kind(|db| {
        let (rows, far) = (db.keyspace("rows")?, UNIX_EPOCH + FAR);
        for in_transaction in [false, true] {
            for (name, at_once, by_transaction) in KEEPING {
                rows.insert_until(name, "1", far)?;
                if in_transaction {
                    db.transaction(|tx| {
                        assert_eq!(tx.expiry(&rows, name)?, Expiry::At(far));
                        by_transaction(tx, &rows)?;
                        by_transaction(tx, &rows)?;
                        assert_eq!(tx.expiry(&rows, name)?, Expiry::At(far), "{name} of the own write");
                        Ok(())
                    })?;
                } else {
                    at_once(&rows)?;
                }
                assert_eq!(rows.expiry(name)?, Expiry::At(far), "{name}, in a transaction: {in_transaction}");
                let expected = if name == "none" { "1" } else { "2" };
                let value = rows.get(name)?.expect("a value").to_vec();
                assert!(value == expected.as_bytes() || value == b"3", "{name}: {value:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn writes_of_a_whole_value_set_the_time() {
    on_every_kind(|db| {
        let (rows, far) = (db.keyspace("rows")?, UNIX_EPOCH + FAR);
        rows.insert_until("a", "1", far)?;
        rows.insert("a", "2")?;
        assert_eq!(rows.expiry("a")?, Expiry::Never);
        rows.insert_until("a", "1", far)?;
        let mut batch = Batch::new();
        batch.insert(&rows, "a", "2").insert_until(&rows, "b", "1", far);
        db.apply(batch)?;
        assert_eq!((rows.expiry("a")?, rows.expiry("b")?), (Expiry::Never, Expiry::At(far)));
        db.transaction(|tx| {
            tx.insert(&rows, "b", "2")?;
            tx.insert_until(&rows, "a", "3", far)?;
            assert_eq!((tx.expiry(&rows, "a")?, tx.expiry(&rows, "b")?), (Expiry::At(far), Expiry::Never));
            Ok(())
        })?;
        assert_eq!((rows.expiry("a")?, rows.expiry("b")?), (Expiry::At(far), Expiry::Never));
        // A key that was removed and is written again has no time.
        db.transaction(|tx| {
            tx.remove(&rows, "a")?;
            assert_eq!(tx.expiry(&rows, "a")?, Expiry::Absent);
            tx.increment(&rows, "a", 1)
        })?;
        assert_eq!(rows.expiry("a")?, Expiry::Never);
        Ok(())
    });
}

#[test]
fn times_are_set_removed_and_read_alone() {
    on_every_kind(|db| {
        let (rows, far) = (db.keyspace("rows")?, UNIX_EPOCH + FAR);
        let past = SystemTime::now() - Duration::from_secs(1);
        assert!(!rows.expire_at("a", far)? && !rows.persist("a")?);
        assert_eq!(rows.expiry("a")?, Expiry::Absent);
        rows.insert("a", "1")?;
        assert!(rows.expire_at("a", far)? && rows.expire_at("a", far)?);
        let snapshot = db.snapshot()?;
        assert!(rows.persist("a")? && rows.persist("a")?);
        assert_eq!((rows.expiry("a")?, snapshot.expiry(&rows, "a")?), (Expiry::Never, Expiry::At(far)));
        assert_eq!(snapshot.expiry(&rows, "b")?, Expiry::Absent);
        db.transaction(|tx| {
            assert!(!tx.expire_at(&rows, "b", far)? && !tx.persist(&rows, "b")?);
            assert!(tx.expire_at(&rows, "a", far)?);
            assert_eq!(tx.get(&rows, "a")?.as_deref(), Some(&b"1"[..]));
            let savepoint = tx.savepoint();
            assert!(tx.persist(&rows, "a")?);
            assert_eq!(tx.expiry(&rows, "a")?, Expiry::Never);
            tx.rollback_to(savepoint)
        })?;
        assert_eq!((rows.expiry("a")?, rows.get("a")?.as_deref()), (Expiry::At(far), Some(&b"1"[..])));
        assert!(rows.expire_at("a", past)?);
        assert_eq!((rows.expiry("a")?, rows.contains_key("a")?), (Expiry::Absent, false));
        Ok(())
    });
}

/// A commit checks the expiry times that the transaction read, as it checks the values.
#[test]
fn a_time_that_was_read_and_changed_is_a_conflict() {
    on_every_kind(|db| {
        let (rows, far) = (db.keyspace("rows")?, UNIX_EPOCH + FAR);
        rows.insert("a", "1")?;
        let mut tx = db.begin()?;
        assert_eq!(tx.expiry(&rows, "a")?, Expiry::Never);
        tx.insert(&rows, "b", "")?;
        rows.expire_at("a", far)?;
        assert!(matches!(tx.commit(), Err(skeindb::Error::Conflict { .. })));
        Ok(())
    });
}

/// The times survive a restart, also the ones that a transaction kept.
#[test]
fn times_survive_a_restart() -> skeindb::Result<()> {
    for engine in [skeindb::Engine::Memory, skeindb::Engine::Disk] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, far) = (folder.path().join("db"), UNIX_EPOCH + FAR);
        let db = Db::builder(&path).engine(engine).open()?;
        let rows = db.keyspace("rows")?;
        rows.insert_until("a", "1", far)?;
        db.transaction(|tx| tx.increment(&rows, "a", 1))?;
        rows.insert("b", "")?;
        rows.expire_at("b", far)?;
        drop(rows);
        db.close()?;
        drop(db);
        let rows = Db::open(&path)?.keyspace("rows")?;
        assert_eq!((rows.expiry("a")?, rows.expiry("b")?), (Expiry::At(far), Expiry::At(far)));
    }
    Ok(())
}
