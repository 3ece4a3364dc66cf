//! Transactions: several reads and writes that take effect at one moment or not at all.
//!
//! ```text
//!   begin     take the writer's lock; other writers wait until the end
//!   get, set  in private copies of pages, in any key space; so are cas, inc, remove, ...
//!   commit    publish all pages at once ─► one record in the log ─► ticket, durable with its epoch
//!   drop      drop the copies; nothing was changed
//! ```
//!
//! # Invariants
//! 1. The writes of a transaction have consecutive numbers, starting after the last published one.
//!    The number of a key's last write is its version. The store's numbers change with the
//!    publication, before another write, a checkpoint or a snapshot begins
//!    (`PageWriter::publish_then`).
//! 2. A write that failed half-way may have changed some copies. Then the transaction is *broken*
//!    and can only be dropped. So it is if a copy could not be spilled. A write that is refused
//!    before it begins (a long key, another version) does not break it.
//!
//! A transaction may change more pages than the cache has (`buffer/private_pages.rs`). Its record
//! stays in memory.
//!
//! Design: `docs/design/disk.md`.

use std::sync::MutexGuard;

use skein_log::{MAX_PAYLOAD, Ticket};
use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use skein_syntax::number::parse_i64;

use super::log_record::{self, LoggedWrite};
use super::{DiskShared, DiskStore, ReservedCounts};
use crate::buffer::PageWriter;
use crate::trie::{ScanEntries, ScanRequest, exceeds_capacity};
use crate::{DiskError, KeySpace, Result};

/// A transaction is full if its own pages are a quarter of the cache, or this many.
const FULL_PAGES: usize = 512;

/// The decision of the closure of [`DiskTransaction::update`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateAction {
    /// Leave the key unchanged.
    Keep,
    /// Set the value.
    Set(Vec<u8>),
    /// Remove the key if it exists.
    Remove,
}

/// The result of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateOutcome {
    /// Whether the key had a value before.
    pub existed: bool,
    /// Whether anything was changed.
    pub changed: bool,
    /// The version of the value or of the removal; 0 if there was no value and there is still no
    /// value.
    pub version: u64,
}

/// Several reads and writes that take effect at one moment or not at all; [`DiskStore::write`] has
/// an example.
///
/// Only one transaction exists at a time: other writers wait for its end, readers do not. So keep
/// it short. Within it, do not call methods of the store that write or take a checkpoint.
#[derive(Debug)]
#[must_use = "a transaction that is dropped without `commit` changes nothing"]
pub struct DiskTransaction<'s> {
    pub(super) shared: &'s DiskShared,
    pub(super) writer: PageWriter<'s>,
    /// Its record so far. Holding the lock keeps publications and the log in the same order.
    record: MutexGuard<'s, Vec<u8>>,
    /// The number of the last write.
    sequence: u64,
    /// The number of the last write before it.
    begun_at: u64,
    /// The number of keys of the main space.
    keys: u64,
    /// Its changes of the numbers of reserved keys.
    pub(super) reserved: ReservedCounts,
    /// See invariant 2.
    broken: Option<DiskError>,
    value: Vec<u8>,
}

impl DiskStore {
    /// Begins a transaction; waits for the current one. [`write`](Self::write) also waits for the
    /// writes to be durable.
    pub fn begin(&self) -> DiskTransaction<'_> {
        DiskTransaction::begin(&self.shared)
    }
}

impl<'s> DiskTransaction<'s> {
    pub(super) fn begin(shared: &'s DiskShared) -> Self {
        let mut record = lock(&shared.record);
        record.clear();
        // The numbers change only under the lock of `record`.
        let sequence = shared.sequence.load(Ordering::Relaxed);
        Self {
            shared,
            writer: shared.buffer.write(),
            record,
            sequence,
            begun_at: sequence,
            keys: shared.keys.load(Ordering::Relaxed),
            reserved: ReservedCounts::default(),
            broken: None,
            value: Vec::new(),
        }
    }

    /// Publishes all writes at one moment and logs them. Returns the ticket that tells when they
    /// are durable.
    ///
    /// # Errors
    /// An earlier error broke the transaction, the cache has no room, a failure stopped the log or
    /// the page file, or the store is closed. Nothing was changed then.
    pub fn commit(self) -> Result<Ticket> {
        self.check()?;
        if self.record.is_empty() {
            return Ok(Ticket::default());
        }
        // Under the lock of `record`. `close` sets the flag and then takes this lock once.
        self.shared.check_open()?;
        self.shared.buffer.check_writable()?;
        let Self { shared, writer, record, sequence, keys, reserved, .. } = self;
        // As late as possible: no epoch closes while this is held, and page reads take long.
        let operation = shared.log.enter(0)?;
        let epoch = operation.epoch();
        writer.publish_then(|| {
            shared.sequence.store(sequence, Ordering::Relaxed);
            shared.keys.store(keys, Ordering::Relaxed);
            shared.add_reserved(&reserved);
        })?;
        operation.append(epoch, |out| out.extend_from_slice(&record));
        drop(operation);
        shared.count(record.len());
        Ok(Ticket { epoch })
    }

    /// Returns whether the transaction is so large that the caller should commit it and continue in
    /// another one, if the writes need not be atomic.
    pub fn is_full(&self) -> bool {
        self.writer.pages() >= (self.writer.cache() / 4).min(FULL_PAGES)
            || self.record.len() >= MAX_PAYLOAD / 4
    }

    /// Returns whether an error has broken the transaction. It can only be dropped then.
    pub fn is_broken(&self) -> bool {
        self.check().is_err()
    }

