//! Exclusive transactions: they cannot conflict and cannot starve, and writers beside them wait.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use skeindb::{Batch, Db, Error, Expiry};

use crate::common::{keys, on_every_kind};

/// Rows of the range that others keep changing.
const ROWS: u32 = 300;

/// Incident: a transaction that read 20,000 rows beside one writer conflicted each time, and gave
/// up after 1,000 attempts. Consequence: such work was never done. Fix: exclusive transactions.
#[test]
fn a_long_reader_commits_beside_a_hostile_writer() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        rows.bulk_load((0..ROWS).map(|number| (number.to_be_bytes(), "0")))?;
        let (done, written) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The writer never rests, and each of its writes would be a conflict.
                while !done.load(Ordering::Relaxed) {
                    rows.increment(0u32.to_be_bytes(), 1).expect("a write");
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
            for _ in 0..5 {
                let before = written.load(Ordering::Relaxed);
                let sum = db.transaction_exclusive(|tx| {
                    let mut sum = 0;
                    for row in tx.iter(&rows) {
                        sum +=
                            std::str::from_utf8(&row?.1).expect("digits").parse::<u64>().expect("a number");
                    }
                    let last = ROWS.to_be_bytes();
                    assert_eq!(tx.get(&rows, last)?, None);
                    tx.insert(&rows, last, "0")?;
                    tx.remove(&rows, last)?;
                    Ok(sum)
                });
                sum.expect("it commits at once");
                // The writer is not starved either.
                while written.load(Ordering::Relaxed) == before {
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        Ok(())
    });
}

/// Threads that only run exclusive transactions, and others that only write, all make progress.
#[test]
fn neither_side_starves() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        db.transaction_exclusive(|tx| tx.increment(&rows, "sum", 1)).expect("it commits");
                    }
                });
                scope.spawn(|| {
                    for number in 0..50 {
                        rows.increment("sum", 1).expect("a write");
                        let mut batch = Batch::new();
                        batch.insert(&rows, "batch", "");
                        db.apply(batch).expect("a batch");
                        db.transaction(|tx| tx.increment(&rows, "sum", 1)).expect("it commits");
                        if number % 25 == 0 {
                            db.keyspace("others").expect("a keyspace");
                            db.drop_keyspace("others").expect("a drop");
                        }
                    }
                });
            }
        });
        assert_eq!(rows.get("sum")?.as_deref(), Some(&b"300"[..]));
        Ok(())
    });
}

/// Reads, snapshots and transactions that only read continue; every kind of write waits.
#[test]
fn writers_wait_and_readers_do_not() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        rows.insert("a", "1")?;
        let mut tx = db.begin_exclusive()?;
        tx.insert(&rows, "a", "2")?;
        let (sender, events) = mpsc::channel();
        std::thread::scope(|scope| {
            let readers = sender.clone();
            let reads = scope.spawn(|| {
                let readers = readers;
                assert_eq!(rows.get("a").expect("a read").as_deref(), Some(&b"1"[..]));
                assert_eq!(db.snapshot().expect("a snapshot").iter(&rows).count(), 1);
                let reader = db.begin().expect("it begins");
                assert_eq!(reader.iter(&rows).count(), 1);
                reader.commit().expect("nothing to write");
                readers.send("read").expect("the test waits");
            });
            reads.join().expect("no panic");
            let writes: [fn(&Db); 5] = [
                |db| db.keyspace("rows").expect("it exists").insert("b", "").expect("a write"),
                |db| {
                    let mut batch = Batch::new();
                    batch.insert(&db.keyspace("rows").expect("it exists"), "c", "");
                    db.apply(batch).expect("a batch");
                },
                |db| {
                    let rows = db.keyspace("rows").expect("it exists");
                    db.transaction(|tx| tx.insert(&rows, "d", "")).expect("it commits");
                },
                |db| drop(db.keyspace("new").expect("a keyspace")),
                |db| {
                    let rows = db.keyspace("rows").expect("it exists");
                    db.transaction_exclusive(|tx| tx.insert(&rows, "e", "")).expect("it commits");
                },
            ];
            for write in writes {
                let sender = sender.clone();
                scope.spawn(move || {
                    write(db);
                    sender.send("written").expect("the test waits");
                });
            }
            assert_eq!(events.recv(), Ok("read"));
            assert!(events.recv_timeout(Duration::from_millis(30)).is_err(), "a writer did not wait");
            // The body may still look a keyspace up.
            assert!(db.existing_keyspace("rows").expect("a look").is_some());
            assert!(db.keyspace("rows").is_ok());
            tx.commit().expect("it commits");
            for _ in writes {
                assert_eq!(events.recv(), Ok("written"));
            }
        });
        assert_eq!(keys(rows.iter())?, ["a", "b", "c", "d", "e"]);
        assert_eq!(rows.get("a")?.as_deref(), Some(&b"2"[..]));
        Ok(())
    });
}

