//! The keys of an engine, as a command sees them: the current keys, or the keys with the writes of
//! the open transaction.
//!
//! Commands that run alone (`Handler::General`, `Handler::Exclusive`, tasks) must reach the data
//! only through this type. So each of them can be part of a transaction.
//!
//! Many reads and writes are one in a transaction: on disk all or nothing of it exists, and its
//! reads see its writes.
//!
//! |                    | memory                           | disk                               |
//! | ------------------ | -------------------------------- | ---------------------------------- |
//! | before the commit  | others could see the writes      | only the transaction sees them     |
//! | all or nothing by  | one epoch (a store's `OpenBatch`) | one publication and one log record |
//! | a write that fails | is not done; the others stay     | breaks the transaction (1)         |
//!
//! (1) Unless the engine refuses the write before it begins.
//!
//! Neither engine isolates a transaction: in memory, other threads could see a part of it. The
//! server keeps other workers away (`exclusion_gate`).

use std::ops::{Bound, ControlFlow};

use skein_model::{AFTER_RESERVED, KeyspaceStats, StoredKeyspace, borrowed_bounds};

use crate::disk::{DiskSession, OpenTransaction};
use crate::keys::{FoundRow, KeyOrder, Keys, Visit};
use crate::keyspace_ranges::{scan_pieces, within};
use crate::memory::{MemoryBatch, MemorySession};
use crate::range_steps::RangeRemovalStep;
use crate::{
    Engine, EngineBounds, EngineSnapshot, EngineWriter, KeyState, Result, RowView, ScanDirection, StoreStats,
    Ticket,
};

/// The keys, through a thread's session or within its open transaction.
#[derive(Debug)]
pub struct EngineKeys<'k> {
    engine: &'k Engine,
    keys: KeysOf<'k>,
}

