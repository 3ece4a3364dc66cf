//! Loads into a data folder. The memory engine uses several threads, each with its own session and
//! log. The disk engine uses one thread, because a disk store has one writer.
//!
//! A key always belongs to the same thread. So of several records of one key the last wins, as with
//! a server.

use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::Receiver;

use skein_data::{CollectionKind, Engine, EngineError, EngineSession, EngineWriter};
use skein_disk::DiskError;
use skein_store::{Error, RowWriter as _, StoreOptions};

use super::RecordSink;
use super::bytes_store::BytesSink;
use super::queue::WorkQueue;
use super::report::LoadReport;
use crate::exit::Failure;
use crate::format::{RecordBody, TextRecord};
use crate::target::{self, DurabilityArg, FolderContents, FolderTarget};

/// Batches that may wait for a thread.
const BATCHES_WAITING: usize = 4;
/// A batch is handed to its thread when its values have this many bytes, even if it has few
/// records.
const BATCH_BYTES: usize = 1 << 20;

/// Writes records into an engine that it opened itself.
struct RowsSink {
    engine: Engine,
    lanes: Vec<LoadThread>,
    hasher: RandomState,
    batch: usize,
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
    durability: DurabilityArg,
    batch: usize,
    report: &LoadReport,
) -> Result<Box<dyn RecordSink>, Failure> {
    let options = StoreOptions { durability: durability.into(), ..StoreOptions::default() };
    let logs = options.logs;
    Ok(match folder.open_contents(durability.into(), |folder| folder.open(options))? {
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
        Ok(Self { engine, lanes, hasher: RandomState::new(), batch })
    }
}

impl RecordSink for RowsSink {
    fn put(&mut self, record: TextRecord) -> Result<(), Failure> {
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
/// On disk, if a record fails late, the other records of its batch fail with it. Then the records
/// are written again one by one, which does not change those that were already written.
fn write_all(
    session: &mut EngineSession,
    batch: &[TextRecord],
    report: &LoadReport,
) -> Result<(), EngineError> {
    match (write_batch(session, batch), batch) {
        (Ok(refused), _) => {
            report.load((batch.len() - refused.len()) as u64);
            for (line, error) in refused {
                report.refuse(line, &error.to_string());
            }
        }
        (Err(error), [record]) if !stops(&error) => report.refuse(record.line, &error.to_string()),
        (Err(error), [] | [_]) => return Err(error),
        (Err(_), _) => return batch.chunks(1).try_for_each(|one| write_all(session, one, report)),
    }
    Ok(())
}

/// Writes a batch. Returns the rejected lines and the reasons.
fn write_batch(
    session: &mut EngineSession,
    batch: &[TextRecord],
) -> Result<Vec<(u64, EngineError)>, EngineError> {
    let (written, _ticket) = session.write(|writer| {
        let mut refused = Vec::new();
        for record in batch {
            writer.publish_if_many()?;
            match write_record(writer, record) {
                Ok(()) => {}
                Err(error) if writer.is_broken() || stops(&error) => return Err(error),
                Err(error) => refused.push((record.line, error)),
            }
        }
        Ok(refused)
    });
    written.and_then(|lines| lines)
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

fn write_record(writer: &mut EngineWriter<'_, '_>, record: &TextRecord) -> Result<(), EngineError> {
    match &record.body {
        RecordBody::Value(value) => match record.expires {
            Some(expires) => writer.put_until(&record.key, value, expires),
            None => writer.put(&record.key, value),
        },
        RecordBody::Columns(columns) => {
            let columns: Vec<(&[u8], &[u8])> =
                columns.iter().map(|(name, value)| (name.as_slice(), value.as_slice())).collect();
            writer.put_columns(&record.key, &columns)?;
            expire(writer, record)
        }
        RecordBody::Members(members) => {
            writer.change_set::<_, EngineError>(&record.key, true, |set| {
                for (member, score) in members {
                    set.put(member, *score)?;
                }
                Ok(())
            })?;
            expire(writer, record)
        }
        RecordBody::Set(members) => {
            writer.change_set_of::<_, EngineError>(CollectionKind::Set, &record.key, true, |set| {
                members.iter().try_for_each(|member| set.add(member).map(drop))?;
                Ok(())
            })?;
            expire(writer, record)
        }
    }
}

fn expire(writer: &mut EngineWriter<'_, '_>, record: &TextRecord) -> Result<(), EngineError> {
    match record.expires {
        Some(expires) => writer.expire(&record.key, Some(expires)).map(drop),
        None => Ok(()),
    }
}

fn body_bytes(body: &RecordBody) -> usize {
    match body {
        RecordBody::Value(value) => value.len(),
        RecordBody::Columns(columns) => columns.iter().map(|(name, value)| name.len() + value.len()).sum(),
        RecordBody::Members(members) => {
            members.iter().map(|(member, _)| member.len() + size_of::<f64>()).sum()
        }
        RecordBody::Set(members) => members.iter().map(Vec::len).sum(),
    }
}

#[cfg(test)]
mod tests {
    use skein_data::DiskEngine;
    use skein_disk::{DiskOptions, DiskStore, Values};
    use skein_store::StoreLimits;

    use super::*;
    use crate::progress::InputProgress;

    #[test]
    fn records_larger_than_the_cache_are_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let options = DiskOptions { values: Values::Rows, cache_pages: 16, ..DiskOptions::default() };
        let store = DiskStore::open(folder.path(), options).unwrap();
        let engine: Engine = DiskEngine::new(store, StoreLimits::default()).unwrap().into();
        let report = LoadReport::new(InputProgress::start(None, true).printer(), 0);
        let record = |line: u64| {
            let len = if line % 5 == 3 { 100_000 } else { 900 };
            TextRecord {
                line,
                key: vec![b'k', line as u8],
                body: RecordBody::Value(vec![line as u8; len]),
                expires: None,
            }
        };
        let batch: Vec<TextRecord> = (1..=40).map(record).collect();
        write_all(&mut engine.session(), &batch, &report).unwrap();
        assert_eq!((report.loaded(), report.refused()), (40, 0));
        assert_eq!(engine.len(), 40);
    }
}
