//! Ranges of keys, as `keys`, `items`, `values` and slices select them.

use std::ops::Bound as KeyBound;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PySlice;
use skein_data::successor;

use crate::bytes_arg::BytesArg;
use crate::failure::Result;

/// A range of keys, with its first key and without its last bound.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyRange {
    start: Option<Vec<u8>>,
    stop: Option<Vec<u8>>,
}

impl KeyRange {
    /// Returns the keys from `start` to before `stop` that begin with `prefix`.
    pub(crate) fn new(
        prefix: Option<&BytesArg<'_, '_>>,
        start: Option<&BytesArg<'_, '_>>,
        stop: Option<&BytesArg<'_, '_>>,
    ) -> Self {
        let mut range = Self { start: start.map(BytesArg::to_vec), stop: stop.map(BytesArg::to_vec) };
        if let Some(prefix) = prefix.map(BytesArg::as_slice) {
            range.start = range.start.max(Some(prefix.to_vec()));
            if let Some(end) = successor(prefix) {
                range.stop = Some(range.stop.map_or(end.clone(), |stop| stop.min(end)));
            }
        }
        range
    }

    /// Returns the range of a slice.
    pub(crate) fn of_slice(slice: &Bound<'_, PySlice>) -> Result<Self> {
        if !slice.getattr("step")?.is_none() {
            let why = "a slice of keys has no step; use items(start=..., stop=..., reverse=True) for the other order";
            return Err(PyValueError::new_err(why).into());
        }
        let end = |name| -> Result<Option<Vec<u8>>> {
            let end = slice.getattr(name)?;
            Ok(end.extract::<Option<BytesArg<'_, '_>>>()?.as_ref().map(BytesArg::to_vec))
        };
        Ok(Self { start: end("start")?, stop: end("stop")? })
    }

    /// Returns the bounds; of a range without keys, some that are in order.
    pub(crate) fn bounds(&self) -> KeyBounds {
        let lower = self.start.clone().map_or(KeyBound::Unbounded, KeyBound::Included);
        let upper = match (&self.start, self.stop.clone()) {
            (Some(start), Some(stop)) if stop < *start => KeyBound::Excluded(start.clone()),
            (_, stop) => stop.map_or(KeyBound::Unbounded, KeyBound::Excluded),
        };
        (lower, upper)
    }

    /// Returns the bounds of the keys that are greater than `key`.
    pub(crate) fn after(key: Vec<u8>) -> KeyBounds {
        (KeyBound::Excluded(key), KeyBound::Unbounded)
    }

    /// Returns the bounds of the keys that are less than `key`.
    pub(crate) fn before(key: Vec<u8>) -> KeyBounds {
        (KeyBound::Unbounded, KeyBound::Excluded(key))
    }

    pub(crate) fn is_all(&self) -> bool {
        self.start.is_none() && self.stop.is_none()
    }

    /// Returns the bounds of the part that begins with `key`, in the given direction.
    pub(crate) fn bounds_from(&self, key: Vec<u8>, reverse: bool) -> KeyBounds {
        let mut part = self.clone();
        if !reverse {
            part.start = part.start.max(Some(key));
            return part.bounds();
        }
        let (lower, upper) = part.bounds();
        let before_stop = self.stop.as_ref().is_none_or(|stop| key < *stop);
        let behind_start = self.start.as_ref().is_none_or(|start| *start <= key);
        match (before_stop, behind_start) {
            (true, true) => (lower, KeyBound::Included(key)),
            (false, _) => (lower, upper),
            (true, false) => (KeyBound::Included(key.clone()), KeyBound::Excluded(key)),
        }
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.start.as_deref().is_none_or(|start| start <= key)
            && self.stop.as_deref().is_none_or(|stop| key < stop)
    }

    /// Returns a description, empty for all keys.
    pub(crate) fn describe(&self) -> String {
        let end = |word, key: &Option<Vec<u8>>| {
            key.as_ref().map_or(String::new(), |key| format!(" {word} b'{}'", key.escape_ascii()))
        };
        end("from", &self.start) + &end("to", &self.stop)
    }
}

/// The bounds of a range of keys.
pub(crate) type KeyBounds = (KeyBound<Vec<u8>>, KeyBound<Vec<u8>>);

/// The part of each row that an iterator yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Keys,
    Items,
    Values,
}

impl Part {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Items => "items",
            Self::Values => "values",
        }
    }
}

/// The argument of an index operation.
pub(crate) enum Index<'a, 'py> {
    Key(BytesArg<'a, 'py>),
    Slice(KeyRange),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Index<'a, 'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(slice) = object.cast::<PySlice>() {
            return Ok(Self::Slice(KeyRange::of_slice(&slice)?));
        }
        Ok(Self::Key(object.extract()?))
    }
}

/// Returns the error of an assignment to a slice.
pub(crate) fn no_assignment() -> PyErr {
    PyTypeError::new_err("a slice of keys cannot be assigned to; use update, or bulk_load for sorted rows")
}
