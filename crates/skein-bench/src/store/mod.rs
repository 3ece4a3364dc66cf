//! `skein-bench store`: our durable store beside other embedded stores, and beside itself.
//!
//! One round of one contender: an empty folder is loaded in batches, each all or nothing, and forced to disk
//! once at the end; rows are read at random; the store is opened again in its mode that makes every commit
//! durable, and single puts are timed. Contenders take turns.

mod contender;
#[cfg(feature = "rivals")]
mod fjall;
#[cfg(feature = "rivals")]
mod lmdb;
mod ours;
mod recovery;
#[cfg(feature = "rivals")]
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod rows;

use std::path::{Path, PathBuf};
use std::time::Instant;

use hdrhistogram::Histogram;

use crate::report::Report;
use crate::sys::pinned;
use contender::{Contender, Level, text};
use rows::Rows;

/// Options of `skein-bench store`.
#[derive(clap::Args)]
pub struct Args {
    /// How many rows are loaded: random keys of 8 bytes.
    #[arg(long, default_value_t = 2_000_000)]
    count: usize,
    /// Bytes in a value.
    #[arg(long, default_value_t = 100)]
    value_bytes: usize,
    /// Rows in a batch.
    #[arg(long, default_value_t = 1000)]
    batch: usize,
    /// How many random reads.
    #[arg(long, default_value_t = 1_000_000)]
    gets: usize,
    /// How many durable puts.
    #[arg(long, default_value_t = 500)]
    sync_puts: usize,
    /// Rows of the recovery test; 0 leaves it out.
    #[arg(long, default_value_t = 10_000_000)]
    recovery: usize,
    /// How often the contenders take turns.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Contenders to measure; all of this build if none is named.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The folder to work in; on the disk that is to be measured.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Append results to this file, as JSON lines.
    #[arg(long)]
    json: Option<PathBuf>,
}

struct Entry {
    name: &'static str,
    round: fn(&Args, &Rows, &Path, &mut Report) -> Result<(), String>,
}

fn entry<C: Contender>() -> Entry {
    Entry { name: C::NAME, round: round::<C> }
}

fn contenders() -> Vec<Entry> {
    vec![
        entry::<ours::Skein>(),
        #[cfg(feature = "rivals")]
        entry::<lmdb::Lmdb>(),
        #[cfg(feature = "rivals")]
        entry::<redb::Redb>(),
        #[cfg(feature = "rivals")]
        entry::<fjall::Fjall>(),
        #[cfg(feature = "rocksdb")]
        entry::<rocksdb::RocksDb>(),
    ]
}

/// Runs the experiment and prints its report.
pub fn run(args: &Args) -> Result<(), String> {
    let mut entries = contenders();
    let known: Vec<_> = entries.iter().map(|entry| entry.name).collect();
    if let Some(unknown) = args.only.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(format!(
            "there is no contender '{unknown}' in this build; there are: {}",
            known.join(", ")
        ));
    }
    if args.count == 0 || args.batch == 0 || args.value_bytes < 8 {
        return Err("ask for at least 1 row, batches of 1, and values of 8 bytes".to_owned());
    }
    if !args.only.is_empty() {
        entries.retain(|entry| args.only.iter().any(|name| name == entry.name));
    }
    let folder = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = folder.join(format!("skein-bench-{}", std::process::id()));
    let setting = format!(
        "{} random 8-byte keys, values of {} bytes, batches of {}, {} rounds",
        args.count, args.value_bytes, args.batch, args.rounds
    );
    let mut report = Report::new("store", setting);
    for (name, built) in
        [("lmdb, redb, fjall", cfg!(feature = "rivals")), ("rocksdb", cfg!(feature = "rocksdb"))]
    {
        if !built {
            report.note(format!("not in this build, so left out: {name}"));
        }
    }
    let made = measure(args, &entries, &folder, &mut report);
    // The folder is not there if nothing was measured.
    let _ = std::fs::remove_dir_all(&folder);
    made?;
    println!("{}", report.table());
    match &args.json {
        Some(path) => report.append_json(path),
        None => Ok(()),
    }
}

