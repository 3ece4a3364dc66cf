//! Transactions and their savepoints.

use std::sync::Arc;

use pyo3::prelude::*;
use skeindb::Durability;

use crate::core::DbCore;
use crate::failure::Result;
use crate::held::Held;
use crate::keyspace::keyspace_of;
use crate::view::View;
use crate::writer::Writer;

/// A transaction. At the end of a `with` it is committed, or rolled back if an exception leaves it.
#[pyclass(frozen, weakref, module = "skeindb")]
pub(crate) struct Transaction {
    held: Arc<Held<skeindb::Transaction>>,
}

impl Transaction {
    /// Begins a transaction; an exclusive one waits for its turn.
    pub(crate) fn begin(
        py: Python<'_>,
        core: &DbCore,
        durability: Option<Durability>,
        exclusive: bool,
    ) -> Result<Self> {
        let begun = py.detach(|| {
            let mut begun = if exclusive { core.db.begin_exclusive()? } else { core.db.begin()? };
            if let Some(durability) = durability {
                begun.set_durability(durability)?;
            }
            Ok::<_, skeindb::Error>(begun)
        })?;
        Ok(Self::new(begun))
    }

    pub(crate) fn new(transaction: skeindb::Transaction) -> Self {
        Self { held: Arc::new(Held::new(transaction, "the transaction has ended")) }
    }

    /// Ends it here, and returns it to be committed elsewhere.
    pub(crate) fn end(&self, py: Python<'_>) -> Option<skeindb::Transaction> {
        self.held.end(py)
    }
}

#[pymethods]
impl Transaction {
    fn __getitem__<'py>(&self, keyspace: &Bound<'py, PyAny>) -> Result<Bound<'py, View>> {
        let keyspace = keyspace_of(keyspace, "transaction")?;
        self.held.changes()?;
        let writer = Writer::of_transaction(keyspace.get().reader(), self.held.clone());
        Ok(Bound::new(keyspace.py(), View::initializer(writer))?)
    }

    /// Applies all writes and ends the transaction. Raises `ConflictError` if another write changed
    /// rows or ranges that it read; nothing was written then.
    fn commit(&self, py: Python<'_>) -> Result<()> {
        let transaction = self.held.end(py).ok_or_else(|| self.held.failure())?;
        Ok(py.detach(|| transaction.commit())?)
    }

    /// Ends the transaction and undoes its writes. One that has ended stays as it is.
    fn rollback(&self, py: Python<'_>) {
        let transaction = self.held.end(py);
        py.detach(|| drop(transaction));
    }

    /// Returns a savepoint, to which the writes can be rolled back. In a `with`, an exception does
    /// so.
    fn savepoint(&self, py: Python<'_>) -> Result<Savepoint> {
        let place = self.held.read(py, |tx| Ok(tx.savepoint()))?;
        Ok(Savepoint { held: self.held.clone(), place })
    }

    /// Whether it was committed or rolled back.
    #[getter]
    fn ended(&self) -> bool {
        self.held.has_ended()
    }

    fn __enter__(slf: Bound<'_, Self>) -> Result<Bound<'_, Self>> {
        slf.get().held.changes()?;
        Ok(slf)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> Result<bool> {
        if !kind.is_none() {
            self.rollback(py);
        } else if !self.held.has_ended() {
            self.commit(py)?;
        }
        Ok(false)
    }

    fn __repr__(&self) -> &'static str {
        if self.held.has_ended() { "<skeindb.Transaction, ended>" } else { "<skeindb.Transaction>" }
    }
}

/// A place in a transaction to which its writes can be rolled back.
#[pyclass(frozen, module = "skeindb")]
pub(crate) struct Savepoint {
    held: Arc<Held<skeindb::Transaction>>,
    place: skeindb::Savepoint,
}

#[pymethods]
impl Savepoint {
    /// Undoes the writes after the savepoint, which stays.
    fn rollback(&self, py: Python<'_>) -> Result<()> {
        let place = self.place;
        self.held.change(py, |tx| tx.rollback_to(place))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> Result<bool> {
        if !kind.is_none() && !self.held.has_ended() {
            self.rollback(py)?;
        }
        Ok(false)
    }

    fn __repr__(&self) -> &'static str {
        if self.held.has_ended() { "<skeindb.Savepoint, ended>" } else { "<skeindb.Savepoint>" }
    }
}
