//! Backups.

use std::ops::ControlFlow;
use std::path::Path;

use pyo3::prelude::*;
use skeindb::Db;

use crate::failure::Result;

/// A finished backup.
#[pyclass(frozen, get_all, module = "skeindb")]
pub(crate) struct BackupReport {
    /// Rows, those of the catalog of keyspaces included.
    rows: u64,
    /// Bytes of keys and values.
    bytes: u64,
    /// The time that it took.
    seconds: f64,
}

#[pymethods]
impl BackupReport {
    fn __repr__(&self) -> String {
        let Self { rows, bytes, seconds } = self;
        format!("<skeindb.BackupReport: {rows} rows, {bytes} bytes, {seconds:.1} s>")
    }
}

/// Copies a database. Ctrl-C, and an exception of `progress`, cancel the copy and are raised.
pub(crate) fn copy(
    py: Python<'_>,
    db: &Db,
    folder: &Path,
    progress: Option<Py<PyAny>>,
) -> Result<BackupReport> {
    let mut raised = None;
    let copied = py.detach(|| {
        db.backup_with(folder, |done| {
            let shown = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = &progress else { return Ok(()) };
                progress.call1(py, (done.rows, done.bytes)).map(drop)
            });
            raised = shown.err();
            if raised.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    if let Some(raised) = raised {
        return Err(raised.into());
    }
    let copied = copied?;
    Ok(BackupReport { rows: copied.rows, bytes: copied.bytes, seconds: copied.took.as_secs_f64() })
}