    pub(super) fn check(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)?;
        self.writer.failed()
    }

    /// Returns the number of its writes.
    pub fn writes(&self) -> u64 {
        self.sequence - self.begun_at
    }

    /// Returns the number of its last write, which is the version of the key that it set or
    /// removed.
    pub fn version_of_last(&self) -> u64 {
        self.sequence
    }

    /// Returns whether it has written nothing.
    pub fn is_empty(&self) -> bool {
        self.record.is_empty()
    }

    /// Returns the number of keys of the main space, including its own writes.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// A page cannot be read or is damaged, or the last write to the key was interrupted.
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.map(|_| value))
    }

    /// Replaces the contents of `value` by the value of a key, and returns the version.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_into(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<u64>> {
        self.get_in(KeySpace::Main, key, value)
    }

    /// Sets the value of a key. Returns its version.
    ///
    /// # Errors
    /// The key or the value is too long, the transaction does not fit a record of the log, or a
    /// file operation failed.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<u64> {
        self.set_in(KeySpace::Main, key, value)
    }

    /// Removes a key. Returns false if it has no value.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.remove_in(KeySpace::Main, key)
    }

    /// Returns the keys of a range in order, including its own writes.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for a hash trie; otherwise as [`get`](Self::get).
    pub fn range(&mut self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        self.range_in(KeySpace::Main, request)
    }

    /// Returns keys in the trie's own order, including its own writes; see [`DiskStore::walk`].
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for some bounds of a hash trie; otherwise as [`get`](Self::get).
    pub fn walk(&mut self, request: &ScanRequest<'_>) -> Result<ScanEntries> {
        self.walk_in(KeySpace::Main, request)
    }

    /// Checks whether a scan can continue; see [`DiskStore::check_scanned`].
    ///
    /// # Errors
    /// The first violation of an invariant.
    pub fn check_scanned(&mut self, before: u64, now: u64) -> Result<()> {
        if !exceeds_capacity(self.shared.buffer.ids(), before, now) {
            return Ok(());
        }
        self.shared.check_as(&mut self.writer, self.keys).map(drop)
    }

    /// Sets the value of a key if it has the expected version, or, with `None`, if it has no value.
    /// Returns the new version. After an interrupted write the key has no version, and any expected
    /// version matches.
    ///
    /// # Errors
    /// [`DiskError::VersionDiffers`] with the key's version; otherwise as [`set`](Self::set).
    pub fn cas(&mut self, key: &[u8], expected: Option<u64>, value: &[u8]) -> Result<u64> {
        let found = match self.version_in(KeySpace::Main, key) {
            Err(DiskError::Interrupted { .. }) => expected,
            found => found?,
        };
        if found == expected {
            self.set(key, value)
        } else {
            Err(DiskError::VersionDiffers { found, expected })
        }
    }

    /// Adds to a value that is an integer in decimal digits. A missing value counts as 0. Returns
    /// the sum.
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

    /// Calls `decide` with the version and the value of a key, and changes the key as it decides.
    /// If it returns an error, nothing is changed.
    ///
    /// # Errors
    /// The errors of `decide`; otherwise as [`set`](Self::set), and [`DiskError::Interrupted`].
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
        self.do_write(&LoggedWrite { space: KeySpace::Main, key, value })?;
        Ok(UpdateOutcome { changed: true, version: self.sequence, ..unchanged })
    }

    /// Applies a write to the pages and adds it to the record.
    pub(super) fn do_write(&mut self, write: &LoggedWrite<'_>) -> Result<()> {
        self.check()?;
        self.admit(write)?;
        let number = self.sequence + 1;
        match self.shared.put(&mut self.writer, number, write, &mut self.reserved) {
            Ok(change) => self.keys = self.keys.wrapping_add_signed(change),
            // Checked before anything was changed.
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

    /// Refuses a write to a space that the store lacks, or that cannot fit, before it begins.
    fn admit(&self, write: &LoggedWrite<'_>) -> Result<()> {
        if !self.shared.spaces.has(write.space) {
            return Err(DiskError::NoSuchSpace { space: write.space });
        }
        let len = 8 + self.record.len() + write.len();
        if len > MAX_PAYLOAD {
            return Err(DiskError::TransactionTooLong { len, limit: MAX_PAYLOAD });
        }
        Ok(())
    }
}

impl DiskShared {
    /// Applies a write to its trie, and notes the change of the numbers of reserved keys. Returns
    /// the change of the number of keys of the main space.
    pub(super) fn put(
        &self,
        writer: &mut PageWriter<'_>,
        number: u64,
        write: &LoggedWrite<'_>,
        reserved: &mut ReservedCounts,
    ) -> Result<i64> {
        let change = self.spaces.write(writer, number, write)?;
        if change != 0 {
            reserved.note(write.space, write.key, change);
        }
        Ok(if write.space == KeySpace::Main { change } else { 0 })
    }

    /// Counts logged bytes, and requests a checkpoint for each `checkpoint_bytes` of them. After a
    /// replay, or after a checkpoint that failed, there may be more already.
    fn count(&self, bytes: usize) {
        let before = self.logged.fetch_add(bytes as u64, Ordering::Relaxed);
        let times = |logged: u64| logged.checked_div(self.options.checkpoint_bytes);
        if times(before) != times(before + bytes as u64) {
            self.checkpoints.request();
        }
    }
}

/// Parses an integer as Redis does, or names the value in the error.
fn integer(value: &[u8]) -> Result<i64> {
    parse_i64(value).ok_or_else(|| DiskError::NotAnInteger {
        value: value[..value.len().min(32)].escape_ascii().to_string(),
    })
}