fn measure(args: &Args, entries: &[Entry], folder: &Path, report: &mut Report) -> Result<(), String> {
    let rows = Rows::new(args.count, args.value_bytes);
    for round in 1..=args.rounds {
        for entry in entries {
            eprintln!("round {round}: {}", entry.name);
            let place = fresh(folder)?;
            (entry.round)(args, &rows, &place, report)?;
        }
        if entries.iter().any(|entry| entry.name == ours::Skein::NAME) {
            eprintln!("round {round}: levels of durability");
            recovery::levels(args.batch, &rows, &fresh(folder)?, report)?;
        }
    }
    if args.recovery > 0 && entries.iter().any(|entry| entry.name == ours::Skein::NAME) {
        eprintln!("recovery of {} rows", args.recovery);
        recovery::recovery(&Rows::new(args.recovery, args.value_bytes), &fresh(folder)?, report)?;
    }
    Ok(())
}

/// The folder, empty.
fn fresh(folder: &Path) -> Result<PathBuf, String> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .map_err(|error| format!("cannot empty {}: {error}", folder.display()))?;
    }
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder.to_owned())
}

/// Thousands of operations per second.
#[allow(clippy::cast_precision_loss)] // Counts are far below 2^52.
fn rate(operations: usize, since: Instant) -> f64 {
    operations as f64 / since.elapsed().as_secs_f64() / 1e3
}

fn round<C: Contender>(args: &Args, rows: &Rows, folder: &Path, report: &mut Report) -> Result<(), String> {
    let mut store = C::open(folder, Level::Relaxed)?;
    let start = Instant::now();
    for first in (0..rows.len()).step_by(args.batch) {
        store.put_batch(rows, first..(first + args.batch).min(rows.len()))?;
    }
    store.force()?;
    report.add(C::NAME, "load", "krows/s", rate(rows.len(), start));

    let wanted = rows.sample(args.gets);
    let mut wrong = 0;
    let start = Instant::now();
    let read = pinned(0, || {
        store.get_each(&wanted, |n, value| {
            wrong += usize::from(!value.is_some_and(|value| rows.is(n, value)));
        })
    });
    read.map_err(|error| format!("cannot pin: {error}"))??;
    report.add(C::NAME, "get", "krows/s", rate(wanted.len(), start));
    if wrong > 0 {
        report.note(format!("WRONG: {} gave {wrong} wrong answers", C::NAME));
    }
    drop(store);

    let mut store = C::open(folder, Level::Sync)?;
    let mut latencies = Histogram::<u64>::new(3).map_err(text)?;
    for &n in &rows.sample(args.sync_puts) {
        let start = Instant::now();
        store.put(rows, n)?;
        latencies.record(start.elapsed().as_nanos() as u64).map_err(text)?;
    }
    for (name, quantile) in [("sync put, p50", 0.5), ("sync put, p99", 0.99)] {
        #[allow(clippy::cast_precision_loss)] // Nanoseconds of seconds.
        report.add(C::NAME, name, "us", latencies.value_at_quantile(quantile) as f64 / 1e3);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_of_ours_finds_every_row() {
        let args = Args {
            count: 3000,
            value_bytes: 40,
            batch: 100,
            gets: 2000,
            sync_puts: 3,
            recovery: 3000,
            rounds: 1,
            only: vec![ours::Skein::NAME.to_owned()],
            dir: None,
            json: None,
        };
        let folder = std::env::temp_dir().join(format!("skein-bench-test-{}", std::process::id()));
        let rows = Rows::new(args.count, args.value_bytes);
        let mut report = Report::new("store", String::new());
        let place = fresh(&folder).expect("the temporary folder takes folders");
        round::<ours::Skein>(&args, &rows, &place, &mut report).expect("the round runs");
        let place = fresh(&folder).expect("as before");
        recovery::recovery(&rows, &place, &mut report).expect("the recovery runs");
        std::fs::remove_dir_all(&folder).expect("made above");
        assert!(report.notes.iter().all(|note| !note.contains("WRONG")), "{:?}", report.notes);
        assert!(report.median(ours::Skein::NAME, "recovery from logs").is_some());
    }
}
