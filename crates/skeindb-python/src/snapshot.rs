//! Snapshots: all keyspaces as they were at one moment.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::core::DbCore;
use crate::failure::Result;
use crate::held::Held;
use crate::keyspace::keyspace_of;
use crate::read_view::ReadView;
use crate::reader::{Reader, Source};

/// All keyspaces as they were at one moment. While it is open, replaced values are kept, so
/// close it soon: at the end of a `with`, or by `close`.
#[pyclass(frozen, weakref, module = "skeindb")]
pub(crate) struct Snapshot {
    held: Arc<Held<skeindb::Snapshot>>,
}

impl Snapshot {
    pub(crate) fn take(py: Python<'_>, core: &DbCore) -> Result<Self> {
        let taken = py.detach(|| core.db.snapshot())?;
        Ok(Self { held: Arc::new(Held::new(taken, "the snapshot was closed")) })
    }
}

#[pymethods]
impl Snapshot {
    fn __getitem__<'py>(&self, keyspace: &Bound<'py, PyAny>) -> Result<Bound<'py, ReadView>> {
        let keyspace = keyspace_of(keyspace, "snapshot")?;
        self.held.changes()?;
        let reader =
            Reader { source: Source::Snapshot(self.held.clone()), ..keyspace.get().reader().clone() };
        Ok(Bound::new(keyspace.py(), ReadView::new(reader))?)
    }

    /// Ends the snapshot; later reads of it raise `ClosedError`. A second call does nothing.
    fn close(&self, py: Python<'_>) {
        let snapshot = self.held.end(py);
        py.detach(|| drop(snapshot));
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.held.has_ended()
    }

    fn __enter__(slf: Bound<'_, Self>) -> Result<Bound<'_, Self>> {
        slf.get().held.changes()?;
        Ok(slf)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.close(py);
    }

    fn __repr__(&self) -> &'static str {
        if self.closed() { "<skeindb.Snapshot, closed>" } else { "<skeindb.Snapshot>" }
    }
}
