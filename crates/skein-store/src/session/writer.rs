//! Single-key writes within one entry into the epoch.
//!
//! A write prepares its row and its log record before `compute` takes the key's latch. Under the
//! latch:
//!
//! 1. A read-modify-write checks that the key still has the row that it read. It compares
//!    addresses: the guard keeps the old row alive, so its address is not reused.
//! 2. The write takes the version and the epoch, and stores the row.
//!
//! If the row changed meanwhile, the write starts again (`update`). `remove` has the removals, also
//! those of the expiry thread and of evictions.

mod remove;
mod update;

use skein_index::{ComputeAction, Guard as _, LocalGuard};
use skein_log::LogOperation;
use skein_model::{Row, RowRef, RowUpdate};

use crate::expiry::OperationTime;
use crate::index::note_removed;
use crate::record;
use crate::record_buffer::RecordBuffer;
use crate::store_core::StoreCore;
use crate::{Error, Result, Ticket};

use super::active_writes::ActiveWrite;
use super::prefetched_places::PrefetchedPlaces;
use super::undo_journal::{ReplacedRow, UndoJournal};

pub(super) use remove::release_collection;
pub(super) use update::{Exchanged, exchange};

/// A long sequence of writes appends its records, leaves the epoch and enters again after this many
/// writes. So it delays neither the commit nor the reclamation of memory.
const WRITES_PER_ENTRY: u64 = 256;

/// The writer also enters again after this many bytes of records or of removed rows.
pub(super) const BYTES_PER_ENTRY: usize = 256 << 10;

/// The largest number of keys that are looked up together before their writes. It is large enough
/// for reads to overlap, and small enough for the fetched lines to stay in the nearest cache.
pub(super) const KEYS_PER_PREFETCH: usize = 32;

/// Writes to the store, for the duration of [`super::Session::write`]. Most writes are methods of
/// [`RowWriter`](crate::RowWriter).
///
/// ```
/// # use skein_store::*;
/// # let folder = tempfile::tempdir()?;
/// # let store = Store::open(folder.path(), StoreOptions::default())?;
/// let mut session = store.session();
/// let (written, _) = session.write(|writer| {
///     writer.change_set::<_, Error>(b"geese", true, |set| {
///         set.put(b"grey", 3.5)?;
///         set.put(b"bean", 2.0)
///     })
/// })?;
/// assert_eq!(written?, Some(None), "there was no score before");
/// session.get_with(b"geese", |row| {
///     let set = row.and_then(|row| row.sorted_set()).expect("it was put").read();
///     assert_eq!((set.len(), set.score(b"grey"), set.rank(3.5, b"grey")), (2, Some(3.5), 1));
/// });
///
/// let (pushed, _) = session.write(|writer| {
///     writer.change_list::<_, Error>(b"arrivals", true, |list| {
///         list.push(ListEnd::Back, [&b"grey"[..], b"bean"].into_iter())?;
///         list.insert(1, b"barnacle")?;
///         list.len()
///     })
/// })?;
/// assert_eq!(pushed?, Some(3));
///
/// let (replaced, _) = session.write(|writer| {
///     writer.put(b"ducks", b"teal, pintail")?;
///     writer.replace_set::<_, Error>(b"ducks", None, |set| set.put(b"teal", 0.3).map(drop))
/// })?;
/// replaced?;
/// let is_set = |row: Option<RowRef<'_>>| row.is_some_and(|row| row.sorted_set().is_some());
/// assert!(session.get_with(b"ducks", is_set));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own; together they are no state machine"
)]
pub struct Writer<'s> {
    pub(super) core: &'s StoreCore,
    pub(super) log_shard: usize,
    #[expect(dead_code, reason = "kept for its drop")]
    active_write: ActiveWrite,
    /// See [`super::Session::freeze`].
    pub(super) frozen: Option<u64>,
    pub(super) records: RecordBuffer,
    /// The places in the index of the keys that were looked up beforehand.
    prefetched: PrefetchedPlaces,
    /// The entry into the epoch. `None` only while a long sequence of writes leaves and enters
    /// again.
    pub(super) operation: Option<LogOperation<'s>>,
    pub(super) guard: LocalGuard<'s>,
    /// The latest epoch of any write.
    epoch: u64,
    pub(super) writes: u64,
    /// Whether the writer checks the memory limit itself.
    pub(super) checks_limit: bool,
    /// The error for writes that add memory, if memory was used up at the last check.
    pub(super) over_budget: Option<Error>,
    /// The rows that a group has replaced, during the writes of a group that was checked as a
    /// whole.
    pub(super) journal: Option<UndoJournal>,
    /// All writes are one group (`group`, `open_batch`), so the writer does not leave the epoch
    /// between them.
    pub(super) is_group: bool,
    /// Snapshots are live, so the writer keeps the rows that it replaces (`snapshot`).
    pub(super) keeps: bool,
    /// A rename is in progress: the row may move to the new key together with its collection.
    pub(super) renames: bool,
    /// Rows with too many columns are spread; see [`super::Session::spread_columns`].
    pub(super) spread: bool,
    /// See [`super::Session::pack_members`].
    pub(super) packs: bool,
    /// Bytes of rows that were removed from the index since the writer entered the epoch.
    pub(super) removed_bytes: usize,
    /// The keys that were evicted, if evictions are observed.
    pub(super) evicted: Option<Vec<Vec<u8>>>,
    /// The first failure of the log. Then the writer must not return a ticket.
    failed: Option<Error>,
}

