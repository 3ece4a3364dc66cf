//! Single-key writes within one entry into the epoch.
//!
//! A write prepares its row and its log record before it takes the key's latch (inside `compute`); under the
//! latch it checks, for a read-modify-write, that the key's row is still the one it read (the same
//! allocation: the guard keeps the old one alive, so its address is not used again), takes the version and
//! the epoch, and hands the row over. If the row changed meanwhile it starts again.

use skein_index::{Change as Verdict, Guard, LocalGuard};
use skein_log::Operation;

use super::columns::{Recorder, RowWriter};
use crate::record;
use crate::records::Records;
use crate::row::{Row, RowRef, Rows};
use crate::store::Inner;
use crate::{Error, Result, Ticket};

/// Writes after which a long scope appends its records, leaves the epoch and enters again, so that it
/// holds back neither the commit nor the reclamation of memory.
const WRITES_PER_ENTRY: u32 = 256;

/// Bytes of records after which it does.
const BYTES_PER_ENTRY: usize = 256 << 10;

/// Keys that are looked up together ahead of their writes: enough that reads overlap, few enough that what they
/// fetched is still in the nearest cache when it is needed.
pub(super) const KEYS_PER_PREFETCH: usize = 32;

/// What the closure of [`RowWriter::update`] decides.
#[derive(Debug)]
pub enum Change {
    /// Leave the key as it is.
    Keep,
    /// Set the key to this row.
    Put(Row),
    /// Remove the key, if it is there.
    Remove,
}

/// What [`RowWriter::update`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updated {
    /// Whether the key was present before.
    pub existed: bool,
    /// Whether anything was changed.
    pub changed: bool,
    /// The version of the row now (of the one that was kept, or of the removal); 0 if there was and is none.
    pub version: u64,
}

/// The scope of [`super::Session::write`].
pub struct Writer<'s> {
    pub(super) inner: &'s Inner,
    lane: usize,
    pub(super) records: Records,
    /// Inside the epoch; `None` only while a long scope goes out and in again.
    pub(super) operation: Option<Operation<'s>>,
    pub(super) guard: LocalGuard<'s>,
    /// The last epoch of any write.
    epoch: u64,
    writes: u32,
    /// Whether the budget was used up when it was last looked at.
    pub(super) over_budget: Option<Error>,
    /// The writes of a group were admitted together.
    pub(super) admitted: bool,
    /// The first failure of the log: nothing may be acknowledged then.
    failed: Option<Error>,
}

