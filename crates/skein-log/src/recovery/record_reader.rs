//! Reads the records of a segment file, one after the other.

use std::io;

use crate::record::{RECORD_HEADER, RecordHeader};
use crate::segment::SEGMENT_HEADER;
use crate::storage::StorageFile;

/// The number of bytes per read.
const WINDOW: usize = 1 << 20;

/// Reads the records of a segment up to the first position without a valid record.
#[derive(Debug)]
pub struct RecordReader<'a> {
    file: &'a dyn StorageFile,
    seed: u32,
    /// Bytes from here on are not read.
    end: u64,
    at: u64,
    window: Vec<u8>,
    window_at: u64,
    last_epoch: u64,
}

/// A record as it lies in the file.
#[derive(Debug, Clone, Copy)]
pub struct FoundLogRecord<'a> {
    /// The position of its header.
    pub at: u64,
    pub header: RecordHeader,
    pub payload: &'a [u8],
}

/// The reason why there is no valid record at a position.
pub type NoRecord = &'static str;

impl<'a> RecordReader<'a> {
    /// Creates a reader for the records of a segment before `end`. Records of epochs before
    /// `first_epoch` are invalid.
    pub fn new(file: &'a dyn StorageFile, seed: u32, first_epoch: u64, end: u64) -> Self {
        let at = SEGMENT_HEADER as u64;
        Self { file, seed, end, at, window: Vec::new(), window_at: at, last_epoch: first_epoch }
    }

    /// Returns the position of the next record.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Returns the next record, or the reason why there is no valid one. In that case the reader
    /// does not move.
    pub fn next(&mut self) -> io::Result<Result<FoundLogRecord<'_>, NoRecord>> {
        let at = self.at;
        if at == self.end {
            return Ok(Err("the file ends where a record should begin"));
        }
        let Some(bytes) = self.bytes(RECORD_HEADER)? else {
            return Ok(Err("the file ends within a record's header"));
        };
        let mut head = [0; RECORD_HEADER];
        head.copy_from_slice(bytes);
        let Some(header) = RecordHeader::parse(&head) else {
            let zeros = head == [0; RECORD_HEADER];
            return Ok(Err(if zeros {
                "there are zeros where a record should begin"
            } else {
                "there is no valid record header"
            }));
        };
        let (seed, last_epoch) = (self.seed, self.last_epoch);
        let len = RECORD_HEADER + header.len;
        // The second call of `bytes` satisfies the borrow checker; its data are already in memory.
        match self.bytes(len)? {
            None => return Ok(Err("the file ends within a record")),
            Some(record) if !header.holds(seed, record) => {
                return Ok(Err("the checksum of a record does not match"));
            }
            Some(_) if header.epoch < last_epoch => {
                return Ok(Err("a record's epoch is before its predecessor's"));
            }
            Some(_) => {}
        }
        self.last_epoch = header.epoch;
        self.at += len as u64;
        let start = (at - self.window_at) as usize;
        Ok(Ok(FoundLogRecord { at, header, payload: &self.window[start + RECORD_HEADER..start + len] }))
    }

    /// Returns the `len` bytes from `at` on, or `None` if the file ends before.
    fn bytes(&mut self, len: usize) -> io::Result<Option<&[u8]>> {
        if self.at + len as u64 > self.end {
            return Ok(None);
        }
        let start = (self.at - self.window_at) as usize;
        if start + len > self.window.len() {
            let want = (self.end - self.at).min(len.max(WINDOW) as u64) as usize;
            self.window.resize(want, 0);
            let read = self.file.read_at(&mut self.window, self.at)?;
            self.window.truncate(read);
            self.window_at = self.at;
            if read < len {
                return Ok(None);
            }
            return Ok(Some(&self.window[..len]));
        }
        Ok(Some(&self.window[start..start + len]))
    }
}
