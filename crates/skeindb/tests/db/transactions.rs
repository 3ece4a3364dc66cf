//! Transactions: isolation, conflicts, phantoms, savepoints.

use skeindb::{Batch, Db, Error};

use crate::common::{keys, on_every_kind};

fn conflicts(done: &skeindb::Result<()>) -> bool {
    matches!(done, Err(Error::Conflict { .. }))
}

#[test]
fn reads_come_from_one_snapshot_and_see_private_writes() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        for key in ["a", "c", "e"] {
            rows.insert(key, "old")?;
        }
        let mut tx = db.begin()?;
        assert_eq!(tx.get(&rows, "a")?.as_deref(), Some(&b"old"[..]));
        rows.insert("b", "of another")?;
        rows.remove("e")?;
        tx.insert(&rows, "d", "private")?;
        assert!(tx.remove(&rows, "c")? && !tx.remove(&rows, "x")?);
        assert_eq!(keys(tx.iter(&rows))?, ["a", "d", "e"]);
        assert_eq!(keys(tx.iter(&rows).rev())?, ["e", "d", "a"]);
        assert_eq!(keys(tx.range(&rows, "b".."e"))?, ["d"]);
        assert_eq!(keys(tx.prefix(&rows, "d"))?, ["d"]);
        assert_eq!(tx.keys(&rows).count(), 3);
        assert_eq!((tx.contains_key(&rows, "c")?, tx.get(&rows, "b")?), (false, None));
        assert!(conflicts(&tx.commit()), "it has read b and e as they were");
        assert_eq!(keys(rows.iter())?, ["a", "b", "c"]);
        Ok(())
    });
}

#[test]
fn a_dropped_transaction_leaves_nothing() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        rows.insert("a", "1")?;
        let mut dropped = db.begin()?;
        dropped.insert(&rows, "b", "2")?;
        dropped.remove(&rows, "a")?;
        drop(dropped);
        let mut rolled_back = db.begin()?;
        rolled_back.insert(&rows, "b", "2")?;
        rolled_back.rollback();
        let failed: skeindb::Result<()> = db.transaction(|tx| {
            tx.insert(&rows, "b", "2")?;
            Err(Error::other("of the caller"))
        });
        assert_eq!(failed.expect_err("the closure's").to_string(), "of the caller");
        assert_eq!(keys(rows.iter())?, ["a"]);
        assert_eq!(db.stats()?.snapshots, 0);
        Ok(())
    });
}

/// Each of two transactions reads a key that the other writes: one of them must not commit.
#[test]
fn write_skew_lost_updates_and_phantoms_are_conflicts() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        rows.insert("x", "1")?;
        rows.insert("y", "1")?;
        // Write skew.
        let (mut one, mut two) = (db.begin()?, db.begin()?);
        one.get(&rows, "x")?;
        two.get(&rows, "y")?;
        one.insert(&rows, "y", "0")?;
        two.insert(&rows, "x", "0")?;
        one.commit()?;
        assert!(conflicts(&two.commit()));
        // A lost update.
        let (mut one, mut two) = (db.begin()?, db.begin()?);
        one.increment(&rows, "x", 1)?;
        two.increment(&rows, "x", 1)?;
        two.commit()?;
        assert!(conflicts(&one.commit()));
        // Phantoms: an insert, and a removal, in a range that was read; forward and backward.
        for backward in [false, true] {
            let mut one = db.begin()?;
            let range = one.range(&rows, "m".."z");
            assert_eq!(if backward { range.rev().count() } else { range.count() }, 2);
            one.insert(&rows, "a", "the range is empty of n")?;
            rows.insert("n", "a phantom")?;
            assert!(conflicts(&one.commit()));
            let mut one = db.begin()?;
            assert_eq!(one.keys(&rows).count(), 3);
            one.insert(&rows, "a", "")?;
            rows.remove("n")?;
            assert!(conflicts(&one.commit()));
        }
        assert!(!rows.contains_key("a")?);
        Ok(())
    });
}

/// Reading the first row only must not conflict with writes behind it.
#[test]
fn only_what_was_read_is_checked() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        for number in 0..100u8 {
            rows.insert([number], "")?;
        }
        let mut tx = db.begin()?;
        assert_eq!(tx.first(&rows)?.expect("a row").0, [0]);
        assert_eq!(tx.last(&rows)?.expect("a row").0, [99]);
        tx.insert(&rows, "z", "")?;
        rows.insert([50], "changed")?;
        rows.remove([60])?;
        tx.commit()?;
        let mut tx = db.begin()?;
        assert_eq!(tx.get(&rows, [200])?, None);
        tx.insert(&rows, "y", "")?;
        rows.insert([200], "came")?;
        rows.remove([200])?;
        tx.commit()?;
        Ok(())
    });
}

