//! The keys as a command sees them: of now, or with what its transaction wrote.
//!
//! Commands that run alone (`Handler::General`, `Handler::Exclusive`, tasks) reach the data through this and nothing else, so that each can be part of a
//! transaction.

use std::ops::ControlFlow;

use super::session::RangeRemovalStep;
use super::{
    Engine, EngineBounds, EngineSession, EngineTransaction, EngineWriter, Result, RowRef, ScanDirection,
    Snapshot, Ticket,
};

/// The keys, through a worker's session or in a transaction of it.
pub(crate) enum Keyspace<'k> {
    Session(&'k mut EngineSession),
    Transaction(Box<EngineTransaction<'k>>),
}

impl Keyspace<'_> {
    /// The engine, for what is not about keys: numbers, checkpoints.
    pub(crate) fn engine(&self) -> &Engine {
        match self {
            Self::Session(session) => session.engine(),
            Self::Transaction(transaction) => transaction.engine(),
        }
    }

    /// The time by which keys expire, in milliseconds since 1970: one for all that is done together.
    pub(crate) fn now(&self) -> u64 {
        match self {
            Self::Session(session) => session.now(),
            Self::Transaction(transaction) => transaction.now(),
        }
    }

    /// How many keys there are.
    pub(crate) fn len(&mut self) -> usize {
        match self {
            Self::Session(session) => session.engine().len(),
            Self::Transaction(transaction) => transaction.len(),
        }
    }

    /// All keys as they are now, for who reads them in many steps; `None` if they stay so by themselves, because this is a transaction.
    ///
    /// # Errors
    /// The engine, or its index, has no snapshots; as many are live as may be.
    pub(crate) fn snapshot(&self) -> Result<Option<Snapshot>> {
        match self {
            Self::Session(session) => session.engine().snapshot().map(Some),
            Self::Transaction(transaction) => transaction.admit_snapshot().map(|()| None),
        }
    }

    /// Whether it is a transaction in which nothing more can be done, and of which nothing will be.
    pub(crate) fn is_broken(&self) -> bool {
        match self {
            Self::Session(_) => false,
            Self::Transaction(transaction) => transaction.is_broken(),
        }
    }

    /// Shows `look` the row of a key.
    pub(crate) fn get_with<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowRef<'_>>>) -> R,
    ) -> R {
        match self {
            Self::Session(session) => session.get_with(key, look),
            Self::Transaction(transaction) => transaction.get_with(key, look),
        }
    }

    /// Many lookups; `found` is called once per key, with its position, in no particular order. Each key is read at a moment of its own.
    pub(crate) fn get_many(&mut self, keys: &[&[u8]], found: impl FnMut(usize, Result<Option<RowRef<'_>>>)) {
        match self {
            Self::Session(session) => session.get_many(keys, found),
            Self::Transaction(transaction) => transaction.get_many(keys, found),
        }
    }

    /// As `get_many`, as of one moment with respect to MSET, and in the order of `keys`. Rows of more than `bytes_most` bytes together may be refused.
    pub(crate) fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        found: impl FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        match self {
            Self::Session(session) => session.get_many_atomic(keys, bytes_most, found),
            Self::Transaction(transaction) => transaction.get_many_atomic(keys, bytes_most, found),
        }
    }

    /// See [`Session::departures`]. In a transaction no key is watched.
    pub(crate) fn removal_counter(&self, key: &[u8]) -> u64 {
        match self {
            Self::Session(session) => session.removal_counter(key),
            Self::Transaction(_) => 0,
        }
    }

    /// How many of the keys are there, as of one moment.
    pub(crate) fn count_present(&mut self, keys: &[&[u8]]) -> Result<usize> {
        match self {
            Self::Session(session) => session.count_present(keys),
            Self::Transaction(transaction) => transaction.count_present(keys),
        }
    }

    /// Shows `each` the rows within bounds, in order, until it breaks; it wants so many keys at most. Not a snapshot.
    ///
    /// # Errors
    /// As [`Session::scan`].
    pub(crate) fn scan(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        match self {
            Self::Session(session) => session.scan(bounds, direction, most, each),
            Self::Transaction(transaction) => transaction.scan(bounds, direction, most, each),
        }
    }

    /// Whether keys have an order.
    pub(crate) fn is_ordered(&self) -> bool {
        match self {
            Self::Session(session) => session.is_ordered(),
            Self::Transaction(transaction) => transaction.is_ordered(),
        }
    }

    /// Shows `each` the rows within bounds, in order, or where keys have none, in no particular one; see [`Session::walk`].
    ///
    /// # Errors
    /// As [`Session::walk`].
    pub(crate) fn walk(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        match self {
            Self::Session(session) => session.walk(bounds, most, each),
            Self::Transaction(transaction) => transaction.walk(bounds, most, each),
        }
    }

    /// How many of the first `most` keys of a range there are, and the last of them if there may be more.
    pub(crate) fn step_over(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        match self {
            Self::Session(session) => session.step_over(bounds, most),
            Self::Transaction(transaction) => transaction.step_over(bounds, most),
        }
    }

    /// Runs single-key writes; see [`Session::write`]. Those of a transaction are covered by its own ticket.
    pub(crate) fn write<R>(
        &mut self,
        writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R,
    ) -> (Result<R>, Ticket) {
        match self {
            Self::Session(session) => session.write(writes),
            Self::Transaction(transaction) => (Ok(transaction.write(writes)), Ticket::default()),
        }
    }

    /// Sets several keys together: all or nothing, on disk and for `get_many_atomic`. MSET.
    pub(crate) fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        match self {
            Self::Session(session) => session.put_all(pairs),
            Self::Transaction(transaction) => transaction.put_all(pairs).map(|()| Ticket::default()),
        }
    }

    /// Removes the first keys within bounds. Not atomic: a key that comes meanwhile may stay.
    pub(crate) fn remove_some(&mut self, bounds: EngineBounds<'_>) -> Result<RangeRemovalStep> {
        match self {
            Self::Session(session) => session.remove_some(bounds),
            Self::Transaction(transaction) => transaction.remove_some(bounds),
        }
    }

    /// Ends the transaction, if it is one; the ticket covers all that was written in it.
    ///
    /// # Errors
    /// Nothing of it may be acknowledged.
    pub(crate) fn commit(self) -> Result<Ticket> {
        match self {
            Self::Session(_) => Ok(Ticket::default()),
            Self::Transaction(transaction) => transaction.commit(),
        }
    }
}
