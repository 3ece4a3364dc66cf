//! Reads of a keyspace: as it is now, as a snapshot has it, or as a transaction sees it.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use skeindb::{Engine, Expiry, Keyspace, Snapshot, Transaction, Value};

use crate::chunk::{Chunk, ChunkRequest, Row};
use crate::core::DbCore;
use crate::failure::Result;
use crate::held::Held;
use crate::range::{KeyBounds, KeyRange, Part};

/// The source of reads.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Present,
    Snapshot(Arc<Held<Snapshot>>),
    Transaction(Arc<Held<Transaction>>),
}

/// Reads of one keyspace from one source.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) core: Arc<DbCore>,
    pub(crate) keyspace: Keyspace,
    pub(crate) source: Source,
}

impl Reader {
    pub(crate) fn is_transaction(&self) -> bool {
        matches!(self.source, Source::Transaction(_))
    }

    /// Describes the keyspace and the source for `repr`.
    pub(crate) fn describe(&self) -> String {
        let name = self.keyspace.name();
        let keyspace =
            if name.is_empty() { "the default keyspace".into() } else { format!("keyspace {name:?}") };
        match self.source {
            Source::Present => keyspace,
            Source::Snapshot(_) => keyspace + " in a snapshot",
            Source::Transaction(_) => keyspace + " in a transaction",
        }
    }

    /// Returns how often the source was changed by its own writes.
    pub(crate) fn changes(&self) -> Result<u64> {
        self.core.check_open()?;
        match &self.source {
            Source::Present => Ok(0),
            Source::Snapshot(snapshot) => snapshot.changes(),
            Source::Transaction(transaction) => transaction.changes(),
        }
    }

    /// Runs a read of the snapshot, without the lock that its end takes.
    fn of_snapshot<R: Send>(
        &self,
        py: Python<'_>,
        snapshot: &Held<Snapshot>,
        read: impl FnOnce(&Snapshot) -> skeindb::Result<R> + Send,
    ) -> Result<R> {
        let snapshot = snapshot.read(py, |snapshot| Ok(snapshot.clone()))?;
        Ok(self.core.read(py, || read(&snapshot))?)
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>, key: &[u8]) -> Result<Option<Bound<'py, PyBytes>>> {
        if matches!(self.source, Source::Present) && self.core.engine == Engine::Memory {
            // Copied once, from its place in memory.
            return Ok(self.keyspace.get(key)?.map(|value| PyBytes::new(py, &value)));
        }
        Ok(self.get_vec(py, key)?.map(|value| PyBytes::new(py, &value)))
    }

    pub(crate) fn get_vec(&self, py: Python<'_>, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let keyspace = &self.keyspace;
        match &self.source {
            Source::Present => {
                Ok(self.core.read(py, || keyspace.get(key).map(|value| value.map(Value::into_vec)))?)
            }
            Source::Snapshot(snapshot) => {
                self.of_snapshot(py, snapshot, |snapshot| snapshot.get(keyspace, key))
            }
            Source::Transaction(transaction) => transaction.read(py, |tx| tx.get(keyspace, key)),
        }
    }

    /// Returns the values of many keys; those of the present are of one moment.
    pub(crate) fn get_many(&self, py: Python<'_>, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        let keyspace = &self.keyspace;
        match &self.source {
            Source::Present => Ok(py.detach(|| keyspace.get_many(keys))?),
            Source::Snapshot(snapshot) => self.of_snapshot(py, snapshot, |snapshot| {
                keys.iter().map(|key| snapshot.get(keyspace, key)).collect()
            }),
            Source::Transaction(transaction) => {
                transaction.read(py, |tx| keys.iter().map(|key| tx.get(keyspace, key)).collect())
            }
        }
    }

    pub(crate) fn contains(&self, py: Python<'_>, key: &[u8]) -> Result<bool> {
        let keyspace = &self.keyspace;
        match &self.source {
            Source::Present => Ok(self.core.read(py, || keyspace.contains_key(key))?),
            Source::Snapshot(snapshot) => {
                self.of_snapshot(py, snapshot, |snapshot| snapshot.contains_key(keyspace, key))
            }
            Source::Transaction(transaction) => transaction.read(py, |tx| tx.contains_key(keyspace, key)),
        }
    }

    /// Returns when a key expires.
    pub(crate) fn expiry(&self, py: Python<'_>, key: &[u8]) -> Result<Expiry> {
        let keyspace = &self.keyspace;
        match &self.source {
            Source::Present => Ok(self.core.read(py, || keyspace.expiry(key))?),
            Source::Snapshot(snapshot) => {
                self.of_snapshot(py, snapshot, |snapshot| snapshot.expiry(keyspace, key))
            }
            Source::Transaction(transaction) => transaction.read(py, |tx| tx.expiry(keyspace, key)),
        }
    }

    /// Returns the number of keys in a range. It visits each of them, unless the keyspace knows it.
    pub(crate) fn count(&self, py: Python<'_>, range: &KeyRange) -> Result<u64> {
        if matches!(self.source, Source::Present) {
            let (keyspace, bounds) = (&self.keyspace, range.bounds());
            return Ok(py.detach(|| if range.is_all() { keyspace.len() } else { keyspace.count(bounds) })?);
        }
        let (mut count, mut rest) = (0, Some(range.bounds()));
        while let Some(bounds) = rest {
            py.check_signals()?;
            let chunk =
                self.chunk(py, &ChunkRequest { bounds, part: Part::Keys, reverse: false, rows: 512 })?;
            count += chunk.rows.len() as u64;
            chunk.failed.map_or(Ok(()), Err)?;
            rest = chunk.rest;
        }
        Ok(count)
    }

    /// Returns the first or the last row of bounds.
    pub(crate) fn end_row(
        &self,
        py: Python<'_>,
        bounds: KeyBounds,
        part: Part,
        last: bool,
    ) -> Result<Option<Row>> {
        let chunk = self.chunk(py, &ChunkRequest { bounds, part, reverse: last, rows: 1 })?;
        chunk.failed.map_or(Ok(()), Err)?;
        Ok(chunk.rows.into_iter().next())
    }

    /// Reads a chunk, detached from the interpreter.
    pub(crate) fn chunk(&self, py: Python<'_>, request: &ChunkRequest) -> Result<Chunk> {
        let (keyspace, bounds) = (&self.keyspace, request.bounds.clone());
        let keys = request.part == Part::Keys;
        self.core.check_open()?;
        match &self.source {
            Source::Present if keys => Ok(py.detach(|| request.read_keys(keyspace.keys_in(bounds)))),
            Source::Present => Ok(py.detach(|| request.read(keyspace.range(bounds)))),
            Source::Snapshot(snapshot) => self.of_snapshot(py, snapshot, |snapshot| {
                Ok(if keys {
                    request.read_keys(snapshot.keys_in(keyspace, bounds))
                } else {
                    request.read(snapshot.range(keyspace, bounds))
                })
            }),
            Source::Transaction(transaction) => transaction.read(py, |tx| {
                Ok(if keys {
                    request.read_keys(tx.keys_in(keyspace, bounds))
                } else {
                    request.read(tx.range(keyspace, bounds))
                })
            }),
        }
    }
}
