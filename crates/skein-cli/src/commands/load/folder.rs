//! Loads into a data folder. The memory engine uses several threads, each with its own session and
//! log. The disk engine uses one thread, because a disk store has one writer.
//!
//! A key always belongs to the same thread. So of several records of one key the last wins, as with
//! a server.

use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::Receiver;

use skein_data::{
    DATABASES_MAX, DatabaseTable, Engine, EngineError, EngineSession, EngineWriter, StoredKeyspace,
    is_reserved,
};
use skein_disk::{DiskError, Durability};
use skein_store::{Error, StoreOptions};

use super::RecordSink;
use super::bytes_store::BytesSink;
use super::queue::WorkQueue;
use super::report::LoadReport;
use crate::exit::Failure;
use crate::format::TextRecord;
use crate::target::{self, FolderContents, FolderTarget};

/// Batches that may wait for a thread.
const BATCHES_WAITING: usize = 4;
/// A batch is handed to its thread when its values have this many bytes, even if it has few
/// records.
const BATCH_BYTES: usize = 1 << 20;

/// Why a key of a database is rejected.
const RESERVED_KEY: &str =
    "the key begins with \\xffSK\\x00, as only keys of the store do; rename it in its Redis";

/// Writes records into an engine that it opened itself.
struct RowsSink {
    engine: Engine,
    /// The keyspace of the selected database. Without one, records have keys of the store.
    keyspace: Option<StoredKeyspace>,
    lanes: Vec<LoadThread>,
    hasher: RandomState,
    batch: usize,
    report: LoadReport,
}

/// One thread, and the records collected for it.
struct LoadThread {
    waiting: Vec<TextRecord>,
    waiting_bytes: usize,
    batches: WorkQueue<Vec<TextRecord>>,
}

/// Opens the folder, or creates it.
pub fn open(
    folder: &FolderTarget<'_>,
    durability: Durability,
    batch: usize,
    report: &LoadReport,
) -> Result<Box<dyn RecordSink>, Failure> {
    let options = StoreOptions { durability, ..StoreOptions::default() };
    let logs = options.logs;
    Ok(match folder.open_contents(durability, |folder| folder.open(options))? {
        FolderContents::Rows(engine) => {
            let threads = if matches!(engine, Engine::Memory(_)) { logs } else { 1 };
            Box::new(RowsSink::start(engine, threads, batch, report)?)
        }
        FolderContents::Bytes(store) => Box::new(BytesSink::new(store, report)),
    })
}

impl RowsSink {
    fn start(engine: Engine, threads: usize, batch: usize, report: &LoadReport) -> Result<Self, Failure> {
        let lanes = (0..threads.max(1)).map(|_| LoadThread::start(engine.session(), report.clone()));
        let lanes = lanes.collect::<Result<_, _>>()?;
        Ok(Self { engine, keyspace: None, lanes, hasher: RandomState::new(), batch, report: report.clone() })
    }
}

impl RecordSink for RowsSink {
    fn select(&mut self, database: u64) -> Result<bool, Failure> {
        let table = DatabaseTable::of(&self.engine).map_err(Failure::new)?;
        let keyspace = u32::try_from(database).ok().and_then(|database| table.keyspace(database));
        self.keyspace = Some(keyspace.ok_or_else(|| {
            Failure::new(format!(
                "the keys of database {database} do not fit into a folder, which has databases 0 to {}; load others by \
                 --database N",
                DATABASES_MAX - 1
            ))
        })?);
        Ok(true)
    }

    fn put(&mut self, mut record: TextRecord) -> Result<(), Failure> {
        if let Some(keyspace) = self.keyspace {
            if is_reserved(&record.key) {
                self.report.refuse(record.line, RESERVED_KEY);
                return Ok(());
            }
            if !keyspace.is_default() {
                record.key = keyspace.stored(&record.key).into_owned();
            }
        }
        let lane = self.hasher.hash_one(&record.key) as usize % self.lanes.len();
        let lane = &mut self.lanes[lane];
        lane.waiting_bytes += record.key.len() + record.body.bytes();
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
        result.and(self.engine.close().map_err(|error| target::engine_failure(&error)))
    }
}

