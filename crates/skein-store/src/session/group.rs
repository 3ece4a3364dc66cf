//! Several keys in one write: all or nothing, on disk and for readers of several keys.
//!
//! On disk: the group holds the epoch still, so all its records have one epoch, and epochs survive a
//! crash whole or not at all. For readers: the stripes of the keys are latched while the index changes (see
//! `stripes`). No snapshot is taken meanwhile (see `snapshot`).
//!
//! A group whose writes are not known beforehand is a scope (`scope`).
//!
//! What can be known to refuse a write is asked before the first one is done (`expected`). The rest is undone (`journal`): an index
//! that has no place for one more key says so only when the key is put. A single-key write latches no stripe, and may come between.
//! It may turn columns into a value just before a put of columns reaches that key. The put is then skipped, which is what would
//! have been left of it had it come just before that write; the two ran at once, so either order is right. Or it may have made the
//! row longer: then the put goes through, and the row is over its limit by what the two added at once.

use std::collections::HashMap;

use skein_log::LogOperation;

use super::row_writer::{check_columns, decide_put};
use super::undo_journal::UndoJournal;
use super::writer::KEYS_PER_PREFETCH;
use super::{RowWriter as _, Session, Writer};
use crate::batch::{Batch, BatchWrite};
use crate::row::table::Column;
use crate::snapshot::StoreSnapshots;
use crate::store::StoreCore;
use crate::{Error, Result, Ticket};

/// One write of a group, borrowed.
#[derive(Clone, Copy)]
pub(super) enum GroupOp<'a> {
    Put(&'a [u8], Option<u64>),
    PutColumns(&'a [Column<'a>]),
    Remove,
}

impl Session {
    /// Sets several keys together: all or nothing, on disk, for [`get_many_atomic`](Self::get_many_atomic) and for
    /// snapshots. MSET.
    ///
    /// # Errors
    /// Limits, budget, closed, stopped; nothing was done then.
    pub fn put_all(&mut self, pairs: &[Column<'_>]) -> Result<Ticket> {
        self.group(&puts(pairs))
    }

    /// Does all writes of a batch together, or none; in their order, so of two to one key the last counts.
    ///
    /// # Errors
    /// Limits (a row's, after all writes before it, too), budget, columns put to a value, closed, stopped; nothing was
    /// done then.
    pub fn apply(&mut self, batch: &Batch) -> Result<Ticket> {
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
        self.group(&writes)
    }

    fn group(&mut self, writes: &[(&[u8], GroupOp<'_>)]) -> Result<Ticket> {
        let inner = self.inner();
        let mut writer = self.enter()?;
        for (key, op) in writes {
            match op {
                GroupOp::Remove => StoreCore::check_key(key)?,
                GroupOp::PutColumns(columns) => check_columns(key, columns)?,
                GroupOp::Put(_, expires) => StoreCore::check_expiry(key, *expires)?,
            }
        }
        // Before the latches, so that they are held the shorter.
        writer.prefetch_group(writes);
        // The group comes before the latches, because it may have to wait for an epoch to close; and what closes
        // it waits for groups. The records may follow the group, as long as the operation lasts.
        let done = {
            let _group = writer.operation.as_ref().map(LogOperation::group);
            let _held = inner.stripes.lock(writes.iter().map(|(key, _)| *key));
            // Last, so that who takes a snapshot waits for writes alone.
            let _whole = inner.snapshots.as_ref().map(StoreSnapshots::group);
            writer.check_group_limits(writes).and_then(|()| writer.write_group(writes))
        };
        done?;
        writer.finish()
    }
}

fn puts<'a>(pairs: &[Column<'a>]) -> Vec<(&'a [u8], GroupOp<'a>)> {
    pairs.iter().map(|(key, value)| (*key, GroupOp::Put(value, None))).collect()
}

/// The columns of a batch's write, borrowed.
fn columns_of(write: &BatchWrite) -> Vec<Column<'_>> {
    match write {
        BatchWrite::PutColumns(columns) => {
            columns.iter().map(|(name, value)| (&name[..], &value[..])).collect()
        }
        BatchWrite::Put(..) | BatchWrite::Remove => Vec::new(),
    }
}

impl Writer<'_> {
    /// Sets several keys together within a scope: all of them, or none if one is refused.
    pub(super) fn put_group(&mut self, pairs: &[Column<'_>]) -> Result<()> {
        let writes = puts(pairs);
        self.check_group_limits(&writes)?;
        self.prefetch_group(&writes);
        self.write_group(&writes)
    }

    /// Looks up the keys of the next writes, for the cache.
    fn prefetch_group(&mut self, writes: &[(&[u8], GroupOp<'_>)]) {
        let ahead: Vec<&[u8]> = writes.iter().take(KEYS_PER_PREFETCH).map(|(key, _)| *key).collect();
        if ahead.len() > 1 {
            self.prefetch(&ahead);
        }
    }

    /// Does the writes of a group that was admitted and whose stripes are latched; all, or none.
    fn write_group(&mut self, writes: &[(&[u8], GroupOp<'_>)]) -> Result<()> {
        self.journal = Some(UndoJournal::default());
        let done = self.write_steps(writes, &steps(writes));
        let journal = self.journal.take().unwrap_or_default();
        match done {
            Ok(()) => journal.settle(),
            Err(_) => self.undo(journal, |at| writes[at].0),
        }
        done
    }

    fn write_steps(&mut self, writes: &[(&[u8], GroupOp<'_>)], steps: &[GroupStep]) -> Result<()> {
        for (number, some) in steps.chunks(KEYS_PER_PREFETCH).enumerate() {
            if number > 0 {
                let ahead: Vec<&[u8]> = some.iter().map(|step| writes[step.write].0).collect();
                self.prefetch(&ahead);
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
                .update_recorded(key, |_, rows, recorder| {
                    Ok::<_, Error>(decide_put(key, columns, None, rows, recorder)?.0)
                })
                .map(drop),
            GroupOp::PutColumns(columns) => match self.put_checked_columns(key, columns) {
                Ok(_) | Err(Error::WrongKind { .. }) => Ok(()),
                Err(error) => Err(error),
            },
        }
    }
}

/// One write of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GroupStep {
    /// Its position in the group.
    write: usize,
    /// Columns of a key that a removal before them has made absent.
    anew: bool,
}

/// What comes later for a key.
enum LaterWrite {
    /// A put of a value, or a removal.
    Whole,
    /// Puts of columns, of which the first one has this place among the steps, counted from the last.
    Columns { first: usize },
}

/// The writes that count, in the order in which they are done: what a later one of the same key makes vain is left out, and removals come
/// last. So a group needs no more places in the index on its way than before it or after it, and undoing it finds them.
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
