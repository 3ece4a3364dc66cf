//! Single-key writes within one entry into the epoch.
//!
//! A write prepares its row and its log record before it takes the key's latch (inside `compute`); under the
//! latch it checks, for a read-modify-write, that the key's row is still the one it read (the same
//! allocation: the guard keeps the old one alive, so its address is not used again), takes the version and
//! the epoch, and hands the row over. If the row changed meanwhile it starts again (`update`).

mod update;

use std::sync::Arc;

use skein_index::{ComputeAction as Verdict, Guard as _, LocalGuard};
use skein_log::LogOperation;

use crate::collection::Collection;
use crate::expiry::OperationTime;
use crate::record;
use crate::record_buffer::RecordBuffer;
use crate::row::{Row, RowRef};
use crate::store::StoreCore;
use crate::{Error, Result, Ticket};

use super::active_writes::ActiveWrite;
use super::prefetched_places::PrefetchedPlaces;
use super::undo_journal::{ReplacedRow, UndoJournal};

pub(super) use update::{Exchanged, exchange};

/// Writes after which a long scope appends its records, leaves the epoch and enters again, so that it
/// holds back neither the commit nor the reclamation of memory.
const WRITES_PER_ENTRY: u64 = 256;

/// Bytes of records, or of rows that have left, after which it does.
pub(super) const BYTES_PER_ENTRY: usize = 256 << 10;

/// Keys that are looked up together ahead of their writes: enough that reads overlap, few enough that what they
/// fetched is still in the nearest cache when it is needed.
pub(super) const KEYS_PER_PREFETCH: usize = 32;

/// What the closure of [`update`](super::RowWriter::update) decides.
#[derive(Debug)]
pub enum RowChange {
    /// Leave the key as it is.
    Keep,
    /// Set the key to this row.
    Put(Row),
    /// Leave what the key holds, and let it expire at this time (milliseconds since 1970), or never. Nothing, if it is absent.
    Expire(Option<u64>),
    /// Remove the key, if it is there.
    Remove,
}

/// What [`update`](super::RowWriter::update) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowUpdate {
    /// Whether the key was present before.
    pub existed: bool,
    /// Whether anything was changed.
    pub changed: bool,
    /// The version of the row now (of the one that was kept, or of the removal); 0 if there was and is none.
    pub version: u64,
}

/// The scope of [`super::Session::write`].
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own; together they are no state machine"
)]
pub struct Writer<'s> {
    pub(super) inner: &'s StoreCore,
    pub(super) lane: usize,
    #[expect(dead_code, reason = "kept for its drop")]
    inside: ActiveWrite,
    /// See [`super::Session::freeze`].
    pub(super) frozen: Option<u64>,
    pub(super) records: RecordBuffer,
    /// Where keys that were looked up ahead belong.
    ahead: PrefetchedPlaces,
    /// Inside the epoch; `None` only while a long scope goes out and in again.
    pub(super) operation: Option<LogOperation<'s>>,
    pub(super) guard: LocalGuard<'s>,
    /// The last epoch of any write.
    epoch: u64,
    pub(super) writes: u64,
    /// Whether it looks at the budget by itself.
    pub(super) asks: bool,
    /// Whether the budget was used up when it was last looked at.
    pub(super) over_budget: Option<Error>,
    /// What a group replaces, while its writes are done, which were admitted together.
    pub(super) journal: Option<UndoJournal>,
    /// All writes are one group (`scope`), so the epoch is not left between them.
    pub(super) whole: bool,
    /// A key is getting another name, to which its row may go with what it stands for.
    pub(super) renames: bool,
    /// Columns that are too many for a row are spread; see [`super::Session::spread_columns`].
    pub(super) spread: bool,
    /// Bytes of rows that have left the index since the epoch was entered.
    pub(super) left: usize,
    /// The first failure of the log: nothing may be acknowledged then.
    failed: Option<Error>,
}

impl<'s> Writer<'s> {
    pub(crate) fn enter(inner: &'s StoreCore, lane: usize, frozen: Option<u64>) -> Result<Self> {
        let mut writer = Self::enter_unasked(inner, lane)?;
        writer.frozen = frozen;
        writer.look_at_budget();
        Ok(writer)
    }

