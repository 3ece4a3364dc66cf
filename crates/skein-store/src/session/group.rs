//! Groups: several keys in one write, all or nothing, on disk and for readers of several keys.
//!
//! On disk, the group keeps the epoch from moving, so all its records have one epoch, and an epoch
//! survives a crash whole or not at all. For readers, the stripes of the keys are latched while the
//! index changes (see `stripes`). The moment does not advance either (see `snapshot`).
//!
//! If the writes of a group are not known in advance, it is an open batch (`open_batch`).
//!
//! Design: `docs/design/store.md`.
//!
//! # Refusals
//! Most reasons to refuse a group are checked before its first write (`expected_contents`). One is
//! not: an index without space for one more key refuses it only when the key is put. Then the group
//! is undone (`undo_journal`).
//!
//! A single-key write latches no stripe, so it may run between two writes of the group. Neither of
//! its effects undoes the group:
//!
//! - It may turn columns into a value just before the group puts columns to this key. The group
//!   skips that put. The result is the same as if the put had run just before the single-key write.
//!   The two ran concurrently, so either order is correct.
//! - It may make the row longer. The put succeeds, and the row exceeds its limit by the bytes that
//!   the two writes added concurrently.

use std::collections::HashMap;

use skein_log::LogOperation;
use skein_model::column_table::Column;
use skein_model::{RowChange, RowWriter as _, check_columns, put_checked_columns};

use super::undo_journal::UndoJournal;
use super::writer::KEYS_PER_PREFETCH;
use super::{Session, Writer};
use crate::batch::{Batch, BatchWrite};
use crate::store_core::StoreCore;
use crate::{Error, Result, Ticket};

/// The least number of writes at which a group first looks up all their keys together.
const PREFETCHED_LEAST: usize = 2;
/// The same for a group with a check. Its caller has mostly read the keys just before, so the
/// lookup of two or three keys costs more than it gains.
const PREFETCHED_LEAST_CHECKED: usize = 4;

/// One write of a group, borrowed.
#[derive(Clone, Copy)]
pub(super) enum GroupOp<'a> {
    Put(&'a [u8], Option<u64>),
    PutColumns(&'a [Column<'a>]),
    Remove,
}

impl Session {
    /// Sets several keys together: all or nothing, on disk, for
    /// [`get_many_atomic`](Self::get_many_atomic) and for snapshots. MSET.
    ///
    /// # Errors
    /// A size limit or the memory limit; the store is closed, or writes are stopped. Nothing was
    /// written then.
    pub fn put_all(&mut self, pairs: &[Column<'_>]) -> Result<Ticket> {
        self.group(&puts(pairs), PREFETCHED_LEAST, |_| true).map(Option::unwrap_or_default)
    }

    /// Applies all writes of a batch, in their order, or none. Of two writes to one key the last
    /// counts.
    ///
    /// # Errors
    /// A size limit (of a row after all earlier writes of the batch, too), the memory limit,
    /// columns put to a value; the store is closed, or writes are stopped. Nothing was written
    /// then.
    pub fn apply(&mut self, batch: &Batch) -> Result<Ticket> {
        self.apply_from(batch, PREFETCHED_LEAST, |_| true).map(Option::unwrap_or_default)
    }

    /// Applies a batch as [`apply`](Self::apply) does, unless `check` returns false. Then nothing
    /// was written, and this returns `None`.
    ///
    /// `check` runs within the group: no other batch changes the keys of this one after it, and no
    /// snapshot begins. Single-key writes are not kept away; a caller that needs that must exclude
    /// them. `check` may read by [`get_with`](Self::get_with), [`get_many`](Self::get_many) and
    /// [`scan`](Self::scan). Reads that wait for batches would wait for this one, and it must not
    /// write.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// let mut batch = Batch::new();
    /// batch.put("goose", "grey");
    /// let absent = |session: &Session| session.get_with(b"goose", |row| row.is_none());
    /// assert!(session.apply_if(&batch, absent)?.is_some());
    /// assert!(session.apply_if(&batch, absent)?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_if(&mut self, batch: &Batch, check: impl FnOnce(&Self) -> bool) -> Result<Option<Ticket>> {
        self.apply_from(batch, PREFETCHED_LEAST_CHECKED, check)
    }

