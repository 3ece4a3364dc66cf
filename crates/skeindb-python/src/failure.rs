//! The reason why a call failed, and the exception that it raises.

use pyo3::PyErr;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use skeindb::ErrorKind;

/// The exceptions, which are defined in Python.
pub(crate) mod exceptions {
    use pyo3::import_exception;

    import_exception!(skeindb._exceptions, Error);
    import_exception!(skeindb._exceptions, ConflictError);
    import_exception!(skeindb._exceptions, ClosedError);
    import_exception!(skeindb._exceptions, ForkedError);
    import_exception!(skeindb._exceptions, KeyspaceError);
    import_exception!(skeindb._exceptions, InvalidError);
    import_exception!(skeindb._exceptions, LimitError);
    import_exception!(skeindb._exceptions, KindError);
    import_exception!(skeindb._exceptions, LockedError);
    import_exception!(skeindb._exceptions, StorageError);
    import_exception!(skeindb._exceptions, DamageError);
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// The reason why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Db(skeindb::Error),
    /// A transaction, snapshot or batch was used after its end.
    Ended(&'static str),
    /// An argument is wrong.
    Invalid(String),
    Python(PyErr),
}

impl From<skeindb::Error> for Failure {
    fn from(error: skeindb::Error) -> Self {
        Self::Db(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Db(error) => exception_of(&error),
            Failure::Ended(what) => exceptions::ClosedError::new_err(format!("{what}; begin another one")),
            Failure::Invalid(why) => exceptions::InvalidError::new_err(why),
            Failure::Python(error) => error,
        }
    }
}

fn exception_of(error: &skeindb::Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Conflict => exceptions::ConflictError::new_err(text),
        ErrorKind::Closed => exceptions::ClosedError::new_err(text),
        ErrorKind::Forked => exceptions::ForkedError::new_err(text),
        ErrorKind::Keyspace => exceptions::KeyspaceError::new_err(text),
        ErrorKind::Invalid => exceptions::InvalidError::new_err(text),
        ErrorKind::Limit => exceptions::LimitError::new_err(text),
        ErrorKind::WrongKind => exceptions::KindError::new_err(text),
        ErrorKind::Locked => exceptions::LockedError::new_err(text),
        ErrorKind::Io => exceptions::StorageError::new_err(text),
        ErrorKind::Damaged => exceptions::DamageError::new_err(text),
        _ => exceptions::Error::new_err(text),
    }
}

/// Returns the exception of a mapping for an absent key.
pub(crate) fn absent(py: Python<'_>, key: &[u8]) -> Failure {
    PyKeyError::new_err(PyBytes::new(py, key).unbind()).into()
}