impl<'s> Writer<'s> {
    pub(crate) fn enter(core: &'s StoreCore, log_shard: usize, frozen: Option<u64>) -> Result<Self> {
        let mut writer = Self::enter_unasked(core, log_shard)?;
        writer.frozen = frozen;
        writer.look_at_budget();
        Ok(writer)
    }

    /// Enters as [`enter`](Self::enter) does, but does not check the memory limit.
    pub(crate) fn enter_unasked(core: &'s StoreCore, log_shard: usize) -> Result<Self> {
        let active_write = ActiveWrite::enter(core)?;
        let operation = Some(core.commit.enter(log_shard)?);
        // Inside the epoch: see invariant 1 of `snapshot`.
        let keeps = core.keys.snapshots.are_live();
        let guard = core.keys.index.collector().enter();
        let records = RecordBuffer::take();
        Ok(Self {
            core,
            log_shard,
            active_write,
            frozen: None,
            records,
            prefetched: PrefetchedPlaces::take(),
            operation,
            guard,
            epoch: 0,
            writes: 0,
            over_budget: None,
            checks_limit: false,
            journal: None,
            is_group: false,
            keeps,
            renames: false,
            spread: false,
            packs: false,
            removed_bytes: 0,
            evicted: None,
            failed: None,
        })
    }