    fn apply_from(
        &mut self,
        batch: &Batch,
        prefetched_least: usize,
        check: impl FnOnce(&Self) -> bool,
    ) -> Result<Option<Ticket>> {
        let columns: Vec<Vec<Column<'_>>> = batch.writes.iter().map(|(_, write)| columns_of(write)).collect();
        let writes: Vec<(&[u8], GroupOp<'_>)> = batch
            .writes
            .iter()
            .zip(&columns)
            .map(|((key, write), columns)| {
                let op = match write {
                    BatchWrite::Put(value, expires) => GroupOp::Put(value, *expires),
                    BatchWrite::PutColumns(_) => GroupOp::PutColumns(columns),
                    BatchWrite::Remove => GroupOp::Remove,
                };
                (&key[..], op)
            })
            .collect();
        self.group(&writes, prefetched_least, check)
    }

    fn group(
        &mut self,
        writes: &[(&[u8], GroupOp<'_>)],
        prefetched_least: usize,
        check: impl FnOnce(&Self) -> bool,
    ) -> Result<Option<Ticket>> {
        let core = self.core();
        let mut writer = self.enter()?;
        for (key, op) in writes {
            match op {
                GroupOp::Remove => StoreCore::check_key(key)?,
                GroupOp::PutColumns(columns) => check_columns(key, columns)?,
                GroupOp::Put(_, expires) => StoreCore::check_expiry(key, *expires)?,
            }
        }
        // Before the latches, so that the latches are held for a shorter time.
        if writes.len() >= prefetched_least {
            writer.prefetch_group(writes);
        }
        // The group must begin before the latches are taken: it may have to wait for an epoch to
        // close, and the committer waits for groups. The records may follow the end of the group,
        // as long as the operation lasts.
        let done = {
            let _group = writer.operation.as_ref().map(LogOperation::group);
            writer.is_group = true;
            let _held = core.keys.stripes.lock(writes.iter().map(|(key, _)| *key));
            if !check(self) {
                return Ok(None);
            }
            writer.check_group_limits(writes).and_then(|()| writer.write_group(writes))
        };
        done?;
        writer.finish().map(Some)
    }
}

fn puts<'a>(pairs: &[Column<'a>]) -> Vec<(&'a [u8], GroupOp<'a>)> {
    pairs.iter().map(|(key, value)| (*key, GroupOp::Put(value, None))).collect()
}

/// Returns the columns of a batch's write, borrowed.
fn columns_of(write: &BatchWrite) -> Vec<Column<'_>> {
    match write {
        BatchWrite::PutColumns(columns) => {
            columns.iter().map(|(name, value)| (&name[..], &value[..])).collect()
        }
        BatchWrite::Put(..) | BatchWrite::Remove => Vec::new(),
    }
}

