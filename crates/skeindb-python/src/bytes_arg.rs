//! Keys and values as arguments: `bytes` in place, other buffers copied.
//!
//! A `bytes` object never changes, so its bytes are read in place, also while the thread is
//! detached from the interpreter. Any other buffer may change or move as soon as other threads run,
//! so its bytes are copied first.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};

/// The bytes of an argument.
pub(crate) enum BytesArg<'a, 'py> {
    InPlace(Borrowed<'a, 'py, PyBytes>),
    Copied(Vec<u8>),
}

impl BytesArg<'_, '_> {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes.as_bytes(),
            Self::Copied(bytes) => bytes,
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<u8> {
        self.as_slice().to_vec()
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for BytesArg<'a, 'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::InPlace(bytes));
        }
        if let Ok(bytes) = object.cast::<PyByteArray>() {
            return Ok(Self::Copied(bytes.to_vec()));
        }
        let view = PyMemoryView::from(&object).map_err(|error| {
            // Others than a type error are of a buffer that cannot be read now, and say why.
            if error.is_instance_of::<PyTypeError>(object.py()) { wrong_type(&object) } else { error }
        })?;
        // In the order of C, also if the view has strides.
        let bytes = view.call_method0("tobytes")?;
        Ok(Self::Copied(bytes.cast::<PyBytes>()?.as_bytes().to_vec()))
    }
}

fn wrong_type(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object.get_type().name().map_or_else(|_| "another type".into(), |name| name.to_string());
    let way_out = match name.as_str() {
        "str" => "; encode the text first, as in text.encode()",
        "int" => "; use number.to_bytes(8, 'big'), which keeps the order of numbers from 0",
        _ => "",
    };
    PyTypeError::new_err(format!(
        "keys and values are bytes, or another object with the buffer protocol, not {name}{way_out}"
    ))
}
