//! Measures the speed of the log: one append, one `sync` write, and the throughput of the disk.
//!
//! `cargo run --release -p skein-log --example log_speed [FOLDER]`

#![expect(clippy::cast_precision_loss, reason = "rates for people to read")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_log::storage::OsStorage;
use skein_log::{Durability, Log, LogError, LogOptions};

const PAYLOAD: [u8; 100] = [7; 100];

fn main() -> Result<(), LogError> {
    let base = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = base.join(format!("skein-log-speed-{}", std::process::id()));
    for durability in [Durability::None, Durability::Buffered] {
        appends(&folder, durability)?;
    }
    lone_writer(&folder)?;
    for threads in [2, 8, 32] {
        many_writers(&folder, threads)?;
    }
    replay(&folder)?;
    std::fs::remove_dir_all(&folder).map_err(|error| LogError::io("remove", &folder, &error))
}

fn open(folder: &std::path::Path, durability: Durability, logs: usize) -> Result<Log, LogError> {
    let mut options = LogOptions::new(vec![folder.to_owned()]);
    (options.durability, options.logs) = (durability, logs);
    Ok(Log::open(Arc::new(OsStorage), options, None)?.0)
}

fn put(log: &Log, to: usize) -> Result<u64, LogError> {
    let operation = log.enter(to)?;
    let epoch = operation.epoch();
    operation.append(epoch, |out| out.extend_from_slice(&PAYLOAD));
    Ok(epoch)
}

/// Measures the cost of one append to a buffer, in bursts that outrun the disk and then let it
/// catch up.
fn appends(folder: &std::path::Path, durability: Durability) -> Result<(), LogError> {
    let log = open(folder, durability, 1)?;
    let (mut quiet, mut all) = (Vec::new(), Duration::ZERO);
    for _ in 0..100 {
        let began = Instant::now();
        for _ in 0..2_000 {
            put(&log, 0)?;
        }
        quiet.push(began.elapsed().as_secs_f64() / 2_000.0 * 1e9);
        log.commit()?;
    }
    quiet.sort_by(f64::total_cmp);
    let gaps = Arc::new(std::sync::Mutex::new(vec![Instant::now()]));
    let noted = gaps.clone();
    log.on_durable(move || {
        noted.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(Instant::now());
    });
    let count: u32 = 5_000_000;
    let began = Instant::now();
    for _ in 0..count {
        put(&log, 0)?;
    }
    all += began.elapsed();
    let marks = std::mem::take(&mut *gaps.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    let widest = marks.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
    println!("{durability:?}: {} commits meanwhile, at most {widest:?} apart", marks.len() - 1);
    println!(
        "{durability:?}: append of 100 bytes, in bursts: p50 {:.0} ns; {count} at once: {:.0} ns each, {:.0} MB/s",
        quiet[quiet.len() / 2],
        all.as_secs_f64() / f64::from(count) * 1e9,
        f64::from(count) * 116.0 / all.as_secs_f64() / 1e6
    );
    log.close().map(|_| ())
}

/// Measures the latency of a `sync` write of a lone writer, next to a plain write and sync of the
/// same size.
fn lone_writer(folder: &std::path::Path) -> Result<(), LogError> {
    let log = open(folder, Durability::Sync, 1)?;
    let path = folder.join("bare");
    let bare = std::fs::File::create(&path).map_err(|error| LogError::io("create", &path, &error))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for turn in 0..300 {
        let began = Instant::now();
        let epoch = put(&log, 0)?;
        log.wait_durable(epoch)?;
        ours.push(began.elapsed());
        let began = Instant::now();
        std::os::unix::fs::FileExt::write_all_at(&bare, &PAYLOAD, turn * 100)
            .and_then(|()| bare.sync_data())
            .map_err(|error| LogError::io("write", &path, &error))?;
        theirs.push(began.elapsed());
    }
    ours.sort();
    theirs.sort();
    println!(
        "Sync: a lone writer: p50 {:?}, p99 {:?}; a bare write and sync: p50 {:?}, p99 {:?}",
        ours[150], ours[297], theirs[150], theirs[297]
    );
    log.close().map(|_| ())
}

fn many_writers(folder: &std::path::Path, threads: usize) -> Result<(), LogError> {
    let log = open(folder, Durability::Sync, 2)?;
    let began = Instant::now();
    let counts: Vec<u64> = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let mut count = 0;
            while began.elapsed() < Duration::from_secs(1) {
                let Ok(()) = put(&log, thread % 2).and_then(|epoch| log.wait_durable(epoch)) else { break };
                count += 1;
            }
            count
        };
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "Sync: {threads} writers on 2 logs: {:.0} writes/s in {:.0} commits/s",
        counts.iter().sum::<u64>() as f64 / seconds,
        log.stats().commits as f64 / seconds
    );
    log.close().map(|_| ())
}

fn replay(folder: &std::path::Path) -> Result<(), LogError> {
    let mut options = LogOptions::new(vec![folder.to_owned()]);
    options.durability = Durability::None;
    let began = Instant::now();
    let (log, recovered) = Log::open(Arc::new(OsStorage), options, None)?;
    let opened = began.elapsed();
    let began = Instant::now();
    let report = recovered.replay(2, 0, |_, record| {
        std::hint::black_box(record.payload);
        Ok(())
    })?;
    let (records, replayed) = (report.records as f64, began.elapsed());
    println!(
        "{records} records: scanned in {opened:?} ({:.1} M/s), replayed in {replayed:?} ({:.1} M/s)",
        records / opened.as_secs_f64() / 1e6,
        records / replayed.as_secs_f64() / 1e6
    );
    log.close().map(|_| ())
}