    /// Appends the records and leaves the epoch.
    pub(crate) fn finish(mut self) -> Result<Ticket> {
        self.append();
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(Ticket { epoch: self.epoch }),
        }
    }

    /// Appends the records to the log.
    pub(super) fn append(&mut self) {
        if let Some(operation) = &self.operation
            && !self.records.is_empty()
        {
            // A session that asks for room beforehand has already advanced the clock of the keys'
            // ages.
            if let Some(limit) = self.core.budget.limit().filter(|_| self.checks_limit) {
                self.core
                    .keys
                    .rows
                    .ages()
                    .written(self.records.bytes(), limit, || self.core.options.clock.now_s());
            }
            let mut appender = operation.appender();
            for (epoch, record) in self.records.iter() {
                appender.append(epoch, |out| out.extend_from_slice(record));
            }
        }
        self.records.clear();
    }

    /// Returns whether the present write belongs to a group that was checked as a whole.
    pub(super) fn is_admitted(&self) -> bool {
        self.journal.is_some()
    }

    /// Prepares for a write. If enough was written since the last time, appends the records, leaves
    /// the epoch (unless all writes are one batch) and enters again.
    pub(super) fn begin_write(&mut self) -> Result<()> {
        // A group stays within one epoch, so its writes must not leave it.
        if self.is_admitted() {
            return Ok(());
        }
        self.writes += 1;
        if self.writes.is_multiple_of(WRITES_PER_ENTRY)
            || self.records.bytes() > BYTES_PER_ENTRY
            || self.removed_bytes > BYTES_PER_ENTRY
        {
            self.append();
            self.removed_bytes = 0;
            if !self.is_group {
                self.operation = None;
            }
            self.prefetched.clear();
            self.guard.refresh();
            self.enter_again()?;
            // Inside the epoch, because evictions are recorded.
            if self.checks_limit {
                self.look_at_budget();
            }
        }
        // An earlier attempt to enter may have failed.
        self.enter_again()
    }

    /// Enters the epoch unless the writer is inside.
    #[inline]
    fn enter_again(&mut self) -> Result<()> {
        if self.operation.is_none() {
            match self.core.commit.enter(self.log_shard) {
                Ok(operation) => {
                    self.operation = Some(operation);
                    self.keeps = self.core.keys.snapshots.are_live();
                }
                Err(error) => {
                    self.failed.get_or_insert_with(|| error.clone());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Rejects a write over a size limit, and a write that adds memory while memory is used up. The
    /// contents of the key change from `before` bytes (`None` if absent) to `after` bytes.
    pub(super) fn admit(&self, key: &[u8], before: Option<usize>, after: usize) -> Result<()> {
        if self.is_admitted() {
            return Ok(());
        }
        self.core.check_sizes(key, after)?;
        if !self.checks_limit {
            return self.core.budget.admit_growth(
                &self.core.keys,
                &self.core.commit.log,
                before.unwrap_or(0),
                after,
            );
        }
        match &self.over_budget {
            Some(error) if before.is_none_or(|before| after > before) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Rejects a row that is to replace `seen`, as [`admit`](Self::admit) does, and a record that
    /// is too long; the record begins at `start`. Another allocator may have made the row, so this
    /// also notes whether the row expires.
    fn admit_row(&self, key: &[u8], seen: Option<RowRef<'_>>, row: &Row, start: usize) -> Result<()> {
        StoreCore::check_expiry(key, row.as_ref().expires_at())?;
        self.admit(key, seen.map(RowRef::content_len), row.as_ref().content_len())?;
        Error::check_record_len(self.records.bytes() - start)?;
        if row.as_ref().expires_at().is_some() {
            self.core.keys.rows.note_expiring();
        }
        Ok(())
    }

    /// Lets a test meddle with the key of a write that has decided; see the module `interference`.
    #[cfg(feature = "interference")]
    pub(super) fn meet_interference(&self) {
        if !self.is_group && !self.is_admitted() {
            self.core.interference.run();
        }
    }

    /// Commits the record that begins at `start`, after its write was done.
    pub(super) fn recorded(&mut self, start: usize, version: u64, epoch: u64) {
        self.records.commit(start, version, epoch);
        self.note_epoch(epoch);
    }

    /// Notes that the writer wrote something in this epoch.
    pub(super) fn note_epoch(&mut self, epoch: u64) {
        // Epochs of different keys differ by at most one, in either order.
        self.epoch = self.epoch.max(epoch);
        self.core.commit.written();
    }

    /// Updates the expiry index after a row that expired at `replaced` was replaced by a row that
    /// expires at `now`, or was removed.
    #[inline]
    pub(super) fn update_expiry_index(&self, key: &[u8], replaced: Option<u64>, now: Option<u64>) {
        if replaced.is_some() || now.is_some() {
            self.core.keys.expiry_index.refresh(&self.core.keys.index, key, replaced, &self.guard);
        }
    }

    #[inline]
    pub(super) fn time(&self) -> OperationTime<'s> {
        self.core.time(self.frozen)
    }

    /// Returns the time by which keys expire for these writes, in milliseconds since 1970; see
    /// [`Session::now`](super::Session::now).
    pub fn now(&self) -> u64 {
        self.time().now()
    }

    /// Reads a key between the writes.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        let row = self.time().live(self.core.keys.index.get(key, &self.guard));
        self.core.keys.used(row);
        look(row)
    }

    /// Calls `look` with the row of a key, even if it has expired, and whether it has. This does not
    /// count as a use of the key.
    pub fn peek_with<R>(&self, key: &[u8], look: impl FnOnce(Option<(RowRef<'_>, bool)>) -> R) -> R {
        let time = self.time();
        look(self.core.keys.index.get(key, &self.guard).map(|row| (row, !time.shows(row))))
    }

    /// Looks up keys that are about to be written, with overlapping reads, and discards the rows:
    /// the lookups only fill the cache. For some dozens of keys this makes their writes about twice
    /// as fast. For a single key it does not help.
    pub fn prefetch(&mut self, keys: &[&[u8]]) {
        let prefetched = &mut self.prefetched;
        prefetched.begin(keys.len());
        self.core.keys.index.locate_many(keys, &self.guard, |at, row, place| {
            // A write reads the version first.
            std::hint::black_box(row.map(RowRef::version));
            if let Some(place) = place {
                prefetched.note(at, keys[at], place);
            }
        });
    }

    /// Changes a key in the index, starting from its prefetched place if there is one. Returns
    /// whether the key changed, and the replaced row.
    #[inline]
    fn compute(
        &mut self,
        key: &[u8],
        change: impl FnOnce(Option<RowRef<'_>>) -> ComputeAction<Row>,
    ) -> Result<(bool, ReplacedRow)> {
        let place = self.prefetched.place_of(key);
        // SAFETY: the places belong to the main index and to equal keys, and were found under this
        // guard (invariants 1 and 2 of `prefetched_places`).
        let done = unsafe { self.core.change_row(self.keeps, key, place, change, &self.guard) }?;
        let before = done.before.filter(|_| done.changed);
        self.removed_bytes += note_removed(&self.core.keys.rows, before, &self.guard);
        let collection = before.and_then(RowRef::shared_collection);
        Ok((done.changed, ReplacedRow { row: before.map(RowRef::pin), collection }))
    }

    /// Sets several keys, each on its own, in chunks with overlapping memory reads.
    ///
    /// # Errors
    /// As for [`put`](Self::put); the pairs before the rejected one were written.
    pub fn put_many(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        for chunk in pairs.chunks(KEYS_PER_PREFETCH) {
            let mut keys: [&[u8]; KEYS_PER_PREFETCH] = [&[]; KEYS_PER_PREFETCH];
            for (key, pair) in keys.iter_mut().zip(chunk) {
                *key = pair.0;
            }
            self.prefetch(&keys[..chunk.len()]);
            for (key, value) in chunk {
                self.put(key, value)?;
            }
        }
        Ok(())
    }

    /// Sets a key to a value that does not expire, whatever the key held.
    ///
    /// # Errors
    /// Key or value is over its limit, or memory is used up.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<RowUpdate> {
        self.begin_write()?;
        self.put_now(key, value, None)
    }

    /// Sets a key to a value, whatever the key held. The key expires at `expires` (milliseconds
    /// since 1970).
    ///
    /// # Errors
    /// As for [`put`](Self::put); the limit for the key is 8 bytes lower.
    #[inline]
    pub fn put_until(&mut self, key: &[u8], value: &[u8], expires: u64) -> Result<RowUpdate> {
        StoreCore::check_expiry(key, Some(expires))?;
        self.begin_write()?;
        self.put_now(key, value, Some(expires))
    }

    pub(super) fn put_now(&mut self, key: &[u8], value: &[u8], expires: Option<u64>) -> Result<RowUpdate> {
        // The present row matters only while memory is used up, so only then it is looked up.
        let looked = self.over_budget.is_some().then(|| self.core.keys.index.get(key, &self.guard)).flatten();
        self.admit(key, looked.map(RowRef::content_len), value.len())?;
        let (core, time) = (self.core, self.time());
        let mut row = core.keys.rows.value_until(&[value], expires)?;
        let start = self.records.begin(|out| record::write_value(out, key, 0, value, expires));
        let (mut existed, mut version, mut epoch, mut replaced) = (false, 0, 0, None);
        let put = self.compute(key, |current| {
            (version, epoch) = (core.keys.next_version(key, current), core.commit.epoch());
            existed = time.live(current).is_some();
            replaced = current.and_then(RowRef::expires_at);
            row.succeed(current, version, core.keys.rows.ages());
            ComputeAction::Put(row)
        });
        let replaced_row = match put {
            Ok((_, replaced)) => replaced,
            Err(refused) => {
                self.records.cancel(start);
                return Err(refused);
            }
        };
        self.recorded(start, version, epoch);
        self.update_expiry_index(key, replaced, expires);
        self.note_replaced(replaced_row, version, false);
        Ok(RowUpdate { existed, changed: true, version })
    }
}

impl Drop for Writer<'_> {
    /// Appends the records and leaves the epoch, also after a panic in the caller's closure.
    fn drop(&mut self) {
        self.append();
        std::mem::take(&mut self.records).keep();
        std::mem::take(&mut self.prefetched).keep();
    }
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("writes", &self.writes)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}
