//! The keys of an engine, as a command sees them: the current keys, or the keys with the writes of
//! the open transaction.
//!
//! Commands that run alone (`Handler::General`, `Handler::Exclusive`, tasks) must reach the data
//! only through this type, so that each of them can be part of a transaction.

use std::ops::ControlFlow;

use crate::private_row;
use crate::range_steps::RangeRemovalStep;
use crate::{
    Engine, EngineBounds, EngineSession, EngineSnapshot, EngineTransaction, EngineWriter, KeyState, Result,
    RowView, ScanDirection, StoreStats, Ticket,
};

/// The keys, through a worker's session or within its open transaction.
pub enum EngineKeys<'k> {
    /// The current keys.
    Session(&'k mut EngineSession),
    /// The keys with the writes of the transaction.
    Transaction(Box<EngineTransaction<'k>>),
}

impl EngineKeys<'_> {
    /// Returns the engine, for operations that are not about keys: statistics, checkpoints.
    pub fn engine(&self) -> &Engine {
        match self {
            Self::Session(session) => session.engine(),
            Self::Transaction(transaction) => transaction.engine(),
        }
    }

    /// Returns the time that decides which keys have expired, in milliseconds since 1970. It is the
    /// same for all operations that are done together.
    pub fn now(&self) -> u64 {
        match self {
            Self::Session(session) => session.now(),
            Self::Transaction(transaction) => transaction.now(),
        }
    }

    /// Returns the number of keys, with the server's own row.
    #[expect(clippy::len_without_is_empty, reason = "no command asks whether there are keys")]
    pub fn len(&mut self) -> usize {
        match self {
            Self::Session(session) => session.engine().len(),
            Self::Transaction(transaction) => transaction.len(),
        }
    }

    /// Returns the engine's statistics, with the writes of the transaction and the server's own
    /// row.
    pub fn stats(&mut self) -> StoreStats {
        match self {
            Self::Session(session) => session.engine().stats(),
            Self::Transaction(transaction) => transaction.stats(),
        }
    }

    /// Returns a snapshot of all keys, for reading them in many steps. Returns `None` in a
    /// transaction, where no other client can change the keys.
    ///
    /// # Errors
    /// Too many snapshots are live.
    pub fn snapshot(&self) -> Result<Option<EngineSnapshot>> {
        match self {
            Self::Session(session) => session.engine().snapshot().map(Some),
            Self::Transaction(_) => Ok(None),
        }
    }

    /// Returns whether this is a transaction that has failed: no more operations are possible, and
    /// none of its writes will be done.
    pub fn is_broken(&self) -> bool {
        match self {
            Self::Session(_) => false,
            Self::Transaction(transaction) => transaction.is_broken(),
        }
    }

    /// Calls `look` with the row of a key.
    pub fn get_with<R>(&mut self, key: &[u8], look: impl FnOnce(Result<Option<RowView<'_>>>) -> R) -> R {
        match self {
            Self::Session(session) => session.get_with(key, look),
            Self::Transaction(transaction) => transaction.get_with(key, look),
        }
    }

    /// Returns the state of a key. This does not count as a use of the key.
    pub fn key_state(&mut self, key: &[u8]) -> KeyState {
        match self {
            Self::Session(session) => session.key_state(key),
            Self::Transaction(transaction) => transaction.key_state(key),
        }
    }

    /// Returns whether this is a transaction whose writes others see, and cannot be undone, before
    /// its end.
    pub fn is_visible_transaction(&self) -> bool {
        match self {
            Self::Session(_) => false,
            Self::Transaction(transaction) => !transaction.can_roll_back(),
        }
    }

    /// Looks up many keys. Calls `found` once per key, with its position, in no particular order.
    /// Keys may be read at different moments.
    pub fn get_many(&mut self, keys: &[&[u8]], found: impl FnMut(usize, Result<Option<RowView<'_>>>)) {
        match self {
            Self::Session(session) => session.get_many(keys, found),
            Self::Transaction(transaction) => transaction.get_many(keys, found),
        }
    }

    /// Looks up many keys as of one moment with respect to MSET, and calls `found` in the order of
    /// `keys`. Rows of more than `bytes_most` bytes together may be refused.
    ///
    /// # Errors
    /// As [`EngineSession::get_many_atomic`].
    pub fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        found: impl FnMut(usize, Option<RowView<'_>>),
    ) -> Result<()> {
        match self {
            Self::Session(session) => session.get_many_atomic(keys, bytes_most, found),
            Self::Transaction(transaction) => transaction.get_many_atomic(keys, bytes_most, found),
        }
    }

    /// See [`EngineSession::removal_counter`]. In a transaction no key is watched.
    pub fn removal_counter(&self, key: &[u8]) -> u64 {
        match self {
            Self::Session(session) => session.removal_counter(key),
            Self::Transaction(_) => 0,
        }
    }

    /// Counts the keys that exist, as of one moment.
    ///
    /// # Errors
    /// A page cannot be read or is damaged.
    pub fn count_present(&mut self, keys: &[&[u8]]) -> Result<usize> {
        match self {
            Self::Session(session) => session.count_present(keys),
            Self::Transaction(transaction) => transaction.count_present(keys),
        }
    }

    /// Calls `each` with the rows within bounds, in order, until it breaks. `most` is the number of
    /// keys that it wants at most. This is not a snapshot.
    ///
    /// # Errors
    /// As [`EngineSession::scan`].
    pub fn scan(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let each = private_row::without(each);
        match self {
            Self::Session(session) => session.scan(bounds, direction, most, each),
            Self::Transaction(transaction) => transaction.scan(bounds, direction, most, each),
        }
    }

    /// Returns whether the engine keeps keys in order.
    pub fn is_ordered(&self) -> bool {
        match self {
            Self::Session(session) => session.is_ordered(),
            Self::Transaction(transaction) => transaction.is_ordered(),
        }
    }

    /// Calls `each` with the rows within bounds, in order if the engine keeps one; see
    /// [`EngineSession::walk`].
    ///
    /// # Errors
    /// As [`EngineSession::walk`].
    pub fn walk(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let each = private_row::without(each);
        match self {
            Self::Session(session) => session.walk(bounds, most, each),
            Self::Transaction(transaction) => transaction.walk(bounds, most, each),
        }
    }

    /// Counts the first `most` keys of a range. Returns the count, and the last key if there may be
    /// more.
    ///
    /// # Errors
    /// As [`EngineSession::scan`].
    pub fn count_first(&mut self, bounds: EngineBounds<'_>, most: usize) -> Result<(usize, Option<Vec<u8>>)> {
        self.count_without(bounds, |keys| match keys {
            Self::Session(session) => session.count_first(bounds, most),
            Self::Transaction(transaction) => transaction.count_first(bounds, most),
        })
    }

    /// Runs single-key writes; see [`EngineSession::write`]. In a transaction, the transaction's
    /// own ticket covers them.
    pub fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> (Result<R>, Ticket) {
        match self {
            Self::Session(session) => session.write(writes),
            Self::Transaction(transaction) => (Ok(transaction.write(writes)), Ticket::default()),
        }
    }

    /// Sets several keys, all or none, both on disk and for `get_many_atomic`. Used by MSET.
    ///
    /// # Errors
    /// A limit is exceeded, writes are stopped, or a file operation fails. Nothing was written
    /// then.
    pub fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        match self {
            Self::Session(session) => session.put_all(pairs),
            Self::Transaction(transaction) => transaction.put_all(pairs).map(|()| Ticket::default()),
        }
    }

    /// Removes the first keys within bounds. Not atomic: a key that is inserted meanwhile may stay.
    ///
    /// # Errors
    /// Keys have no order, writes are stopped, or a file operation fails.
    pub fn remove_some(&mut self, bounds: EngineBounds<'_>) -> Result<RangeRemovalStep> {
        self.remove_without(bounds, |keys, bounds| match keys {
            Self::Session(session) => session.remove_some(bounds),
            Self::Transaction(transaction) => transaction.remove_some(bounds),
        })
    }

    /// Commits the transaction if this is one. The returned ticket covers all of its writes.
    ///
    /// # Errors
    /// If so, no write of the transaction may be acknowledged.
    pub fn commit(self) -> Result<Ticket> {
        match self {
            Self::Session(_) => Ok(Ticket::default()),
            Self::Transaction(transaction) => transaction.commit(),
        }
    }
}
