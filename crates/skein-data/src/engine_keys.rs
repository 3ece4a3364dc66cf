//! The keys of an engine, as a command sees them: the current keys, or the keys with the writes of
//! the open transaction.
//!
//! Commands that run alone (`Handler::General`, `Handler::Exclusive`, tasks) must reach the data
//! only through this type. So each of them can be part of a transaction.

use std::ops::{Bound, ControlFlow};

use skein_store::{AFTER_RESERVED, KeyspaceStats, StoredKeyspace};

use crate::keyspace_ranges::{KeyspacePieces, scan_pieces, within};
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

/// Calls a method that a session and a transaction both have.
macro_rules! each {
    ($self:expr, $keys:ident => $call:expr) => {
        match $self {
            EngineKeys::Session($keys) => $call,
            EngineKeys::Transaction($keys) => $call,
        }
    };
}

impl EngineKeys<'_> {
    /// Returns the engine, for operations that are not about keys: statistics, checkpoints.
    pub fn engine(&self) -> &Engine {
        each!(self, within => within.engine())
    }

    /// Returns the time that decides which keys have expired, in milliseconds since 1970. It is the
    /// same for all operations that are done together.
    pub fn now(&self) -> u64 {
        each!(self, within => within.now())
    }

    /// Returns the numbers of keys of a keyspace: of the default one, or of that of a database.
    /// They are exact while no thread writes.
    pub fn keyspace_stats(&mut self, keyspace: StoredKeyspace) -> KeyspaceStats {
        match self {
            Self::Session(session) => session.engine().keyspace_stats(keyspace),
            Self::Transaction(transaction) => transaction.keyspace_stats(keyspace),
        }
    }

    /// Returns the engine's statistics, with the writes of the transaction, and with the rows of
    /// all keyspaces.
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
        each!(self, within => within.get_with(key, look))
    }

    /// Calls `look` with the row of a key. This does not count as a use of the key.
    pub fn peek_with<R>(&mut self, key: &[u8], look: impl FnOnce(Result<Option<RowView<'_>>>) -> R) -> R {
        each!(self, within => within.peek_with(key, look))
    }

    /// Returns the state of a key. This does not count as a use of the key.
    pub fn key_state(&mut self, key: &[u8]) -> KeyState {
        each!(self, within => within.key_state(key))
    }

    /// Returns whether this is a transaction with writes that others see before its end, and that
    /// cannot be undone.
    pub fn is_visible_transaction(&self) -> bool {
        match self {
            Self::Session(_) => false,
            Self::Transaction(transaction) => !transaction.can_roll_back(),
        }
    }

    /// Looks up many keys. Calls `found` once per key, with its position, in no particular order.
    /// Keys may be read at different moments. This does not count as a use of the keys.
    pub fn peek_many(&mut self, keys: &[&[u8]], mut found: impl FnMut(usize, Result<Option<RowView<'_>>>)) {
        match self {
            Self::Session(session) => session.get_many(keys, |_| false, found),
            Self::Transaction(transaction) => {
                for (at, key) in keys.iter().enumerate() {
                    transaction.peek_with(key, |row| found(at, row));
                }
            }
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
        each!(self, within => within.get_many_atomic(keys, bytes_most, found))
    }

    /// See [`EngineSession::removal_counter`]. In a transaction no key is watched.
    pub fn removal_counter(&self, key: &[u8]) -> u64 {
        match self {
            Self::Session(session) => session.removal_counter(key),
            Self::Transaction(_) => 0,
        }
    }

    /// Counts the keys that exist, as of one moment. Counts as a use of them if `is_use` says so.
    ///
    /// # Errors
    /// A page cannot be read or is damaged.
    pub fn count_present(&mut self, keys: &[&[u8]], is_use: bool) -> Result<usize> {
        each!(self, within => within.count_present(keys, is_use))
    }

    /// Calls `each` with the names and rows of a keyspace within bounds, in order, until it breaks.
    /// The bounds are names, too. `most` is the number of keys that it wants at most. This is not a
    /// snapshot.
    ///
    /// # Errors
    /// As [`EngineSession::scan`].
    pub fn scan(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        scan_pieces(
            keyspace,
            bounds,
            direction,
            each,
            |piece, each| each!(self, within => within.scan(piece, direction, most, each)),
        )
    }

    /// Returns whether the engine keeps keys in order.
    pub fn is_ordered(&self) -> bool {
        each!(self, within => within.is_ordered())
    }

    /// Calls `each` with the names and rows of a keyspace within bounds, in order if the engine
    /// keeps one; see [`EngineSession::walk`]. Without an order, this visits the keys of other
    /// keyspaces, too.
    ///
    /// # Errors
    /// As [`EngineSession::walk`].
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
        let (bounds, each) = ((after.as_ref().map(|key| &**key), bounds.1), within(keyspace, each));
        each!(self, within => within.walk(bounds, most, each))
    }

    /// Counts the first `most` keys of a range of names. Returns the count, and the last name if
    /// there may be more.
    ///
    /// # Errors
    /// As [`EngineSession::scan`].
    pub fn count_first(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
        most: usize,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        let mut count = 0;
        for piece in KeyspacePieces::new(keyspace, bounds).in_order().into_iter().flatten() {
            let (more, last) = each!(self, within => within.count_first(piece, most - count))?;
            count += more;
            if let Some(last) = last {
                return Ok((count, Some(last[keyspace.prefix_bytes()..].to_vec())));
            }
        }
        Ok((count, None))
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
        let pieces = KeyspacePieces::new(keyspace, bounds);
        if !self.is_ordered() {
            return self.remove_unordered(keyspace, bounds);
        }
        let (first, then) = match pieces.in_order() {
            [Some(first), then] => (first, then),
            [None, Some(only)] => (only, None),
            [None, None] => {
                return Ok(RangeRemovalStep { count: 0, rest: None, ticket: Ticket::default() });
            }
        };
        let mut step = each!(self, within => within.remove_some(first))?;
        step.rest = match step.rest {
            Some(rest) => Some(rest.map(|key| key[keyspace.prefix_bytes()..].to_vec())),
            None => then.map(|_| Bound::Included(AFTER_RESERVED.to_vec())),
        };
        Ok(step)
    }

    /// Removes some keys of a keyspace, behind a name or from the beginning.
    fn remove_unordered(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
    ) -> Result<RangeRemovalStep> {
        let after = bounds.0.map(|name| keyspace.stored(name));
        let bounds = (after.as_ref().map(|key| &**key), bounds.1);
        let mut step = each!(self, within => within.remove_some_of(keyspace, bounds))?;
        step.rest = step.rest.map(|rest| rest.map(|key| key[keyspace.prefix_bytes()..].to_vec()));
        Ok(step)
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
