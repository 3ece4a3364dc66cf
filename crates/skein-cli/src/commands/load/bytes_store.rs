//! Loads into a disk store of plain bytes, with one thread: a disk store has one writer.

use skein_disk::DiskStore;

use super::RecordSink;
use super::report::LoadReport;
use crate::disk;
use crate::exit::Failure;
use crate::format::{RecordBody, TextRecord};

/// Writes records into a disk store of plain bytes.
pub struct BytesSink {
    store: DiskStore,
    report: LoadReport,
}

impl BytesSink {
    pub fn new(store: DiskStore, report: &LoadReport) -> Self {
        Self { store, report: report.clone() }
    }
}

impl RecordSink for BytesSink {
    fn select(&mut self, database: u64) -> Result<bool, Failure> {
        Ok(database == 0)
    }

    fn put(&mut self, record: TextRecord) -> Result<(), Failure> {
        let RecordBody::Value(value) = &record.body else {
            self.report.refuse(
                record.line,
                "the store's values are plain bytes, which have no columns, members or elements; load one value for each key",
            );
            return Ok(());
        };
        if record.expires.is_some() {
            self.report.refuse(
                record.line,
                "the store's values are plain bytes, which do not expire; leave the time out",
            );
            return Ok(());
        }
        match self.store.set(&record.key, value) {
            Ok(_) => self.report.load(1),
            Err(error) if error.refuses_contents() => self.report.refuse(record.line, &error.to_string()),
            Err(error) => return Err(disk::failure(&error)),
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        self.store.close().map_err(|error| disk::failure(&error))
    }
}