impl Writer<'_> {
    /// Sets several keys together within an open batch: all of them, or none if one is rejected.
    pub(super) fn put_group(&mut self, pairs: &[Column<'_>]) -> Result<()> {
        let writes = puts(pairs);
        self.check_group_limits(&writes)?;
        if writes.len() >= PREFETCHED_LEAST {
            self.prefetch_group(&writes);
        }
        self.write_group(&writes)
    }

    /// Looks up the keys of the next writes, to fill the cache.
    fn prefetch_group(&mut self, writes: &[(&[u8], GroupOp<'_>)]) {
        let next_keys: Vec<&[u8]> = writes.iter().take(KEYS_PER_PREFETCH).map(|(key, _)| *key).collect();
        self.prefetch(&next_keys);
    }

    /// Applies the writes of a group after its check, under the latches of its stripes: all, or
    /// none.
    fn write_group(&mut self, writes: &[(&[u8], GroupOp<'_>)]) -> Result<()> {
        self.journal = Some(UndoJournal::default());
        let done = self.write_steps(writes, &steps(writes));
        let journal = self.journal.take().unwrap_or_default();
        match done {
            Ok(()) => journal.commit(),
            Err(_) => self.undo(journal, |at| writes[at].0),
        }
        done
    }

    fn write_steps(&mut self, writes: &[(&[u8], GroupOp<'_>)], steps: &[GroupStep]) -> Result<()> {
        for (number, some) in steps.chunks(KEYS_PER_PREFETCH).enumerate() {
            if number > 0 {
                let next_keys: Vec<&[u8]> = some.iter().map(|step| writes[step.write].0).collect();
                self.prefetch(&next_keys);
            }
            for step in some {
                let (key, op) = &writes[step.write];
                self.journal.get_or_insert_default().write = step.write;
                self.write_one(key, *op, step.anew)?;
            }
        }
        Ok(())
    }

    fn write_one(&mut self, key: &[u8], op: GroupOp<'_>, anew: bool) -> Result<()> {
        match op {
            GroupOp::Put(value, expires) => self.put_now(key, value, expires).map(drop),
            GroupOp::Remove => self.remove_now(key).map(drop),
            GroupOp::PutColumns(columns) if anew => self
                .update::<Error>(key, |_, rows| {
                    Ok(rows.columns(columns)?.map_or(RowChange::Keep, RowChange::Put))
                })
                .map(drop),
            GroupOp::PutColumns(columns) => match put_checked_columns(self, key, columns) {
                Ok(_) | Err(Error::WrongKind { .. }) => Ok(()),
                Err(error) => Err(error),
            },
        }
    }
}

/// One write of a group that must be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GroupStep {
    /// Its position in the group.
    write: usize,
    /// The write puts columns to a key that an earlier write of the group has removed.
    anew: bool,
}

/// The later writes to a key.
enum LaterWrite {
    /// A put of a value, or a removal.
    Whole,
    /// Puts of columns. The first of them is at this position among the steps, counted from the
    /// end.
    Columns { first: usize },
}

/// Returns the writes that must be done, in order. A write that a later write to its key makes
/// irrelevant is left out, and removals are last. So the group never needs more space in the index
/// than before or after it, and undoing the group finds this space.
fn steps(writes: &[(&[u8], GroupOp<'_>)]) -> Vec<GroupStep> {
    let all = 0..writes.len();
    if writes.iter().all(|(_, op)| matches!(op, GroupOp::Put(..))) {
        return all.map(|write| GroupStep { write, anew: false }).collect();
    }
    let (mut puts, mut removals, mut later) = (Vec::new(), Vec::new(), HashMap::new());
    for write in all.rev() {
        let (key, op) = &writes[write];
        match (op, later.get(key)) {
            (_, Some(LaterWrite::Whole)) => {}
            (GroupOp::Put(..), _) => {
                puts.push(GroupStep { write, anew: false });
                later.insert(*key, LaterWrite::Whole);
            }
            (GroupOp::PutColumns(_), _) => {
                later.insert(*key, LaterWrite::Columns { first: puts.len() });
                puts.push(GroupStep { write, anew: false });
            }
            (GroupOp::Remove, Some(LaterWrite::Columns { first })) => {
                puts[*first].anew = true;
                later.insert(*key, LaterWrite::Whole);
            }
            (GroupOp::Remove, None) => {
                removals.push(GroupStep { write, anew: false });
                later.insert(*key, LaterWrite::Whole);
            }
        }
    }
    puts.reverse();
    removals.reverse();
    puts.append(&mut removals);
    puts
}

#[cfg(all(test, not(skein_loom)))]
mod tests;
