//! A range of a keyspace as an object, as `keys`, `items`, `values` and slices return it.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bytes_arg::BytesArg;
use crate::failure::Result;
use crate::html;
use crate::range::{KeyRange, Part};
use crate::reader::Reader;
use crate::row_iterator::RowIterator;

/// Rows that a notebook shows.
const SHOWN: usize = 10;

/// The keys, values or rows of a range. It reads when it is iterated, and may be so again.
#[pyclass(frozen, generic, module = "skeindb")]
pub(crate) struct Rows {
    reader: Reader,
    range: KeyRange,
    part: Part,
    reverse: bool,
}

impl Rows {
    pub(crate) fn new(reader: &Reader, range: KeyRange, part: Part, reverse: bool) -> Self {
        Self { reader: reader.clone(), range, part, reverse }
    }

    fn iterator(&self, reverse: bool) -> Result<RowIterator> {
        RowIterator::new(self.reader.clone(), self.range.clone(), self.part, reverse)
    }
}

/// Describes a range for `repr`.
pub(crate) fn describe(reader: &Reader, range: &KeyRange, part: Part, reverse: bool) -> String {
    let order = if reverse { ", reversed" } else { "" };
    format!("{} of {}{}{order}", part.name(), reader.describe(), range.describe())
}

#[pymethods]
impl Rows {
    fn __iter__(&self) -> Result<RowIterator> {
        self.iterator(self.reverse)
    }

    fn __reversed__(&self) -> Result<RowIterator> {
        self.iterator(!self.reverse)
    }

    /// The number of rows; counting visits each of them.
    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        Ok(usize::try_from(self.reader.count(py, &self.range)?).unwrap_or(usize::MAX))
    }

    fn __bool__(&self, py: Python<'_>) -> Result<bool> {
        Ok(self.reader.end_row(py, self.range.bounds(), Part::Keys, self.reverse)?.is_some())
    }

    fn __contains__(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> Result<bool> {
        if self.part == Part::Values {
            let value: BytesArg<'_, '_> = item.extract()?;
            return self.iterator(self.reverse)?.any(py, |(_, found)| *found == value.as_slice());
        }
        if self.part == Part::Keys {
            let key: BytesArg<'_, '_> = item.extract()?;
            return Ok(self.range.contains(key.as_slice()) && self.reader.contains(py, key.as_slice())?);
        }
        let Ok(pair) = item.cast::<PyTuple>() else { return Ok(false) };
        let (key, value): (BytesArg<'_, '_>, BytesArg<'_, '_>) = pair.extract()?;
        let found =
            if self.range.contains(key.as_slice()) { self.reader.get_vec(py, key.as_slice())? } else { None };
        Ok(found.as_deref() == Some(value.as_slice()))
    }

    fn __repr__(&self) -> String {
        format!("<skeindb.Rows: {}>", describe(&self.reader, &self.range, self.part, self.reverse))
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        html::rows(py, &self.reader, &self.range, self.reverse, SHOWN, &self.__repr__())
    }
}