impl<'s> Writer<'s> {
    pub(crate) fn enter(inner: &'s Inner, lane: usize) -> Result<Self> {
        let operation = Some(inner.enter(lane)?);
        let guard = inner.index.collector().enter();
        let over_budget = inner.over_budget();
        let records = Records::take();
        Ok(Self {
            inner,
            lane,
            records,
            operation,
            guard,
            epoch: 0,
            writes: 0,
            over_budget,
            admitted: false,
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
            let mut appender = operation.appender();
            for (epoch, record) in self.records.iter() {
                appender.append(epoch, |out| out.extend_from_slice(record));
            }
        }
        self.records.clear();
    }

    /// Before a write: appends, leaves and enters again if enough was done since the last time.
    fn turn(&mut self) -> Result<()> {
        // A group is of one epoch, and has none of its own.
        if self.admitted {
            return Ok(());
        }
        self.writes += 1;
        if self.writes.is_multiple_of(WRITES_PER_ENTRY) || self.records.bytes() > BYTES_PER_ENTRY {
            self.append();
            self.operation = None;
            self.guard.refresh();
            self.over_budget = self.inner.over_budget();
        }
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
        if self.admitted {
            return Ok(());
        }
        self.inner.check_sizes(key, after)?;
        match &self.over_budget {
            Some(error) if before.is_none_or(|before| after > before) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Refuses a row in the place of `seen` as [`admit`](Self::admit) does, and if its record, which begins at `start`, is
    /// longer than records can be.
    fn admit_row(&self, key: &[u8], seen: Option<RowRef<'_>>, row: &Row, start: usize) -> Result<()> {
        self.admit(key, seen.map(RowRef::content_len), row.as_ref().content_len())?;
        Error::check_record_len(self.records.bytes() - start)
    }

    /// Notes a write that was done: its record, begun at `start`, counts.
    pub(super) fn recorded(&mut self, start: usize, version: u64, epoch: u64) {
        self.records.commit(start, version, epoch);
        // Epochs differ from key to key by at most one, and either order.
        self.epoch = self.epoch.max(epoch);
        self.inner.written();
    }

    /// Reads a key, from within the writes.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        look(self.inner.index.get(key, &self.guard))
    }

    /// Looks the keys up, with overlapping reads and for the cache only, because they are about to be written.
    /// For some dozens of keys at a time this makes their writes about twice as fast; for one it is in vain.
    pub fn prefetch(&self, keys: &[&[u8]]) {
        self.inner.index.get_many(keys, &self.guard, |_, row| {
            // The version is what a write reads first.
            std::hint::black_box(row.map(RowRef::version));
        });
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

    /// Sets a key to a value, whatever it held.
    ///
    /// # Errors
    /// Key or value over its limit, or memory over the budget.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<Updated> {
        self.turn()?;
        self.put_now(key, value)
    }

    pub(super) fn put_now(&mut self, key: &[u8], value: &[u8]) -> Result<Updated> {
        // What is there matters, and is looked up, only over the budget.
        let looked = self.over_budget.is_some().then(|| self.inner.index.get(key, &self.guard)).flatten();
        self.admit(key, looked.map(RowRef::content_len), value.len())?;
        let (inner, mut row) = (self.inner, Some(self.inner.rows.value(&[value])?));
        let start = self.records.begin(|out| record::write_value(out, key, 0, value));
        let (mut existed, mut version, mut epoch) = (false, 0, 0);
        let put = inner.index.compute(
            key,
            |current| {
                let Some(mut row) = row.take() else { return Verdict::Keep };
                (existed, version, epoch) =
                    (current.is_some(), inner.next_version(key, current), inner.epoch());
                row.set_version(version);
                Verdict::Put(row)
            },
            &self.guard,
        );
        if let Err(refused) = put {
            self.records.cancel(start);
            return Err(refused.into());
        }
        self.recorded(start, version, epoch);
        Ok(Updated { existed, changed: true, version })
    }

    /// Removes a key; `existed` says whether it was there.
    ///
    /// # Errors
    /// The key is over its limit.
    pub fn remove(&mut self, key: &[u8]) -> Result<Updated> {
        self.turn()?;
        self.remove_now(key)
    }

    pub(super) fn remove_now(&mut self, key: &[u8]) -> Result<Updated> {
        Inner::check_key(key)?;
        let inner = self.inner;
        let (mut version, mut epoch) = (0, 0);
        let start = self.records.begin(|out| record::write_remove(out, key, 0));
        let removed = inner.index.compute(
            key,
            |current| {
                let Some(row) = current else { return Verdict::Keep };
                (version, epoch) = (row.version() + 1, inner.epoch());
                inner.stripes.raise_floor(key, version);
                Verdict::Remove
            },
            &self.guard,
        );
        let existed = match removed {
            Ok(removed) => removed.changed,
            Err(refused) => {
                self.records.cancel(start);
                return Err(refused.into());
            }
        };
        if existed {
            self.recorded(start, version, epoch);
        } else {
            self.records.cancel(start);
        }
        Ok(Updated { existed, changed: existed, version })
    }
}

impl RowWriter for Writer<'_> {
    type Error = Error;

    fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<()> {
        self.inner.check_sizes(key, bytes)
    }

    fn update_recorded<E: From<Error>>(
        &mut self,
        key: &[u8],
        mut decide: impl FnMut(Option<RowRef<'_>>, &Rows, &mut Recorder<'_>) -> std::result::Result<Change, E>,
    ) -> std::result::Result<Updated, E> {
        self.turn()?;
        Inner::check_key(key)?;
        loop {
            let mut decided = Ok(Change::Keep);
            let seen = self.inner.index.get(key, &self.guard);
            let start =
                self.records.begin(|out| decided = decide(seen, &self.inner.rows, &mut Recorder(Some(out))));
            let unchanged =
                Updated { existed: seen.is_some(), changed: false, version: seen.map_or(0, RowRef::version) };
            let change = match decided {
                Ok(Change::Put(row)) => match self.admit_row(key, seen, &row, start) {
                    Ok(()) => Change::Put(row),
                    Err(error) => {
                        self.records.cancel(start);
                        return Err(error.into());
                    }
                },
                Ok(Change::Remove) if seen.is_some() => Change::Remove,
                Ok(Change::Keep | Change::Remove) => {
                    self.records.cancel(start);
                    return Ok(unchanged);
                }
                Err(error) => {
                    self.records.cancel(start);
                    return Err(error);
                }
            };
            match exchange(self.inner, key, seen, change, &self.guard) {
                Ok(Some((version, epoch))) => {
                    self.recorded(start, version, epoch);
                    return Ok(Updated { changed: true, version, ..unchanged });
                }
                Ok(None) => self.records.cancel(start),
                Err(error) => {
                    self.records.cancel(start);
                    return Err(error.into());
                }
            }
        }
    }
}

/// Changes `key` if its row is still `seen`; returns the version and the epoch that the change took, `None` if
/// the row is another one by now.
fn exchange(
    inner: &Inner,
    key: &[u8],
    seen: Option<RowRef<'_>>,
    change: Change,
    guard: &impl Guard,
) -> Result<Option<(u64, u64)>> {
    let mut change = Some(change);
    let mut taken = None;
    inner.index.compute(
        key,
        |current| {
            let same = match (current, seen) {
                (None, None) => true,
                (Some(current), Some(seen)) => current.is(seen),
                _ => false,
            };
            if !same {
                return Verdict::Keep;
            }
            let version = inner.next_version(key, current);
            match change.take() {
                Some(Change::Put(mut row)) => {
                    taken = Some((version, inner.epoch()));
                    row.set_version(version);
                    Verdict::Put(row)
                }
                Some(Change::Remove) => {
                    taken = Some((version, inner.epoch()));
                    inner.stripes.raise_floor(key, version);
                    Verdict::Remove
                }
                Some(Change::Keep) | None => Verdict::Keep,
            }
        },
        guard,
    )?;
    Ok(taken)
}

impl Drop for Writer<'_> {
    /// Also on a panic in the caller's closure: what was done is recorded, and the epoch is left.
    fn drop(&mut self) {
        self.append();
        std::mem::take(&mut self.records).keep();
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
