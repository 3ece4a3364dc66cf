//! The whole mapping protocol, with writes: the base of keyspaces, and of their views in a
//! transaction.

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::bytes_arg::BytesArg;
use crate::chunk::Row;
use crate::failure::{Failure, Result, absent};
use crate::range::{Index, KeyRange, no_assignment};
use crate::read_view::{PyRow, ReadView, pair};
use crate::times;
use crate::writer::Writer;

/// A keyspace as a mapping, as `transaction[keyspace]` returns it.
#[pyclass(frozen, subclass, extends = ReadView, mapping, module = "skeindb")]
pub(crate) struct View {
    writer: Writer,
}

impl View {
    /// Returns the parts of a new object.
    pub(crate) fn initializer(writer: Writer) -> PyClassInitializer<Self> {
        PyClassInitializer::from(ReadView::new(writer.reader.clone())).add_subclass(Self { writer })
    }
}

/// Returns the rows of a mapping or of an iterable of pairs, copied.
pub(crate) fn rows_of(rows: &Bound<'_, PyAny>) -> Result<Vec<Row>> {
    let pairs = if rows.hasattr("items")? { rows.call_method0("items")? } else { rows.clone() };
    pairs.try_iter()?.map(|pair| row_of(&pair?)).collect()
}

/// Returns a pair of bytes, copied.
pub(crate) fn row_of(pair: &Bound<'_, PyAny>) -> Result<Row> {
    let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
    let (key, value): (BytesArg<'_, '_>, BytesArg<'_, '_>) = (key.extract()?, value.extract()?);
    Ok((key.to_vec(), value.to_vec()))
}

#[pymethods]
impl View {
    fn __setitem__(&self, py: Python<'_>, index: Index<'_, '_>, value: BytesArg<'_, '_>) -> Result<()> {
        match index {
            Index::Key(key) => self.writer.insert(py, key.as_slice(), value.as_slice(), None),
            Index::Slice(_) => Err(no_assignment().into()),
        }
    }

    fn __delitem__(&self, py: Python<'_>, index: Index<'_, '_>) -> Result<()> {
        match index {
            Index::Key(key) if self.writer.remove(py, key.as_slice())? => Ok(()),
            Index::Key(key) => Err(absent(py, key.as_slice())),
            Index::Slice(range) => self.writer.remove_range(py, range.bounds()).map(drop),
        }
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
        self.writer.insert(py, key.as_slice(), value.as_slice(), expires)
    }

    /// Sets a key to a value that expires at a time: a `datetime`, or seconds since 1970.
    fn insert_until(
        &self,
        py: Python<'_>,
        key: BytesArg<'_, '_>,
        value: BytesArg<'_, '_>,
        time: &Bound<'_, PyAny>,
    ) -> Result<()> {
        self.writer.insert(py, key.as_slice(), value.as_slice(), Some(times::moment(time)?))
    }

    /// Lets a key expire after `ttl` (seconds or a `timedelta`), and keeps its value. Returns
    /// whether it is present.
    fn expire(&self, py: Python<'_>, key: BytesArg<'_, '_>, ttl: &Bound<'_, PyAny>) -> Result<bool> {
        self.writer.set_expiry(py, key.as_slice(), Some(times::after(ttl)?))
    }

    /// Lets a key expire at a time: a `datetime`, or seconds since 1970; at once if that is past.
    /// Returns whether it was present.
    fn expire_at(&self, py: Python<'_>, key: BytesArg<'_, '_>, time: &Bound<'_, PyAny>) -> Result<bool> {
        self.writer.set_expiry(py, key.as_slice(), Some(times::moment(time)?))
    }

    /// Lets a key not expire, and keeps its value. Returns whether it is present.
    fn persist(&self, py: Python<'_>, key: BytesArg<'_, '_>) -> Result<bool> {
        self.writer.set_expiry(py, key.as_slice(), None)
    }

    /// Removes a key and returns whether it was present.
    fn remove(&self, py: Python<'_>, key: BytesArg<'_, '_>) -> Result<bool> {
        self.writer.remove(py, key.as_slice())
    }