/// A write beside the transaction on its own thread would wait for itself.
#[test]
fn a_write_beside_it_on_its_thread_is_an_error() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        db.transaction_exclusive(|tx| {
            let mut batch = Batch::new();
            batch.insert(&rows, "a", "");
            for refused in [
                rows.insert("a", ""),
                rows.remove_prefix("a").map(drop),
                db.apply(batch),
                db.transaction(|tx| tx.insert(&rows, "a", "")),
                db.begin_exclusive().map(drop),
                db.transaction_exclusive(|_| Ok(())),
                db.keyspace("new").map(drop),
                db.drop_keyspace("rows").map(drop),
                db.rename_keyspace("rows", "others"),
            ] {
                assert!(matches!(refused, Err(Error::WithinExclusive)), "{refused:?}");
            }
            tx.insert(&rows, "b", "")
        })?;
        rows.insert("c", "")?;
        assert_eq!(keys(rows.iter())?, ["b", "c"]);
        Ok(())
    });
}

#[test]
fn a_panic_and_a_drop_open_the_gate() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            db.transaction_exclusive(|tx| -> skeindb::Result<()> {
                tx.insert(&rows, "a", "")?;
                panic!("of the body");
            })
        }));
        assert!(panicked.is_err());
        rows.insert("b", "")?;
        drop(db.begin_exclusive()?);
        rows.insert("c", "")?;
        db.begin_exclusive()?.rollback();
        // It may be committed by another thread.
        let mut tx = db.begin_exclusive()?;
        tx.insert(&rows, "d", "")?;
        std::thread::scope(|scope| scope.spawn(|| tx.commit()).join().expect("no panic"))?;
        assert_eq!(keys(rows.iter())?, ["b", "c", "d"]);
        Ok(())
    });
}

#[test]
fn closing_ends_the_wait() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        let tx = db.begin_exclusive()?;
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| rows.insert("a", ""));
            let exclusive = scope.spawn(|| db.begin_exclusive().map(drop));
            std::thread::sleep(Duration::from_millis(10));
            db.close().expect("it closes");
            for waiting in [writer, exclusive] {
                assert!(matches!(waiting.join().expect("no panic"), Err(Error::Closed)));
            }
        });
        assert!(matches!(tx.commit(), Err(Error::Closed)));
        Ok(())
    });
}

/// Keys that expire while an exclusive transaction runs do not make it conflict.
#[test]
fn a_key_that_expires_meanwhile_counts_as_present() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        let soon = std::time::SystemTime::now() + Duration::from_millis(300);
        rows.insert_until("a", "1", soon)?;
        let mut tx = db.begin_exclusive()?;
        assert!(tx.get(&rows, "a")?.is_some());
        while rows.contains_key("a")? {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(tx.expiry(&rows, "a")?.time().is_some());
        assert_eq!(tx.first(&rows)?.expect("a row").0, b"a");
        tx.insert(&rows, "b", "")?;
        tx.commit()?;
        assert_eq!(keys(rows.iter())?, ["b"]);
        assert_eq!(rows.expiry("a")?, Expiry::Absent);
        Ok(())
    });
}

/// The error of a transaction that always conflicts names the way out.
#[test]
fn the_error_of_many_conflicts_names_the_way_out() -> skeindb::Result<()> {
    let db = Db::in_memory()?;
    let rows = db.keyspace("rows")?;
    let error = db.transaction(|tx| {
        tx.get(&rows, "a")?;
        rows.increment("a", 1)?;
        tx.insert(&rows, "b", "")
    });
    let error = error.expect_err("it conflicts each time").to_string();
    assert!(error.contains("1000 times") && error.contains("exclusive"), "{error}");
    Ok(())
}
