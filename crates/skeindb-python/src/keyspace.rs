//! Keyspaces of a database.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::chunk::Row;
use crate::failure::Result;
use crate::reader::Reader;
use crate::view::{View, row_of};
use crate::writer::Writer;

/// Rows that are taken from the caller's iterable at once.
const TAKEN: usize = 256;

/// A keyspace of a database, as a mapping of bytes in the order of its keys.
#[pyclass(frozen, subclass, extends = View, mapping, module = "skeindb")]
pub(crate) struct Keyspace {
    reader: Reader,
}

impl Keyspace {
    /// Returns the parts of a new object.
    pub(crate) fn initializer(reader: Reader) -> PyClassInitializer<Self> {
        View::initializer(Writer::present(reader.clone())).add_subclass(Self { reader })
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }
}

/// Returns the keyspace of an index, as in `transaction[keyspace]`.
pub(crate) fn keyspace_of<'a, 'py>(
    index: &'a Bound<'py, PyAny>,
    what: &str,
) -> PyResult<&'a Bound<'py, Keyspace>> {
    index.cast::<Keyspace>().map_err(|_| {
        let name = index.get_type().name().map_or_else(|_| "another type".into(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "a {what} is indexed by a keyspace, not by {name}; the keys follow, as in {what}[keyspace][key], \
             and a database stands for its default keyspace"
        ))
    })
}

/// Takes rows from an iterator of Python, some at a time, on a thread that is detached from the
/// interpreter.
struct RowSource {
    iterator: Py<PyAny>,
    taken: std::vec::IntoIter<Row>,
    failed: Option<PyErr>,
}

impl RowSource {
    fn take(&mut self) {
        let mut rows = Vec::with_capacity(TAKEN);
        self.failed = Python::attach(|py| {
            py.check_signals()?;
            for pair in self.iterator.bind(py).try_iter()?.take(TAKEN) {
                rows.push(row_of(&pair?)?);
            }
            Ok::<_, PyErr>(())
        })
        .err();
        self.taken = rows.into_iter();
    }
}

impl Iterator for RowSource {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        if self.taken.len() == 0 && self.failed.is_none() {
            self.take();
        }
        self.taken.next()
    }
}

#[pymethods]
impl Keyspace {
    /// Inserts rows in ascending order of their keys, in few appends to the log, and returns their
    /// number. Not atomic: if a row is refused, those before it stay.
    fn bulk_load(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> Result<u64> {
        let pairs = if rows.hasattr("items")? { rows.call_method0("items")? } else { rows.clone() };
        let iterator = pairs.try_iter()?.into_any().unbind();
        let mut source = RowSource { iterator, taken: Vec::new().into_iter(), failed: None };
        let keyspace = &self.reader.keyspace;
        let loaded = py.detach(|| keyspace.bulk_load(&mut source));
        // A row that the keyspace refused is before the one that failed.
        let loaded = loaded?;
        source.failed.map_or(Ok(loaded), |failed| Err(failed.into()))
    }
}