    /// Removes a key and returns its value, or `default` if one is given and the key is absent.
    #[pyo3(signature = (key, /, *default))]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: BytesArg<'_, '_>,
        default: &Bound<'py, PyTuple>,
    ) -> Result<Bound<'py, PyAny>> {
        if default.len() > 1 {
            let why = format!("pop expected at most 2 arguments, got {}", default.len() + 1);
            return Err(PyTypeError::new_err(why).into());
        }
        match self.writer.take(py, key.as_slice())? {
            Some(value) => Ok(PyBytes::new(py, &value).into_any()),
            None => default.get_item(0).map_err(|_| absent(py, key.as_slice())),
        }
    }

    /// Removes the last row, or the first one, and returns it. Of several threads, each gets a row
    /// of its own.
    #[pyo3(signature = (last = true))]
    fn popitem<'py>(&self, py: Python<'py>, last: bool) -> Result<PyRow<'py>> {
        match self.writer.take_end(py, last)? {
            Some(row) => Ok(pair(py, &row)),
            None => Err(PyKeyError::new_err("there are no keys").into()),
        }
    }

    /// Returns the value of a key, which is set to `default` first if it is absent.
    fn setdefault<'py>(
        &self,
        py: Python<'py>,
        key: BytesArg<'_, '_>,
        default: BytesArg<'_, '_>,
    ) -> Result<Bound<'py, PyBytes>> {
        loop {
            if let Some(value) = self.writer.reader.get(py, key.as_slice())? {
                return Ok(value);
            }
            if self.writer.insert_if_absent(py, key.as_slice(), default.as_slice())? {
                return Ok(PyBytes::new(py, default.as_slice()));
            }
        }
    }

    /// Inserts the rows of a mapping or of an iterable of pairs: all of them or none.
    fn update(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> Result<()> {
        self.writer.insert_all(py, rows_of(rows)?)
    }

    /// Adds to a decimal integer and returns the sum. An absent key counts as 0.
    #[pyo3(signature = (key, by = 1))]
    fn increment(&self, py: Python<'_>, key: BytesArg<'_, '_>, by: i64) -> Result<i64> {
        self.writer.increment(py, key.as_slice(), by)
    }

    /// Sets a key to `new` if its value is `expected`, and returns whether it was. `None` stands
    /// for an absent key.
    fn compare_and_swap(
        &self,
        py: Python<'_>,
        key: BytesArg<'_, '_>,
        expected: Option<BytesArg<'_, '_>>,
        new: Option<BytesArg<'_, '_>>,
    ) -> Result<bool> {
        let (expected, new) =
            (expected.as_ref().map(BytesArg::as_slice), new.as_ref().map(BytesArg::as_slice));
        self.writer.compare_and_swap(py, key.as_slice(), expected, new)
    }

    /// Sets a key to the result of `change` for its value (`None` for an absent key, and to remove
    /// it), and returns the result. `change` is called again if another thread changes the key
    /// meanwhile.
    fn update_with<'py>(
        &self,
        py: Python<'py>,
        key: BytesArg<'_, '_>,
        change: &Bound<'py, PyAny>,
    ) -> Result<Option<Bound<'py, PyBytes>>> {
        let new = self.writer.update(py, key.as_slice(), |old| {
            let new = change.call1((old.map(|old| PyBytes::new(py, old)),))?;
            Ok(new.extract::<Option<BytesArg<'_, '_>>>()?.as_ref().map(BytesArg::to_vec))
        })?;
        Ok(new.map(|new| PyBytes::new(py, &new)))
    }

    /// Removes the keys from `start` to before `stop` that begin with `prefix`, and returns how
    /// many.
    #[pyo3(signature = (start = None, stop = None, *, prefix = None))]
    fn remove_range(
        &self,
        py: Python<'_>,
        start: Option<BytesArg<'_, '_>>,
        stop: Option<BytesArg<'_, '_>>,
        prefix: Option<BytesArg<'_, '_>>,
    ) -> Result<u64> {
        let range = KeyRange::new(prefix.as_ref(), start.as_ref(), stop.as_ref());
        if range.is_all() {
            let why = "remove_range needs start, stop or prefix; clear() removes all keys";
            return Err(Failure::Invalid(why.into()));
        }
        self.writer.remove_range(py, range.bounds())
    }

    /// Removes all keys.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        self.writer.remove_range(py, KeyRange::default().bounds()).map(drop)
    }
}
