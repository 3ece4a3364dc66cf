//! A session: one worker's way into the store, without copies.

use std::ops::{Bound, ControlFlow};

use crate::{Result, Row, RowRef};

/// When a write will be durable: once [`crate::Store::durable_epoch`] is at or past `epoch`. Zero, durable
/// from the start, if nothing was written or the level is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticket {
    /// The last epoch that any of the writes belongs to.
    pub epoch: u64,
}

/// What the closure of [`Writer::update`] decides.
#[derive(Debug)]
pub enum Change {
    /// Leave the key as it is.
    Keep,
    /// Set the key to this row.
    Put(Row),
    /// Remove the key, if it is there.
    Remove,
}

/// What [`Writer::update`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updated {
    /// Whether the key was present before.
    pub existed: bool,
    /// Whether anything was changed.
    pub changed: bool,
    /// The version of the row now (of the one that was kept, or of the removal); 0 if there was and is none.
    pub version: u64,
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From small keys to great ones.
    Forward,
    /// From great keys to small ones.
    Backward,
}

/// One worker's way into the store. `Send`, not `Sync`: one thread at a time. It keeps the store's memory
/// alive, and is cheap to hold idle. Writes after [`crate::Store::close`] answer an error.
#[derive(Debug)]
pub struct Session {
    not_sync: std::marker::PhantomData<std::cell::Cell<()>>,
}

impl Session {
    /// Shows `look` the row of `key`, in place.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        let _ = (key, look);
        todo!()
    }

    /// Many lookups whose memory reads overlap; `found` is called once per key, with its position, in no
    /// particular order. Each key is read at a moment of its own.
    pub fn get_many(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<RowRef<'_>>)) {
        let _ = (keys, found);
        todo!()
    }

    /// As [`get_many`](Self::get_many), but never sees half of a batch (`apply`, MSET): `found` is called when all keys were read as
    /// of one moment with respect to batches, in the order of `keys`.
    pub fn get_many_atomic(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<RowRef<'_>>)) {
        let _ = (keys, found);
        todo!()
    }

    /// Shows `each` the rows within `bounds`, in order, until it breaks. Long scans let memory go every so
    /// many keys, so a row is borrowed for the call only. Not a snapshot: a key that is present all the time is
    /// seen exactly once, one that comes or goes meanwhile maybe.
    ///
    /// Do not write through this session from within `each`; collect keys first.
    pub fn scan(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        let _ = (bounds, direction, each);
        todo!()
    }

    /// Runs several single-key writes with one entry into the epoch and one append to the log. Each write
    /// is visible at once and on its own (for all-or-nothing use [`apply`](Self::apply)); a later error leaves earlier writes done.
    /// The ticket covers everything that was written, also if `writes` returns an error of its own.
    ///
    /// # Errors
    /// The store is closed or writes are stopped; then `writes` may have run, and what it wrote may not be
    /// durable. No acknowledgement may be sent.
    pub fn write<R>(&mut self, writes: impl FnOnce(&mut Writer<'_>) -> R) -> Result<(R, Ticket)> {
        let _ = writes;
        todo!()
    }

    /// Sets several keys together: all or nothing, on disk and for [`get_many_atomic`](Self::get_many_atomic). MSET.
    ///
    /// # Errors
    /// Limits, budget, closed, stopped; nothing was done then.
    pub fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        let _ = pairs;
        todo!()
    }

    /// Does all writes of a batch together, or none.
    ///
    /// # Errors
    /// Limits, budget, columns put to a value, closed, stopped; nothing was done then.
    pub fn apply(&mut self, batch: &crate::Batch) -> Result<Ticket> {
        let _ = batch;
        todo!()
    }

    /// Removes all keys within `bounds`; returns how many. Not atomic: others may see part of it.
    ///
    /// # Errors
    /// Closed or stopped; part of the keys may be gone then.
    pub fn remove_range(&mut self, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<(usize, Ticket)> {
        let _ = bounds;
        todo!()
    }

    /// The store that this session belongs to: for waiting, statistics, checkpoints.
    pub fn store(&self) -> &crate::Store {
        todo!()
    }
}

/// The scope of [`Session::write`].
#[derive(Debug)]
pub struct Writer<'s> {
    session: &'s mut Session,
}

impl Writer<'_> {
    /// Reads a key, from within the writes.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        self.session.get_with(key, look)
    }

    /// Sets a key to a value, whatever it held.
    ///
    /// # Errors
    /// Key or value over its limit, or memory over the budget.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<Updated> {
        let _ = (key, value);
        todo!()
    }

    /// Sets columns of a key, atomically; the other columns carry over. Returns how many names are new.
    ///
    /// # Errors
    /// As for [`put`](Self::put), and `WrongKind` if the key holds a value.
    pub fn put_columns(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<usize> {
        let _ = (key, columns);
        todo!()
    }

    /// Removes columns of a key, atomically, and the key with the last one. Returns how many were there.
    ///
    /// # Errors
    /// `WrongKind` if the key holds a value.
    pub fn remove_columns(&mut self, key: &[u8], names: &[&[u8]]) -> Result<usize> {
        let _ = (key, names);
        todo!()
    }

    /// Removes a key; `existed` says whether it was there.
    ///
    /// # Errors
    /// None of its own today; writes may be refused in general.
    pub fn remove(&mut self, key: &[u8]) -> Result<Updated> {
        let _ = key;
        todo!()
    }

    /// Atomic read-modify-write, on which set-if-absent, compare-and-swap, append and the like stand. The
    /// closure sees the row, and where to make a new one (no latch is held; it may take its time), and decides; if the row
    /// changed meanwhile it is called again. An error from it ends the update with nothing changed.
    ///
    /// # Errors
    /// The closure's, and those of [`put`](Self::put).
    pub fn update<E: From<crate::Error>>(
        &mut self,
        key: &[u8],
        decide: impl FnMut(Option<RowRef<'_>>, &crate::Rows) -> std::result::Result<Change, E>,
    ) -> std::result::Result<Updated, E> {
        let _ = (key, decide);
        todo!()
    }

    /// Adds to a decimal integer; an absent key counts as 0. Returns the sum.
    ///
    /// # Errors
    /// `WrongKind`, `NotAnInteger`, `Overflow`, and those of [`put`](Self::put).
    pub fn increment(&mut self, key: &[u8], by: i64) -> Result<i64> {
        let _ = (key, by);
        todo!()
    }

    /// Adds to a decimal integer in a column; an absent one counts as 0. Returns the sum.
    ///
    /// # Errors
    /// As for [`increment`](Self::increment).
    pub fn increment_column(&mut self, key: &[u8], column: &[u8], by: i64) -> Result<i64> {
        let _ = (key, column, by);
        todo!()
    }

    /// Sets a key to `value` if its version is `version` (0: if it is absent). Returns the new version, or in `Err` the present
    /// one.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn compare_and_swap(
        &mut self,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> Result<std::result::Result<u64, u64>> {
        let _ = (key, version, value);
        todo!()
    }
}
