//! The database: its default keyspace, and all that belongs to the whole.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::backup::{self, BackupReport};
use crate::batch::Batch;
use crate::core::{DbCore, durability_named};
use crate::failure::Result;
use crate::html;
use crate::keyspace::Keyspace;
use crate::reader::{Reader, Source};
use crate::retry;
use crate::snapshot::Snapshot;
use crate::stats::Stats;
use crate::transaction::Transaction;

/// An open database. It is its default keyspace, too: `database[key]` reads and writes that one.
#[pyclass(frozen, extends = Keyspace, mapping, module = "skeindb")]
pub(crate) struct Database {
    core: Arc<DbCore>,
}

fn reader(core: &Arc<DbCore>, keyspace: skeindb::Keyspace) -> Reader {
    Reader { core: core.clone(), keyspace, source: Source::Present }
}

impl Database {
    /// Returns the parts of a new object.
    pub(crate) fn initializer(core: Arc<DbCore>) -> PyClassInitializer<Self> {
        Keyspace::initializer(reader(&core, core.db.default_keyspace())).add_subclass(Self { core })
    }
}

#[pymethods]
impl Database {
    /// The folder, or `None` for a database in memory alone.
    #[getter]
    fn path(&self) -> Option<String> {
        self.core.path.as_ref().map(|path| path.display().to_string())
    }

    /// The engine: "memory" or "disk".
    #[getter]
    fn engine(&self) -> &'static str {
        self.core.engine_name()
    }

    /// The durability of a write that has returned: "sync", "buffered" or "none".
    #[getter]
    fn durability(&self) -> &'static str {
        self.core.durability_name()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.core.is_closed()
    }

    /// The default keyspace: the keys that a server of the same folder serves.
    #[getter]
    fn default<'py>(&self, py: Python<'py>) -> Result<Bound<'py, Keyspace>> {
        let default = reader(&self.core, self.core.db.default_keyspace());
        Ok(Bound::new(py, Keyspace::initializer(default))?)
    }

    /// Returns the keyspace of this name. Creates it if it is missing, unless `create` is false;
    /// then `KeyspaceError` is raised.
    #[pyo3(signature = (name, *, create = true))]
    fn keyspace<'py>(&self, py: Python<'py>, name: &str, create: bool) -> Result<Bound<'py, Keyspace>> {
        let db = &self.core.db;
        let missing = || skeindb::Error::NoKeyspace { name: name.into() };
        let keyspace = py.detach(|| {
            if create { db.keyspace(name) } else { db.existing_keyspace(name)?.ok_or_else(missing) }
        })?;
        Ok(Bound::new(py, Keyspace::initializer(reader(&self.core, keyspace)))?)
    }

    /// Returns the names of the keyspaces, in order. The default one has no name.
    fn keyspaces(&self, py: Python<'_>) -> Result<Vec<String>> {
        Ok(py.detach(|| self.core.db.keyspaces())?)
    }

    /// Drops a keyspace with all its keys. Returns whether there was one of this name.
    fn drop_keyspace(&self, py: Python<'_>, name: &str) -> Result<bool> {
        Ok(py.detach(|| self.core.db.drop_keyspace(name))?)
    }

    /// Renames a keyspace. Its objects stay valid.
    fn rename_keyspace(&self, py: Python<'_>, name: &str, new_name: &str) -> Result<()> {
        Ok(py.detach(|| self.core.db.rename_keyspace(name, new_name))?)
    }

    /// Begins a transaction. Its commit is durable at `durability`, by default as the database is.
    /// While an `exclusive` one is open, all other writes wait, so it cannot conflict. End that one
    /// on the thread that began it; a write beside it there raises `InvalidError`.
    #[pyo3(signature = (*, durability = None, exclusive = false))]
    fn transaction(&self, py: Python<'_>, durability: Option<&str>, exclusive: bool) -> Result<Transaction> {
        Transaction::begin(py, &self.core, durability.map(durability_named).transpose()?, exclusive)
    }

    /// Calls `function` with a transaction, commits it, and returns the function's value. If
    /// another write changed rows or ranges that it read, begins again with a new transaction, up
    /// to 1,000 times. If an exception leaves the function, nothing is written. If `exclusive`, all
    /// other writes wait meanwhile, and the function is called once.
    #[pyo3(signature = (function, *, exclusive = false))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        exclusive: bool,
    ) -> Result<Bound<'py, PyAny>> {
        retry::run(py, &self.core.db, function, exclusive)
    }

    /// Takes a snapshot: all keyspaces as they are now.
    fn snapshot(&self, py: Python<'_>) -> Result<Snapshot> {
        Snapshot::take(py, &self.core)
    }

    /// Returns an empty batch of writes.
    fn batch(&self) -> Result<Batch> {
        self.core.check_open()?;
        Ok(Batch::new(self.core.clone()))
    }

    /// Makes all writes durable that returned before this call.
    fn flush(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.core.db.flush())?)
    }

    /// Writes a checkpoint, so that the next opening has little to replay.
    fn checkpoint(&self, py: Python<'_>) -> Result<()> {
        Ok(py.detach(|| self.core.db.checkpoint())?)
    }

    /// Copies the database to another folder, which must be absent or empty, as it is at one
    /// moment. Reads and writes continue. `progress` is called with the rows and bytes copied so
    /// far; if it raises an exception, the backup is cancelled.
    #[pyo3(signature = (folder, *, progress = None))]
    fn backup(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        progress: Option<Bound<'_, PyAny>>,
    ) -> Result<BackupReport> {
        backup::copy(py, &self.core.db, &folder, progress.map(Bound::unbind))
    }

    /// Gives back space on disk, and returns its bytes before and afterwards. Reads and writes
    /// continue.
    fn compact(&self, py: Python<'_>) -> Result<(u64, u64)> {
        let done = py.detach(|| self.core.db.compact())?;
        Ok((done.bytes_before, done.bytes_after))
    }

    /// Returns numbers about the database.
    fn stats(&self, py: Python<'_>) -> Result<Stats> {
        Ok(Stats::new(&self.core, py.detach(|| self.core.db.stats())?))
    }

    /// Makes everything durable and closes the database. Later operations raise `ClosedError`. A
    /// second call does nothing.
    fn close(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| self.core.close())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Result<Bound<'_, Self>> {
        slf.get().core.check_open()?;
        Ok(slf)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> Result<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let path = self.path().map_or_else(|| "in memory".into(), |path| format!("{path:?}"));
        let closed = if self.closed() { ", closed" } else { "" };
        format!("<skeindb.Database {path}, engine {}{closed}>", self.engine())
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        let figures = match self.stats(py) {
            Ok(stats) => stats.figures(),
            Err(failure) => vec![("state", PyErr::from(failure).to_string())],
        };
        html::figures(&self.__repr__(), &figures)
    }
}
