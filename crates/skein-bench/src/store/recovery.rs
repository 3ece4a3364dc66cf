//! Our store beside itself: levels of durability, puts during a checkpoint, recovery.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use skein_store::{Durability, RowRef, Session, Store, StoreOptions};

use super::contender::text;
use super::rate;
use super::rows::Rows;
use crate::report::Report;

/// How long puts are counted.
const WINDOW: Duration = Duration::from_secs(2);

/// Options with no checkpoint but those that the bench asks for.
fn options(durability: Durability) -> StoreOptions {
    StoreOptions {
        durability,
        checkpoint_log_bytes: None,
        checkpoint_interval: None,
        ..StoreOptions::default()
    }
}

fn load(store: &Store, rows: &Rows, batch: usize) -> Result<(), String> {
    let mut session = store.session();
    for first in (0..rows.len()).step_by(batch) {
        let numbers = first..(first + batch).min(rows.len());
        let (done, _) = session
            .write(|writer| {
                numbers.into_iter().try_for_each(|n| writer.put(&Rows::key(n), &rows.value(n)).map(drop))
            })
            .map_err(text)?;
        done.map_err(text)?;
    }
    Ok(())
}

/// Single puts of random rows until told to stop; thousands per second.
fn puts(session: &mut Session, rows: &Rows, order: &[usize], stop: impl Fn() -> bool) -> Result<f64, String> {
    let mut done = 0;
    let start = Instant::now();
    for &n in order.iter().cycle() {
        let (put, _) = session.write(|writer| writer.put(&Rows::key(n), &rows.value(n))).map_err(text)?;
        put.map_err(text)?;
        done += 1;
        if done % 256 == 0 && stop() {
            break;
        }
    }
    Ok(rate(done, start))
}

/// One thread's rate of single puts at `none`, at `buffered`, and during a checkpoint.
pub fn levels(batch: usize, rows: &Rows, folder: &Path, report: &mut Report) -> Result<(), String> {
    let order = rows.sample(1 << 20);
    let mut rates = [0.0; 2];
    let levels = [(Durability::None, "put at none"), (Durability::Buffered, "put at buffered")];
    for (place, (durability, name)) in levels.into_iter().enumerate() {
        let store = Store::open(folder.join(name), options(durability)).map_err(text)?;
        load(&store, rows, batch)?;
        let start = Instant::now();
        rates[place] = puts(&mut store.session(), rows, &order, || start.elapsed() > WINDOW)?;
        report.add("skein", name, "krows/s", rates[place]);
        if durability == Durability::Buffered {
            during_checkpoint(&store, rows, &order, rates[place], report)?;
        }
        store.close().map_err(text)?;
    }
    report.add("skein", "put: buffered / none", "", rates[1] / rates[0]);
    Ok(())
}

fn during_checkpoint(
    store: &Store,
    rows: &Rows,
    order: &[usize],
    alone: f64,
    report: &mut Report,
) -> Result<(), String> {
    let done = AtomicBool::new(false);
    let (checkpoint, during) = std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| {
            let made = store.checkpoint();
            // Relaxed: a stop sign; the join orders the rest.
            done.store(true, Ordering::Relaxed);
            made
        });
        let during = puts(&mut store.session(), rows, order, || done.load(Ordering::Relaxed));
        (checkpoint.join().map_err(|_| "the checkpoint panicked".to_owned()), during)
    });
    let (made, during) = (checkpoint?.map_err(text)?, during?);
    #[allow(clippy::cast_precision_loss)] // Far below 2^52.
    report.add(
        "skein",
        "checkpoint beside puts",
        "krows/s",
        made.rows as f64 / made.took.as_secs_f64() / 1e3,
    );
    report.add("skein", "put during a checkpoint", "krows/s", during);
    report.add("skein", "put: during / alone", "", during / alone);
    Ok(())
}

/// How fast a store opens: first from logs alone, then from a checkpoint.
pub fn recovery(rows: &Rows, folder: &Path, report: &mut Report) -> Result<(), String> {
    let store = Store::open(folder, options(Durability::Buffered)).map_err(text)?;
    // As many writers as logs, so that the logs are of one size, as a server's are.
    let logs = StoreOptions::default().logs.max(1);
    let loaded: Result<Vec<()>, String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..logs)
            .map(|number| {
                let mut session = store.session();
                scope.spawn(move || {
                    for first in (number * 1000..rows.len()).step_by(logs * 1000) {
                        let numbers = first..(first + 1000).min(rows.len());
                        let (done, _) = session
                            .write(|writer| {
                                numbers
                                    .into_iter()
                                    .try_for_each(|n| writer.put(&Rows::key(n), &rows.value(n)).map(drop))
                            })
                            .map_err(text)?;
                        done.map_err(text)?;
                    }
                    Ok(())
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().map_err(|_| "a writer panicked".to_owned())?).collect()
    });
    loaded?;
    store.close().map_err(text)?;
    drop(store);
    let store = reopen(rows, folder, "recovery from logs", report)?;
    store.checkpoint().map_err(text)?;
    store.close().map_err(text)?;
    drop(store);
    let store = reopen(rows, folder, "recovery from checkpoint", report)?;
    store.close().map_err(text)?;
    Ok(())
}

fn reopen(rows: &Rows, folder: &Path, name: &'static str, report: &mut Report) -> Result<Store, String> {
    let start = Instant::now();
    let store = Store::open(folder, options(Durability::Buffered)).map_err(text)?;
    report.add("skein", name, "krows/s", rate(rows.len(), start));
    let recovered = store.recovery();
    report.note(format!(
        "{name}: {} rows from a checkpoint, {} log records",
        recovered.checkpoint_rows, recovered.log_records
    ));
    if store.len() != rows.len() {
        report.note(format!("WRONG: {name} found {} keys of {}", store.len(), rows.len()));
    }
    let session = store.session();
    for n in rows.sample(10_000) {
        if !session
            .get_with(&Rows::key(n), |row| row.and_then(RowRef::value).is_some_and(|value| rows.is(n, value)))
        {
            report.note(format!("WRONG: {name} has another value for row {n}"));
        }
    }
    Ok(store)
}