    /// As [`enter`](Self::enter), and does not ask whether memory is used up.
    pub(super) fn enter_unasked(inner: &'s StoreCore, lane: usize) -> Result<Self> {
        let inside = ActiveWrite::enter(inner)?;
        let operation = Some(inner.enter(lane)?);
        let guard = inner.index.collector().enter();
        let records = RecordBuffer::take();
        Ok(Self {
            inner,
            lane,
            inside,
            frozen: None,
            records,
            ahead: PrefetchedPlaces::take(),
            operation,
            guard,
            epoch: 0,
            writes: 0,
            over_budget: None,
            asks: false,
            journal: None,
            whole: false,
            renames: false,
            spread: false,
            left: 0,
            failed: None,
        })
    }

    /// Appends what was recorded and leaves the epoch.
    pub(crate) fn finish(mut self) -> Result<Ticket> {
        self.append();
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(Ticket { epoch: self.epoch }),
        }
    }

    /// Appends what was recorded to the log.
    pub(super) fn append(&mut self) {
        if let Some(operation) = &self.operation
            && !self.records.is_empty()
        {
            // Who asks for room beforehand has told the clock of keys' ages then.
            if let Some(limit) = self.inner.budget.limit().filter(|_| self.asks) {
                self.inner.rows.ages().written(self.records.bytes(), limit);
            }
            let mut appender = operation.appender();
            for (epoch, record) in self.records.iter() {
                appender.append(epoch, |out| out.extend_from_slice(record));
            }
        }
        self.records.clear();
    }

    /// Whether the present write is of a group that was admitted as a whole.
    pub(super) fn is_admitted(&self) -> bool {
        self.journal.is_some()
    }

    /// Before a write: appends, leaves (unless all is one group) and enters again if enough was done since the last time.
    pub(super) fn turn(&mut self) -> Result<()> {
        // A group is of one epoch, and has none of its own.
        if self.is_admitted() {
            return Ok(());
        }
        self.writes += 1;
        if self.writes.is_multiple_of(WRITES_PER_ENTRY)
            || self.records.bytes() > BYTES_PER_ENTRY
            || self.left > BYTES_PER_ENTRY
        {
            self.append();
            self.left = 0;
            if !self.whole {
                self.operation = None;
            }
            self.ahead.clear();
            self.guard.refresh();
            self.enter_again()?;
            // Within the epoch: what goes is recorded.
            if self.asks {
                self.look_at_budget();
            }
        }
        // It may have failed before.
        self.enter_again()
    }

    /// Enters the epoch, unless the writer is inside.
    #[inline]
    fn enter_again(&mut self) -> Result<()> {
        if self.operation.is_none() {
            match self.inner.enter(self.lane) {
                Ok(operation) => self.operation = Some(operation),
                Err(error) => {
                    self.failed.get_or_insert_with(|| error.clone());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Refuses what is over a limit, and what adds while the budget is used up: the key's contents go from `before` bytes
    /// (`None`: it is absent) to `after`.
    pub(super) fn admit(&self, key: &[u8], before: Option<usize>, after: usize) -> Result<()> {
        if self.is_admitted() {
            return Ok(());
        }
        self.inner.check_sizes(key, after)?;
        if !self.asks {
            return self.inner.admit_growth(before.unwrap_or(0), after);
        }
        match &self.over_budget {
            Some(error) if before.is_none_or(|before| after > before) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Refuses a row in the place of `seen` as [`admit`](Self::admit) does, and if its record, which begins at `start`, is
    /// longer than records can be. The row may have been made elsewhere, so whether it expires is noted here, too.
    fn admit_row(&self, key: &[u8], seen: Option<RowRef<'_>>, row: &Row, start: usize) -> Result<()> {
        StoreCore::check_expiry(key, row.as_ref().expires_at())?;
        self.admit(key, seen.map(RowRef::content_len), row.as_ref().content_len())?;
        Error::check_record_len(self.records.bytes() - start)?;
        if row.as_ref().expires_at().is_some() {
            self.inner.rows.note_expiring();
        }
        Ok(())
    }

    /// Notes a write that was done: its record, begun at `start`, counts.
    pub(super) fn recorded(&mut self, start: usize, version: u64, epoch: u64) {
        self.records.commit(start, version, epoch);
        self.note_epoch(epoch);
    }

    /// Notes that something was written in this epoch.
    pub(super) fn note_epoch(&mut self, epoch: u64) {
        // Epochs differ from key to key by at most one, and either order.
        self.epoch = self.epoch.max(epoch);
        self.inner.written();
    }

    /// Brings the order by time up to date, after a row that expired at `replaced` gave way to one that expires at `now`, or to none.
    #[inline]
    pub(super) fn settle(&self, key: &[u8], replaced: Option<u64>, now: Option<u64>) {
        if replaced.is_some() || now.is_some() {
            self.inner.order.refresh(&self.inner.index, key, replaced, &self.guard);
        }
    }

    /// The time of the writes.
    #[inline]
    pub(super) fn time(&self) -> OperationTime<'s> {
        self.inner.time(self.frozen)
    }

    /// The time by which keys expire for these writes, in milliseconds since 1970; see [`Session::now`](super::Session::now).
    pub fn now(&self) -> u64 {
        self.time().now()
    }

    /// Reads a key, from within the writes.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        let row = self.time().live(self.inner.index.get(key, &self.guard));
        self.inner.used(row);
        look(row)
    }

    /// Looks the keys up, with overlapping reads and for the cache only, because they are about to be written.
    /// For some dozens of keys at a time this makes their writes about twice as fast; for one it is in vain.
    pub fn prefetch(&mut self, keys: &[&[u8]]) {
        let ahead = &mut self.ahead;
        ahead.begin(keys.len());
        self.inner.index.locate_many(keys, &self.guard, |at, row, place| {
            // The version is what a write reads first.
            std::hint::black_box(row.map(RowRef::version));
            if let Some(place) = place {
                ahead.note(at, keys[at], place);
            }
        });
    }

    /// Changes a key in the index, from where looking ahead has found it to belong. Whether it did, and what gave way.
    #[inline]
    fn compute(
        &mut self,
        key: &[u8],
        change: impl FnOnce(Option<RowRef<'_>>) -> Verdict<Row>,
    ) -> Result<(bool, ReplacedRow)> {
        let place = self.ahead.place_of(key);
        // SAFETY: the places are of the main index, for equal keys, and found under this guard (invariants 1 and 2 of `ahead`).
        let done = unsafe { self.inner.index.compute_at(key, place, change, &self.guard) }?;
        let before = done.before.filter(|_| done.changed);
        self.left += self.inner.rows.left(before, &self.guard);
        let collection = before.and_then(RowRef::shared_collection);
        Ok((done.changed, ReplacedRow { row: before.map(RowRef::pin), collection }))
    }

    /// Sets several keys, each on its own, in batches whose memory reads overlap.
    ///
    /// # Errors
    /// As for [`put`](Self::put); what comes before the pair that is refused was done.
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

    /// Sets a key to a value, whatever it held. It does not expire.
    ///
    /// # Errors
    /// Key or value over its limit, or memory over the budget.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<RowUpdate> {
        self.turn()?;
        self.put_now(key, value, None)
    }

    /// Sets a key to a value, whatever it held. It expires at `expires` (milliseconds since 1970).
    ///
    /// # Errors
    /// As for [`put`](Self::put); the key has 8 bytes less.
    #[inline]
    pub fn put_until(&mut self, key: &[u8], value: &[u8], expires: u64) -> Result<RowUpdate> {
        StoreCore::check_expiry(key, Some(expires))?;
        self.turn()?;
        self.put_now(key, value, Some(expires))
    }

    pub(super) fn put_now(&mut self, key: &[u8], value: &[u8], expires: Option<u64>) -> Result<RowUpdate> {
        // What is there matters, and is looked up, only over the budget.
        let looked = self.over_budget.is_some().then(|| self.inner.index.get(key, &self.guard)).flatten();
        self.admit(key, looked.map(RowRef::content_len), value.len())?;
        let (inner, time) = (self.inner, self.time());
        let mut row = inner.rows.value_until(&[value], expires)?;
        let start = self.records.begin(|out| record::write_value(out, key, 0, value, expires));
        let (mut existed, mut version, mut epoch, mut replaced) = (false, 0, 0, None);
        let put = self.compute(key, |current| {
            (version, epoch) = (inner.next_version(key, current), inner.epoch());
            existed = time.live(current).is_some();
            replaced = current.and_then(RowRef::expires_at);
            row.set_version(version);
            Verdict::Put(row)
        });
        let replaced_row = match put {
            Ok((_, replaced)) => replaced,
            Err(refused) => {
                self.records.cancel(start);
                return Err(refused);
            }
        };
        self.recorded(start, version, epoch);
        self.settle(key, replaced, expires);
        self.gave_way(replaced_row, version, false);
        Ok(RowUpdate { existed, changed: true, version })
    }

    /// Removes a key; `existed` says whether it was there.
    ///
    /// # Errors
    /// The key is over its limit.
    pub fn remove(&mut self, key: &[u8]) -> Result<RowUpdate> {
        self.turn()?;
        self.remove_now(key)
    }

    pub(super) fn remove_now(&mut self, key: &[u8]) -> Result<RowUpdate> {
        let time = self.time();
        let mut existed = false;
        let removal = self.remove_if(key, |row| {
            existed = time.shows(row);
            true
        })?;
        let version = removal.as_ref().map_or(0, |removal| removal.version);
        if let Some(removal) = removal {
            self.gave_way(removal.replaced, version, true);
        }
        // What had expired goes, too, but was not there.
        Ok(RowUpdate { existed, changed: existed, version })
    }

    /// Removes a key of the order, by which it expires at `at`, if its row says a time before `end`; whether it did.
    pub(crate) fn remove_overdue(&mut self, key: &[u8], at: u64, end: u64) -> Result<bool> {
        self.turn()?;
        let removed = self.remove_if(key, |row| row.has_expired(end))?;
        if removed.is_none() {
            // A writer that has changed the row is about to do this; should it not, the entry would stand in the way.
            self.settle(key, Some(at), None);
        }
        let done = removed.is_some();
        removed.map(Removal::bury);
        Ok(done)
    }

    /// Removes a key if `wanted` says so of its row.
    pub(super) fn remove_if(
        &mut self,
        key: &[u8],
        wanted: impl FnOnce(RowRef<'_>) -> bool,
    ) -> Result<Option<Removal>> {
        StoreCore::check_key(key)?;
        let inner = self.inner;
        if key.len() > inner.options.index.key_bytes_max() {
            // It cannot be there, and reads do not find it.
            return Ok(None);
        }
        let (mut version, mut epoch, mut replaced) = (0, 0, None);
        let start = self.records.begin(|out| record::write_remove(out, key, 0));
        let removed = self.compute(key, |current| {
            let Some(row) = current.filter(|row| wanted(*row)) else { return Verdict::Keep };
            (version, epoch, replaced) = (row.version() + 1, inner.epoch(), row.expires_at());
            inner.stripes.raise_floor(key, version);
            Verdict::Remove
        });
        let gone = match removed {
            Ok((true, gone)) => gone,
            kept => {
                self.records.cancel(start);
                return kept.map(|_| None);
            }
        };
        self.recorded(start, version, epoch);
        self.settle(key, replaced, None);
        Ok(Some(Removal { version, replaced: gone }))
    }
}

/// What a removal did.
pub(super) struct Removal {
    pub(super) version: u64,
    /// What the key held; the caller buries the collection.
    pub(super) replaced: ReplacedRow,
}

impl Removal {
    /// Buries what the key stood for; about how many bytes that took.
    pub(super) fn bury(self) -> usize {
        self.replaced.collection.map_or(0, |collection| collection.bury())
    }
}

/// The main row of a collection is gone, and with it the collection. No lock of a collection is held.
pub(super) fn bury(collection: Option<Arc<Collection>>) {
    if let Some(collection) = collection {
        collection.bury();
    }
}

impl Drop for Writer<'_> {
    /// Also on a panic in the caller's closure: what was done is recorded, and the epoch is left.
    fn drop(&mut self) {
        self.append();
        std::mem::take(&mut self.records).keep();
        std::mem::take(&mut self.ahead).keep();
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
