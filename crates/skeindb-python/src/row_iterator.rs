//! Iterators over a range.
//!
//! An iterator reads chunks that grow, detached from the interpreter, and keeps no place in the
//! engine. In a transaction it sees the transaction's own writes at once: a write discards the rows
//! that were read ahead.

use std::sync::{Mutex, PoisonError};
use std::vec;

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;

use crate::bytes_arg::BytesArg;
use crate::chunk::{ChunkRequest, Row, behind};
use crate::failure::{Failure, Result};
use crate::range::{KeyBounds, KeyRange, Part};
use crate::reader::Reader;
use crate::rows::describe;

/// Rows of the first chunk, and of a later one at most.
const FIRST_ROWS: usize = 16;
const ROWS_MOST: usize = 512;

/// The state of an iterator.
struct Place {
    /// The rows that were read and not yielded.
    rows: vec::IntoIter<Row>,
    /// Raised behind these rows.
    failed: Option<Failure>,
    /// The part that was not read.
    rest: Option<KeyBounds>,
    chunk_rows: usize,
    /// Whether the end was reported.
    ended: bool,
    /// The part that was to be yielded since the last seek.
    origin: KeyBounds,
    /// The key that was yielded last since then; noted in a transaction.
    last: Option<Vec<u8>>,
    /// The changes of the source when `rows` were read.
    changes: u64,
}

impl Place {
    /// Begins at the beginning of bounds.
    fn new(origin: KeyBounds, changes: u64) -> Self {
        Self {
            rows: Vec::new().into_iter(),
            failed: None,
            rest: Some(origin.clone()),
            chunk_rows: FIRST_ROWS,
            ended: false,
            origin,
            last: None,
            changes,
        }
    }
}

/// An iterator over keys, values or rows, in the order of the keys.
#[pyclass(frozen, generic, module = "skeindb")]
pub(crate) struct RowIterator {
    reader: Reader,
    range: KeyRange,
    part: Part,
    reverse: bool,
    place: Mutex<Place>,
}

impl RowIterator {
    pub(crate) fn new(reader: Reader, range: KeyRange, part: Part, reverse: bool) -> Result<Self> {
        let place = Place::new(range.bounds(), reader.changes()?);
        Ok(Self { reader, range, part, reverse, place: Mutex::new(place) })
    }

    /// Reads the next chunk.
    fn read(&self, py: Python<'_>, place: &mut Place, bounds: KeyBounds) -> Result<()> {
        let request = ChunkRequest { bounds, part: self.part, reverse: self.reverse, rows: place.chunk_rows };
        let chunk = self.reader.chunk(py, &request)?;
        place.rows = chunk.rows.into_iter();
        place.failed = chunk.failed;
        place.rest = chunk.rest;
        place.chunk_rows = (place.chunk_rows * 2).min(ROWS_MOST);
        Ok(())
    }

    /// Discards the rows that were read ahead if the transaction has written since.
    fn follow_writes(&self, place: &mut Place) -> Result<()> {
        let changes = self.reader.changes()?;
        if changes != place.changes {
            place.rows = Vec::new().into_iter();
            place.changes = changes;
            place.chunk_rows = FIRST_ROWS;
            place.rest = (!place.ended).then(|| match &place.last {
                Some(last) => behind(&place.origin, last, self.reverse),
                None => place.origin.clone(),
            });
        }
        Ok(())
    }

    /// Returns whether `is_it` is true for a row from the present place on.
    pub(crate) fn any(&self, py: Python<'_>, is_it: impl Fn(&Row) -> bool) -> Result<bool> {
        while let Some(row) = self.next_row(py)? {
            if is_it(&row) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn next_row(&self, py: Python<'_>) -> Result<Option<Row>> {
        // `list(iterator)` runs no code of Python in between, so Ctrl-C is noticed here, and before
        // the lock is taken: a signal's handler is code of Python.
        py.check_signals()?;
        let mut place = self.place.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        self.follow_writes(&mut place)?;
        loop {
            if let Some(row) = place.rows.next() {
                if self.reader.is_transaction() {
                    place.last.get_or_insert_default().clone_from(&row.0);
                }
                return Ok(Some(row));
            }
            if let Some(failed) = place.failed.take() {
                return Err(failed);
            }
            let Some(bounds) = place.rest.take() else {
                place.ended = true;
                return Ok(None);
            };
            self.read(py, &mut place, bounds)?;
        }
    }
}

#[pymethods]
impl RowIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let Some((key, value)) = self.next_row(py)? else { return Ok(None) };
        Ok(Some(match self.part {
            Part::Keys => PyBytes::new(py, &key).into_any(),
            Part::Values => PyBytes::new(py, &value).into_any(),
            Part::Items => (PyBytes::new(py, &key), PyBytes::new(py, &value)).into_pyobject(py)?.into_any(),
        }))
    }

    /// Moves to the first key of the range that is not less than `key`, before or behind the
    /// present place; of a reversed iterator, to the last that is not greater.
    fn seek(&self, py: Python<'_>, key: BytesArg<'_, '_>) -> Result<()> {
        let mut place = self.place.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        *place = Place::new(self.range.bounds_from(key.to_vec(), self.reverse), self.reader.changes()?);
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<skeindb.RowIterator over {}>", describe(&self.reader, &self.range, self.part, self.reverse))
    }
}
