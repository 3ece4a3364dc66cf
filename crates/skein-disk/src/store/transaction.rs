//! Transactions: many reads and writes that are done at one moment, or not at all.
//!
//! ```text
//!   begin    the writer's lock; nobody else writes until the end      get, set, cas, ...    in private copies of pages
//!   commit   publish all pages at one moment ─► one record in the log ─► a ticket, durable when its epoch is
//!   drop     the copies are dropped: nothing was changed
//! ```
//!
//! # Invariants
//! 1. Writes of a transaction have consecutive numbers, from the one that follows the last published; the number of a key's last write is its version.
//!    The store's numbers change when the pages are published, before anybody else writes or a checkpoint begins (`Writer::publish_then`).
//! 2. A write that failed on its way may have done a part of itself. Then nothing more can be done but to give the transaction up: it is *broken*.
//!    What is refused before it begins (a long key, another version) breaks nothing.
//! 3. Copies fit the cache, and so does what was read for them: a write is refused once they do not.

use std::sync::MutexGuard;

use skein_log::{MAX_PAYLOAD, Ticket};
use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;

use super::log_record::{self, LoggedWrite};
use super::{DiskShared, DiskStore};
use crate::buffer::PageWriter;
use crate::page::PAGE;
use crate::trie::{ScanEntries, ScanRequest, is_beyond};
use crate::{DiskError, Result};

/// A transaction that has a quarter of the cache, or so many pages, in memory of its own is full.
const FULL_PAGES: usize = 512;

/// What the closure of [`Transaction::update`] decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateAction {
    /// Leave the key as it is.
    Keep,
    /// Set its value.
    Set(Vec<u8>),
    /// Remove it, if it is there.
    Remove,
}

/// What an update did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateOutcome {
    /// Whether the key had a value before.
    pub existed: bool,
    /// Whether anything was changed.
    pub changed: bool,
    /// The version now, or of the removal; 0 if there was and is none.
    pub version: u64,
}

/// Reads and writes that are done at one moment, or not at all; [`DiskStore::write`] has an example.
///
/// There is one at a time: others that write wait for its end, those that read do not. So keep it short, and within it call nothing else of the store
/// that writes or takes a checkpoint.
#[derive(Debug)]
#[must_use = "dropped without `commit`, it does nothing"]
pub struct DiskTransaction<'s> {
    pub(super) shared: &'s DiskShared,
    pub(super) writer: PageWriter<'s>,
    /// Its record so far. Holding it keeps publications and the log in one order.
    record: MutexGuard<'s, Vec<u8>>,
    /// The number of the last write.
    sequence: u64,
    /// Keys that there are.
    keys: u64,
    /// See invariant 2.
    broken: Option<DiskError>,
    value: Vec<u8>,
}

impl DiskStore {
    /// Begins a transaction; waits for the one under way. [`write`](Self::write) is the same for who waits for its end.
    pub fn begin(&self) -> DiskTransaction<'_> {
        DiskTransaction::begin(&self.shared)
    }
}

impl<'s> DiskTransaction<'s> {
    pub(super) fn begin(shared: &'s DiskShared) -> Self {
        let mut record = lock(&shared.record);
        record.clear();
        // The numbers change under the lock of `record` alone.
        Self {
            shared,
            writer: shared.buffer.write(),
            record,
            sequence: shared.sequence.load(Ordering::Relaxed),
            keys: shared.keys.load(Ordering::Relaxed),
            broken: None,
            value: Vec::new(),
        }
    }

    /// Publishes all that was written at one moment, and logs it. The ticket says when it is durable.
    ///
    /// # Errors
    /// The transaction is broken by an earlier error; there is no room in the cache; the log or the page file is stopped by a failure; the
    /// store was closed. Nothing was changed then.
    pub fn commit(self) -> Result<Ticket> {
        self.check()?;
        if self.record.is_empty() {
            return Ok(Ticket::default());
        }
        // Under the lock of `record`, which `close` takes once after it has set the flag.
        self.shared.check_open()?;
        self.shared.buffer.check_writable()?;
        let Self { shared, writer, record, sequence, keys, .. } = self;
        // Not before: no epoch closes while this is held, and the pages may have had to be read.
        let operation = shared.log.enter(0)?;
        let epoch = operation.epoch();
        writer.publish_then(|| {
            shared.sequence.store(sequence, Ordering::Relaxed);
            shared.keys.store(keys, Ordering::Relaxed);
        })?;
        operation.append(epoch, |out| out.extend_from_slice(&record));
        drop(operation);
        shared.count(record.len());
        Ok(Ticket { epoch })
    }