impl LoadThread {
    fn start(mut session: EngineSession, report: LoadReport) -> Result<Self, Failure> {
        let batches = WorkQueue::start(BATCHES_WAITING, move |batches: Receiver<Vec<TextRecord>>| {
            let written = batches.iter().try_for_each(|batch| write_all(&mut session, &batch, &report));
            written.map_err(|error| target::engine_failure(&error))
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

/// Writes records, and reports each of them. An error is one that stops all writes.
///
/// On disk, if a record fails late, the other records of its batch that are not published fail with
/// it. Then these are written again one by one. No record is written twice, because that would
/// append the elements of a list twice.
fn write_all(
    session: &mut EngineSession,
    batch: &[TextRecord],
    report: &LoadReport,
) -> Result<(), EngineError> {
    let mut progress = BatchProgress::default();
    let written = write_batch(session, batch, &mut progress);
    let done = if written.is_ok() { batch.len() } else { progress.published };
    progress.refused.retain(|(at, _)| *at < done);
    report.load((done - progress.refused.len()) as u64);
    for (at, error) in progress.refused {
        report.refuse(batch[at].line, &error.to_string());
    }
    match (written, &batch[done..]) {
        (Ok(()), _) => Ok(()),
        (Err(error), [record]) if !stops(&error) => {
            report.refuse(record.line, &error.to_string());
            Ok(())
        }
        // In memory the records before the error stay written.
        (Err(error), [] | [_]) => Err(error),
        (Err(error), _) if !session.can_roll_back() => Err(error),
        (Err(_), rest) => rest.chunks(1).try_for_each(|one| write_all(session, one, report)),
    }
}

/// The state of a batch that is being written.
#[derive(Default)]
struct BatchProgress {
    /// The number of records, from the first on, that can no longer be undone.
    published: usize,
    /// The positions of rejected records, and the reasons.
    refused: Vec<(usize, EngineError)>,
}

/// Writes a batch.
fn write_batch(
    session: &mut EngineSession,
    batch: &[TextRecord],
    progress: &mut BatchProgress,
) -> Result<(), EngineError> {
    let (written, _ticket) = session.keys().write(|writer| {
        for (at, record) in batch.iter().enumerate() {
            writer.publish_if_many()?;
            if writer.published() {
                progress.published = at;
            }
            match write_record(writer, record) {
                Ok(()) => {}
                Err(error) if writer.is_broken() || stops(&error) => {
                    // A long record publishes by itself, and may be written twice.
                    if writer.published() {
                        progress.published = at;
                    }
                    return Err(error);
                }
                Err(error) => progress.refused.push((at, error)),
            }
        }
        Ok(())
    });
    written.and_then(|written| written)
}

fn write_record(writer: &mut EngineWriter<'_, '_>, record: &TextRecord) -> Result<(), EngineError> {
    if record.replaces {
        writer.remove(&record.key)?;
    }
    record.body.write(writer, &record.key, record.expires)
}

/// Returns whether the error concerns all writes, not only this record.
fn stops(error: &EngineError) -> bool {
    match error {
        EngineError::Rows(error) => {
            matches!(error, Error::WritesStopped { .. } | Error::NoRoomOnDisk { .. } | Error::Closed)
        }
        EngineError::Disk(error) => !matches!(
            error,
            DiskError::KeyTooLong { .. }
                | DiskError::ValueTooLong { .. }
                | DiskError::TransactionTooLong { .. }
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use skein_data::DiskEngine;
    use skein_disk::{DiskOptions, DiskStore, Values};
    use skein_store::StoreLimits;

    use super::*;
    use crate::format::RecordBody;
    use crate::progress::InputProgress;

    /// Opens a disk engine with a small cache.
    fn engine(folder: &Path) -> Engine {
        let options = DiskOptions { values: Values::Rows, cache_pages: 16, ..DiskOptions::default() };
        let store = DiskStore::open(folder, options).unwrap();
        DiskEngine::new(store, StoreLimits::default()).unwrap().into()
    }

    #[test]
    fn records_larger_than_the_cache_are_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let report = LoadReport::new(InputProgress::start(None, true).printer(), 0);
        let record = |line: u64| {
            let len = if line % 5 == 3 { 100_000 } else { 900 };
            TextRecord {
                line,
                key: vec![b'k', line as u8],
                body: RecordBody::Value(vec![line as u8; len]),
                expires: None,
                replaces: false,
            }
        };
        let batch: Vec<TextRecord> = (1..=40).map(record).collect();
        write_all(&mut engine.session(), &batch, &report).unwrap();
        assert_eq!((report.loaded(), report.refused()), (40, 0));
        assert_eq!(engine.len(), 40);
    }

    /// If a later record fails, the published records of its batch must not be written again: they
    /// would append to their list twice.
    #[test]
    fn the_published_records_of_a_list_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let element = |line: u64| vec![line as u8; 900];
        let record = |line: u64| {
            let (key, body) = if line.is_multiple_of(50) {
                ("set", RecordBody::Set(vec![b"short".to_vec(), vec![b'l'; 70_000]]))
            } else {
                ("list", RecordBody::List(vec![element(line)]))
            };
            TextRecord { line, key: key.into(), body, expires: None, replaces: false }
        };
        let batch: Vec<TextRecord> = (1..=120).map(record).collect();
        let (mut session, mut progress) = (engine.session(), BatchProgress::default());
        write_batch(&mut session, &batch, &mut progress).unwrap();
        assert!((1..120).contains(&progress.published), "{}", progress.published);
        let refused: Vec<usize> = progress.refused.iter().map(|(at, _)| *at).collect();
        assert_eq!(refused, [49, 99], "members that are too long");
        let mut found = Vec::new();
        session.keys().get_with(b"list", |row| {
            let read = row.unwrap().unwrap().pieces(|piece| {
                let skein_data::RowPiece::List(elements) = piece else { panic!("{piece:?}") };
                found.extend(elements);
                std::ops::ControlFlow::Continue(())
            });
            assert!(read.unwrap().is_continue());
        });
        let expected: Vec<_> = (1..=120).filter(|line: &u64| !line.is_multiple_of(50)).map(element).collect();
        assert!(found == expected, "{} elements instead of {}", found.len(), expected.len());
    }
}