/// The keys of one engine.
#[derive(Debug)]
pub(crate) enum KeysOf<'k> {
    MemorySession(&'k mut MemorySession),
    MemoryBatch(Box<MemoryBatch<'k>>),
    DiskSession(&'k mut DiskSession),
    OpenTransaction(Box<OpenTransaction<'k>>),
}

/// Calls a method of the engine's keys.
macro_rules! keys {
    ($keys:expr, $one:ident => $call:expr) => {
        match $keys {
            KeysOf::MemorySession($one) => $call,
            KeysOf::MemoryBatch($one) => $call,
            KeysOf::DiskSession($one) => $call,
            KeysOf::OpenTransaction($one) => $call,
        }
    };
}

impl<'k> EngineKeys<'k> {
    #[inline]
    pub(crate) fn new(engine: &'k Engine, keys: KeysOf<'k>) -> Self {
        Self { engine, keys }
    }

    /// Returns the engine, for operations that are not about keys: statistics, checkpoints.
    pub fn engine(&self) -> &Engine {
        self.engine
    }

    /// Returns the time that decides which keys have expired, in milliseconds since 1970. It is the
    /// same for all operations that are done together.
    pub fn now(&self) -> u64 {
        keys!(&self.keys, keys => keys.now())
    }

    /// Returns whether this is a transaction.
    pub fn is_transaction(&self) -> bool {
        matches!(self.keys, KeysOf::MemoryBatch(_) | KeysOf::OpenTransaction(_))
    }

    /// Returns whether this is a transaction with writes that others see before its end, and that
    /// cannot be undone.
    pub fn is_visible_transaction(&self) -> bool {
        matches!(self.keys, KeysOf::MemoryBatch(_))
    }

    /// Returns whether this is a transaction that has failed: no more operations are possible, and
    /// none of its writes will be done.
    pub fn is_broken(&self) -> bool {
        matches!(&self.keys, KeysOf::OpenTransaction(transaction) if transaction.is_broken())
    }

    /// Returns the numbers of keys of a keyspace: of the default one, or of that of a database.
    /// They are exact while no thread writes.
    pub fn keyspace_stats(&mut self, keyspace: StoredKeyspace) -> KeyspaceStats {
        match &mut self.keys {
            KeysOf::OpenTransaction(transaction) => transaction.keyspace_stats(keyspace),
            _ => self.engine.keyspace_stats(keyspace),
        }
    }

    /// Returns the engine's statistics, with the writes of the transaction, and with the rows of
    /// all keyspaces.
    pub fn stats(&mut self) -> StoreStats {
        match &mut self.keys {
            KeysOf::OpenTransaction(transaction) => transaction.stats(),
            _ => self.engine.stats(),
        }
    }

    /// Returns a snapshot of all keys, for reading them in many steps. Returns `None` in a
    /// transaction, where no other client can change the keys.
    ///
    /// # Errors
    /// Too many snapshots are live.
    pub fn snapshot(&self) -> Result<Option<EngineSnapshot>> {
        if self.is_transaction() { Ok(None) } else { self.engine.snapshot().map(Some) }
    }

    /// Makes room for writes of about `bytes`; as
    /// [`EngineSession::make_room`](crate::EngineSession::make_room). In a transaction the room is
    /// not checked.
    ///
    /// # Errors
    /// If writes are stopped.
    pub fn make_room(&mut self, bytes: usize, beside: usize) -> Result<(usize, Ticket)> {
        match &mut self.keys {
            KeysOf::MemorySession(session) => session.make_room(bytes, beside),
            _ => Ok((usize::MAX, Ticket::default())),
        }
    }

    /// Calls `look` with the row of a key.
    #[inline]
    pub fn get_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        keys!(&mut self.keys, keys => keys.get_with(key, look))
    }

    /// Calls `look` with the row of a key. This does not count as a use of the key.
    pub fn peek_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        keys!(&mut self.keys, keys => keys.peek_with(key, look))
    }

    /// Does the same as [`get_with`](Self::get_with), and sees a batch
    /// ([`apply_if`](crate::EngineSession::apply_if)) whole: after a read has shown one key of the
    /// batch, later reads show its other keys.
    pub fn get_settled_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        keys!(&mut self.keys, keys => keys.get_settled_with(key, look))
    }

    /// Returns the state of a key. This does not count as a use of the key.
    pub fn key_state(&mut self, key: &[u8]) -> KeyState {
        keys!(&mut self.keys, keys => keys.key_state(key))
    }

    /// Returns a number for an absent key that increases when the key is inserted and removed
    /// again. In a transaction no key is watched.
    pub fn removal_counter(&self, key: &[u8]) -> u64 {
        keys!(&self.keys, keys => keys.removal_counter(key))
    }

    /// Looks up many keys. Calls `found` once per key, with its position, in no particular order.
    /// Keys may be read at different moments. A lookup counts as a use of its key if `is_use` says
    /// so of its position.
    pub fn get_many(
        &mut self,
        keys: &[&[u8]],
        is_use: impl Fn(usize) -> bool,
        found: impl FnMut(usize, FoundRow<'_>),
    ) {
        keys!(&mut self.keys, one => one.get_many(keys, is_use, found));
    }

    /// Looks up many keys as of one moment with respect to MSET, and calls `found` in the order of
    /// `keys`. Rows of more than `bytes_most` bytes together may be refused.
    ///
    /// # Errors
    /// The rows are too long together, a page cannot be read or is damaged, or a value is no row.
    pub fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        found: impl FnMut(usize, Option<RowView<'_>>),
    ) -> Result<()> {
        keys!(&mut self.keys, one => one.get_many_atomic(keys, bytes_most, found))
    }

    /// Counts the keys that exist, as of one moment. On disk this is one moment only if their
    /// values are small. Counts as a use of the keys if `is_use` says so.
    ///
    /// # Errors
    /// A page cannot be read or is damaged.
    pub fn count_present(&mut self, keys: &[&[u8]], is_use: bool) -> Result<usize> {
        keys!(&mut self.keys, one => one.count_present(keys, is_use))
    }

    /// Calls `each` with the names and rows of a keyspace within bounds, in order, until it breaks.
    /// The bounds are names, too. `most` is the number of keys that it wants at most. This is not a
    /// snapshot.
    ///
    /// # Errors
    /// As [`scan_stored`](Self::scan_stored).
    pub fn scan(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        scan_pieces(keyspace, bounds, direction, each, |piece, each| {
            self.scan_stored(piece, direction, most, each)
        })
    }

    /// Does the same with the keys of all keyspaces, as they are stored.
    ///
    /// # Errors
    /// If the trie of a disk store keeps no order, a page cannot be read or is damaged, or a value
    /// is not a row. Rows that were read before the error have been passed to `each`.
    pub fn scan_stored(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        keys!(&mut self.keys, keys => keys.visit(Visit { bounds, order: KeyOrder::Sorted(direction), most }, each))
    }

    /// Returns whether the engine keeps keys in order. Without one, [`scan`](Self::scan) returns an
    /// error.
    pub fn is_ordered(&self) -> bool {
        keys!(&self.keys, keys => keys.is_ordered())
    }

    /// Calls `each` with the names and rows of a keyspace within bounds, in order if the engine
    /// keeps one. Otherwise it shows them in no particular order, and visits the keys of other
    /// keyspaces, too; it starts behind the name that the lower bound excludes.
    ///
    /// # Errors
    /// As [`walk_stored`](Self::walk_stored).
    pub fn walk(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if self.is_ordered() {
            return self.scan(keyspace, bounds, ScanDirection::Forward, most, each);
        }
        // Of all keys, or behind a key, which may be any.
        let after = bounds.0.map(|name| keyspace.stored(name));
        self.walk_stored((after.as_ref().map(|key| &**key), bounds.1), most, within(keyspace, each))
    }

    /// Does the same with the keys of all keyspaces, as they are stored.
    ///
    /// # Errors
    /// If keys have no order and there are other bounds; otherwise as
    /// [`scan_stored`](Self::scan_stored).
    pub fn walk_stored(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        keys!(&mut self.keys, keys => keys.visit(Visit { bounds, order: KeyOrder::Any, most }, each))
    }

    /// Counts the first `most` keys of a range of names. Returns the count, and the last name if
    /// there may be more.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn count_first(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
        most: usize,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        let mut count = 0;
        let stored = keyspace.bounds(bounds);
        for piece in keyspace.pieces(borrowed_bounds(&stored)).into_iter().flatten() {
            let (more, last) = keys!(&mut self.keys, keys => keys.count_first(piece, most - count))?;
            count += more;
            if let Some(last) = last {
                return Ok((count, Some(last[keyspace.prefix_bytes()..].to_vec())));
            }
        }
        Ok((count, None))
    }

    /// Runs single-key writes with one append to the log if they are few. The returned ticket
    /// covers them; in a transaction, that of the commit does.
    ///
    /// After an error, none of these writes may be acknowledged. On disk, the writes since the last
    /// publication were not done, and the ticket covers the writes before. (If many writes are
    /// unpublished, [`EngineWriter::publish_if_many`] publishes them.)
    pub fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> (Result<R>, Ticket) {
        keys!(&mut self.keys, keys => keys.write(writes))
    }

    /// Sets several keys, all or none, both on disk and for `get_many_atomic`. Used by MSET.
    ///
    /// # Errors
    /// A limit is exceeded, writes are stopped, or a file operation fails. Nothing was written
    /// then.
    pub fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        keys!(&mut self.keys, keys => keys.put_all(pairs))
    }

    /// Removes the first keys of a range of names. Not atomic: a key that is inserted meanwhile may
    /// stay.
    ///
    /// # Errors
    /// Keys have no order and the range is not all of them, writes are stopped, or a file operation
    /// fails.
    pub fn remove_some(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
    ) -> Result<RangeRemovalStep> {
        if !self.is_ordered() {
            return self.remove_unordered(keyspace, bounds);
        }
        let stored = keyspace.bounds(bounds);
        let (first, then) = match keyspace.pieces(borrowed_bounds(&stored)) {
            [Some(first), then] => (first, then),
            [None, Some(only)] => (only, None),
            [None, None] => {
                return Ok(RangeRemovalStep { count: 0, rest: None, ticket: Ticket::default() });
            }
        };
        let mut step = self.remove_stored(first)?;
        step.rest = match step.rest {
            Some(rest) => Some(rest.map(|key| key[keyspace.prefix_bytes()..].to_vec())),
            None => then.map(|_| Bound::Included(AFTER_RESERVED.to_vec())),
        };
        Ok(step)
    }

    /// Does the same with the keys of all keyspaces, as they are stored.
    ///
    /// # Errors
    /// As [`remove_some`](Self::remove_some).
    pub fn remove_stored(&mut self, bounds: EngineBounds<'_>) -> Result<RangeRemovalStep> {
        keys!(&mut self.keys, keys => keys.remove_some(bounds, None))
    }

    /// Removes some keys of a keyspace, behind a name or from the beginning.
    fn remove_unordered(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
    ) -> Result<RangeRemovalStep> {
        let after = bounds.0.map(|name| keyspace.stored(name));
        let bounds = (after.as_ref().map(|key| &**key), bounds.1);
        let mut step = keys!(&mut self.keys, keys => keys.remove_some(bounds, Some(keyspace)))?;
        step.rest = step.rest.map(|rest| rest.map(|key| key[keyspace.prefix_bytes()..].to_vec()));
        Ok(step)
    }

    /// Commits the transaction if this is one. The returned ticket covers all of its writes.
    ///
    /// # Errors
    /// If so, no write of the transaction may be acknowledged. On disk nothing was done, unless the
    /// log failed.
    pub fn commit(self) -> Result<Ticket> {
        match self.keys {
            KeysOf::MemoryBatch(batch) => batch.commit(),
            KeysOf::OpenTransaction(transaction) => transaction.commit(),
            KeysOf::MemorySession(_) | KeysOf::DiskSession(_) => Ok(Ticket::default()),
        }
    }
}