    /// Whether it has so much that it should be ended, and the rest be done in another one: if it need not be one moment.
    pub fn is_full(&self) -> bool {
        self.writer.pages() >= (self.writer.cache() / 4).min(FULL_PAGES)
            || self.record.len() >= MAX_PAYLOAD / 4
    }

    /// Whether an error on the way has broken it: it can only be dropped then.
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    pub(super) fn check(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// The number of its last write, which is the version of what that set or removed.
    pub fn version_of_last(&self) -> u64 {
        self.sequence
    }

    /// Whether it has written nothing.
    pub fn is_empty(&self) -> bool {
        self.record.is_empty()
    }

    /// How many keys there are, with what it has written.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The value of a key.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged; a last write that was interrupted.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.map(|_| value))
    }

    /// The version of a key, and its value in `value`, in place of what is there.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_into(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<u64>> {
        value.clear();
        self.check()?;
        self.writer.release_many_reads();
        self.shared.trie.get_into(&mut self.writer, key, value).map_err(|stop| self.writer.fault(stop))
    }

    /// Sets the value of a key; returns its version.
    ///
    /// # Errors
    /// A key or a value that is too long; more than fits the cache, or a record of the log; a failed file operation.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<u64> {
        self.do_write(&LoggedWrite { key, value: Some(value) }).map(|()| self.sequence)
    }

    /// Removes a key; false if it has no value.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        let is_there = match self.version(key) {
            Err(DiskError::Interrupted { .. }) => true,
            found => found?.is_some(),
        };
        if is_there {
            self.do_write(&LoggedWrite { key, value: None })?;
        }
        Ok(is_there)
    }

    /// The keys of a portion, in order, with what it has written.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] of a hash trie; otherwise as [`get`](Self::get).
    pub fn range(&mut self, portion: &ScanRequest<'_>) -> Result<ScanEntries> {
        self.check()?;
        self.writer.release_many_reads();
        self.shared.trie.collect(&mut self.writer, portion).map_err(|stop| self.writer.fault(stop))
    }

    /// The keys of a portion in the trie's own order, with what it has written; see [`DiskStore::walk`].
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for some bounds of a hash trie; otherwise as [`get`](Self::get).
    pub fn walk(&mut self, portion: &ScanRequest<'_>) -> Result<ScanEntries> {
        self.check()?;
        self.writer.release_many_reads();
        self.shared.trie.walk(&mut self.writer, portion).map_err(|stop| self.writer.fault(stop))
    }

    /// Says whether a scan over portions can go on; see [`DiskStore::check_scanned`].
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub fn check_scanned(&mut self, before: u64, now: u64) -> Result<()> {
        if !is_beyond(self.shared.buffer.ids(), before, now) {
            return Ok(());
        }
        self.shared.check_as(&mut self.writer, self.keys).map(drop)
    }

    fn version(&mut self, key: &[u8]) -> Result<Option<u64>> {
        self.check()?;
        self.shared.trie.version(&mut self.writer, key).map_err(|stop| self.writer.fault(stop))
    }

    /// Sets the value of a key if its version is the one that is expected, or, with none, if it has no value; returns its new version. A last write that was
    /// interrupted has no version: whatever is expected, it starts over.
    ///
    /// # Errors
    /// [`DiskError::VersionDiffers`], with the version that it has; otherwise as [`set`](Self::set).
    pub fn cas(&mut self, key: &[u8], expected: Option<u64>, value: &[u8]) -> Result<u64> {
        let found = match self.version(key) {
            Err(DiskError::Interrupted { .. }) => expected,
            found => found?,
        };
        if found == expected {
            self.set(key, value)
        } else {
            Err(DiskError::VersionDiffers { found, expected })
        }
    }

    /// Adds to the integer that a key's value is, as decimal text; a key without a value counts as 0. Returns the sum.
    ///
    /// # Errors
    /// [`DiskError::NotAnInteger`], [`DiskError::Overflow`]; otherwise as [`set`](Self::set).
    pub fn inc(&mut self, key: &[u8], by: i64) -> Result<i64> {
        let mut sum = 0;
        self.update::<DiskError>(key, |found| {
            let before = found.map_or(Ok(0), |(_, value)| integer(value))?;
            sum = before.checked_add(by).ok_or(DiskError::Overflow { value: before, by })?;
            Ok(UpdateAction::Set(sum.to_string().into_bytes()))
        })?;
        Ok(sum)
    }

    /// Changes a key as `decide` says, which is shown its version and its value. An error of it changes nothing.
    ///
    /// # Errors
    /// Those of the closure; otherwise as [`set`](Self::set), and [`DiskError::Interrupted`].
    pub fn update<E: From<DiskError>>(
        &mut self,
        key: &[u8],
        decide: impl FnOnce(Option<(u64, &[u8])>) -> std::result::Result<UpdateAction, E>,
    ) -> std::result::Result<UpdateOutcome, E> {
        let mut value = std::mem::take(&mut self.value);
        let found = self.get_into(key, &mut value);
        let decided = found.map_err(E::from).and_then(|found| {
            let shown = found.map(|version| (version, &value[..]));
            Ok((found, decide(shown)?))
        });
        self.value = value;
        let (found, change) = decided?;
        let unchanged =
            UpdateOutcome { existed: found.is_some(), changed: false, version: found.unwrap_or(0) };
        let value = match &change {
            UpdateAction::Set(value) => Some(&value[..]),
            UpdateAction::Remove if found.is_some() => None,
            UpdateAction::Keep | UpdateAction::Remove => return Ok(unchanged),
        };
        self.do_write(&LoggedWrite { key, value })?;
        Ok(UpdateOutcome { changed: true, version: self.sequence, ..unchanged })
    }

    /// Does a write to the pages, and notes it for the log.
    pub(super) fn do_write(&mut self, write: &LoggedWrite<'_>) -> Result<()> {
        self.check()?;
        self.admit(write)?;
        let number = self.sequence + 1;
        match self.shared.put(&mut self.writer, number, write) {
            Ok(change) => self.keys = self.keys.wrapping_add_signed(change),
            // Looked at before anything else.
            Err(error @ (DiskError::KeyTooLong { .. } | DiskError::ValueTooLong { .. })) => {
                return Err(error);
            }
            Err(error) => {
                self.broken = Some(error.clone());
                return Err(error);
            }
        }
        self.sequence = number;
        log_record::append(&mut self.record, number, write);
        Ok(())
    }

    /// Refuses a write that cannot fit, before it begins.
    fn admit(&self, write: &LoggedWrite<'_>) -> Result<()> {
        let (pages, cache) =
            (self.writer.pages() + write.value.map_or(0, <[u8]>::len) / PAGE, self.writer.cache());
        if pages >= cache {
            return Err(DiskError::WriteTooLarge { pages, cache });
        }
        let len = 8 + self.record.len() + write.len();
        if len > MAX_PAYLOAD {
            return Err(DiskError::TransactionTooLong { len, limit: MAX_PAYLOAD });
        }
        Ok(())
    }
}

impl DiskShared {
    /// Does a write to the trie's pages; by how much the number of keys changes.
    pub(super) fn put(
        &self,
        writer: &mut PageWriter<'_>,
        number: u64,
        write: &LoggedWrite<'_>,
    ) -> Result<i64> {
        Ok(match write.value {
            Some(value) => self.trie.set(writer, write.key, number, value)?.into(),
            None => -i64::from(self.trie.remove(writer, write.key)?),
        })
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

/// The integer that a value is, as Redis has them: nothing but a sign and digits.
fn integer(value: &[u8]) -> Result<i64> {
    let text = str::from_utf8(value).ok();
    let number = text.filter(|text| !text.starts_with('+')).and_then(|text| text.parse().ok());
    number.ok_or_else(|| DiskError::NotAnInteger {
        value: value[..value.len().min(32)].escape_ascii().to_string(),
    })
}
