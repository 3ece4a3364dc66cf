//! Loading straight into a data folder: several threads, each with a session, so a log, of its own.
//!
//! A key always goes to the same thread, so of several records of one key the last wins, as from a server.

use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::Receiver;

use skein_store::{Error, RowWriter as _, Session, Store, StoreOptions, Writer};

use super::Sink;
use super::queue::Queue;
use super::report::Report;
use crate::exit::Failure;
use crate::format::{Body, Record};
use crate::target::{self, DurabilityArg, FolderTarget};

/// Batches that may wait for a thread.
const BATCHES_WAITING: usize = 4;
/// A batch goes to its thread when its values take this many bytes, even if it has few records.
const BATCH_BYTES: usize = 1 << 20;

/// Writes records into a store of its own.
pub struct FolderSink {
    store: Store,
    lanes: Vec<Lane>,
    hasher: RandomState,
    batch: usize,
}

/// One thread and what is gathered for it.
struct Lane {
    waiting: Vec<Record>,
    waiting_bytes: usize,
    batches: Queue<Vec<Record>>,
}

impl FolderSink {
    /// Opens the folder, or makes it.
    pub fn open(
        folder: &FolderTarget<'_>,
        durability: DurabilityArg,
        batch: usize,
        report: &Report,
    ) -> Result<Self, Failure> {
        let options = StoreOptions { durability: durability.into(), ..StoreOptions::default() };
        let threads = options.logs;
        let store = folder.open(options)?;
        let lanes = (0..threads.max(1)).map(|_| Lane::start(store.session(), report.clone()));
        let lanes = lanes.collect::<Result<_, _>>()?;
        Ok(Self { store, lanes, hasher: RandomState::new(), batch })
    }
}

impl Sink for FolderSink {
    fn put(&mut self, record: Record) -> Result<(), Failure> {
        let lane = self.hasher.hash_one(&record.key) as usize % self.lanes.len();
        let lane = &mut self.lanes[lane];
        lane.waiting_bytes += record.key.len() + body_bytes(&record.body);
        lane.waiting.push(record);
        if lane.waiting.len() < self.batch && lane.waiting_bytes < BATCH_BYTES {
            Ok(())
        } else {
            lane.flush()
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        let mut result = Ok(());
        for lane in &mut self.lanes {
            result = result.and(lane.flush());
        }
        for lane in &mut self.lanes {
            result = result.and(lane.batches.end());
        }
        result.and(self.store.close().map(|_| ()).map_err(|error| target::store_failure(&error)))
    }
}

impl Lane {
    fn start(session: Session, report: Report) -> Result<Self, Failure> {
        let batches = Queue::start(BATCHES_WAITING, move |batches| {
            write_batches(session, &batches, &report).map_err(|error| target::store_failure(&error))
        })?;
        Ok(Self { waiting: Vec::new(), waiting_bytes: 0, batches })
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.waiting_bytes = 0;
        self.batches.put(std::mem::take(&mut self.waiting)).map(|_| ())
    }
}

fn write_batches(
    mut session: Session,
    batches: &Receiver<Vec<Record>>,
    report: &Report,
) -> Result<(), Error> {
    for batch in batches {
        let (written, _ticket) = session.write(|writer| write_batch(writer, &batch, report))?;
        report.load(written?);
    }
    Ok(())
}

/// Writes a batch; returns how many of it were taken. An error is one that stops all writes.
fn write_batch(writer: &mut Writer<'_>, batch: &[Record], report: &Report) -> Result<u64, Error> {
    let mut written = 0;
    for record in batch {
        match write_record(writer, record) {
            Ok(()) => written += 1,
            Err(error @ (Error::WritesStopped { .. } | Error::Closed)) => return Err(error),
            Err(error) => report.refuse(record.line, &error.to_string()),
        }
    }
    Ok(written)
}

fn write_record(writer: &mut Writer<'_>, record: &Record) -> Result<(), Error> {
    match &record.body {
        Body::Value(value) => writer.put(&record.key, value).map(|_| ()),
        Body::Columns(columns) => {
            let columns: Vec<(&[u8], &[u8])> =
                columns.iter().map(|(name, value)| (name.as_slice(), value.as_slice())).collect();
            writer.put_columns(&record.key, &columns).map(|_| ())
        }
    }
}

fn body_bytes(body: &Body) -> usize {
    match body {
        Body::Value(value) => value.len(),
        Body::Columns(columns) => columns.iter().map(|(name, value)| name.len() + value.len()).sum(),
    }
}
