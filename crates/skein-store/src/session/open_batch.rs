//! Open batches: reads and writes of one session that form one group, although the writes are not
//! known in advance.
//!
//! ```text
//!   begin    enter epoch ─ begin group: epoch and moment stand still
//!   ...      get, put, scan, put, update ...      each is visible at once, to all sessions
//!   commit   append records ─ epoch and moment may move ─ leave
//! ```
//!
//! An open batch is not a transaction: it does not isolate, and it does not roll back.
//!
//! # Invariants
//! 1. All records of a batch have one epoch, and an epoch survives a crash whole or not at all. So
//!    a batch is on disk whole or not at all, however its records reached the log and however it
//!    ended.
//! 2. All writes of a batch have one moment. So a snapshot shows the batch whole or not at all.
//! 3. A batch latches no stripe, because it cannot know which keys it will need. So readers of
//!    several keys may see a part of it. A caller that needs isolation must exclude other sessions;
//!    the server does this with a gate. So after it has begun, a batch waits for no other thread,
//!    and no thread waits for the batch while it holds a resource that the batch needs.

use std::ops::ControlFlow;

use skein_log::{LogOperation, OperationGroup};
use skein_model::column_table::Column;

use super::{Session, Writer};
use crate::index::KeyBounds;
use crate::{Result, RowRef, ScanDirection, Ticket};

/// Reads and writes of one [`Session`] that form one group: all of its writes are on disk or none,
/// and the same holds for snapshots. See [`Session::open_batch`].
///
/// Dropping it without [`commit`](Self::commit) does not undo the writes; they still form one
/// group.
#[derive(Debug)]
pub struct OpenBatch<'s> {
    // Fields are dropped in this order. The writer appends its records last: records may follow the
    // end of the group.
    group: Option<OperationGroup<'s>>,
    writer: Writer<'s>,
}

impl Session {
    /// Begins a batch in which any reads and writes of this session form one group. On disk the
    /// group is whole or absent, and no snapshot is taken in between.
    ///
    /// The reads of the batch see its writes. Other sessions see them too: isolation is up to the
    /// caller. If a write is rejected, earlier writes stay.
    ///
    /// Keep a batch short: while it is open, no write of the store becomes durable, and no snapshot
    /// and no checkpoint begins. On the same thread, an operation that would wait for one of these
    /// returns [`InsideWrite`](crate::Error::InsideWrite), and so does any other write to this
    /// store.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// let mut batch = session.open_batch()?;
    /// let geese = batch.writer().increment(b"pond", 1)?;
    /// if batch.get_with(b"lake", |row| row.is_none()) {
    ///     batch.writer().put(b"lake", geese.to_string().as_bytes())?;
    /// }
    /// // After a crash both keys are there or neither is.
    /// let ticket = batch.commit()?;
    /// store.wait_durable(ticket)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The store is closed or writes are stopped.
    pub fn open_batch(&mut self) -> Result<OpenBatch<'_>> {
        // One time for the whole batch, so that no key expires during it.
        let mut writer = self.enter_at(Some(self.now()))?;
        writer.is_group = true;
        let group = writer.operation.as_ref().map(LogOperation::group);
        Ok(OpenBatch { group, writer })
    }
}

impl<'s> OpenBatch<'s> {
    /// Returns the writer of this batch.
    pub fn writer(&mut self) -> &mut Writer<'s> {
        &mut self.writer
    }

    /// Calls `look` with the row of `key`, without copying it.
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> R {
        self.writer.get_with(key, look)
    }

    /// Looks up many keys with overlapping memory reads. Calls `found` in the order of `keys`,
    /// after all keys were read.
    pub fn get_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<RowRef<'_>>)) {
        let time = self.writer.time();
        let mut rows = vec![None; keys.len()];
        self.writer.core.keys.index.look_up(keys, &self.writer.guard, &mut |i, row| rows[i] = row);
        for (i, row) in rows.into_iter().enumerate() {
            let row = time.live(row);
            self.writer.core.keys.used(row);
            found(i, row);
        }
    }

    /// Calls `each` with the rows within `bounds`, in order, until it breaks; as [`Session::scan`].
    pub fn scan(
        &self,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        self.writer.core.keys.scan(self.writer.time(), bounds, direction, each);
    }

    /// Sets several keys: all of them, or none if one is rejected.
    ///
    /// # Errors
    /// A size limit or the memory limit; nothing was written then.
    pub fn put_all(&mut self, pairs: &[Column<'_>]) -> Result<()> {
        self.writer.put_group(pairs)
    }

    /// Ends the batch. The ticket covers all of its writes.
    ///
    /// # Errors
    /// Writes are stopped. The writes may not be durable, so the caller must not acknowledge them.
    pub fn commit(self) -> Result<Ticket> {
        let Self { group, writer } = self;
        drop(group);
        writer.finish()
    }
}
