//! Shared functions of the experiments on our own store: open, load, put, check.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use skein_store::{CheckpointReport, Durability, RowRef, Session, Store, StoreOptions};

use super::krows_per_s;
use crate::rival::store::{BenchRows, OURS};
use crate::{Error, Result};

/// The number of puts between two checks of whether to stop.
const BETWEEN_LOOKS: usize = 64;

/// Returns an error of our store as one of the bench.
#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
pub fn failed(error: skein_store::Error) -> Error {
    Error::Failed(format!("{OURS}: {error}"))
}

/// Opens a store that makes checkpoints only on request.
pub fn open(folder: &Path, durability: Durability) -> Result<Store> {
    let options = StoreOptions {
        durability,
        checkpoint_log_bytes: None,
        checkpoint_interval: None,
        ..StoreOptions::default()
    };
    Store::open(folder, options).map_err(failed)
}

/// Loads all rows, with as many writers as log shards, so that the shards have equal sizes, as a
/// server's do.
pub fn load(store: &Store, rows: &BenchRows, batch: usize) -> Result<()> {
    let writers = store.options().logs.max(1);
    let write = |number: usize, session: &mut Session| -> skein_store::Result<()> {
        for first in (number * batch..rows.len()).step_by(writers * batch) {
            let numbers = first..(first + batch).min(rows.len());
            let (done, _) = session.write(|writer| {
                numbers.into_iter().try_for_each(|n| writer.put(&rows.key(n), &rows.value(n)).map(drop))
            })?;
            done?;
        }
        Ok(())
    };
    let done: skein_store::Result<Vec<()>> = std::thread::scope(|scope| {
        let write = &write;
        let writers: Vec<_> = (0..writers)
            .map(|number| {
                let mut session = store.session();
                scope.spawn(move || write(number, &mut session))
            })
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.map(drop).map_err(failed)
}

/// Puts these rows one by one, repeatedly, on one thread, until `stop` returns true. Returns
/// thousands per second. At `sync` each put waits for the disk.
pub fn puts(store: &Store, rows: &BenchRows, order: &[usize], stop: impl Fn() -> bool) -> Result<f64> {
    let mut session = store.session();
    let waits = store.durability() == Durability::Sync;
    let mut done = 0;
    let start = Instant::now();
    for &n in order.iter().cycle() {
        let (put, ticket) =
            session.write(|writer| writer.put(&rows.key(n), &rows.value(n))).map_err(failed)?;
        put.map_err(failed)?;
        if waits {
            store.wait_durable(ticket).map_err(failed)?;
        }
        done += 1;
        if (waits || done % BETWEEN_LOOKS == 0) && stop() {
            break;
        }
    }
    Ok(krows_per_s(done, start))
}

/// Puts rows for this long.
pub fn puts_for(store: &Store, rows: &BenchRows, order: &[usize], window: Duration) -> Result<f64> {
    let start = Instant::now();
    puts(store, rows, order, || start.elapsed() > window)
}

/// Puts rows while a checkpoint is written.
pub fn puts_during_checkpoint(
    store: &Store,
    rows: &BenchRows,
    order: &[usize],
) -> Result<(f64, CheckpointReport)> {
    let done = AtomicBool::new(false);
    let (made, during) = std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| {
            let made = store.checkpoint();
            // Relaxed: only the stop flag itself is read; the join orders everything else.
            done.store(true, Ordering::Relaxed);
            made
        });
        let during = puts(store, rows, order, || done.load(Ordering::Relaxed));
        (checkpoint.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), during)
    });
    Ok((during?, made.map_err(failed)?))
}

/// Returns thousands of rows per second that a checkpoint wrote.
pub fn checkpoint_rate(made: &CheckpointReport) -> f64 {
    made.rows as f64 / made.took.as_secs_f64() / 1e3
}

/// Checks that a store has all rows: their number, and the values of a sample.
pub fn check(store: &Store, rows: &BenchRows, measure: &str) -> Result<()> {
    let missing = store.len().abs_diff(rows.len());
    let session = store.session();
    let is_wrong = |n: &usize| {
        !session.get_with(&rows.key(*n), |row| {
            row.and_then(RowRef::value).is_some_and(|value| rows.is(*n, value))
        })
    };
    let other = rows.sample(10_000).iter().filter(|n| is_wrong(n)).count();
    Error::check_answers(OURS, measure, missing + other)
}
