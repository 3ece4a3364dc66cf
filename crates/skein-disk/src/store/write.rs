//! Writes: set, compare and set, increment, remove (section 2: the paper's operations, there on integers alone).

use std::borrow::Cow;

use skein_log::Durability;
use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;

use super::record::Record;
use super::{DiskStore, Shared};
use crate::buffer::Writer;
use crate::{DiskError, Result};

/// What a write does to a key.
enum Change<'v> {
    Set(Cow<'v, [u8]>),
    Remove,
    Nothing,
}

impl DiskStore {
    /// Sets the value of a key; returns its version.
    ///
    /// # Errors
    /// A key or a value that is too long; a failed file operation; writes that were stopped by one. Unless the error is the log's, nothing was changed.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<u64> {
        self.shared.write(key, |_, _| Ok((Change::Set(value.into()), ()))).map(|(version, ())| version)
    }

    /// Sets the value of a key if its version is the one that is expected, or, with none, if it has no value; returns its new version. A last write that was
    /// interrupted has no version: whatever is expected, it starts over.
    ///
    /// # Errors
    /// [`DiskError::VersionDiffers`], with the version that it has; otherwise as [`set`](Self::set).
    pub fn cas(&self, key: &[u8], expected: Option<u64>, value: &[u8]) -> Result<u64> {
        let decide = |shared: &Shared, writer: &mut Writer<'_>| {
            let found = match shared.found(writer, key) {
                Err(DiskError::Interrupted { .. }) => expected,
                found => found?.map(|(version, _)| version),
            };
            if found != expected {
                return Err(DiskError::VersionDiffers { found, expected });
            }
            Ok((Change::Set(value.into()), ()))
        };
        self.shared.write(key, decide).map(|(version, ())| version)
    }

    /// Adds to the integer that a key's value is, as decimal text; a key without a value counts as 0. Returns the sum.
    ///
    /// # Errors
    /// [`DiskError::NotAnInteger`], [`DiskError::Overflow`]; otherwise as [`set`](Self::set).
    pub fn inc(&self, key: &[u8], by: i64) -> Result<i64> {
        let decide = |shared: &Shared, writer: &mut Writer<'_>| {
            let found = shared.found(writer, key)?.map(|(_, value)| value);
            let before = found.map_or(Ok(0), |value| integer(&value))?;
            let sum = before.checked_add(by).ok_or(DiskError::Overflow { value: before, by })?;
            Ok((Change::Set(sum.to_string().into_bytes().into()), sum))
        };
        self.shared.write(key, decide).map(|(_, sum)| sum)
    }

    /// Removes a key; false if it has no value.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn remove(&self, key: &[u8]) -> Result<bool> {
        let decide = |shared: &Shared, writer: &mut Writer<'_>| {
            let is_there = match shared.found(writer, key) {
                Err(DiskError::Interrupted { .. }) => true,
                found => found?.is_some(),
            };
            Ok((if is_there { Change::Remove } else { Change::Nothing }, is_there))
        };
        self.shared.write(key, decide).map(|(_, was_there)| was_there)
    }
}

/// The integer that a value is, as Redis has them: nothing but a sign and digits.
fn integer(value: &[u8]) -> Result<i64> {
    let text = str::from_utf8(value).ok();
    let number = text.filter(|text| !text.starts_with('+')).and_then(|text| text.parse().ok());
    number.ok_or_else(|| DiskError::NotAnInteger {
        value: value[..value.len().min(32)].escape_ascii().to_string(),
    })
}

impl Shared {
    /// What a key has, as the writer sees it.
    fn found(&self, writer: &mut Writer<'_>, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>> {
        self.trie.get(writer, key).map_err(|stop| writer.fault(stop))
    }

    /// Does what is decided about a key; returns the number of the write, 0 if there is none.
    fn write<'v, T>(
        &self,
        key: &[u8],
        decide: impl FnOnce(&Self, &mut Writer<'_>) -> Result<(Change<'v>, T)>,
    ) -> Result<(u64, T)> {
        let ordering = lock(&self.ordering);
        let mut writer = self.buffer.write();
        let (change, answer) = decide(self, &mut writer)?;
        let value = match &change {
            Change::Set(value) => Some(&value[..]),
            Change::Remove => None,
            Change::Nothing => return Ok((0, answer)),
        };
        // Also a write that fails from here on has had its number: a checkpoint may have seen it.
        let sequence = 1 + self.sequence.fetch_add(1, Ordering::Relaxed);
        let record = Record { sequence, key, value };
        self.put(&mut writer, &record)?;
        // Not before: no epoch closes while this is held, and the pages may have had to be read.
        let operation = self.log.enter(0)?;
        let epoch = operation.epoch();
        writer.publish()?;
        operation.append(epoch, |out| record.append(out));
        drop(operation);
        drop(ordering);
        self.count(record.len());
        if self.log.durability() == Durability::Sync {
            self.log.wait_durable(epoch)?;
        }
        Ok((sequence, answer))
    }

    /// Does a write to the trie's pages.
    pub(super) fn put(&self, writer: &mut Writer<'_>, record: &Record<'_>) -> Result<()> {
        match record.value {
            Some(value) => self.trie.set(writer, record.key, record.sequence, value).map(|_| ()),
            None => self.trie.remove(writer, record.key).map(|_| ()),
        }
    }

    /// Counts what was logged, and asks for a checkpoint when that is enough.
    fn count(&self, bytes: usize) {
        let most = self.options.checkpoint_bytes;
        let before = self.logged.fetch_add(bytes as u64, Ordering::Relaxed);
        if most > 0 && before < most && before + bytes as u64 >= most {
            lock(&self.wanted).checkpoint = true;
            self.changed.notify_one();
        }
    }
}
