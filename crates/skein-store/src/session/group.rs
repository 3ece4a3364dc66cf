//! Several keys in one write: all or nothing, on disk and for readers of several keys.
//!
//! On disk: the group holds the epoch still, so all its records have one epoch, and epochs survive a
//! crash whole or not at all. For readers: the stripes of the keys are latched while the index changes (see
//! `stripes`). No snapshot is taken meanwhile (see `snapshot`).
//!
//! A group whose writes are not known beforehand is a scope (`scope`).
//!
//! Everything that can refuse a write is asked before the first one is done (`expected`). What can change after that is
//! what a single-key write does, which latches no stripe. It may turn columns into a value just before a put of
//! columns reaches that key. The put is then skipped, which is what would have been left of it had it come just
//! before that write; the two ran at once, so either order is right. Or it may have made the row longer: then the put goes
//! through, and the row is over its limit by what the two added at once.

use skein_log::Operation;

use super::columns::check_columns;
use super::writer::KEYS_PER_PREFETCH;
use super::{Session, Writer};
use crate::batch::{Batch, Write};
use crate::row::table::Column;
use crate::snapshot::Snapshots;
use crate::store::Inner;
use crate::{Error, Result, Ticket};

/// One write of a group, borrowed.
#[derive(Clone, Copy)]
pub(super) enum Op<'a> {
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
        let writes: Vec<(&[u8], Op<'_>)> = batch
            .writes
            .iter()
            .zip(&columns)
            .map(|((key, write), columns)| {
                let op = match write {
                    Write::Put(value, expires) => Op::Put(value, *expires),
                    Write::PutColumns(_) => Op::PutColumns(columns),
                    Write::Remove => Op::Remove,
                };
                (&key[..], op)
            })
            .collect();
        self.group(&writes)
    }

    fn group(&mut self, writes: &[(&[u8], Op<'_>)]) -> Result<Ticket> {
        let inner = self.inner();
        let mut writer = self.enter()?;
        for (key, op) in writes {
            match op {
                Op::Remove => Inner::check_key(key)?,
                Op::PutColumns(columns) => check_columns(key, columns)?,
                Op::Put(_, expires) => Inner::check_expiry(key, *expires)?,
            }
        }
        // Before the latches, so that they are held the shorter.
        writer.prefetch_group(writes);
        // The group comes before the latches, because it may have to wait for an epoch to close; and what closes
        // it waits for groups. The records may follow the group, as long as the operation lasts.
        let done = {
            let _group = writer.operation.as_ref().map(Operation::group);
            let _held = inner.stripes.lock(writes.iter().map(|(key, _)| *key));
            // Last, so that who takes a snapshot waits for writes alone.
            let _whole = inner.snapshots.as_ref().map(Snapshots::group);
            writer.admit_group(writes).and_then(|()| writer.write_group(writes))
        };
        done?;
        writer.finish()
    }
}

fn puts<'a>(pairs: &[Column<'a>]) -> Vec<(&'a [u8], Op<'a>)> {
    pairs.iter().map(|(key, value)| (*key, Op::Put(value, None))).collect()
}

/// The columns of a batch's write, borrowed.
fn columns_of(write: &Write) -> Vec<Column<'_>> {
    match write {
        Write::PutColumns(columns) => columns.iter().map(|(name, value)| (&name[..], &value[..])).collect(),
        Write::Put(..) | Write::Remove => Vec::new(),
    }
}

impl Writer<'_> {
    /// Sets several keys together within a scope: all of them, or none if one is refused.
    pub(super) fn put_group(&mut self, pairs: &[Column<'_>]) -> Result<()> {
        let writes = puts(pairs);
        self.admit_group(&writes)?;
        self.prefetch_group(&writes);
        self.write_group(&writes)
    }

    /// Looks up the keys of the next writes, for the cache.
    fn prefetch_group(&mut self, writes: &[(&[u8], Op<'_>)]) {
        let ahead: Vec<&[u8]> = writes.iter().take(KEYS_PER_PREFETCH).map(|(key, _)| *key).collect();
        if ahead.len() > 1 {
            self.prefetch(&ahead);
        }
    }

    /// Does the writes of a group whose stripes are latched.
    fn write_group(&mut self, writes: &[(&[u8], Op<'_>)]) -> Result<()> {
        self.admitted = true;
        let done = self.write_admitted(writes);
        self.admitted = false;
        done
    }

    fn write_admitted(&mut self, writes: &[(&[u8], Op<'_>)]) -> Result<()> {
        for (i, (key, op)) in writes.iter().enumerate() {
            if i > 0 && i.is_multiple_of(KEYS_PER_PREFETCH) {
                self.prefetch_group(&writes[i..]);
            }
            match op {
                Op::Put(value, expires) => drop(self.put_now(key, value, *expires)?),
                Op::Remove => drop(self.remove_now(key)?),
                Op::PutColumns(columns) => match self.put_checked_columns(key, columns) {
                    Ok(_) | Err(Error::WrongKind { .. }) => {}
                    Err(error) => return Err(error),
                },
            }
        }
        Ok(())
    }
}
