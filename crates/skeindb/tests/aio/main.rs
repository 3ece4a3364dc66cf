//! The database on a runtime of one thread, which must never be blocked.

mod held_storage;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_core::Stream as _;
use held_storage::HeldStorage;
use skein_log::storage::Storage as _;
use skeindb::aio::{AsyncDb, AsyncIter};
use skeindb::{Batch, Db, Durability, Engine, Error, Result};
use tokio::runtime::{Builder, Runtime};

const BOTH: [Engine; 2] = [Engine::Memory, Engine::Disk];

/// Returns a runtime of one thread, with one more for work that blocks.
fn runtime() -> Runtime {
    Builder::new_current_thread().max_blocking_threads(1).build().expect("a runtime")
}

fn open(folder: &tempfile::TempDir, engine: Engine, durability: Durability) -> Result<AsyncDb> {
    let builder = Db::builder(folder.path().join("geese")).engine(engine).durability(durability);
    builder.open().map(AsyncDb::from)
}

/// Counts its turns on the runtime until it is stopped.
struct Ticker {
    ticks: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Ticker {
    fn start() -> Self {
        let (ticks, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (counted, stopped) = (ticks.clone(), stop.clone());
        tokio::spawn(async move {
            while !stopped.load(Ordering::Relaxed) {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        Self { ticks, stop }
    }

    /// Blocks the calling thread until the ticker had some more turns.
    fn wait(ticks: &AtomicU64) {
        let (before, began) = (ticks.load(Ordering::Relaxed), Instant::now());
        while ticks.load(Ordering::Relaxed) < before + 10 {
            assert!(began.elapsed() < Duration::from_secs(60), "the runtime is blocked");
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Work that blocks until another task had its turns would never end on the runtime's thread.
#[test]
fn other_tasks_run_while_a_transaction_blocks() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        runtime().block_on(async {
            let db = open(&folder, engine, Durability::Sync)?;
            let (geese, ticker) = (db.keyspace("geese").await?, Ticker::start());
            let (handle, ticks) = (geese.keyspace().clone(), ticker.ticks.clone());
            let answer = db.transaction(move |tx| {
                Ticker::wait(&ticks);
                tx.insert(&handle, "grey", "Anser anser")?;
                Ok(7)
            });
            assert_eq!(answer.await?, 7);
            assert_eq!(geese.get("grey").await?.as_deref(), Some(&b"Anser anser"[..]));
            assert!(geese.remove("grey").await?);
            db.close().await
        })?;
    }
    Ok(())
}

/// While the disk syncs nothing, commits wait, and the only blocking thread is free for other work.
#[test]
fn a_commit_holds_no_thread_while_it_waits_for_the_disk() -> Result<()> {
    for engine in BOTH {
        let storage = HeldStorage::default();
        let builder = || Db::builder("/geese").engine(engine).storage(storage.share());
        runtime().block_on(async {
            let db = AsyncDb::from(builder().durability(Durability::Sync).open()?);
            let geese = db.keyspace("geese").await?;
            storage.gate.hold(true);
            let mut batch = Batch::new();
            batch.insert(geese.keyspace(), "grey", "").insert(geese.keyspace(), "snow", "");
            let (inserting, applying) = (geese.clone(), db.clone());
            let writes = [
                tokio::spawn(async move { inserting.insert("bean", "").await }),
                tokio::spawn(async move { applying.apply(batch).await }),
            ];
            // Work that follows the writes on the one thread sees them all.
            while geese.run(skeindb::Keyspace::len).await? < 3 {
                tokio::task::yield_now().await;
            }
            assert!(writes.iter().all(|write| !write.is_finished()), "{engine:?}");
            storage.gate.hold(false);
            for write in writes {
                write.await.expect("no panic")?;
            }
            storage.disk.cut_power_at(storage.disk.operations());
            assert!(geese.insert("late", "").await.is_err(), "the power is off");
            Ok::<_, Error>(())
        })?;
        storage.disk.reboot(7);
        // The insertion that failed may have reached the disk before the power was cut.
        let left = builder().open()?.keyspace("geese")?;
        assert_eq!(left.len()? - u64::from(left.contains_key("late")?), 3, "{engine:?}");
    }
    Ok(())
}

#[test]
fn a_stream_yields_all_rows_and_keeps_its_moment() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        runtime().block_on(async {
            let db = open(&folder, engine, Durability::Buffered)?;
            let numbers = db.keyspace("numbers").await?;
            let rows = (0..2000u32).map(|number| (number.to_be_bytes(), number.to_le_bytes()));
            numbers.run(move |keyspace| keyspace.bulk_load(rows)).await?;
            let snapshot = db.run(Db::snapshot).await?;
            let mut of_moment = AsyncIter::from(snapshot.iter(numbers.keyspace()));
            let mut number = 100u32;
            let mut present = numbers.range(number.to_be_bytes()..);
            while let Some(row) = poll_fn(|cx| Pin::new(&mut present).poll_next(cx)).await {
                assert_eq!(row?, (number.to_be_bytes().to_vec(), number.to_le_bytes().to_vec()));
                number += 1;
            }
            assert_eq!(number, 2000);
            numbers.run(skeindb::Keyspace::clear).await?;
            assert!(numbers.rows().next().await.is_none());
            let mut count = 0;
            while let Some(row) = of_moment.next().await {
                count += u32::from(row.is_ok());
            }
            assert_eq!(count, 2000);
            Ok::<_, Error>(())
        })?;
    }
    Ok(())
}

#[test]
fn a_dropped_future_does_its_write_whole() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    runtime().block_on(async {
        let db = open(&folder, Engine::Memory, Durability::Sync)?;
        let (geese, ticker) = (db.keyspace("geese").await?, Ticker::start());
        let (handle, ticks) = (geese.keyspace().clone(), ticker.ticks.clone());
        let (writer, began) = (db.clone(), Arc::<AtomicBool>::default());
        let begins = began.clone();
        let started = tokio::spawn(async move {
            let write = writer.transaction(move |tx| {
                begins.store(true, Ordering::Relaxed);
                Ticker::wait(&ticks);
                tx.insert(&handle, "bean", "")?;
                tx.insert(&handle, "grey", "")
            });
            write.await
        });
        while !began.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        started.abort();
        assert!(started.await.is_err_and(|error| error.is_cancelled()));
        // It has the only blocking thread, so this work follows it.
        assert_eq!(geese.run(skeindb::Keyspace::len).await?, 2);
        Ok::<_, Error>(())
    })
}

#[test]
fn misuse_is_an_error() -> Result<()> {
    let db = AsyncDb::from(Db::in_memory()?);
    let geese = runtime().block_on(db.keyspace("geese"))?;
    let mut unpolled = std::pin::pin!(geese.insert("grey", ""));
    let waker = std::task::Waker::noop();
    let polled = unpolled.as_mut().poll(&mut std::task::Context::from_waker(waker));
    assert!(matches!(polled, std::task::Poll::Ready(Err(Error::NoRuntime))), "{polled:?}");
    runtime().block_on(db.close())?;
    let refused = runtime().block_on(geese.insert("grey", ""));
    assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
    let panicked = runtime().block_on(async {
        let db = db.clone();
        tokio::spawn(async move { db.run(|_| -> Result<()> { panic!("of the caller") }).await }).await
    });
    assert!(panicked.is_err_and(|error| error.is_panic()));
    Ok(())
}
