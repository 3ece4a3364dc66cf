//! Loading straight into a disk store whose values are plain bytes, with one thread: a disk store has one writer.

use skein_disk::{DiskError, DiskStore};

use super::Sink;
use super::report::Report;
use crate::disk;
use crate::exit::Failure;
use crate::format::{Body, Record};

/// Writes records into a disk store of plain bytes.
pub struct BytesSink {
    store: DiskStore,
    report: Report,
}

impl BytesSink {
    pub fn new(store: DiskStore, report: &Report) -> Self {
        Self { store, report: report.clone() }
    }
}

impl Sink for BytesSink {
    fn put(&mut self, record: Record) -> Result<(), Failure> {
        let Body::Value(value) = &record.body else {
            self.report.refuse(
                record.line,
                "the store's values are plain bytes, which have neither columns nor members; load one value for each key",
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
            // What a key or a value is refused for; anything else stops all writes.
            Err(
                error @ (DiskError::KeyTooLong { .. }
                | DiskError::ValueTooLong { .. }
                | DiskError::NotASmallInteger { .. }),
            ) => self.report.refuse(record.line, &error.to_string()),
            Err(error) => return Err(disk::failure(&error)),
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        self.store.close().map_err(|error| disk::failure(&error))
    }
}
