//! Conditional writes, ends, expiry, bulk loads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use skeindb::{Error, Keyspace};

use crate::common::on_every_kind;

#[test]
fn conditional_writes_of_several_threads_lose_nothing() {
    on_every_kind(|db| {
        let (counts, queue) = (db.keyspace("counts")?, db.keyspace("queue")?);
        for number in 0..200u32 {
            queue.insert(number.to_be_bytes(), "job")?;
        }
        let popped = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        counts.increment("by increment", 1).expect("a write");
                        let add = |old: Option<&[u8]>| {
                            let old =
                                old.map_or(0, |old| u64::from_be_bytes(old.try_into().expect("8 bytes")));
                            Some((old + 1).to_be_bytes())
                        };
                        counts.update("by update", add).expect("a write");
                        let ends = [queue.pop_first(), queue.pop_last()];
                        let found = ends.into_iter().filter_map(|end| end.expect("a write")).count();
                        popped.fetch_add(found as u64, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(counts.get("by increment")?.as_deref(), Some(&b"400"[..]));
        assert_eq!(counts.get("by update")?.as_deref(), Some(&400u64.to_be_bytes()[..]));
        assert_eq!((popped.into_inner(), queue.len()?), (200, 0));
        Ok(())
    });
}

#[test]
fn a_closure_of_an_update_may_use_the_database() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        rows.insert("a", "1")?;
        let new = rows.update("a", |old| {
            rows.insert("b", "2").expect("a nested write");
            db.transaction(|tx| tx.insert(&rows, "c", "3")).expect("a nested transaction");
            old.map(<[u8]>::to_vec)
        })?;
        assert_eq!((new.as_deref(), rows.len()?), (Some(&b"1"[..]), 3));
        Ok(())
    });
}

/// Incident: a value with an `as_ref` that wrote to the database stopped its thread for ever. Fix:
/// no code of the caller runs while a room is held.
#[test]
fn a_value_may_use_the_database_while_it_is_read() {
    struct Writes<'k>(&'k Keyspace);
    impl AsRef<[u8]> for Writes<'_> {
        fn as_ref(&self) -> &[u8] {
            self.0.insert("nested", "").expect("a nested write");
            b"outer"
        }
    }
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        rows.insert("a", Writes(&rows))?;
        rows.insert_if_absent("b", Writes(&rows))?;
        rows.insert_until("c", Writes(&rows), SystemTime::now() + Duration::from_secs(60))?;
        rows.bulk_load([("d", Writes(&rows))])?;
        assert_eq!(rows.len()?, 5);
        Ok(())
    });
}

#[test]
fn updates_put_keep_and_remove() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        assert_eq!(rows.update("a", |_| None::<Vec<u8>>)?, None);
        assert_eq!(rows.update("a", |old| old.is_none().then_some("1"))?.as_deref(), Some(&b"1"[..]));
        assert!(!rows.insert_if_absent("a", "2")?);
        assert_eq!(rows.take("a")?.as_deref(), Some(&b"1"[..]));
        assert_eq!(rows.take("a")?, None);
        assert!(rows.insert_if_absent("a", "x")? && rows.remove("a")? && !rows.remove("a")?);
        rows.insert("n", "no number")?;
        rows.increment("n", 1).expect_err("not a number");
        assert!(rows.compare_and_swap("n", Some(b"other"), Some(b"y"))?.is_err());
        assert!(rows.compare_and_swap("n", Some(b"no number"), None)?.is_ok());
        assert!(rows.compare_and_swap("n", None, None)?.is_ok() && rows.is_empty()?);
        Ok(())
    });
}

#[test]
fn keys_expire_and_updates_keep_their_time() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        let soon = SystemTime::now() + Duration::from_millis(300);
        rows.insert_until("soon", "1", soon)?;
        rows.increment("soon", 1)?;
        rows.update("soon", |old| old.map(<[u8]>::to_vec))?;
        rows.insert_until("never", "1", soon)?;
        rows.insert("never", "2")?;
        assert_eq!(rows.get("soon")?.as_deref(), Some(&b"2"[..]));
        std::thread::sleep(Duration::from_millis(320));
        assert_eq!((rows.contains_key("soon")?, rows.len()?), (false, 1));
        Ok(())
    });
}

#[test]
fn a_bulk_load_stops_at_an_unsorted_key() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        let loaded = rows.bulk_load([("a", "1"), ("b", "2"), ("b", "3"), ("c", "4")]);
        assert!(matches!(loaded, Err(Error::NotSorted { number: 2 })), "{loaded:?}");
        assert_eq!(rows.len()?, 2);
        assert_eq!(rows.bulk_load(Vec::<(&str, &str)>::new())?, 0);
        Ok(())
    });
}
