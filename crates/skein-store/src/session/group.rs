//! Several keys in one write: all or nothing, on disk and for readers of several keys.
//!
//! On disk: the group holds the epoch still, so all its records have one epoch, and epochs survive a
//! crash whole or not at all. For readers: the stripes of the keys are latched while the index changes (see
//! `stripes`).
//!
//! Everything that can refuse a write is asked before the first one is done. Only one thing can change
//! after that: a single-key write, which latches no stripe, may turn columns into a value just before a
//! put of columns reaches that key. The put is then skipped, which is what would have been left of it had
//! it come just before that write; the two ran at once, so either order is right.

use std::collections::HashMap;

use skein_log::Operation;

use super::writer::KEYS_PER_PREFETCH;
use super::{Session, Ticket, Writer};
use crate::batch::{Batch, Write};
use crate::index::Index;
use crate::row::table::Column;
use crate::store::Inner;
use crate::{Error, Result};

/// One write of a group, borrowed.
#[derive(Clone, Copy)]
enum Op<'a> {
    Put(&'a [u8]),
    PutColumns(&'a [Column<'a>]),
    Remove,
}

impl Op<'_> {
    fn len(self) -> usize {
        match self {
            Self::Put(value) => value.len(),
            Self::PutColumns(columns) => columns.iter().map(|(name, value)| name.len() + value.len()).sum(),
            Self::Remove => 0,
        }
    }
}

impl Session {
    /// Sets several keys together: all or nothing, on disk and for
    /// [`get_many_atomic`](Self::get_many_atomic). MSET.
    ///
    /// # Errors
    /// Limits, budget, closed, stopped; nothing was done then.
    pub fn put_all(&mut self, pairs: &[Column<'_>]) -> Result<Ticket> {
        let writes: Vec<(&[u8], Op<'_>)> = pairs.iter().map(|(key, value)| (*key, Op::Put(value))).collect();
        self.group(&writes)
    }

    /// Does all writes of a batch together, or none; in their order, so of two to one key the last counts.
    ///
    /// # Errors
    /// Limits, budget, columns put to a value, closed, stopped; nothing was done then.
    pub fn apply(&mut self, batch: &Batch) -> Result<Ticket> {
        let columns: Vec<Vec<Column<'_>>> = batch.writes.iter().map(|(_, write)| columns_of(write)).collect();
        let writes: Vec<(&[u8], Op<'_>)> = batch
            .writes
            .iter()
            .zip(&columns)
            .map(|((key, write), columns)| {
                let op = match write {
                    Write::Put(value) => Op::Put(value),
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
        let mut writer = Writer::enter(inner, self.lane)?;
        for (key, op) in writes {
            match op {
                Op::Remove => Inner::check_key(key)?,
                Op::Put(_) | Op::PutColumns(_) => writer.admit(key, op.len())?,
            }
        }
        // Before the latches, so that they are held the shorter.
        writer.prefetch_group(writes);
        // The group comes before the latches, because it may have to wait for an epoch to close; and what closes
        // it waits for groups. The records may follow the group, as long as the operation lasts.
        let operation = writer.operation.take();
        let done = {
            let _group = operation.as_ref().map(Operation::group);
            let _held = inner.stripes.lock(writes.iter().map(|(key, _)| *key));
            check_kinds(&inner.index, &writer, writes).and_then(|()| writer.write_group(writes))
        };
        writer.operation = operation;
        done?;
        writer.finish()
    }
}

/// The columns of a batch's write, borrowed.
fn columns_of(write: &Write) -> Vec<Column<'_>> {
    match write {
        Write::PutColumns(columns) => columns.iter().map(|(name, value)| (&name[..], &value[..])).collect(),
        Write::Put(_) | Write::Remove => Vec::new(),
    }
}

/// Refuses a group that puts columns to a key which will hold a value then.
fn check_kinds(index: &Index, writer: &Writer<'_>, writes: &[(&[u8], Op<'_>)]) -> Result<()> {
    if !writes.iter().any(|(_, op)| matches!(op, Op::PutColumns(_))) {
        return Ok(());
    }
    // Whether each key holds a value after the writes so far.
    let mut is_value: HashMap<&[u8], bool> = HashMap::new();
    for (key, op) in writes {
        match op {
            Op::Put(_) => drop(is_value.insert(key, true)),
            Op::Remove => drop(is_value.insert(key, false)),
            Op::PutColumns(_) => {
                let stored = || index.get(key, &writer.guard).is_some_and(|row| !row.has_columns());
                if *is_value.entry(key).or_insert_with(stored) {
                    return Err(Error::WrongKind { found: "a value", needed: "columns" });
                }
            }
        }
    }
    Ok(())
}

impl Writer<'_> {
    /// Looks up the keys of the next writes, for the cache.
    fn prefetch_group(&self, writes: &[(&[u8], Op<'_>)]) {
        let ahead: Vec<&[u8]> = writes.iter().take(KEYS_PER_PREFETCH).map(|(key, _)| *key).collect();
        if ahead.len() > 1 {
            self.prefetch(&ahead);
        }
    }

    /// Does the writes of a group whose stripes are latched.
    fn write_group(&mut self, writes: &[(&[u8], Op<'_>)]) -> Result<()> {
        for (i, (key, op)) in writes.iter().enumerate() {
            if i > 0 && i.is_multiple_of(KEYS_PER_PREFETCH) {
                self.prefetch_group(&writes[i..]);
            }
            match op {
                Op::Put(value) => drop(self.put_now(key, value)?),
                Op::Remove => drop(self.remove_now(key)?),
                Op::PutColumns(columns) => match self.put_columns_now(key, columns) {
                    Ok(_) | Err(Error::WrongKind { .. }) => {}
                    Err(error) => return Err(error),
                },
            }
        }
        Ok(())
    }
}
