//! The read side of the mapping protocol: the base of everything that has keys.

use std::time::SystemTime;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use skeindb::Expiry;

use crate::bytes_arg::BytesArg;
use crate::chunk::Row;
use crate::failure::{Result, absent};
use crate::html;
use crate::range::{Index, KeyBounds, KeyRange, Part};
use crate::reader::Reader;
use crate::row_iterator::RowIterator;
use crate::rows::Rows;

/// Rows that a notebook shows.
const SHOWN: usize = 10;

/// A keyspace as a mapping that is only read, as `snapshot[keyspace]` returns it.
#[pyclass(frozen, subclass, weakref, mapping, module = "skeindb")]
pub(crate) struct ReadView {
    reader: Reader,
}

impl ReadView {
    pub(crate) fn new(reader: Reader) -> Self {
        Self { reader }
    }

    fn rows(
        &self,
        prefix: Option<&BytesArg<'_, '_>>,
        start: Option<&BytesArg<'_, '_>>,
        stop: Option<&BytesArg<'_, '_>>,
        part: Part,
        reverse: bool,
    ) -> Rows {
        Rows::new(&self.reader, KeyRange::new(prefix, start, stop), part, reverse)
    }

    fn row<'py>(&self, py: Python<'py>, bounds: KeyBounds, last: bool) -> Result<Option<PyRow<'py>>> {
        let row = self.reader.end_row(py, bounds, Part::Items, last)?;
        Ok(row.map(|row| pair(py, &row)))
    }
}

/// A key and its value.
pub(crate) type PyRow<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Returns a row as two `bytes`.
pub(crate) fn pair<'py>(py: Python<'py>, (key, value): &Row) -> PyRow<'py> {
    (PyBytes::new(py, key), PyBytes::new(py, value))
}

#[pymethods]
impl ReadView {
    /// The name of the keyspace; empty for the default one.
    #[getter]
    fn name(&self) -> String {
        self.reader.keyspace.name()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: Index<'_, 'py>) -> Result<Bound<'py, PyAny>> {
        match index {
            Index::Key(key) => match self.reader.get(py, key.as_slice())? {
                Some(value) => Ok(value.into_any()),
                None => Err(absent(py, key.as_slice())),
            },
            Index::Slice(range) => {
                Ok(Bound::new(py, Rows::new(&self.reader, range, Part::Items, false))?.into_any())
            }
        }
    }

    /// The value of a key, or `default`.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: BytesArg<'_, '_>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        Ok(self.reader.get(py, key.as_slice())?.map(Bound::into_any).or(default))
    }

    /// The values of many keys in their order, `None` for each that is absent. Faster than as many
    /// calls of `get`; outside of a transaction all are of one moment.
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> Result<Vec<Option<Bound<'py, PyBytes>>>> {
        let mut wanted = Vec::new();
        for key in keys.try_iter()? {
            wanted.push(key?.extract::<BytesArg<'_, '_>>()?.to_vec());
        }
        let found = self.reader.get_many(py, &wanted)?;
        Ok(found.into_iter().map(|value| value.map(|value| PyBytes::new(py, &value))).collect())
    }

    /// When a key expires, as a `datetime` in UTC, or `None` if it does not. Raises `KeyError` if
    /// the key is absent.
    fn expiry(&self, py: Python<'_>, key: BytesArg<'_, '_>) -> Result<Option<SystemTime>> {
        match self.reader.expiry(py, key.as_slice())? {
            Expiry::Absent => Err(absent(py, key.as_slice())),
            expiry => Ok(expiry.time()),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: BytesArg<'_, '_>) -> Result<bool> {
        self.reader.contains(py, key.as_slice())
    }

    /// The number of keys. Each is visited, except those of a database that never had a keyspace
    /// with a name.
    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        Ok(usize::try_from(self.reader.count(py, &KeyRange::default())?).unwrap_or(usize::MAX))
    }

    fn __bool__(&self, py: Python<'_>) -> Result<bool> {
        let all = KeyRange::default().bounds();
        Ok(self.reader.end_row(py, all, Part::Keys, false)?.is_some())
    }

    fn __iter__(&self) -> Result<RowIterator> {
        RowIterator::new(self.reader.clone(), KeyRange::default(), Part::Keys, false)
    }

    fn __reversed__(&self) -> Result<RowIterator> {
        RowIterator::new(self.reader.clone(), KeyRange::default(), Part::Keys, true)
    }

    /// The keys from `start` to before `stop` that begin with `prefix`.
    #[pyo3(signature = (*, prefix = None, start = None, stop = None, reverse = false))]
    fn keys(
        &self,
        prefix: Option<BytesArg<'_, '_>>,
        start: Option<BytesArg<'_, '_>>,
        stop: Option<BytesArg<'_, '_>>,
        reverse: bool,
    ) -> Rows {
        self.rows(prefix.as_ref(), start.as_ref(), stop.as_ref(), Part::Keys, reverse)
    }

    /// The rows of all keys from `start` to before `stop` that begin with `prefix`, as pairs of a
    /// key and its value.
    #[pyo3(signature = (*, prefix = None, start = None, stop = None, reverse = false))]
    fn items(
        &self,
        prefix: Option<BytesArg<'_, '_>>,
        start: Option<BytesArg<'_, '_>>,
        stop: Option<BytesArg<'_, '_>>,
        reverse: bool,
    ) -> Rows {
        self.rows(prefix.as_ref(), start.as_ref(), stop.as_ref(), Part::Items, reverse)
    }

    /// The values of all keys from `start` to before `stop` that begin with `prefix`, in the order
    /// of the keys.
    #[pyo3(signature = (*, prefix = None, start = None, stop = None, reverse = false))]
    fn values(
        &self,
        prefix: Option<BytesArg<'_, '_>>,
        start: Option<BytesArg<'_, '_>>,
        stop: Option<BytesArg<'_, '_>>,
        reverse: bool,
    ) -> Rows {
        self.rows(prefix.as_ref(), start.as_ref(), stop.as_ref(), Part::Values, reverse)
    }

    /// The first row, or `None`.
    fn first<'py>(&self, py: Python<'py>) -> Result<Option<PyRow<'py>>> {
        self.row(py, KeyRange::default().bounds(), false)
    }

    /// The last row, or `None`.
    fn last<'py>(&self, py: Python<'py>) -> Result<Option<PyRow<'py>>> {
        self.row(py, KeyRange::default().bounds(), true)
    }

    /// The row of the smallest key that is greater than `key`, or `None`.
    fn next_after<'py>(&self, py: Python<'py>, key: BytesArg<'_, '_>) -> Result<Option<PyRow<'py>>> {
        self.row(py, KeyRange::after(key.to_vec()), false)
    }

    /// The row of the greatest key that is less than `key`, or `None`.
    fn next_before<'py>(&self, py: Python<'py>, key: BytesArg<'_, '_>) -> Result<Option<PyRow<'py>>> {
        self.row(py, KeyRange::before(key.to_vec()), true)
    }

    fn __repr__(&self) -> String {
        format!("<skeindb: {}>", self.reader.describe())
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        html::rows(py, &self.reader, &KeyRange::default(), false, SHOWN, &self.reader.describe())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let name = slf.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "a {name} cannot be pickled or copied: it belongs to this process; open the database where you need it"
        )))
    }
}
