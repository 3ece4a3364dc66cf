//! Reads and writes of one session that are one group, though nobody knows them beforehand.
//!
//! ```text
//!   begin    epoch entered ─ group begun: the epoch stands still ─ no snapshot is taken
//!   ...      get, put, scan, put, update ...      each is visible at once, to this session and to all others
//!   commit   records appended ─ snapshots may be taken ─ the epoch may move ─ left
//! ```
//!
//! # Invariants
//! 1. All records of a scope have one epoch, and epochs survive a crash whole or not at all: so on disk a scope is there whole or not at all, however its
//!    records reached the log, and however it ended.
//! 2. No snapshot is of a moment within a scope.
//! 3. A scope latches no stripe, since it cannot know which it will need: other readers of several keys may see a part of it. Whoever wants isolation keeps
//!    them away (the server does, with a gate). So it waits for nobody once it has begun, and nobody waits for it who holds what it needs.

use std::ops::ControlFlow;
use std::sync::RwLockReadGuard;

use skein_log::{LogOperation, OperationGroup};

use super::active_writes::ActiveWrite;
use super::{Session, Writer};
use crate::index::KeyBounds;
use crate::row::table::Column;
use crate::snapshot::StoreSnapshots;
use crate::{Result, RowRef, ScanDirection, Ticket};

/// Reads and writes of one [`Session`] that are one group: on disk all of its writes are there or none, and so in snapshots. See [`Session::scope`].
///
/// Dropped without [`commit`](Self::commit), it is the same group: what was written is not taken back.
#[derive(Debug)]
pub struct OpenBatch<'s> {
    // In this order they are dropped: the records, which the writer appends then, may follow the end of the group.
    no_moment: Option<RwLockReadGuard<'s, ()>>,
    group: Option<OperationGroup<'s>>,
    writer: Writer<'s>,
}

impl Session {
    /// Begins a scope, in which any reads and writes of this session are one group: on disk it is there whole or not at all, and no snapshot is taken in
    /// between. Its reads see what it wrote. So do others: isolation is up to the caller, and nothing is undone if a write is refused half-way.
    ///
    /// While it lasts nothing of the store becomes durable, no snapshot and no checkpoint begins: keep it short. What would wait for one of these, and
    /// any other write to this store, answers [`InsideWrite`](crate::Error::InsideWrite) on the same thread.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// let mut scope = session.scope()?;
    /// let geese = scope.writer().increment(b"pond", 1)?;
    /// if scope.get_with(b"lake", |row| row.is_none()) {
    ///     scope.writer().put(b"lake", geese.to_string().as_bytes())?;
    /// }
    /// // After a crash both keys are there or neither is.
    /// let ticket = scope.commit()?;
    /// store.wait_durable(ticket)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The store is closed or writes are stopped.
    pub fn open_batch(&mut self) -> Result<OpenBatch<'_>> {
        let inner = self.inner();
        // One time for all of it, so that no key expires in between.
        let mut writer = self.enter_at(Some(self.now()))?;
        writer.whole = true;
        ActiveWrite::is_whole(inner);
        let group = writer.operation.as_ref().map(LogOperation::group);
        // After the group, which may wait for an epoch to close.
        let no_moment = inner.snapshots.as_ref().map(StoreSnapshots::group);
        Ok(OpenBatch { no_moment, group, writer })
    }
}

impl<'s> OpenBatch<'s> {
    /// To write with.
    pub fn writer(&mut self) -> &mut Writer<'s> {
        &mut self.writer
    }

    /// Shows `look` the row of `key`, in place.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        self.writer.get_with(key, look)
    }

    /// Many lookups whose memory reads overlap; `found` is called in the order of `keys`, when all were read.
    pub fn get_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<RowRef<'_>>)) {
        let time = self.writer.time();
        let mut rows = vec![None; keys.len()];
        self.writer.inner.index.get_many(keys, &self.writer.guard, |i, row| rows[i] = row);
        for (i, row) in rows.into_iter().enumerate() {
            let row = time.live(row);
            self.writer.inner.used(row);
            found(i, row);
        }
    }

    /// Shows `each` the rows within `bounds`, in order, until it breaks; as [`Session::scan`].
    pub fn scan(
        &self,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        self.writer.inner.scan(self.writer.time(), bounds, direction, each);
    }

    /// Sets several keys: all of them, or none if one is refused.
    ///
    /// # Errors
    /// Limits, budget; nothing was done then.
    pub fn put_all(&mut self, pairs: &[Column<'_>]) -> Result<()> {
        self.writer.put_group(pairs)
    }

    /// Ends the scope; the ticket covers all that it wrote.
    ///
    /// # Errors
    /// Writes are stopped; what was written may not be durable, and no acknowledgement may be sent.
    pub fn commit(self) -> Result<Ticket> {
        let Self { no_moment, group, writer } = self;
        drop((no_moment, group));
        writer.finish()
    }
}
