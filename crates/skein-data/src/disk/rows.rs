//! Reads of rows of the disk engine, into buffers that a session reuses.

use std::ops::ControlFlow;

use skein_disk::{DiskStore, ScanEntries, ScanRequest};
use skein_model::{RowBuffer, RowRef, encode_value};

use super::walk_direction;
use crate::{EngineBounds, Error, Result, ScanDirection};

/// The most keys that one walk of a scan reads (`SCAN_KEYS`), and the bytes after which it ends.
const SCAN_KEYS: usize = 256;
const SCAN_BYTES: usize = 256 << 10;
/// The most bytes of values that are read together for a batch of lookups.
const TOGETHER_BYTES: usize = 1 << 20;

/// The most memory that a session keeps for the next row.
const KEEP_BYTES: usize = 1 << 20;

/// Buffers that a session reuses for its reads.
#[derive(Debug, Default)]
pub(crate) struct DiskRowReader {
    value: Vec<u8>,
    row: RowBuffer,
}

impl DiskRowReader {
    /// Returns the row of a key. `read` provides its bytes.
    pub(crate) fn row<'r>(
        &'r mut self,
        key: &[u8],
        read: impl FnOnce(&mut Vec<u8>) -> skein_disk::Result<Option<u64>>,
    ) -> Result<Option<RowRef<'r>>> {
        self.value.clear();
        self.value.shrink_to(KEEP_BYTES);
        match read(&mut self.value)? {
            Some(version) => row_of(&mut self.row, key, version, &self.value).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the bytes of a row with one value, with its expiry time if there is one.
    pub(crate) fn of_value(&mut self, value: &[u8], expires: Option<u64>) -> &[u8] {
        self.value.clear();
        encode_value(value, expires, &mut self.value);
        &self.value
    }

    /// Returns the bytes of a row.
    pub(crate) fn of_row(&mut self, row: RowRef<'_>) -> &[u8] {
        self.value.clear();
        row.encode(&mut self.value);
        &self.value
    }

    /// Passes the rows of several keys to `found`. Their lookups overlap. If a lookup fails, or the
    /// values are too large together, each key is read by itself. So one error does not hide the
    /// other rows.
    pub(crate) fn each(
        &mut self,
        store: &DiskStore,
        keys: &[&[u8]],
        mut found: impl FnMut(usize, Result<Option<RowRef<'_>>>),
    ) {
        let together = store.get_many(keys, TOGETHER_BYTES).ok();
        for (at, key) in keys.iter().enumerate() {
            let row = match &together {
                Some(read) => read
                    .get(at)
                    .map(|(version, value)| row_of(&mut self.row, key, version, value))
                    .transpose(),
                None => self.row(key, |value| store.get_into(key, value)),
            };
            found(at, row);
        }
    }

    /// Passes the rows of several keys, as of one moment, to `found`.
    pub(crate) fn rows(
        &mut self,
        store: &DiskStore,
        keys: &[&[u8]],
        bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        let read = store.get_many(keys, bytes_most)?;
        for (at, key) in keys.iter().enumerate() {
            match read.get(at) {
                Some((version, value)) => found(at, Some(row_of(&mut self.row, key, version, value)?)),
                None => found(at, None),
            }
        }
        Ok(())
    }

    /// Passes the rows within bounds that `range` reads to `each`, in order, until `each` breaks.
    /// `most` is the number of keys that `each` wants at most. The second argument of `range` is
    /// the number of keys read before.
    pub(crate) fn scan(
        &mut self,
        mut range: impl FnMut(&ScanRequest<'_>, u64) -> skein_disk::Result<ScanEntries>,
        (lower, upper): EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let (mut lower, mut upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        let mut before = 0;
        loop {
            let portion = ScanRequest {
                lower: lower.as_ref().map(Vec::as_slice),
                upper: upper.as_ref().map(Vec::as_slice),
                direction: walk_direction(direction),
                keys: most.min(SCAN_KEYS),
                bytes: SCAN_BYTES,
                values: true,
            };
            let found = range(&portion, before)?;
            before += found.entries.len() as u64;
            for entry in &found.entries {
                let row = row_of(&mut self.row, &entry.key, entry.version, &entry.value)?;
                if each(&entry.key, row).is_break() {
                    return Ok(());
                }
            }
            let Some(last) = found.entries.into_iter().next_back().filter(|_| found.more) else {
                return Ok(());
            };
            let near = if direction == ScanDirection::Forward { &mut lower } else { &mut upper };
            *near = std::ops::Bound::Excluded(last.key);
        }
    }

    /// Counts the first `most` keys within bounds that have not expired, as `range` reads them.
    /// Returns the count, and the last key if there may be more.
    pub(crate) fn count_first(
        &mut self,
        range: impl FnMut(&ScanRequest<'_>, u64) -> skein_disk::Result<ScanEntries>,
        bounds: EngineBounds<'_>,
        most: usize,
        now: u64,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        let (mut seen, mut count, mut last) = (0, 0, None);
        self.scan(range, bounds, ScanDirection::Forward, most, |key, row| {
            seen += 1;
            count += usize::from(!row.has_expired(now));
            if seen == most {
                last = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok((count, last))
    }
}

fn row_of<'r>(buffer: &'r mut RowBuffer, key: &[u8], version: u64, value: &[u8]) -> Result<RowRef<'r>> {
    buffer.read(version, value).ok_or_else(|| Error::not_a_row(key))
}
