//! Writes to a keyspace: at once, or through a transaction.
//!
//! A function of the user runs between a read and a conditional write, and never under a lock.

use std::sync::Arc;
use std::time::SystemTime;

use pyo3::prelude::*;
use skeindb::{Batch, Transaction};

use crate::chunk::Row;
use crate::failure::Result;
use crate::held::Held;
use crate::range::KeyBounds;
use crate::reader::{Reader, Source};

/// Where writes go.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Present,
    Transaction(Arc<Held<Transaction>>),
}

/// Writes to one keyspace, and the reads that they depend on.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pub(crate) reader: Reader,
    target: Target,
}

impl Writer {
    /// Writes to the keyspace of a reader of the present.
    pub(crate) fn present(reader: Reader) -> Self {
        Self { reader, target: Target::Present }
    }

    /// Writes to the keyspace of a reader through a transaction.
    pub(crate) fn of_transaction(reader: &Reader, transaction: Arc<Held<Transaction>>) -> Self {
        let reader = Reader { source: Source::Transaction(transaction.clone()), ..reader.clone() };
        Self { reader, target: Target::Transaction(transaction) }
    }

    pub(crate) fn insert(
        &self,
        py: Python<'_>,
        key: &[u8],
        value: &[u8],
        expires: Option<SystemTime>,
    ) -> Result<()> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => Ok(py.detach(|| match expires {
                Some(expires) => keyspace.insert_until(key, value, expires),
                None => keyspace.insert(key, value),
            })?),
            Target::Transaction(transaction) => transaction.change(py, |tx| match expires {
                Some(expires) => tx.insert_until(keyspace, key, value, expires),
                None => tx.insert(keyspace, key, value),
            }),
        }
    }

    /// Sets when a key expires, or that it does not. Returns whether it is present.
    pub(crate) fn set_expiry(&self, py: Python<'_>, key: &[u8], expires: Option<SystemTime>) -> Result<bool> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => Ok(py.detach(|| match expires {
                Some(expires) => keyspace.expire_at(key, expires),
                None => keyspace.persist(key),
            })?),
            Target::Transaction(transaction) => transaction.change(py, |tx| match expires {
                Some(expires) => tx.expire_at(keyspace, key, expires),
                None => tx.persist(keyspace, key),
            }),
        }
    }

    /// Removes a key and returns whether it was present.
    pub(crate) fn remove(&self, py: Python<'_>, key: &[u8]) -> Result<bool> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => Ok(py.detach(|| keyspace.remove(key))?),
            Target::Transaction(transaction) => transaction.change(py, |tx| tx.remove(keyspace, key)),
        }
    }

    /// Removes a key and returns its value.
    pub(crate) fn take(&self, py: Python<'_>, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => Ok(py.detach(|| keyspace.take(key))?),
            Target::Transaction(transaction) => transaction.change(py, |tx| {
                let value = tx.get(keyspace, key)?;
                tx.remove(keyspace, key)?;
                Ok(value)
            }),
        }
    }

    /// Removes the first or the last row and returns it.
    pub(crate) fn take_end(&self, py: Python<'_>, last: bool) -> Result<Option<Row>> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => {
                Ok(py.detach(|| if last { keyspace.pop_last() } else { keyspace.pop_first() })?)
            }
            Target::Transaction(transaction) => transaction.change(py, |tx| {
                let row = if last { tx.last(keyspace)? } else { tx.first(keyspace)? };
                if let Some((key, _)) = &row {
                    tx.remove(keyspace, key)?;
                }
                Ok(row)
            }),
        }
    }

    /// Sets a key to a value if it is absent. Returns whether it was.
    pub(crate) fn insert_if_absent(&self, py: Python<'_>, key: &[u8], value: &[u8]) -> Result<bool> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => Ok(py.detach(|| keyspace.insert_if_absent(key, value))?),
            Target::Transaction(transaction) => transaction.change(py, |tx| {
                let absent = !tx.contains_key(keyspace, key)?;
                if absent {
                    tx.insert(keyspace, key, value)?;
                }
                Ok(absent)
            }),
        }
    }

    /// Inserts rows, all of them or none.
    pub(crate) fn insert_all(&self, py: Python<'_>, rows: Vec<Row>) -> Result<()> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => {
                let db = &self.reader.core.db;
                Ok(py.detach(|| {
                    let mut batch = Batch::new();
                    for (key, value) in rows {
                        batch.insert(keyspace, key, value);
                    }
                    db.apply(&batch)
                })?)
            }
            Target::Transaction(transaction) => transaction.change(py, |tx| {
                rows.into_iter().try_for_each(|(key, value)| tx.insert(keyspace, key, value))
            }),
        }
    }

    pub(crate) fn increment(&self, py: Python<'_>, key: &[u8], by: i64) -> Result<i64> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => Ok(py.detach(|| keyspace.increment(key, by))?),
            Target::Transaction(transaction) => transaction.change(py, |tx| tx.increment(keyspace, key, by)),
        }
    }

    /// Sets a key to `new`, or removes it, if its value is `expected`. Returns whether it was.
    pub(crate) fn compare_and_swap(
        &self,
        py: Python<'_>,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => Ok(py.detach(|| keyspace.compare_and_swap(key, expected, new))?.is_ok()),
            Target::Transaction(transaction) => {
                transaction.change(py, |tx| Ok(tx.compare_and_swap(keyspace, key, expected, new)?.is_ok()))
            }
        }
    }

    /// Sets a key to the result of `change` for its value. If another thread changes the value
    /// meanwhile, calls `change` again.
    pub(crate) fn update(
        &self,
        py: Python<'_>,
        key: &[u8],
        mut change: impl FnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>>,
    ) -> Result<Option<Vec<u8>>> {
        loop {
            py.check_signals()?;
            let old = self.reader.get_vec(py, key)?;
            let new = change(old.as_deref())?;
            if self.compare_and_swap(py, key, old.as_deref(), new.as_deref())? {
                return Ok(new);
            }
        }
    }

    /// Removes the keys of a range and returns how many.
    pub(crate) fn remove_range(&self, py: Python<'_>, bounds: KeyBounds) -> Result<u64> {
        let keyspace = &self.reader.keyspace;
        match &self.target {
            Target::Present => Ok(py.detach(|| keyspace.remove_range(bounds))?),
            Target::Transaction(transaction) => transaction.change(py, |tx| {
                let keys = tx.keys_in(keyspace, bounds).collect::<skeindb::Result<Vec<_>>>()?;
                for key in &keys {
                    tx.remove(keyspace, key)?;
                }
                Ok(keys.len() as u64)
            }),
        }
    }
}