#[test]
fn blind_writes_and_reads_alone_never_conflict() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        rows.insert("a", "1")?;
        let mut blind = db.begin()?;
        blind.insert(&rows, "a", "2")?;
        let reader = db.begin()?;
        assert_eq!(reader.iter(&rows).count(), 1);
        rows.insert("a", "3")?;
        blind.commit()?;
        reader.commit()?;
        assert_eq!(rows.get("a")?.as_deref(), Some(&b"2"[..]));
        Ok(())
    });
}

#[test]
fn conflicts_are_tried_again_until_they_succeed() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        db.transaction(|tx| {
                            let sum = tx.increment(&rows, "count", 1)?;
                            tx.insert(&rows, "double", (2 * sum).to_string())
                        })
                        .expect("it commits in the end");
                    }
                });
            }
        });
        assert_eq!(rows.get("count")?.as_deref(), Some(&b"200"[..]));
        assert_eq!(rows.get("double")?.as_deref(), Some(&b"400"[..]));
        Ok(())
    });
}

#[test]
fn savepoints_nest_and_end() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        rows.insert("a", "0")?;
        let mut tx = db.begin()?;
        tx.insert(&rows, "a", "1")?;
        let outer = tx.savepoint();
        tx.insert(&rows, "a", "2")?;
        tx.insert(&rows, "b", "2")?;
        let inner = tx.savepoint();
        tx.remove(&rows, "a")?;
        tx.rollback_to(inner)?;
        assert_eq!(tx.get(&rows, "a")?.as_deref(), Some(&b"2"[..]));
        tx.rollback_to(outer)?;
        assert_eq!((tx.get(&rows, "a")?.as_deref(), tx.get(&rows, "b")?), (Some(&b"1"[..]), None));
        assert!(matches!(tx.rollback_to(inner), Err(Error::SavepointGone)));
        tx.insert(&rows, "c", "3")?;
        tx.rollback_to(outer)?;
        tx.commit()?;
        assert_eq!(keys(rows.iter())?, ["a"]);
        Ok(())
    });
}

#[test]
fn a_batch_is_applied_in_its_order_over_keyspaces() {
    on_every_kind(|db| {
        let (one, two, default) = (db.keyspace("one")?, db.keyspace("two")?, db.default_keyspace());
        one.insert("gone", "")?;
        let mut batch = Batch::new();
        batch.insert(&one, "a", "1").insert(&two, "a", "2").insert(&default, "a", "3");
        batch.insert(&one, "a", "4").remove(&one, "gone").insert(&one, "b", "").remove(&one, "b");
        db.apply(batch)?;
        assert_eq!(one.get("a")?.as_deref(), Some(&b"4"[..]));
        assert_eq!((one.len()?, two.len()?, default.len()?), (1, 1, 1));
        Ok(())
    });
}

/// Incident: a closure that returned the conflict of another transaction was committed before it
/// was called again. Consequence: writes of a closure that had failed. Fix: any error ends it.
#[test]
fn a_closure_that_returns_a_conflict_of_another_transaction_writes_nothing() -> skeindb::Result<()> {
    let db = Db::in_memory()?;
    let rows = db.keyspace("rows")?;
    let mut calls = 0;
    let failed: skeindb::Result<()> = db.transaction(|tx| {
        calls += 1;
        tx.insert(&rows, "a", "1")?;
        let mut other = db.begin()?;
        other.increment(&rows, "b", 1)?;
        rows.insert("b", "2")?;
        other.commit()
    });
    assert!(conflicts(&failed) && calls == 1);
    assert!(!rows.contains_key("a")?);
    Ok(())
}

/// A transaction that is open for long does not keep others from committing.
#[test]
fn a_transaction_within_a_transaction_is_one_of_its_own() -> skeindb::Result<()> {
    let db = Db::in_memory()?;
    let rows = db.keyspace("rows")?;
    let outer = db.transaction(|tx| {
        tx.insert(&rows, "outer", "")?;
        db.transaction(|tx| tx.insert(&rows, "inner", ""))?;
        assert!(!rows.contains_key("outer")?);
        Err::<(), _>(Error::abort("the outer one"))
    });
    assert!(outer.is_err());
    assert_eq!(keys(rows.iter())?, ["inner"]);
    Ok(())
}
