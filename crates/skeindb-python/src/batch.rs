//! Batches: writes to any keyspaces that are applied together.

use std::sync::Arc;
use std::time::SystemTime;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::bytes_arg::BytesArg;
use crate::core::DbCore;
use crate::failure::Result;
use crate::held::Held;
use crate::keyspace::keyspace_of;
use crate::times;
use crate::view::rows_of;

/// Writes to any keyspaces that are applied together, all or none: at the end of a `with`, unless
/// an exception leaves it, or by `apply`.
#[pyclass(frozen, weakref, module = "skeindb")]
pub(crate) struct Batch {
    core: Arc<DbCore>,
    held: Arc<Held<skeindb::Batch>>,
}

impl Batch {
    pub(crate) fn new(core: Arc<DbCore>) -> Self {
        Self { core, held: Arc::new(Held::new(skeindb::Batch::new(), "the batch was applied or discarded")) }
    }
}

#[pymethods]
impl Batch {
    fn __getitem__(&self, keyspace: &Bound<'_, PyAny>) -> Result<BatchView> {
        let keyspace = keyspace_of(keyspace, "batch")?.get().reader().keyspace.clone();
        self.held.changes()?;
        Ok(BatchView { keyspace, held: self.held.clone() })
    }

    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        self.held.read(py, |batch| Ok(batch.len()))
    }

    /// Applies all writes, or none if one is refused.
    fn apply(&self, py: Python<'_>) -> Result<()> {
        let batch = self.held.end(py).ok_or_else(|| self.held.failure())?;
        Ok(py.detach(|| self.core.db.apply(&batch))?)
    }

    /// Discards all writes.
    fn discard(&self, py: Python<'_>) {
        self.held.end(py);
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
            self.discard(py);
        } else if !self.held.has_ended() {
            self.apply(py)?;
        }
        Ok(false)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.__len__(py) {
            Ok(writes) => format!("<skeindb.Batch of {writes} writes>"),
            Err(_) => "<skeindb.Batch, ended>".into(),
        }
    }
}

/// A keyspace that is written by a batch, as `batch[keyspace]` returns it.
#[pyclass(frozen, module = "skeindb")]
pub(crate) struct BatchView {
    keyspace: skeindb::Keyspace,
    held: Arc<Held<skeindb::Batch>>,
}

impl BatchView {
    fn put(
        &self,
        py: Python<'_>,
        key: &BytesArg<'_, '_>,
        value: &BytesArg<'_, '_>,
        expires: Option<SystemTime>,
    ) -> Result<()> {
        let (key, value) = (key.as_slice(), value.as_slice());
        self.held.change(py, |batch| {
            match expires {
                Some(expires) => batch.insert_until(&self.keyspace, key, value, expires),
                None => batch.insert(&self.keyspace, key, value),
            };
            Ok(())
        })
    }
}

#[pymethods]
impl BatchView {
    #[expect(clippy::unused_self, reason = "Python passes it to every method")]
    fn __getitem__(&self, _key: &Bound<'_, PyAny>) -> Result<()> {
        let why = "a batch only writes; read the keyspace itself, or use a transaction";
        Err(PyTypeError::new_err(why).into())
    }

    fn __setitem__(&self, py: Python<'_>, key: BytesArg<'_, '_>, value: BytesArg<'_, '_>) -> Result<()> {
        self.put(py, &key, &value, None)
    }

    /// Removes a key when the batch is applied; an absent one is no error.
    fn __delitem__(&self, py: Python<'_>, key: BytesArg<'_, '_>) -> Result<()> {
        let key = key.as_slice();
        self.held.change(py, |batch| {
            batch.remove(&self.keyspace, key);
            Ok(())
        })
    }

    /// Sets a key to a value, which expires after `ttl` (seconds or a `timedelta`) if that is
    /// given.
    #[pyo3(signature = (key, value, *, ttl = None))]
    fn insert(
        &self,
        py: Python<'_>,
        key: BytesArg<'_, '_>,
        value: BytesArg<'_, '_>,
        ttl: Option<Bound<'_, PyAny>>,
    ) -> Result<()> {
        let expires = ttl.as_ref().map(times::after).transpose()?;
        self.put(py, &key, &value, expires)
    }

    /// Sets a key to a value that expires at a time: a `datetime`, or seconds since 1970.
    fn insert_until(
        &self,
        py: Python<'_>,
        key: BytesArg<'_, '_>,
        value: BytesArg<'_, '_>,
        time: &Bound<'_, PyAny>,
    ) -> Result<()> {
        self.put(py, &key, &value, Some(times::moment(time)?))
    }

    /// Inserts the rows of a mapping or of an iterable of pairs.
    fn update(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> Result<()> {
        let rows = rows_of(rows)?;
        self.held.change(py, |batch| {
            for (key, value) in rows {
                batch.insert(&self.keyspace, key, value);
            }
            Ok(())
        })
    }

    fn __repr__(&self) -> String {
        format!("<skeindb.BatchView of keyspace {:?}>", self.keyspace.name())
    }
}
