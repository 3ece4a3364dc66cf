//! A workload with numbered records, so that missing ones show, and functions to read a log.
#![allow(dead_code, reason = "each test program uses a part")]

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_log::{CheckpointEpochs, Durability, Log, LogError, LogOptions, OpenProgress, Recovered, Result};

pub const FOLDER: &str = "/data/logs";

pub fn options(logs: usize) -> LogOptions {
    let mut options = LogOptions::new(vec![PathBuf::from(FOLDER)]);
    options.logs = logs;
    options.durability = Durability::Sync;
    options.segment_bytes = 64 << 10;
    options.buffer_bytes = 64 << 10;
    // So that only the test commits.
    options.flush_interval = Duration::from_millis(150);
    options
}

pub fn open(sim: &SimStorage, logs: usize) -> Result<(Log, Recovered)> {
    Log::open(sim.share(), options(logs), None)
}

/// Appends record number `number`, of at least `len` bytes, to log `to`. Returns its epoch.
pub fn put(log: &Log, to: usize, number: u64, len: usize) -> Result<u64> {
    let operation = log.enter(to)?;
    let epoch = operation.epoch();
    operation.append(epoch, |out| {
        out.extend_from_slice(&number.to_le_bytes());
        out.resize(out.len() + len, number as u8);
    });
    Ok(epoch)
}

/// Opens logs at `Buffered` with a large buffer.
pub fn open_buffered(sim: &SimStorage, logs: usize, segment_bytes: u64) -> Log {
    let durability = Durability::Buffered;
    let options = LogOptions { durability, segment_bytes, buffer_bytes: 8 << 20, ..options(logs) };
    Log::open(sim.share(), options, None).unwrap().0
}

/// Writes to each log by a thread, until the log refuses. Returns the numbers of all
/// records, sorted, and the last epoch.
pub fn fill(log: &Log, logs: usize, len: usize) -> (Vec<u64>, u64) {
    let write = |to: usize| {
        let numbers = (1_u64..).map(|at| at * logs as u64 + to as u64);
        let mut written = Vec::new();
        for number in numbers {
            match put(log, to, number, len) {
                Ok(epoch) => written.push((number, epoch)),
                Err(error) => {
                    assert!(matches!(error, LogError::NoRoom { .. }), "{error}");
                    break;
                }
            }
        }
        written
    };
    let written = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..logs).map(|to| scope.spawn(move || write(to))).collect();
        let written: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        written.concat()
    });
    let (mut numbers, epochs): (Vec<_>, Vec<_>) = written.into_iter().unzip();
    numbers.sort_unstable();
    (numbers, epochs.into_iter().max().unwrap_or(0))
}

/// Returns whether an epoch becomes durable within some seconds.
pub fn becomes_durable(log: &Log, epoch: u64) -> bool {
    let began = Instant::now();
    while log.durable_epoch() < epoch && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    log.durable_epoch() >= epoch
}

/// Returns the numbers of all records, sorted. Panics on an error.
pub fn numbers(recovered: &Recovered) -> Vec<u64> {
    read_numbers(recovered).unwrap()
}

/// Returns the numbers of all records, sorted.
pub fn read_numbers(recovered: &Recovered) -> Result<Vec<u64>> {
    let found = Mutex::new(Vec::new());
    let report = recovered.replay(2, 0, |_, record| {
        let number = u64::from_le_bytes(record.payload[..8].try_into().unwrap());
        if record.payload[8..].iter().any(|byte| *byte != number as u8) {
            return Err(format!("record {number} has other bytes than written"));
        }
        found.lock().unwrap().push(number);
        Ok(())
    })?;
    let mut found = found.into_inner().unwrap();
    assert_eq!(report.records, found.len() as u64);
    assert_eq!(recovered.report().records, found.len() as u64, "the report and the replay count differently");
    found.sort_unstable();
    Ok(found)
}

/// Returns the numbers that a log would recover, without changing anything. Empty if the folder
/// does not exist.
pub fn inspect(storage: &dyn Storage) -> Result<Vec<u64>> {
    match Recovered::inspect(storage, &[PathBuf::from(FOLDER)], None, &OpenProgress::default()) {
        Ok(recovered) => read_numbers(&recovered),
        Err(LogError::Io { kind: std::io::ErrorKind::NotFound, .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The acknowledged and the attempted writes of a run.
#[derive(Debug, Default, Clone, Copy)]
pub struct AcknowledgedWrites {
    /// Records up to this number are durable.
    pub acknowledged: u64,
    /// Records up to this number were appended.
    pub appended: u64,
}

/// Appends `count` records after `from`, to all logs in turn, large enough to fill segments, and
/// sometimes waits for durability. Ends at the first error.
pub fn run(log: &Log, from: u64, count: u64, written: &mut AcknowledgedWrites) -> Result<()> {
    for number in from + 1..=from + count {
        let to = (number / 3) as usize % log.logs();
        let len = [10, 700, 9_000, 100][number as usize % 4];
        written.appended = number;
        let epoch = put(log, to, number, len)?;
        if number % 5 < 2 {
            log.wait_durable(epoch)?;
            written.acknowledged = number;
        }
    }
    Ok(())
}

/// Checks that `found` is 1, 2, ... k, with all acknowledged records and none that was never
/// appended.
pub fn check_prefix(found: &[u64], written: AcknowledgedWrites, context: &str) {
    let k = found.len() as u64;
    assert!(found.iter().copied().eq(1..=k), "{context}: holes in {found:?}");
    assert!(k >= written.acknowledged, "{context}: {k} records kept, {} acknowledged", written.acknowledged);
    assert!(k <= written.appended, "{context}: {k} records kept, {} appended", written.appended);
}

pub fn segment_files(storage: &dyn Storage) -> Vec<PathBuf> {
    let names = storage.list(Path::new(FOLDER)).unwrap();
    let mut paths: Vec<PathBuf> = names
        .into_iter()
        .filter(|entry| entry.name.starts_with("log-"))
        .map(|entry| Path::new(FOLDER).join(entry.name))
        .collect();
    paths.sort();
    paths
}

pub fn covered(begin: u64, end: u64) -> CheckpointEpochs {
    CheckpointEpochs { begin, end }
}
